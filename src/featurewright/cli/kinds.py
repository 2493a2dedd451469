"""Types of columns: found in text when a model is fitted, and kept when it is applied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import polars as pl

from featurewright.cli.errors import UserError
from featurewright.expressions import Domain

NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""Text that means a missing value in CSV files, unless told otherwise."""

_DECIMAL_COMMA = r"^[-+]?\d*,\d+$|^[-+]?\d+$"
_THOUSANDS = r"^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$"
_SURE_THOUSANDS = r",.*[,.]"
_CODE = r"^[-+]?0\d"


class Kind(Enum):
    """What a column holds, as a model was fitted on it."""

    NUMBERS = "numbers"
    BOOLEANS = "booleans"
    LABELS = "labels"
    ANYTHING = "anything"


def find_types(
    frame: pl.DataFrame, nulls: Iterable[str] = NULLS, delimiter: str = ","
) -> pl.DataFrame:
    """Turn columns of text into numbers and booleans where all their values are.

    Codes with leading zeros stay text, and so do dates: `AutoFeatures` reads those itself. A comma
    before three digits, as in 1,234, groups thousands in a file whose cells are separated by
    commas, and is a decimal comma in others.
    """
    missing = list(nulls)
    only_text = not any(_is_number(text) for text in missing)

    def typed(series: pl.Series) -> pl.Series:
        if series.dtype != pl.String:
            return series
        # Most columns of wide tables are plain numbers, and looking at one takes long enough.
        plain = _plain_numbers(series) if only_text else None
        return _found(with_nulls(series, missing), delimiter) if plain is None else plain

    return pl.DataFrame([typed(series) for series in frame.iter_columns()])


def _is_number(text: str) -> bool:
    """Whether a text means a number, and not that there is none."""
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _plain_numbers(series: pl.Series) -> pl.Series | None:
    """Read text as numbers; None where a value is no number, or may be a code."""
    numbers = series.cast(pl.Float64, strict=False)
    same = numbers.null_count() == series.null_count() < len(series)
    if not same or numbers.is_nan().any():
        return None
    if series.str.contains(".", literal=True).any():
        return numbers
    if series.str.contains(_CODE).any():
        return None
    whole = series.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == series.null_count() else numbers


def commas_in_numbers(texts: pl.DataFrame, found: pl.DataFrame) -> Iterator[str]:
    """Yield notices about numbers whose comma may group thousands or begin decimals."""
    numbers = {series.name: series for series in found.iter_columns() if series.dtype.is_numeric()}
    for series in texts.iter_columns():
        if series.dtype != pl.String or series.name not in numbers:
            continue
        if series.cast(pl.Float64, strict=False).null_count() == series.null_count():
            continue  # there is no comma in it
        either = series.str.contains(_THOUSANDS) & ~series.str.contains(_SURE_THOUSANDS)
        if either.any():
            text, number = series.filter(either)[0], numbers[series.name].filter(either)[0]
            yield f"Column {series.name!r}: {text!r} is read as the number {number:.15g}."


def with_nulls(series: pl.Series, nulls: Iterable[str]) -> pl.Series:
    """Take some texts for missing values."""
    return series.set(series.is_in(list(nulls)), None)


def _found(series: pl.Series, delimiter: str) -> pl.Series:
    """Find the type of a column of text."""
    present = series.drop_nulls()
    if present.is_empty():
        return series
    small = present.str.to_lowercase()
    if small.is_in(["true", "false"]).all():
        return series.str.to_lowercase() == "true"
    if present.str.contains(_CODE).any() and not present.str.contains("[.,]").any():
        return series
    numbers = _numbers(series, delimiter)
    if numbers is None:
        return series
    whole = series.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == series.null_count() else numbers


def _numbers(series: pl.Series, delimiter: str) -> pl.Series | None:
    """Read text as numbers, with commas too; None where a value is no number."""
    numbers = series.cast(pl.Float64, strict=False)
    if numbers.null_count() == series.null_count():
        return numbers
    present = series.drop_nulls()
    with_comma = present.filter(present.str.contains(",", literal=True))
    grouped = with_comma.str.contains(_THOUSANDS).all()
    if grouped and (delimiter == "," or with_comma.str.contains(_SURE_THOUSANDS).any()):
        numbers = series.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
        return numbers if numbers.null_count() == series.null_count() else None
    if not present.str.contains(_DECIMAL_COMMA).all():
        return None
    return series.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)


