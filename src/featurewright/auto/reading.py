"""Reading raw tables: which columns are used, which are left out, dates as numbers."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from featurewright.expressions import Domain
from featurewright.tables import (
    MAX_LABEL,
    EncodedTable,
    Schema,
    apply_table,
    check_label,
    check_names,
    encode,
    fit_table,
    learn_schema,
    with_known_levels,
)
from featurewright.tables.dates import (
    DAY,
    WEEKDAYS,
    Seconds,
    TimeKind,
    date_parts,
    pair_names,
    read_seconds,
    time_kind,
)
from featurewright.tables.free_text import TextReader, learn_text
from featurewright.tables.number_texts import (
    OddCells,
    find_amounts,
    find_numbers,
    read_numbers_as_text,
    tell_of_amounts,
    tell_of_numbers,
)

Matrix = NDArray[np.float64]

_logger = logging.getLogger("featurewright")

_MIN_IDENTIFIER_ROWS = 20  # below which no column is taken for an identifier
_MAX_DISTINCT_SHARE = 0.9  # of the labels, above which text is an identifier
_MAX_EXPECTED_REPEATS = 10.0  # of random numbers: above, numbers without any are identifiers
_MIN_WORDS = 4.0  # of a label on average, from which labels are sentences
_MAX_SAMPLED_LABELS = 1_000
_MIN_LABELS = 20  # of a later column, from which it is told how many are new
_MAX_UNSEEN_SHARE = 0.5  # of the labels, up to which nothing is said of them
_NAMES_OF_ROWS = "looks like an identifier: almost all values are unique"
_AMOUNTS = "holds numbers with signs as text, such as {!r}: turn it into numbers"
_NUMBER_OF_ROW = "is a key: its numbers say which row is meant, not what it is like"
_TIME_OF_ROW = "is the time of the rows, which no later row shares"
_FREE_TEXT = "holds free text, which is not read: free_text=True reads it"
_MAX_DATE_COLUMNS = 6  # up to which differences of dates are columns
_ID_NAME = re.compile(r"(^|[^a-z])(id|uuid|guid|key|index|rownum|row)$", re.IGNORECASE)


@dataclass(frozen=True)
class DerivedColumn:
    """One column of the table that features are made from.

    Parameters
    ----------
    name : str
        Its name: that of a column of the raw table, or such as "when: month" or "end - start".
    source : str
        The raw column, for a difference the first one.
    part : str
        "value" for a column taken as it is; of a date "year", "month", "day", "weekday", "hour",
        "minute" or "days" (since `base`, with fractions); "seconds" of a duration or a time of
        day; "difference" of two dates in days; of free text "characters", "words", "theme 1" and so
        on.
    other : str
        Of a difference, the raw column that is subtracted, else "".
    base : float
        Of "days", the day counted as 0, in days since 1970-01-01.

    Examples
    --------
    >>> DerivedColumn("when: month", "when", "month")
    DerivedColumn(name='when: month', source='when', part='month', other='', base=0.0)
    """

    name: str
    source: str
    part: str
    other: str = ""
    base: float = 0.0


@dataclass(frozen=True, eq=False)
class TableReader:
    """How a raw table becomes the table that features are made from, as learned in `fit`.

    Plain columns come first, in the order of the raw table, then those derived from dates and from
    free text.

    Parameters
    ----------
    names_in : tuple of str
        All columns of the raw table.
    places : tuple of int
        Positions of the plain columns that are used.
    plain : Schema
        What these are.
    times : tuple of (str, int, TimeKind)
        Name, position and kind of the columns of dates, durations and times that are used.
    columns : tuple of DerivedColumn
        The result, one entry for each column.
    schema : Schema
        The result's names, domains and levels.
    whole : Schema or None
        All columns, where the training table was an array.
    texts : tuple of (str, int, TextReader)
        Name, position and reader of the columns of free text that are used.
    numbers : tuple of str
        Plain columns of numbers that came as text, with some cells that are no numbers.

    Examples
    --------
    >>> import datetime as dt
    >>> import polars as pl
    >>> from sklearn.base import BaseEstimator
    >>> days = [dt.date(2024, 1, 30), dt.date(2024, 2, 2)]
    >>> frame = pl.DataFrame({"size": [1.5, 2.5], "when": days})
    >>> reader, table, left_out = learn_reader(BaseEstimator(), frame)
    >>> [column.name for column in reader.columns]
    ['size', 'when: month', 'when: day', 'when: weekday', 'when: days']
    >>> table.matrix[:, -1]
    array([0., 3.])
    """

    names_in: tuple[str, ...]
    places: tuple[int, ...]
    plain: Schema
    times: tuple[tuple[str, int, TimeKind], ...]
    columns: tuple[DerivedColumn, ...]
    schema: Schema
    whole: Schema | None
    texts: tuple[tuple[str, int, TextReader], ...] = ()
    numbers: tuple[str, ...] = ()

    @property
    def input_schema(self) -> Schema:
        """Names of all columns of the raw table."""
        n_columns = len(self.names_in)
        blank = np.full(n_columns, Domain.REAL, dtype=np.int8)
        return Schema(self.names_in, self.plain.given_names, blank, (None,) * n_columns)

    def read(self, estimator: BaseEstimator, X: Any) -> EncodedTable:
        """Return a later table as encoded, after its columns are checked against those of `fit`."""
        frame = _as_frame(X)
        if frame is None:
            schema = _numbers_only(self) if self.whole is None else self.whole
            matrix = apply_table(estimator, schema, X, dtype=np.float64)
            return EncodedTable(_take(matrix, self.places), self.schema)
        check_names(estimator, X)
        plain = _read_plain(frame, self.places, self.plain, self.numbers)
        _warn_of_unseen(frame, self.places, self.plain, plain)
        seconds = {
            name: read_seconds(name, frame[:, place], kind) for name, place, kind in self.times
        }
        texts = {name: reader.read(_texts(frame[:, place])) for name, place, reader in self.texts}
        derived = self.columns[len(self.places) :]
        return EncodedTable(_join(plain, seconds, texts, derived), self.schema)


def keep_plain(
    reader: TableReader, table: EncodedTable, kept: NDArray[np.intp]
) -> tuple[TableReader, EncodedTable]:
    """Return a reader and a table with some of the plain columns, and all derived ones."""
    places = tuple(reader.places[at] for at in kept)
    plain = _subset(reader.plain, kept.tolist())
    derived = reader.columns[len(reader.places) :]
    columns = (*(reader.columns[at] for at in kept), *derived)
    schema = _with_derived(plain, derived)
    numbers = tuple(name for name in reader.numbers if name in plain.names)
    found = replace(
        reader, places=places, plain=plain, columns=columns, schema=schema, numbers=numbers
    )
    order = [*kept.tolist(), *range(len(reader.places), len(reader.columns))]
    return found, EncodedTable(np.ascontiguousarray(table.matrix[:, order]), schema)


def learn_reader(
    estimator: BaseEstimator,
    X: Any,
    *,
    free_text: bool = True,
    keys: Collection[str] = (),
    times: Collection[str] = (),
) -> tuple[TableReader, EncodedTable, dict[str, str]]:
    """Return a reader learned from a table, the table as encoded, and the columns left out.

    Sets ``n_features_in_`` and, where the table has names, ``feature_names_in_`` of the estimator.
    Without `free_text`, columns of free text are left out. So are numbers in `keys`, which say
    which row is meant, and of `times` what no later row shares with these: the year, and the days
    since the first one; unless nothing else is left.
    """
    frame = _as_frame(X)
    if frame is None:
        return _learn_array(estimator, X)
    validate_data(estimator, X, reset=True, skip_check_array=True)
    names = _names(frame)
    for place, name in enumerate(names, start=1):
        check_label(name, f"The name of column {place}")
    kinds = [
        None if series.null_count() == len(series) else time_kind(series)
        for series in frame.iter_columns()
    ]
    is_plain = [place for place, kind in enumerate(kinds) if kind is None]
    whole = _learn_plain(frame, is_plain, names)
    whole = with_known_levels(whole, estimator)
    matrix = _read_plain(frame, is_plain, whole)
    whole, odd = _numbers_of_texts(frame, is_plain, whole, matrix)
    amounts = _amounts(frame, is_plain, whole, matrix)
    left_out = _left_out(matrix, whole, keys, times, amounts)
    seconds: dict[str, Seconds] = {}
    dated = []
    for place, kind in enumerate(kinds):
        if kind is None:
            continue
        values = read_seconds(names[place], frame[:, place], kind)
        if len(np.unique(values)) < 2:
            left_out[names[place]] = "has the same value in every row"
            continue
        seconds[names[place]] = values
        dated.append((names[place], place, kind))
    kept = [at for at, place in enumerate(is_plain) if names[place] not in left_out]
    texts: list[tuple[str, int, TextReader]] = []
    parts: dict[str, dict[str, Matrix]] = {}
    for place, name in enumerate(names):
        if free_text and left_out.get(name) is _FREE_TEXT:
            found = _texts(frame[:, place])
            texts.append((name, place, learn_text(found)))
            parts[name] = texts[-1][2].read(found)
            del left_out[name]
    taken = set(names)
    derived = _derive(seconds, {name: kind for name, _, kind in dated}, taken, times)
    derived += _derive_text(parts, taken)
    if not kept and not derived and (keys or times):
        return learn_reader(estimator, X, free_text=free_text)
    if not kept and not derived:
        if not is_plain:
            raise ValueError("No column of X has more than one value: pass columns that vary.")
        kept = list(range(len(is_plain)))  # something must be left to learn from
        left_out = {}
    plain = _subset(whole, kept)
    columns = tuple(DerivedColumn(name, name, "value") for name in plain.names) + derived
    schema = _with_derived(plain, derived)
    places = tuple(is_plain[at] for at in kept)
    odd = {name: cells for name, cells in odd.items() if name in plain.names}
    _tell(odd, {name: text for name, text in amounts.items() if name in plain.names}, len(frame))
    reader = TableReader(
        names, places, plain, tuple(dated), columns, schema, None, tuple(texts), tuple(odd)
    )
    # A copy: the rows may be kept, and must not change with the table of the user.
    table = EncodedTable(_join(matrix[:, kept], seconds, parts, derived), schema)
    return reader, table, left_out


def _tell(numbers: dict[str, OddCells], amounts: dict[str, str], n_rows: int) -> None:
    """Log which columns of text were read as numbers, and which could be."""
    if numbers:
        _logger.warning("%s", tell_of_numbers(numbers, n_rows))
    if amounts:
        _logger.warning("%s", tell_of_amounts(amounts))


def _left_out(
    matrix: NDArray[np.floating[Any]],
    schema: Schema,
    keys: Collection[str],
    times: Collection[str],
    amounts: Mapping[str, str],
) -> dict[str, str]:
    """Return why plain columns are left out, by their names."""
    reasons = {name: _reason(matrix[:, at], schema, at) for at, name in enumerate(schema.names)}
    for name, text in amounts.items():
        if reasons[name] is _NAMES_OF_ROWS:
            reasons[name] = _AMOUNTS.format(text)
    for name, domain in zip(schema.names, schema.domains, strict=True):
        if name in times:
            reasons[name] = _TIME_OF_ROW
        elif name in keys and domain != Domain.CATEGORY:
            reasons[name] = _NUMBER_OF_ROW
    return {name: reason for name, reason in reasons.items() if reason}


def _learn_array(
    estimator: BaseEstimator, X: Any
) -> tuple[TableReader, EncodedTable, dict[str, str]]:
    """Return the same for an array of numbers."""
    matrix, whole = fit_table(estimator, X, dtype=np.float64, order="C", warns_of_text=False)
    left_out = _left_out(matrix, whole, (), (), {})
    kept = [at for at, name in enumerate(whole.names) if name not in left_out]
    if not kept:
        kept, left_out = list(range(whole.n_columns)), {}
    plain = _subset(whole, kept)
    columns = tuple(DerivedColumn(name, name, "value") for name in plain.names)
    reader = TableReader(whole.names, tuple(kept), plain, (), columns, plain, whole)
    # As above.
    own = matrix.copy() if np.may_share_memory(matrix, np.asarray(X)) else matrix
    return reader, EncodedTable(_take(own, kept), plain), left_out


def _take(matrix: NDArray[np.floating[Any]], places: Sequence[int]) -> Matrix:
    """Return some columns; the matrix itself where these are all."""
    taken = matrix if list(places) == list(range(matrix.shape[1])) else matrix[:, list(places)]
    return np.ascontiguousarray(taken, dtype=np.float64)


def _reason(values: NDArray[np.floating[Any]], schema: Schema, at: int) -> str:
    """Return why a column is left out; "" where it is not."""
    known = values[~np.isnan(values)]
    if not len(known):
        return "has no values"
    distinct = len(np.unique(known))
    if distinct == 1 and len(known) == len(values):
        return "has the same value in every row"
    if any(len(str(label)) > MAX_LABEL for label in schema.levels[at] or ()):
        is_text = _are_sentences(schema.levels[at] or ())
        return _FREE_TEXT if is_text else f"has labels of more than {MAX_LABEL:,} characters"
    if len(known) < _MIN_IDENTIFIER_ROWS:
        return ""
    if schema.domains[at] == Domain.CATEGORY:
        if distinct > _MAX_DISTINCT_SHARE * len(known):
            labels = schema.levels[at] or ()
            if _are_sentences(labels):
                return _FREE_TEXT
            return _NAMES_OF_ROWS
        return ""
    if distinct < len(known) or np.any(known != np.floor(known)):
        return ""
    # n random whole numbers from a range of r would repeat about n²/2r times.
    spread = float(known.max() - known.min()) + 1.0
    repeats = len(known) ** 2 / (2.0 * spread)
    if repeats > _MAX_EXPECTED_REPEATS or _ID_NAME.search(schema.names[at]):
        return "looks like an identifier: whole numbers that are all different"
    return ""


def _are_sentences(labels: Sequence[object]) -> bool:
    """Whether labels are sentences, rather than names of the rows."""
    sample = labels[:: max(1, len(labels) // _MAX_SAMPLED_LABELS)]
    return float(np.mean([len(str(label).split()) for label in sample])) >= _MIN_WORDS


def _derive(
    seconds: dict[str, Seconds],
    kinds: dict[str, TimeKind],
    taken: set[str],
    of_rows: Collection[str] = (),
) -> tuple[DerivedColumn, ...]:
    """Return the columns derived from dates, durations and times: those that vary.

    Of the times of rows, those that do not come again are none.
    """
    derived = []
    for name, values in seconds.items():
        if not kinds[name].is_date:
            derived.append(DerivedColumn(_free(f"{name}: seconds", taken), name, "seconds"))
            continue
        for part, found in date_parts(values).items():
            if part == "year" and name in of_rows:
                continue
            if len(np.unique(found[~np.isnan(found)])) > 1:
                derived.append(DerivedColumn(_free(f"{name}: {part}", taken), name, part))
        if name in of_rows:
            continue
        base = float(np.floor(np.nanmin(values) / DAY))
        derived.append(DerivedColumn(_free(f"{name}: days", taken), name, "days", "", base))
    dates = [name for name in seconds if kinds[name].is_date]
    if len(dates) <= _MAX_DATE_COLUMNS:
        derived += [
            DerivedColumn(_free(f"{later} - {earlier}", taken), later, "difference", earlier)
            for later, earlier in pair_names(dates)
        ]
    return tuple(derived)


def _derive_text(parts: dict[str, dict[str, Matrix]], taken: set[str]) -> tuple[DerivedColumn, ...]:
    """Return the columns derived from free text: those that vary."""
    return tuple(
        DerivedColumn(_free(f"{name}: {part}", taken), name, part)
        for name, found in parts.items()
        for part, values in found.items()
        if len(np.unique(values[~np.isnan(values)])) > 1
    )


def _texts(series: nw.Series) -> list[str | None]:
    """Return the texts of a column; None where one is missing."""
    missing = series.is_null().to_list()
    return [
        None if gap else str(value) for value, gap in zip(series.to_list(), missing, strict=True)
    ]


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no other column has, and add it to those taken."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _join(
    plain: Matrix,
    seconds: dict[str, Seconds],
    texts: dict[str, dict[str, Matrix]],
    derived: tuple[DerivedColumn, ...],
) -> Matrix:
    """Return plain columns and those derived from dates and from free text side by side."""
    if not derived:
        return plain
    parts = {
        name: date_parts(values)
        for name, values in seconds.items()
        if any(column.source == name for column in derived)
    }
    out = np.empty((len(plain), plain.shape[1] + len(derived)))
    out[:, : plain.shape[1]] = plain
    for place, column in enumerate(derived, start=plain.shape[1]):
        if column.source in texts:
            out[:, place] = texts[column.source][column.part]
            continue
        values = seconds[column.source]
        if column.part == "seconds":
            out[:, place] = values
        elif column.part == "days":
            out[:, place] = values / DAY - column.base
        elif column.part == "difference":
            out[:, place] = (values - seconds[column.other]) / DAY
        else:
            out[:, place] = parts[column.source][column.part]
    return out


def _with_derived(plain: Schema, derived: tuple[DerivedColumn, ...]) -> Schema:
    """Return the schema of plain columns and of those derived from others."""
    weekday = [column.part == "weekday" for column in derived]
    domains = [Domain.CATEGORY if is_label else Domain.REAL for is_label in weekday]
    return Schema(
        names=(*plain.names, *(column.name for column in derived)),
        given_names=plain.given_names,
        domains=np.concatenate([plain.domains, np.array(domains, np.int8)]),
        levels=(*plain.levels, *(WEEKDAYS if is_label else None for is_label in weekday)),
    )


def _subset(schema: Schema, kept: list[int]) -> Schema:
    """Return the schema of some of the columns."""
    return Schema(
        names=tuple(schema.names[at] for at in kept),
        given_names=schema.given_names,
        domains=schema.domains[kept],
        levels=tuple(schema.levels[at] for at in kept),
    )


def _numbers_only(reader: TableReader) -> Schema:
    """Return the schema for reading an array in place of a frame; refuse it where dates are."""
    for names, what in ((reader.times, "dates or times"), (reader.texts, "free text")):
        if names:
            raise TypeError(
                f"X is an array of numbers, but column {names[0][0]!r} held {what} when the model "
                "was fitted: pass a data frame with the columns of the fit."
            )
    domains = np.full(len(reader.names_in), Domain.REAL, dtype=np.int8)
    domains[list(reader.places)] = reader.plain.domains
    levels: list[Any] = [None] * len(reader.names_in)
    for place, own in zip(reader.places, reader.plain.levels, strict=True):
        levels[place] = own
    return Schema(reader.names_in, reader.plain.given_names, domains, tuple(levels))


def _as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a data frame wrapped by narwhals; None for anything else."""
    if not nw.dependencies.is_into_dataframe(X):
        return None
    names = X.column_names if nw.dependencies.is_pyarrow_table(X) else X.columns
    if len(set(names)) < len(names) or 0 in X.shape:
        learn_schema(X)  # raises the error for such a frame
    return nw.from_native(X, eager_only=True)


