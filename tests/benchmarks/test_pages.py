"""Pages of results: stamps, sizes, and the index of claims."""

from __future__ import annotations

import argparse
import platform
import re
from pathlib import Path

import pages
import pytest
import results_families
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
from tests.cases import loop_over

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
    assert command_of(["some.py", "--rows", "RF + step"]).endswith('--rows "RF + step"')


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
    row = "| import, against sklearn.ensemble | 2 s | 1 s | 2.00× | ≤ 1.3× | MISSED |"
    (found / "speed.md").write_text(
        f"# Speed\n\n{row}\n\n4 of 9 bars hold.\n\n{stamp('full', 'c')}\n"
    )
    (found / "auto_mixed.md").write_text(
        "# Mixed\n\n5 better, 2 within noise, 0 worse.\n\n"
        "3 results come from other code than today's.\n"
    )
    (found / "zoo.md").write_text("# Zoo\n")
    return found


def test_the_index_of_claims(folder):
    text = results_page.build(folder)
    assert text == results_page.build(folder)
    chapters = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert chapters == ["Speed", "AutoFeatures", "Without a claim"]
    assert "| mixed | 4 of 9 bars hold | [speed](results/speed.md) (full, " in text
    assert "| **fails** | 2.00× (bar: ≤ 1.3×) | [speed]" in text
    assert (
        "| holds | 5 better, 2 within noise, 0 worse "
        "| [auto_mixed](results/auto_mixed.md) (run not recorded; 3 results of older code) |"
        in text
    )
    assert "| not measured |  | [auto_mixed]" in text
    assert "- [zoo](results/zoo.md) (run not recorded)" in text
    target = folder.parent / "results.md"
    results_page.write_results(folder, target)
    assert target.with_name("claims.md").read_text() == text
    assert target.read_text() == results_page.shorten(folder)


def test_claims_of_one_kind_share_a_row(folder):
    (folder / "speed_boosting.md").write_text("# Boosting\n\n3 of 3 bars hold.\n")
    text = results_page.shorten(folder)
    assert (
        "| 1 of 2 hold | Speed and memory meet their bars, page by page | mixed: beside "
        "scikit-learn (4 of 9 bars hold)<br>holds: boosting beside LightGBM "
        "| [speed](results/speed.md), [speed_boosting](results/speed_boosting.md) |"
    ) in text
    assert "| holds | It makes estimators better, none worse | 5 better, 2 within noise" in text


def test_every_family_of_claims_is_there():
    claims = [claim.text for chapter in results_page.CHAPTERS.values() for claim in chapter]
    found = [results_page.family_of(text) for text in claims]
    titles = {title for title, _ in results_families.FAMILIES}
    assert titles <= {title for title, _ in found}
    assert all(case for title, case in found if title in titles)


@loop_over(
    ("verdict", "expected"),
    [
        (results_page.improves("3", "7", "0"), "holds"),
        (results_page.improves("3", "6", "1"), "mixed"),
        (results_page.improves("0", "10", "0"), "**fails**"),
        (results_page.wins_of_means("7-6-0", "1", "0", "12"), "holds"),
        (results_page.wins_of_means("6-7-0", "1", "0", "12"), "mixed"),
        (results_page.no_worse("0", "95", "5"), "holds"),
        (results_page.no_worse("0", "8", "2"), "mixed"),
        (results_page.no_worse("0", "7", "3"), "**fails**"),
        (results_page.as_published("5", "8", "7"), "mixed"),
        (results_page.near_zero("-0.3", "0.1"), "**fails**"),
        (results_page.every("0", "0", "1"), "**fails**"),
    ],
)
def test_rules_of_verdicts(verdict, expected):
    assert verdict == expected


def test_the_index_of_this_repository_is_up_to_date():
    for path, text in results_page.texts().items():
        assert path.read_text(encoding="utf-8") == text, "run: python benchmarks/results_page.py"


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


def test_every_claim_is_measured_in_this_repository():
    text = results_page.build()
    assert results_page.ABSENT not in text
    assert "## Without a claim" not in text
