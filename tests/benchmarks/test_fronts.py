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
    options = argparse.Namespace(write=tmp_path / "s.md", size="full", full=True, check=True)
    with pytest.raises(SystemExit) as left:
        finish_lines("Title", "Words.", lines, options)
    assert left.value.code == 1
    text = (tmp_path / "s.md").read_text()
    assert "1 of 2 bars hold." in text
    assert "- Missed: slow." in text
    options.check = False
    with pytest.raises(SystemExit) as left:
        finish_lines("Title", "Words.", lines, options)
    assert left.value.code == 0
    assert sys.executable not in text
