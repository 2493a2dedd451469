"""What is shown on the terminal."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from featurewright.expressions.text import printable, shorten

N_FORMULAS = 10


def plain(text: object, length: int = 200, style: str = "") -> Text:
    """Make text of data: no markup in it counts, and nothing in it steers the terminal."""
    return Text(printable(shorten(str(text), length)), style=style)


def counted(number: int, thing: str) -> str:
    """Say how many there are of something."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def say(console: Console, text: object, style: str = "") -> None:
    """Print one line, however long: it may hold a path that somebody copies."""
    console.print(plain(text, 1000, style), soft_wrap=True, highlight=False)


_WIDE = 120  # characters that a table with all columns needs


def table_of(title: str, *columns: str, numbers: int = 0) -> Table:
    """Begin a table; the last columns, as many as said, hold numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE)
    for position, column in enumerate(columns):
        right = position >= len(columns) - numbers
        table.add_column(
            column, justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    return table


def add_row(table: Table, *cells: object, style: str = "") -> None:
    """Add a row of data to a table."""
    table.add_row(*(plain(cell) for cell in cells), style=style)


def give_or_take(text: str, spread: str) -> str:
    """Write a figure with its spread, where it has one."""
    return f"{text} ± {spread}" if spread else text


def show_result(console: Console, summary: dict[str, Any]) -> None:
    """Show the verdict, scores before and after, and the best formulas."""
    style = "yellow" if summary["verdict"]["keep_original"] else "green"
    console.print(plain(summary["verdict"]["sentence"], 400, f"bold {style}"))
    show_estimators(console, summary)
    show_features(console, summary, N_FORMULAS)
    show_left_out(console, summary)


def show_estimators(console: Console, summary: dict[str, Any]) -> None:
    """Show each model with and without the features."""
    if not summary["estimators"]:
        return
    better = "lower" if summary["score"]["lower_is_better"] else "higher"
    table = table_of(
        f"Held-out {summary['score']['name']} ({better} is better)",
        "model",
        "original columns",
        "with features",
        "gain",
        numbers=3,
    )
    for entry in summary["estimators"]:
        before, after = entry["before"], entry["after"]
        add_row(
            table,
            entry["name"],
            give_or_take(before["text"], before["spread_text"]),
            give_or_take(after["text"], after["spread_text"]),
            give_or_take(entry["gain_text"], entry["gain_error_text"]),
        )
    console.print(table)
    console.print(plain(summary["measured"], 400, "dim"))


def show_features(console: Console, summary: dict[str, Any], most: int | None = None) -> None:
    """Show the formulas that were worth most."""
    features = summary["features"]
    if features:
        shown = features if most is None else features[:most]
        of = f" (the best {len(shown)} of {len(features)})" if len(shown) < len(features) else ""
        holes = any(feature["undefined_text"] for feature in shown)
        titles = ("formula", "gain", "undefined")[: 2 + holes]
        table = table_of(f"Formulas{of}", *titles, numbers=1 + holes)
        for feature in shown:
            cells = [feature["name"], f"{feature['gain']:.3g}", feature["undefined_text"]]
            add_row(table, *cells[: 2 + holes])
        console.print(table)
        told = "gain: the share of the target that a formula explains beyond those above it."
        if holes:
            told += " undefined: the share of rows where it is, and has its median instead."
        console.print(plain(told, 200, "dim"))
    others = summary["columns"]
    if others:
        made = sorted({column["source"] for column in others})
        more = "more " if features else ""
        columns = counted(len(others), f"{more}constructed column")
        console.print(plain(f"{columns}, by {', '.join(made)}."))
        if not features:
            console.print(plain("They are no formulas: --methods readable looks for those alone."))


def show_history(console: Console, summary: dict[str, Any]) -> None:
    """Show every method tried, and the columns left out; scores where the console is wide."""
    wide = console.width >= _WIDE
    numbers = ("columns", "folds", "score", "gain") if wide else ("columns", "folds", "gain")
    names = ("method", "outcome", *numbers, "seconds")
    table = table_of("Methods tried", *names, numbers=len(numbers) + 1)
    for method in summary["methods"]:
        gain = give_or_take(method["gain_text"], method["gain_error_text"])
        cells = {
            "method": "original columns" if method["is_original"] else method["name"],
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
        those = [m["name"] for m in summary["methods"] if m["reason"] == reason]
        console.print(plain(f"{reason.capitalize()}: {'; '.join(those)}."))
    console.print(
        plain("Compare scores and gains only between methods with the same number of folds.")
    )
    show_left_out(console, summary)


def show_left_out(console: Console, summary: dict[str, Any]) -> None:
    """Show the columns that were not used, and why."""
    if summary["left_out"]:
        table = table_of("Columns left out", "column", "why")
        for column in summary["left_out"]:
            add_row(table, column["name"], column["reason"])
        console.print(table)


def show_lines(console: Console, *lines: RenderableType) -> None:
    """Print lines one after the other."""
    for line in lines:
        console.print(line, highlight=False)
