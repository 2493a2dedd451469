"""What a search found, as lines and tables: the same for the terminal and for Python.

The content is made here once. The command line draws it in colour, `as_text` as plain text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from featurewright.auto.score_text import Score
from featurewright.expressions.text import printable, shorten

N_FORMULAS = 10
"""Formulas that are shown of a search."""

_FEW_FORMULAS = 5  # at most, in the example of fewer formulas
_MAX_CELL = 200  # characters of a cell
_MIN_TEXT_WIDTH = 12  # characters that a column of text has at least
_GAP = "  "


@dataclass(frozen=True)
class Line:
    """A sentence or two.

    Parameters
    ----------
    text : str
        What it says.
    style : {"", "good", "warning", "quiet"}
        How it is meant.
    """

    text: str
    style: str = ""


@dataclass(frozen=True)
class Grid:
    """A table.

    Parameters
    ----------
    title : str
        What it shows.
    columns : tuple of str
        Headings.
    rows : sequence of tuple of str
        The cells.
    n_numbers : int
        How many of the last columns hold numbers.
    strong : int or None
        The row that stands out.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    n_numbers: int = 0
    strong: int | None = None


Block = Line | Grid


def result_blocks(summary: dict[str, Any], *, python: bool = False) -> Iterator[Block]:
    """Yield what is told of a search: verdict, scores, formulas, front, what was left out.

    Parameters
    ----------
    summary : dict
        What `summarize` returned.
    python : bool, default=False
        Whether hints name parameters of `AutoFeatures`; else options of the command line.

    Yields
    ------
    Line or Grid
        In the order in which they are shown.
    """
    yield from inspection_blocks(summary, N_FORMULAS, python=python)
    yield from left_out_blocks(summary)


def inspection_blocks(
    summary: dict[str, Any], most: int | None = None, *, python: bool = False
) -> Iterator[Block]:
    """Yield the same but for what was left out, with all formulas by default."""
    verdict = summary["verdict"]
    yield Line(verdict["sentence"], "good" if verdict["helps"] else "warning")
    if summary["cut_short"]:
        yield Line(summary["cut_short"], "warning")
    yield Line(target_line(summary, python=python))
    yield from estimator_blocks(summary)
    yield from feature_blocks(summary, most, python=python)
    yield from front_blocks(summary, python=python)
    yield from refused_blocks(summary)


def told(event: dict[str, Any]) -> str:
    """Return what a search says of its progress: what was tried, and what is best so far.

    Scores on the way are of the folds so far, at first on few rows. Those at the end are those of
    the verdict.
    """
    best, score = event["best_method"], Score(event["scoring"])
    before, after = score.text(event["baseline"]), score.text(event["best_score"])
    n_folds = event["n_folds"]
    folds = f"mean{'s' * (n_folds != 1)} of {n_folds} fold{'s' * (n_folds != 1)}"
    if event["stage"] == "done":
        if best == "original":
            return "finished; chosen: the original columns"
        return (
            f"finished; chosen: {best}, {score.name} {after}, original {before} ({folds}, "
            "corrected for choosing)"
        )
    on = f"{folds} with up to {event['n_rows']:,} training rows"
    tried = f"{event['method']}, {event['stage']}"
    if best == "original":
        return f"{tried}; nothing better yet than the original columns ({before}; {on})"
    return f"{tried}; best so far: {best} {after}, original {before} ({on})"


def target_line(summary: dict[str, Any], *, python: bool | None = False) -> str:
    """Return a sentence on what the target was taken for, and how to change that.

    A reader of a page, with `python=None`, may use either Python or the command line.
    """
    other = summary["taken_for"]["other"]
    sentence = str(summary["taken_for"]["text"])
    if other is None:
        return f"{sentence}."
    ways = [f'task="{other}"'] * (python is not False) + [f"--task {other}"] * (not python)
    return f"{sentence}; {' or '.join(ways)} changes that."


