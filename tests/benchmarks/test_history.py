"""Runs of the speed programs are kept with their commit and machine."""

from __future__ import annotations

import json

import history


def test_every_run_is_a_line(tmp_path):
    path = tmp_path / "history.jsonl"
    history.record("speed", "quick", {"fit": 0.123456}, [], path)
    history.record("speed", "full", {"fit": 0.2}, ["fit"], path)
    first, second = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert first["ratios"] == {"fit": 0.1235}
    assert (first["size"], second["size"]) == ("quick", "full")
    assert "Python" in first["machine"]
    assert (first["larger_is_better"], second["larger_is_better"]) == ([], ["fit"])
    assert {"date", "commit", "program"} < set(first)