def _names(frame: nw.DataFrame[Any]) -> tuple[str, ...]:
    """Return the names of the columns, generated where they are not strings."""
    columns = list(frame.columns)
    if all(isinstance(name, str) for name in columns):
        return tuple(columns)
    return tuple(f"x{place}" for place in range(len(columns)))


def _learn_plain(frame: nw.DataFrame[Any], places: list[int], names: tuple[str, ...]) -> Schema:
    """Return the schema of the columns that are not dates."""
    if not places:
        given = all(isinstance(name, str) for name in frame.columns)
        return Schema((), given, np.empty(0, np.int8), ())
    learned = learn_schema(frame[:, places].to_native())
    chosen = tuple(names[place] for place in places)
    return Schema(chosen, learned.given_names, learned.domains, learned.levels)


def _numbers_of_texts(
    frame: nw.DataFrame[Any], places: list[int], schema: Schema, matrix: Matrix
) -> tuple[Schema, dict[str, OddCells]]:
    """Read columns of text as numbers where nearly all cells are; return which, and the schema.

    Categories of a data frame are labels, whatever they look like. Changes the matrix.
    """
    domains, levels = schema.domains.copy(), list(schema.levels)
    found: dict[str, OddCells] = {}
    for at, place in enumerate(places):
        own = levels[at]
        if not own or frame[:, place].dtype not in (nw.String, nw.Object):
            continue
        odd = find_numbers(own, matrix[:, at])
        if odd is not None:
            found[schema.names[at]] = odd
            matrix[:, at] = read_numbers_as_text(schema.names[at], frame[:, place])
            domains[at], levels[at] = Domain.REAL, None
    return replace(schema, domains=domains, levels=tuple(levels)), found