def kinds_of(model: Any) -> dict[str, Kind]:
    """Return what each column held that a model was fitted on."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not hasattr(model, "n_features_in_"):
        raise UserError(
            f"The {type(model).__name__} in the file is not fitted: fit it before it is saved."
        )
    if not names:
        raise UserError(
            "The model was fitted on a table without column names, so a file cannot be matched "
            "with it: fit it on a data frame or with `featurewright fit`."
        )
    kinds = dict.fromkeys(names, Kind.ANYTHING)
    reader = getattr(model, "reader_", None)
    schema = getattr(model, "_schema", None) if reader is None else reader.plain
    if schema is None:
        return kinds
    known = {
        Domain.REAL: Kind.NUMBERS,
        Domain.BOOLEAN: Kind.BOOLEANS,
        Domain.CATEGORY: Kind.LABELS,
    }
    linked = getattr(model, "linked_", None)
    # Keys that are no columns of the search are read as links read them.
    for own in (None if linked is None else linked.relational._layout.schema, schema):
        if own is None:
            continue
        for name, domain, levels in zip(own.names, own.domains, own.levels, strict=True):
            if levels != ():
                kinds[name] = known[Domain(domain)]
    # What is no number in these columns is missing, which the model finds itself.
    loose = () if reader is None else reader.numbers
    for name in (*loose, *(() if linked is None else linked.relational._layout.dates)):
        kinds[name] = Kind.ANYTHING
    return kinds


def keep_types(
    frame: pl.DataFrame,
    kinds: Mapping[str, Kind],
    nulls: Iterable[str] = NULLS,
    *,
    unused: Iterable[str] = (),
    delimiter: str = ",",
) -> pl.DataFrame:
    """Choose the columns of the fit, in its order and with its types.

    Columns the model does not use may be absent; they are empty then.
    """
    absent = [name for name in kinds if name not in frame.columns]
    refuse_absent(name for name in absent if name not in set(unused))
    missing = list(nulls)
    empty = pl.Series([None] * frame.height, dtype=pl.Float64)
    return pl.DataFrame(
        [
            empty.alias(name) if name in absent else _kept(frame[name], kind, missing, delimiter)
            for name, kind in kinds.items()
        ]
    )


def refuse_absent(names: Iterable[str]) -> None:
    """Refuse a table without columns that are needed."""
    needed = list(names)
    if needed:
        listed = ", ".join(map(repr, needed[:5])) + (", …" if len(needed) > 5 else "")
        raise UserError(
            f"The table lacks {listed}, which the model was fitted on: pass all columns of the fit."
        )


def _kept(series: pl.Series, kind: Kind, nulls: list[str], delimiter: str) -> pl.Series:
    """Return a column with the type it had in the fit."""
    if kind is Kind.LABELS:
        if series.dtype == pl.Boolean or series.dtype.is_integer():
            return series.cast(pl.String)
        return series
    if series.dtype != pl.String or kind is Kind.ANYTHING:
        return series
    series = with_nulls(series, nulls)
    if kind is Kind.BOOLEANS:
        small = series.str.to_lowercase()
        wrong = series.filter(~small.is_in(["true", "false", "1", "0"]))
        _refuse(series.name, wrong, "booleans")
        return small.is_in(["true", "1"])
    numbers = _numbers(series, delimiter)
    if numbers is None:
        wrong = series.filter(series.cast(pl.Float64, strict=False).is_null())
        _refuse(series.name, wrong, "numbers")
        raise AssertionError("a column that is no number has a value that is none")
    return numbers


def _refuse(name: str, wrong: pl.Series, expected: str) -> None:
    """Refuse values of another kind than the fit saw, by the first of them."""
    wrong = wrong.drop_nulls()
    if not wrong.is_empty():
        raise UserError(
            f"Column {name!r} holds {wrong[0]!r}, but it held {expected} when the model was "
            f"fitted: correct the value, or name it with --null if it means a missing one."
        )
