"""The three commands: their parts exist, run one after the other, and failures are told."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import bench
import compare
import front
import papers
import pytest
from front import add_front_options, run_parts

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("module", [papers, bench, compare])
def test_every_part_is_a_program(module):
    for script, *_ in module.PARTS.values():
        assert (BENCHMARKS / script).is_file(), script


def test_sizes_and_what_follows(tmp_path, monkeypatch):
    parser = argparse.ArgumentParser()
    parts = {"good": ("good.py", "--own"), "bad": ("bad.py",)}
    add_front_options(parser, parts, "minutes", "hours")
    assert parser.parse_args([]).size == "quick"
    monkeypatch.setattr(front, "HERE", tmp_path)
    written = []
    monkeypatch.setattr(front, "write_results", lambda: written.append(True))
    log = tmp_path / "log"
    (tmp_path / "good.py").write_text(
        f"import sys\nopen({str(log)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')"
    )
    (tmp_path / "bad.py").write_text("raise SystemExit(3)")
    options = parser.parse_args(["--full", "--", "--jobs", "1"])
    assert run_parts(parts, options, ["--check"]) == 1
    options = parser.parse_args(["--only", "good"])
    assert run_parts(parts, options) == 0
    assert log.read_text().splitlines() == ["--full --own --check --jobs 1", "--quick --own"]
    assert written == [True, True]


def test_stopping_ends_all(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(front.subprocess, "run", stop)
    monkeypatch.setattr(front, "write_results", lambda: pytest.fail("was stopped"))
    options = argparse.Namespace(only=["a"], size="quick", more=[])
    assert run_parts({"a": ("a.py",)}, options) == 130


def test_a_bar_that_is_missed(tmp_path):
    from speed import Line, finish_lines

    lines = [Line("slow", "2 s", "1 s", 2.0, 1.0), Line("many", "", "", 9.0, 8.0, at_least=True)]
    options = argparse.Namespace(
        write=tmp_path / "s.md", history=tmp_path / "h.jsonl", size="full", full=True, check=True
    )
    with pytest.raises(SystemExit) as left:
        finish_lines("Title", "Words.", lines, options)
    assert left.value.code == 1
    assert '"ratios": {"slow": 2.0, "many": 9.0}' in options.history.read_text()
    text = (tmp_path / "s.md").read_text()
    assert "1 of 2 bars hold." in text
    assert "- Missed: slow." in text
    options.check = False
    with pytest.raises(SystemExit) as left:
        finish_lines("Title", "Words.", lines, options)
    assert left.value.code == 0
    assert sys.executable not in text


def test_nothing_measured_is_no_pass(tmp_path):
    from speed import finish_lines

    options = argparse.Namespace(write=tmp_path / "s.md", size="full", full=True, check=True)
    with pytest.raises(SystemExit) as left:
        finish_lines("Title", "Words.", [], options)
    assert left.value.code == 1


def test_what_is_known_of_missed_bars():
    from speed import LARGE, Line, known_reasons

    two = "Extra-Trees, 2 threads"
    lines = [
        Line("Extra-Trees, 1 thread", "2 s", "2 s", 1.0, 1.0),
        Line(two, "1.1 s", "1 s", 1.1, 1.0),
        Line("row × candidate, a", "", "", 3.0, 2.0, " ns"),
        Line("row × candidate, a" + LARGE, "", "", 1.8, None, " ns"),
    ]
    said = known_reasons(lines)
    assert "all nodes take 1.50 to 1.50 times of it" in said
    assert "rows and more 0.90 to 0.90 times" in said
    assert f"{two}: holds with one thread (1.00×)" in said
    assert "ours 1.82 times as fast and theirs 2.00 times" in said
    assert known_reasons(lines[:1]) == ""


def test_small_ratios_are_not_zero():
    from speed import Line

    assert Line("", "", "", 0.00076, None).cells()[3] == "0.00076×"
    assert Line("", "", "", 1.2345, None).cells()[3] == "1.23×"


def test_growth_is_judged_by_the_power_of_rows():
    from speed_growth import row_lines

    steep = {
        "our forest, plain": [(10, 1.0), (100, 100.0)],
        "sklearn forest": [(10, 1.0), (100, 9.0)],
    }
    ours, theirs = row_lines({"rows": steep})
    assert ours.number == pytest.approx(2.0)
    assert not ours.passed
    assert theirs.bar is None
