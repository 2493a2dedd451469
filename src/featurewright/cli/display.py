"""What is shown on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from featurewright.expressions.text import printable, shorten

if TYPE_CHECKING:
    from featurewright.auto.text import Block


def plain(text: object, length: int = 200, style: str = "") -> Text:
    """Make text of data: no markup in it counts, and nothing in it steers the terminal."""
    return Text(printable(shorten(str(text), length)), style=style)


def counted(number: int, thing: str) -> str:
    """Return a number and what it counts, in the plural where it is not 1."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def say(console: Console, text: object, style: str = "") -> None:
    """Print one line, however long: it may hold a path that somebody copies."""
    console.print(plain(text, 1000, style), soft_wrap=True, highlight=False)


_TITLE_WIDTH = 76  # characters of a title in one line, at most
_WIDE = 120  # characters that a table with all columns needs


def table_of(title: str, *columns: str, numbers: int = 0) -> Table:
    """Return an empty table whose last `numbers` columns are aligned to the right."""
    # Titles are broken where the table ends: one of few columns is as wide as its title.
    width = min(len(title), _TITLE_WIDTH)
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE, min_width=width
    )
    for position, column in enumerate(columns):
        right = position >= len(columns) - numbers
        table.add_column(
            column, justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    return table


def add_row(table: Table, *cells: object, style: str = "") -> None:
    """Add a row of data to a table."""
    table.add_row(*(plain(cell) for cell in cells), style=style)


STYLES = {"": "", "good": "bold green", "warning": "yellow", "quiet": "dim"}
"""How lines are drawn, by what they are meant as."""


def show(console: Console, blocks: Iterable[Block]) -> None:
    """Show lines and tables of `featurewright.auto.text`."""
    from featurewright.auto.text import Line

    after_line = False
    for block in blocks:
        if isinstance(block, Line):
            console.print(plain(block.text, 1000, STYLES[block.style]), highlight=False)
            after_line = True
            continue
        if after_line:  # a table ends with an empty line itself
            console.print()
        after_line = False
        table = table_of(block.title, *block.columns, numbers=block.n_numbers)
        for place, row in enumerate(block.rows):
            add_row(table, *row, style="bold" if place == block.strong else "")
        console.print(table)


def show_history(console: Console, summary: dict[str, Any]) -> None:
    """Show every method tried; scores where the console is wide."""
    from featurewright.auto.text import give_or_take

    wide = console.width >= _WIDE
    numbers = ("columns", "folds", "score", "gain") if wide else ("columns", "folds", "gain")
    names = ("method", "outcome", *numbers, "seconds")
    table = table_of("Methods tried", *names, numbers=len(numbers) + 1)
    for method in summary["methods"]:
        gain = give_or_take(method["gain_text"], method["gain_error_text"])
        cells = {
            "method": method["shown"],
            "outcome": method["status"],
            "columns": "" if method["n_features"] is None else method["n_features"],
            "folds": method["n_folds"] or "",
            "score": give_or_take(method["mean_text"], method["std_text"]),
            "gain": "" if method["is_original"] else gain,
            "seconds": f"{method['seconds']:.1f}",
        }
        if wide and method["reason"]:
            cells["outcome"] += f": {method['reason']}"
        style = "bold" if method["is_best"] else ""
        add_row(table, *(cells[name] for name in names), style=style)
    console.print(table)
    reasons = dict.fromkeys(m["reason"] for m in summary["methods"] if m["reason"] and not wide)
    for reason in reasons:
        those = [m["shown"] for m in summary["methods"] if m["reason"] == reason]
        console.print(plain(f"{reason.capitalize()}: {'; '.join(those)}."))
    console.print(
        plain("Compare scores and gains only between methods with the same number of folds.")
    )


def show_lines(console: Console, *lines: RenderableType) -> None:
    """Print lines one after the other."""
    for line in lines:
        console.print(line, highlight=False)