def give_or_take(text: str, spread: str) -> str:
    """Return a figure with its spread, where it has one."""
    return f"{text} ± {spread}" if spread else text


def estimator_blocks(summary: dict[str, Any]) -> Iterator[Block]:
    """Yield each model with and without the features."""
    if not summary["estimators"]:
        return
    better = "lower" if summary["score"]["lower_is_better"] else "higher"
    heads: tuple[str, ...] = ("model", "original columns", "with features", "gain")
    rows: list[tuple[str, ...]] = [
        (
            entry["name"],
            give_or_take(entry["before"]["text"], entry["before"]["spread_text"]),
            give_or_take(entry["after"]["text"], entry["after"]["spread_text"]),
            give_or_take(entry["gain_text"], entry["gain_error_text"]),
        )
        for entry in summary["estimators"]
    ]
    if summary["verdict"]["keep_original"]:  # there are no features to compare with
        heads, rows = heads[:2], [row[:2] for row in rows]
    title = f"Held-out {summary['score']['name']} ({better} is better)"
    yield Grid(title, heads, rows, len(heads) - 1)
    yield Line(summary["measured"], "quiet")


def feature_blocks(
    summary: dict[str, Any], most: int | None = None, *, python: bool = False
) -> Iterator[Block]:
    """Yield the formulas that were worth most, and how many other columns there are."""
    features = summary["features"]
    if features:
        shown = features if most is None else features[:most]
        of = f" (the best {len(shown)} of {len(features)})" if len(shown) < len(features) else ""
        texts = {
            "formula": [feature["name"] for feature in shown],
            "in words": [feature["words"] for feature in shown],
            "gain": [f"{feature['gain']:.3g}" for feature in shown],
            "found again": [feature["stability_text"] for feature in shown],
            "undefined": [feature["undefined_text"] for feature in shown],
        }
        kept = {name: cells for name, cells in texts.items() if any(cells)}
        rows = list(zip(*kept.values(), strict=True))
        yield Grid(f"Formulas{of}", tuple(kept), rows, len(kept) - 2)
        told = "gain: the share of the target's variation that a formula adds to those above it."
        if "found again" in kept:
            told += " found again: the share of folds that found it, or one much like it."
        if "undefined" in kept:
            told += " undefined: the share of rows without a value, which get the median instead."
        yield Line(told, "quiet")
        if summary["links"]:
            used = {name for feature in shown for name in feature["inputs"]}
            words = [(e["name"], e["meaning"]) for e in summary["links"] if e["name"] in used]
            yield Grid("Columns over links in these formulas", ("column", "what it is"), words)
    yield from other_columns(summary, python=python)


def other_columns(summary: dict[str, Any], *, python: bool = False) -> Iterator[Line]:
    """Yield how many constructed columns are not formulas, and how to get formulas only."""
    others, more = summary["columns"], "more " if summary["features"] else ""
    if not others:
        return
    made = ", ".join(sorted({column["source"] for column in others}))
    yield Line(f"{len(others):,} {more}constructed column{'s' * (len(others) != 1)}, by {made}.")
    if not more:
        what = "It is not a formula" if len(others) == 1 else "They are not formulas"
        how = 'methods="readable"' if python else "--methods readable"
        yield Line(f"{what}: {how} searches for formulas only.")


def front_blocks(summary: dict[str, Any], *, python: bool = False) -> Iterator[Block]:
    """Yield the held-out score by number of formulas."""
    points = summary["front"]
    if len(points) < 2:
        return
    name = summary["score"]["name"]
    rows = [
        (
            str(point["n_formulas"]) if point["n_formulas"] else "none",
            give_or_take(point["text"], point["spread_text"]),
            give_or_take(point["gain_text"], point["gain_error_text"]) * bool(point["n_formulas"]),
            "chosen" * point["chosen"],
        )
        for point in points
    ]
    strong = next((place for place, point in enumerate(points) if point["chosen"]), None)
    titles = ("formulas", f"held-out {name}", "gain", "")
    yield Grid("How many formulas", titles, rows, 4, strong)
    if strong is None:
        kept = next((m["shown"] for m in summary["methods"] if m["is_best"]), "something else")
        yield Line(f"What was kept ({kept}) is not one of these.")
    told = summary["front_measured"]
    if not summary["verdict"]["keep_original"]:
        told += " The gain in the verdict is corrected for choosing among these."
    few = few_formulas(summary)
    if few is not None:
        how = f"limit({few}) gives a model with {few}"
        how = how if python else f"--max-formulas {few} keeps {few} at most"
        told += f" {how}."
    yield Line(told, "quiet")


