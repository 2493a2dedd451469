"""Columns of text that were meant as numbers: what can be read is a number, the rest missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from featurewright.expressions.domains import Domain
from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.expressions.text import shorten
from featurewright.tables.columns import Content, content_of, encode_column

_MISSING_WORDS = frozenset(
    ("", "-", "--", ".", "?", "n/a", "na", "nan", "nil", "none", "null", "missing", "unknown")
)
_MAX_MISSING_SHARE = 0.5  # of the cells, that are words for a missing value
_MAX_ODD_SHARE = 0.1  # of the cells, that are anything else but numbers
_MIN_NUMBERS = 11  # different whole numbers: fewer may be labels, and are as good as such
_CODE = re.compile(r"[-+]?0\d+$")  # such as 007: a name
_MONEY = r"[$€£¥₹]?"
_AMOUNT = re.compile(  # such as $1,234.50, 12.5%, (300) or 85 kg
    rf"\(?{_MONEY}\s?[-+]?\s?{_MONEY}\s?(?P<digits>\d{{1,3}}([,'\u00a0\u202f]\d{{3}})+|\d+)?(\.\d+)?"
    r"(?P<unit>\s?[^\d\s,.'()]*)\)?"
)
_MAX_AMOUNT = 40  # characters; longer texts are no amounts


@dataclass(frozen=True)
class OddCells:
    """The cells of a column of numbers that are none.

    Parameters
    ----------
    count : int
        How many there are.
    example : str
        The first of their texts, in alphabetical order.
    """

    count: int
    example: str


def number_of(label: object) -> float:
    """Return the number that a label is written as; NaN where it is none.

    Examples
    --------
    >>> number_of(" 1.5 "), number_of("1.234 EUR"), number_of(2)
    (1.5, nan, 2.0)
    """
    text = str(label)
    if "_" in text:  # Python reads 1_000 as a number, data does not mean one
        return np.nan
    try:
        number = float(text)
    except ValueError:
        return np.nan
    return number if abs(number) <= FLOAT_MAX else np.nan


def find_numbers(labels: Sequence[object], codes: NDArray[np.float64]) -> OddCells | None:
    """Return the cells of a column of labels that are no numbers; None where it has labels.

    A column is of numbers if all but a few cells are, and they differ too much to be classes.

    Parameters
    ----------
    labels : sequence
        The labels of the column.
    codes : ndarray of shape (n_rows,)
        Which of them each row has; NaN for none.

    Returns
    -------
    OddCells or None
        Cells that are missing once the others are numbers.

    Examples
    --------
    >>> find_numbers(["1.5", "2.25", "?"], np.array([0.0, 1.0, 2.0, 0.0]))
    OddCells(count=1, example='?')
    >>> find_numbers(["1", "2", "3"], np.array([0.0, 1.0, 2.0])) is None
    True
    """
    if any(isinstance(label, bool | bytes) or _CODE.match(str(label)) for label in labels):
        return None
    values = np.array([number_of(label) for label in labels])
    is_odd = np.isnan(values)
    known = values[~is_odd]
    if len(np.unique(known)) < 2:
        return None
    if len(np.unique(known)) < _MIN_NUMBERS and np.all(known == np.floor(known)):
        return None
    cells = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(labels))
    words = np.array([str(label).strip().lower() in _MISSING_WORDS for label in labels])
    n_cells, n_odd = int(cells.sum()), int(cells[is_odd].sum())
    n_words = int(cells[is_odd & words].sum())
    if n_odd - n_words > _MAX_ODD_SHARE * n_cells or n_words > _MAX_MISSING_SHARE * n_cells:
        return None
    all_text = not n_odd and all(isinstance(label, str) for label in labels)
    if all_text and np.all(known == np.floor(known)):
        return None  # somebody may have made labels of whole numbers on purpose
    odd = [str(label) for label, is_no_number in zip(labels, is_odd, strict=True) if is_no_number]
    return OddCells(n_odd, odd[0] if odd else "")


def find_amounts(labels: Sequence[object], codes: NDArray[np.float64]) -> str | None:
    """Return a label of a column whose cells are numbers with signs, which nobody reads as numbers.

    Such as amounts of money, thousands with commas, percentages, or numbers with the same unit.
    They must differ too much to be classes.

    Parameters
    ----------
    labels : sequence
        The labels of the column.
    codes : ndarray of shape (n_rows,)
        Which of them each row has; NaN for none.

    Returns
    -------
    str or None
        The first of them that Python does not read as a number; None where the column is of others.

    Examples
    --------
    >>> rates = [f"{rate / 2}%" for rate in range(11)]
    >>> find_amounts(rates, np.arange(11.0))
    '0.0%'
    >>> find_amounts([f"shop {number}" for number in range(11)], np.arange(11.0)) is None
    True
    """
    texts = [label.strip() if isinstance(label, str) else "" for label in labels]
    found = [_AMOUNT.fullmatch(own) if len(own) <= _MAX_AMOUNT else None for own in texts]
    is_number = [
        match is not None and match["digits"] is not None and not _CODE.match(match["digits"])
        for match in found
    ]
    if sum(is_number) < _MIN_NUMBERS:
        return None
    cells = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(labels))
    by_unit: dict[str, int] = {}
    for match, count, good in zip(found, cells, is_number, strict=True):
        if match is not None and good:
            unit = match["unit"].strip()
            by_unit[unit] = by_unit.get(unit, 0) + int(count)
    if max(by_unit.values()) < (1.0 - _MAX_ODD_SHARE) * int(cells.sum()):
        return None
    amounts = [str(own) for own, good in zip(labels, is_number, strict=True) if good]
    return next((own for own in amounts if np.isnan(number_of(own))), None)


def read_numbers_as_text(name: str, series: nw.Series) -> NDArray[np.float64]:
    """Return a column as numbers; what is none is missing.

    Examples
    --------
    >>> import polars as pl
    >>> series = nw.from_native(pl.Series("a", ["1.5", "n/a", None]), series_only=True)
    >>> read_numbers_as_text("a", series)
    array([1.5, nan, nan])
    """
    if content_of(name, series) is not Content.LABELS:
        return encode_column(name, series, Domain.REAL, None)
    missing = series.is_null().to_list()
    numbers: dict[object, float] = {}
    out = np.full(len(series), np.nan)
    for row, (value, gap) in enumerate(zip(series.to_list(), missing, strict=True)):
        if not gap:
            if value not in numbers:
                numbers[value] = number_of(value)
            out[row] = numbers[value]
    return out


def tell_of_numbers(found: dict[str, OddCells], n_rows: int) -> str:
    """Return a sentence on columns that were read as numbers.

    Examples
    --------
    >>> tell_of_numbers({"debt": OddCells(2, "n/a")}, 600)
    "Read as numbers: 'debt' (2 of 600 cells, such as 'n/a', are not numbers and count as missing)."
    """
    told = []
    for name, odd in list(found.items())[:3]:
        which = f", such as {shorten(odd.example, 40)!r}," if odd.count else ""
        verb = "is not a number and counts" if odd.count == 1 else "are not numbers and count"
        cells = f"{odd.count:,} of {n_rows:,} cells{which} {verb} as missing"
        told.append(f"{name!r} ({cells if odd.count else 'its cells are text'})")
    more = f" and {len(found) - 3:,} more columns" if len(found) > 3 else ""
    return f"Read as numbers: {', '.join(told)}{more}."


def tell_of_amounts(found: dict[str, str]) -> str:
    """Return a sentence on columns of numbers with signs, which are used as labels.

    Examples
    --------
    >>> tell_of_amounts({"rate": "10.65%"})
    "Read as labels: 'rate' (such as '10.65%'). Without the signs they are read as numbers."
    """
    told = [f"{name!r} (such as {shorten(text, 40)!r})" for name, text in list(found.items())[:3]]
    more = f" and {len(found) - 3:,} more columns" if len(found) > 3 else ""
    return f"Read as labels: {', '.join(told)}{more}. Without the signs they are read as numbers."
