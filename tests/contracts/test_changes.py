"""The page that says which files a change touches: they exist, and nothing else names the thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "featurewright"
PAGE = (ROOT / "docs" / "changes_by_file.md").read_text(encoding="utf-8")
SOURCES = {
    str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}


def changes() -> dict[str, list[list[str]]]:
    """Return what is quoted in the other cells of each row, by the first cell."""
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| ")][1:]
    return {
        first.strip(): [re.findall("`([^`]+)`", cell) for cell in rest] for first, *rest in rows
    }


CHANGES = changes()


def test_there_are_ten():
    assert len(CHANGES) == 10


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_touches_what_the_page_says(change):
    sources, tests, names = CHANGES[change]
    assert [name for name in sources if not (PACKAGE / name).is_file()] == []
    assert tests
    assert [name for name in tests if not (ROOT / name).is_file()] == []
    assert names
    for name in names:
        users = {path for path, text in SOURCES.items() if re.search(rf"\b{name}\b", text)}
        assert users, f"{name} is nowhere: name something of today"
        assert users <= set(sources), f"{name} is in other files too"
