"""Every link inside the built site leads to a page and to an anchor that is there."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parents[1] / "_build" / "html"
MADE_BY_SCRIPTS = {"genindex.html", "search.html", "py-modindex.html"}


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag refers to and what it is called."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            elif value and name in ("id", "name"):
                self.anchors.add(value)


@cache
def read(path: Path) -> Page:
    return Page(path)


def broken(path: Path) -> list[str]:
    found = []
    for link in read(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link in ("#", ""):
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file() or (
            parts.fragment
            and target.suffix == ".html"
            and unquote(parts.fragment) not in read(target).anchors
        ):
            found.append(link)
    return found


def test_links_inside_the_site():
    pages = [path for path in SITE.rglob("*.html") if "_static" not in path.parts]
    assert len(pages) > 100
    assert {
        str(path.relative_to(SITE)): bad
        for path in pages
        if path.name not in MADE_BY_SCRIPTS and (bad := broken(path))
    } == {}


def test_nothing_is_fetched_from_elsewhere():
    pages = [path for path in SITE.rglob("*.html") if "_static" not in path.parts]
    foreign = {
        f"{path.relative_to(SITE)}: {line.strip()}"
        for path in pages
        for line in path.read_text(encoding="utf-8").splitlines()
        if 'src="http' in line or ("<link" in line and "stylesheet" in line and "http" in line)
    }
    assert foreign == set()
