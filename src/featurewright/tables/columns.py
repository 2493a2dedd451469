"""The domain of one column of a data frame, and its values as floats."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from numbers import Real

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from featurewright.expressions.domains import Domain
from featurewright.expressions.text import shorten
from featurewright.tables.schema import Levels


class Content(Enum):
    """Kind of the values of a column."""

    NOTHING = "nothing"
    NUMBERS = "numbers"
    BOOLEANS = "booleans"
    LABELS = "labels"


_LABEL_DTYPES = (nw.String, nw.Categorical, nw.Enum)
_LABEL_TYPES = (str, bytes)
_BOOLEAN_TYPES = (bool, np.bool_)
_NUMBER_TYPES = (Real, Decimal, *_BOOLEAN_TYPES)


def plain_form(series: nw.Series) -> nw.Series:
    """Return a column of pandas that is sparse, or of the other byte order, in its usual form."""
    if series.dtype != nw.Unknown:
        return series
    native = series.to_native()
    dtype = getattr(native, "dtype", None)
    if isinstance(dtype, np.dtype) and not dtype.isnative:
        return nw.from_native(native.astype(dtype.newbyteorder("=")), series_only=True)
    if type(dtype).__name__ == "SparseDtype":
        return nw.from_native(native.sparse.to_dense(), series_only=True)
    return series


def content_of(name: str, series: nw.Series) -> Content:
    """Return the kind of a column's values; refuse those that cannot be read."""
    dtype = series.dtype
    if series.null_count() == len(series):
        return Content.NOTHING
    if dtype.is_numeric():
        return Content.NUMBERS
    if dtype == nw.Boolean:
        return Content.BOOLEANS
    if dtype in _LABEL_DTYPES:
        return Content.LABELS
    if dtype == nw.Object:
        return _content_of_objects(name, series)
    # What narwhals does not know, such as periods, has a name of its own.
    own = getattr(series.to_native(), "dtype", dtype) if dtype == nw.Unknown else dtype
    raise TypeError(_refusal(name, f"has the dtype {own}"))


def _content_of_objects(name: str, series: nw.Series) -> Content:
    """Return the kind of a column of objects, by the Python types in it."""
    types = set(map(type, series.drop_nulls().to_list()))
    for found in sorted(types, key=lambda found: found.__name__):
        if not issubclass(found, _NUMBER_TYPES + _LABEL_TYPES):
            raise TypeError(_refusal(name, f"holds objects of the type {found.__name__}"))
    if all(issubclass(found, _BOOLEAN_TYPES) for found in types):
        return Content.BOOLEANS
    if all(issubclass(found, _NUMBER_TYPES) for found in types):
        return Content.NUMBERS
    return Content.LABELS


def _refusal(name: str, problem: str) -> str:
    """Return the error message for a column that cannot be read."""
    return (
        f"Column {name!r} {problem}, but numbers, booleans, strings or categories are expected: "
        "turn it into one or more such columns, or leave it out."
    )


def learn_column(name: str, series: nw.Series) -> tuple[Domain, Levels | None]:
    """Learn the domain of a column and, for a Category, its levels."""
    series = plain_form(series)
    content = content_of(name, series)
    if content is Content.NOTHING:
        # The empty tuple marks that nothing is known yet, so that later tables may hold text.
        return Domain.REAL, None if series.dtype.is_numeric() else ()
    if content is Content.NUMBERS:
        return Domain.REAL, None
    if content is Content.BOOLEANS:
        return Domain.BOOLEAN, None
    present = series.drop_nulls()
    # Not for objects, where True and 1 would become one value.
    labels = present.to_list() if series.dtype == nw.Object else distinct_values(present)
    keys = set(map(label_key, labels))
    return Domain.CATEGORY, tuple(label for _, label in sorted(keys))


def distinct_values(series: nw.Series) -> list[object]:
    """Return the distinct values of a column without missing values."""
    try:
        return series.unique().to_list()
    except UnicodeEncodeError:  # half of a surrogate pair, which pandas has and Arrow has not
        return list(set(series.to_list()))


