"""The demo: it says what it does, proves it, and writes what it says."""

from __future__ import annotations

import re

import featurewright


def test_demo(call, tmp_path, other_estimators):
    said = call("demo", "--out", tmp_path / "demo").stdout
    for title in ("1. The table", "2. The search", "3. The proof", "4. What you can do with it"):
        assert title in said
    found = re.search(r"linear model\s+([\d.]+) dB\s+([\d.]+) dB", said)
    assert "How many formulas" in said
    assert float(found[2]) < 0.8 * float(found[1])
    files = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert files == ["airfoil.csv", "features.fw", "features.sql", "report.html"]
    assert featurewright.load(tmp_path / "demo" / "features.fw").features_
    assert "SELECT" in (tmp_path / "demo" / "features.sql").read_text(encoding="utf-8")


def test_demo_does_not_write_into_a_file(call, tmp_path):
    (tmp_path / "taken").write_text("")
    assert "is a file" in call("demo", "--out", tmp_path / "taken", code=1).stderr