def few_formulas(summary: dict[str, Any]) -> int | None:
    """Return a number of formulas that is small and less than was kept, as an example.

    None where nothing that was tried is less, or the original columns are kept.
    """
    points = summary["front"]
    most = next((p["n_formulas"] for p in points if p["chosen"]), _FEW_FORMULAS + 1)
    tried = [p["n_formulas"] for p in points if 1 <= p["n_formulas"] < most]
    return max((n for n in tried if n <= _FEW_FORMULAS), default=None)


def refused_blocks(summary: dict[str, Any]) -> Iterator[Block]:
    """Yield a sentence for each method that looked better than what was kept."""
    for sentence in summary["refused"]:
        yield Line(sentence, "warning")


def left_out_blocks(summary: dict[str, Any]) -> Iterator[Block]:
    """Yield the columns that were not used, and why."""
    if summary["left_out"]:
        rows = [(column["name"], column["reason"]) for column in summary["left_out"]]
        yield Grid("Columns left out", ("column", "why"), rows)


def as_text(blocks: Iterable[Block], width: int = 100) -> str:
    """Return lines and tables as plain text.

    Parameters
    ----------
    blocks : iterable of Line or Grid
        What is told.
    width : int, default=100
        Characters of a line.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> grid = Grid("Formulas", ("formula", "gain"), [("a * b", "0.5"), ("a", "0.04")], 1)
    >>> print(as_text([Line("Use them."), grid]))
    Use them.
    <BLANKLINE>
    Formulas
      formula  gain
      a * b     0.5
      a        0.04
    <BLANKLINE>
    """
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, Line):
            lines += textwrap.wrap(plain(block.text, 1000), width) or [""]
        else:
            gap = [""] * (not lines or lines[-1] != "")  # a table after a table has one already
            lines += [*gap, block.title, *_table(block, width), ""]
    return "\n".join(lines) + "\n"


def plain(text: object, length: int = _MAX_CELL) -> str:
    """Return text of data such that nothing in it steers a terminal."""
    return printable(shorten(str(text), length))


def _table(grid: Grid, width: int) -> Iterator[str]:
    """Yield the lines of a table; cells of text that are too long are wrapped."""
    cells = [grid.columns, *(tuple(plain(cell) for cell in row) for row in grid.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    n_texts = len(widths) - grid.n_numbers
    room = width - len(_GAP) * len(widths) - sum(widths[n_texts:])
    while sum(widths[:n_texts]) > max(room, _MIN_TEXT_WIDTH * n_texts):
        widest = widths.index(max(widths[:n_texts]))
        widths[widest] -= 1
    for row in cells:
        parts = [
            textwrap.wrap(cell, widths[place]) or [""] if place < n_texts else [cell]
            for place, cell in enumerate(row)
        ]
        for number in range(max(map(len, parts))):
            yield _aligned([_at(part, number) for part in parts], widths, n_texts)


def _at(part: Sequence[str], number: int) -> str:
    """Return a line of a cell; "" below its end."""
    return part[number] if number < len(part) else ""


def _aligned(cells: Sequence[str], widths: Sequence[int], n_texts: int) -> str:
    """Return a line of a table: text to the left, numbers to the right."""
    placed = [
        cell.ljust(width) if place < n_texts else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return (_GAP + _GAP.join(placed)).rstrip()