def encode_column(
    name: str, series: nw.Series, domain: Domain, levels: Levels | None
) -> NDArray[np.float64]:
    """Convert a column to floats under a learned domain and learned levels."""
    series = plain_form(series)
    content = content_of(name, series)
    if content is Content.NOTHING or levels == ():
        return np.full(len(series), np.nan)
    if domain == Domain.CATEGORY:
        assert levels is not None
        if content is not Content.LABELS and all(isinstance(level, str) for level in levels):
            raise TypeError(
                f"Column {name!r} holds {content.value}, but it held labels such as "
                f"{levels[0]!r} when the model was fitted: pass it as strings or categories."
            )
        return _codes(series, levels)
    if content is Content.LABELS:
        expected = "booleans" if domain == Domain.BOOLEAN else "numbers"
        raise TypeError(
            f"Column {name!r} holds strings or categories such as {_odd_label(series)}, but it "
            f"held {expected} when the model was fitted: convert it to {expected} first."
        )
    values = _floats(name, series)
    if domain == Domain.BOOLEAN and content is Content.NUMBERS:
        check_zero_one(name, values)
    return values


def _odd_label(series: nw.Series) -> str:
    """Return the first label that is not written as a number, else the first one, quoted."""
    labels = [str(value) for value in series.drop_nulls().to_list()]
    odd = next((label for label in labels if not is_written_number(label)), labels[0])
    return repr(shorten(odd))


def is_written_number(text: str | bytes) -> bool:
    """Whether Python and NumPy read a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_zero_one(name: str, values: NDArray[np.floating]) -> None:
    """Refuse numbers other than 0 and 1 in a column learned as Boolean."""
    wrong = values[~((values == 0) | (values == 1) | np.isnan(values))]
    if wrong.size:
        raise ValueError(
            f"Column {name!r} holds {wrong[0]:g}, but it held booleans when the model was fitted: "
            "pass booleans, or the numbers 0 and 1."
        )


def _floats(name: str, series: nw.Series) -> NDArray[np.float64]:
    """Convert a column of numbers or booleans; missing becomes NaN."""
    try:
        values = series.cast(nw.Float64).to_numpy()
    except OverflowError as error:  # a Python integer beyond the range of a float
        raise ValueError(out_of_range(name, "an integer of more than 300 digits")) from error
    return np.asarray(values, dtype=np.float64)


def out_of_range(name: str, what: str) -> str:
    """Return the error message for a number that is infinite or beyond float32."""
    return (
        f"Column {name!r} contains {what}, but finite numbers between -3.4e38 and 3.4e38 are "
        "expected: replace infinity and such large values by missing values (NaN) or rescale."
    )


def _codes(series: nw.Series, levels: Levels) -> NDArray[np.float64]:
    """Return the code of each label; a label that is not among the levels is missing."""
    keyed = {label_key(level): float(code) for code, level in enumerate(levels)}
    values = series.to_list()
    found: Iterable[float]
    if series.dtype == nw.Object:
        # True and 1 are the same key of a dict, so objects are looked up with their kind.
        present = ~series.is_null().to_numpy()
        found = (
            keyed.get(label_key(value), np.nan) if there else np.nan
            for value, there in zip(values, present, strict=True)
        )
    else:
        distinct = distinct_values(series.drop_nulls())
        plain = {value: keyed.get(label_key(value), np.nan) for value in distinct}
        found = (plain.get(value, np.nan) for value in values)
    return np.fromiter(found, dtype=np.float64, count=len(values))


def label_key(value: object) -> tuple[str, object]:
    """Return the kind and the canonical value of a label, by which labels compare and sort.

    The kind keeps True, 1 and "1" apart; 1 and 1.0 are one label. Labels of other types, such as
    the intervals of a binned column, become their text.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, _LABEL_TYPES):
        return ("bytes" if isinstance(value, bytes) else "str"), value
    if isinstance(value, _NUMBER_TYPES):
        number = float(value)
        return "number", int(number) if number.is_integer() else number
    return "str", str(value)
