"""Pages of results: stamps, sizes, and the page of all of them."""

from __future__ import annotations

import argparse
import platform
import re
from pathlib import Path

import pages
import pytest
import results_page
from pages import (
    choose_page,
    command_of,
    machine,
    read_stamp,
    settle_page,
    size_of,
    stamp,
    write_page,
)

ROOT = Path(__file__).parents[2]


def test_a_stamp_is_read_back():
    line = stamp("full", "python benchmarks/x.py --full", "2030-01-02")
    found = read_stamp(f"# Title\n\ntext\n\n{line}\n")
    assert found["size"] == "full"
    assert found["date"] == "2030-01-02"
    assert found["command"] == "python benchmarks/x.py --full"
    assert found["machine"] == machine()
    assert read_stamp("# Title") == {}


def test_the_machine_has_no_names():
    text = machine()
    assert re.match(r"\d+ cores", text)
    assert "Python 3" in text
    assert "scikit-learn " in text
    assert "/" not in text
    host = platform.node()
    assert not host or host not in text


def test_the_command_has_no_folders(tmp_path):
    words = [
        str(tmp_path / "papers.py"),
        "--full",
        "--write",
        str(tmp_path / "a.md"),
        "--jobs",
        "2",
    ]
    assert command_of(words) == "python benchmarks/papers.py --full --jobs 2"


def test_a_small_run_does_not_take_the_place_of_a_large_one(tmp_path):
    path = tmp_path / "some.md"
    assert choose_page(path, "quick") == path
    write_page(path, "# Some", "quick")
    assert choose_page(path, "full") == path
    write_page(path, "# Some", "full")
    assert choose_page(path, "full") == path
    assert choose_page(path, "quick").parent.name == "results"
    assert choose_page(path, "quick") != path
    assert choose_page(path, "quick", replace=True) == path
    assert [found.name for found in tmp_path.iterdir()] == ["some.md"]


def test_a_custom_run_takes_no_place_that_is_taken(tmp_path):
    path = tmp_path / "some.md"
    assert choose_page(path, "custom") == path
    path.write_text("# Some, without a stamp\n", encoding="utf-8")
    assert choose_page(path, "quick") == path
    assert choose_page(path, "custom") != path
    write_page(path, "# Some", "custom")
    assert choose_page(path, "custom") != path
    assert choose_page(path, "quick") != path
    assert choose_page(path, "full") == path
    assert choose_page(path, "custom", replace=True) == path


def test_the_size_of_a_run():
    assert size_of(False, ["--quick", "--jobs", "2", "--write=a.md"]) == "quick"
    assert size_of(True, ["--full", "--reuse"]) == "full"
    assert size_of(True, ["--full", "--sets", "iris"]) == "custom"
    assert size_of(False, ["--max-minutes", "1"]) == "custom"


def test_settle_page(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "PAGES", tmp_path)
    monkeypatch.setattr("sys.argv", ["x.py", "--quick"])
    options = argparse.Namespace(full=False, write=None, replace=False)
    settle_page(options, "some")
    assert (options.size, options.write) == ("quick", tmp_path / "some.md")
    assert pages.image(options, "curve") == tmp_path / "some_curve.png"
    assert pages.shown(tmp_path / "a.png", "words") == "![words](a.png)"


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "results"
    found.mkdir()
    (found / "speed.md").write_text(f"# Speed\n\n## Part\n\n![x](s.png)\n\n{stamp('full', 'c')}\n")
    (found / "paths.md").write_text("# Paths\n\n```\n# not a heading\n```\n")
    (found / "zoo.md").write_text("# Zoo\n")
    return found


def test_the_page_of_all(folder):
    text = results_page.build(folder)
    assert text == results_page.build(folder)
    chapters = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert chapters == ["The publications", "Speed", "More measurements"]
    assert re.findall(r"^#{3,} .+$", text, re.MULTILINE) == [
        "### Paths",
        "### Speed",
        "#### Part",
        "### Zoo",
    ]
    assert "\n# not a heading\n" in text
    assert "![x](results/s.png)" in text
    assert "- [Speed](#speed): full run" in text
    assert "- [Paths](#paths): run not recorded" in text
    assert machine() in text
    target = folder.parent / "results.md"
    results_page.write_results(folder, target)
    assert target.read_text() == text


def test_the_page_of_this_repository_is_up_to_date():
    written = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert written == results_page.build(), "run: python benchmarks/results_page.py"


@pytest.mark.parametrize("argument", ["--help", "--check", "--nonsense"])
def test_nothing_is_written_but_when_asked(argument, tmp_path, monkeypatch, capsys):
    target = tmp_path / "results.md"
    target.write_text("old")
    monkeypatch.setattr(results_page, "TARGET", target)
    monkeypatch.setattr("sys.argv", ["results_page.py", argument])
    with pytest.raises(SystemExit) as ended:
        results_page.main()
    assert bool(ended.value.code) == (argument != "--help")
    assert target.read_text() == "old"
    said = capsys.readouterr()
    assert "--check" in said.out + said.err + str(ended.value.code)


def test_plots_of_this_repository_are_small():
    for path in (ROOT / "docs" / "results").glob("*.png"):
        assert path.stat().st_size < 100_000, path.name


@pytest.mark.parametrize("name", results_page.FINDINGS)
def test_the_findings_of_this_repository_are_found(name):
    text = (ROOT / "docs" / "results" / f"{name}.md").read_text(encoding="utf-8")
    assert re.search(r"\d", results_page.findings(name, text))