def _amounts(
    frame: nw.DataFrame[Any], places: list[int], schema: Schema, matrix: Matrix
) -> dict[str, str]:
    """Return columns of text that are numbers with signs, such as 12.5%, and one such text."""
    found = {
        name: find_amounts(own, matrix[:, at])
        for at, (name, own) in enumerate(zip(schema.names, schema.levels, strict=True))
        if own and frame[:, places[at]].dtype in (nw.String, nw.Object)
    }
    return {name: text for name, text in found.items() if text is not None}


def _warn_of_unseen(
    frame: nw.DataFrame[Any], places: Sequence[int], schema: Schema, matrix: Matrix
) -> None:
    """Warn of columns in which most labels are none that the fit saw: they may be spelled anew."""
    for at in np.flatnonzero(schema.domains == Domain.CATEGORY) if len(matrix) else ():
        series = frame[:, places[int(at)]]
        n_labels = len(series) - series.null_count()
        n_unseen = n_labels - int(np.count_nonzero(~np.isnan(matrix[:, at])))
        if n_labels >= _MIN_LABELS and n_unseen > _MAX_UNSEEN_SHARE * n_labels:
            levels = schema.levels[int(at)] or ()
            known = ", ".join(map(repr, levels[:3])) + ", …" * (len(levels) > 3)
            is_new = np.isnan(matrix[:, at]) & ~np.asarray(series.is_null().to_numpy(), dtype=bool)
            new = series[int(np.argmax(is_new))]
            warnings.warn(
                f"Column {schema.names[int(at)]!r}: {n_unseen:,} of {n_labels:,} labels are none "
                f"that the fit saw (such as {new!r}; the fit saw {known}) and count as missing: "
                "spell them as there.",
                UserWarning,
                stacklevel=7,
            )


def _read_plain(
    frame: nw.DataFrame[Any], places: Sequence[int], schema: Schema, numbers: Sequence[str] = ()
) -> Matrix:
    """Return the columns that are not dates as encoded; some of them are numbers as text."""
    out = np.empty((len(frame), len(places)))
    as_text = set(numbers)
    others = [at for at, name in enumerate(schema.names) if name not in as_text]
    if others:
        own = schema if len(others) == len(places) else _subset(schema, others)
        rest = frame[:, [places[at] for at in others]]
        matrix = encode(own, rest.to_native(), np.float64)
        if len(others) == len(places):
            return np.asarray(matrix, dtype=np.float64)
        out[:, others] = matrix
    for at, name in enumerate(schema.names):
        if name in as_text:
            out[:, at] = read_numbers_as_text(name, frame[:, places[at]])
    return out
