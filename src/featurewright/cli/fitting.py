"""From a file to a fitted search: the target, the columns, the task, and what is tried."""

from __future__ import annotations

import logging
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from featurewright.cli.errors import UserError, did_you_mean
from featurewright.cli.kinds import NULLS, commas_in_numbers, find_types

if TYPE_CHECKING:
    from featurewright.auto import AutoFeatures
    from featurewright.cli.links import LinkText
    from featurewright.cli.sources import Source

Listener = Callable[[dict[str, Any]], None]

_LEAST_LEARNED = 10  # rows of the first fold in time


@dataclass
class TrainingTable:
    """What a search is fitted on.

    Parameters
    ----------
    X : polars.DataFrame
        The columns.
    y : polars.Series or ndarray
        The target; a matrix for several labels.
    groups : polars.Series or None
        Which rows belong together.
    dropped : int
        Rows left out because their target is missing.
    most_at_once : int
        The most rows that have one time, where the rows are in the order of a column.
    is_timed : bool
        Whether folds follow a time of the links already.
    """

    X: pl.DataFrame
    y: Any
    groups: pl.Series | None
    dropped: int
    most_at_once: int = 1
    is_timed: bool = False


def read_table(
    source: Source, max_rows: int | None, seed: int, nulls: Sequence[str] | None
) -> tuple[pl.DataFrame, list[str]]:
    """Return a table, or a sample of its rows, with types, and what is to be said of it."""
    frame, n_rows = source.sample(max_rows, seed)
    notices = []
    if frame.height < n_rows:
        notices.append(
            f"The table has {n_rows} rows, of which {frame.height}, drawn at random, are used: "
            "--max-rows sets another number."
        )
    if source.is_text:
        typed = find_types(frame, NULLS if nulls is None else nulls, source.delimiter)
        notices += commas_in_numbers(frame, typed)
        frame = typed
    return frame, notices


def training_table(
    frame: pl.DataFrame,
    targets: Sequence[str],
    *,
    drop: Sequence[str] = (),
    groups: str | None = None,
    order: str | None = None,
    linked: Sequence[LinkText] = (),
    as_of: str | None = None,
) -> TrainingTable:
    """Take the target and other columns that are no features off a table.

    The rows are put in the order of a column, where one is named.
    """
    from featurewright.auto.targets import constant_target, missing_target

    named = [*targets, *drop, *([groups] if groups else [])]
    keys = [here for link in linked for here, _ in link.on]
    keys += [str(link.time) for link in linked if link.kind == "history"]
    keys += [as_of] if as_of else []
    _check_names(frame, targets, drop, [name for name in (groups, order) if name], keys)
    if order and groups:
        raise UserError("Rows cannot be held out by group and by time: use --groups or --order-by.")
    if order and frame[order].null_count():
        raise UserError(
            f"Column {order!r} is missing in {frame[order].null_count()} rows, so they have no "
            "place in time: fill it, or use --order-by with another column."
        )
    _check_types(frame.select(targets))
    # Files of columns may have NaN beside nulls.
    frame = frame.with_columns(
        frame[name].fill_nan(None) for name in targets if frame[name].dtype.is_float()
    )
    known = frame.filter(~pl.any_horizontal(pl.col(list(targets)).is_null()))
    if known.is_empty():
        raise UserError(missing_target(targets[0]))
    if order:
        known = _in_order(known, order)
    X = known.drop([*set(named)])
    if X.width == 0:
        raise UserError(
            "No column is left to make features from: a table with columns beside the target is "
            "expected."
        )
    if all(known[name].n_unique() < 2 for name in targets):
        raise UserError(constant_target(targets[0], known[targets[0]][0], known.height))
    y: Any = known[targets[0]]
    if len(targets) > 1:
        y = _labels(known.select(targets))
    grouped = known[groups].cast(pl.String).fill_null("") if groups else None
    most_at_once = max(known[order].value_counts()["count"].to_list()) if order else 1
    is_timed = as_of is not None or any(link.kind == "history" for link in linked)
    return TrainingTable(X, y, grouped, frame.height - known.height, most_at_once, is_timed)


def unlike_classes(y: Any) -> list[str]:
    """Return what is to be said of a target of text that hardly ever repeats; nothing of others."""
    if not isinstance(y, pl.Series) or y.dtype != pl.String or y.n_unique() <= len(y) / 2:
        return []
    return [
        f"The target has {y.n_unique()} different texts in {len(y)} rows, such as {y[0]!r}, and "
        "each is taken for a class: if they are numbers, leave only the numbers in the cells."
    ]


def _check_names(
    frame: pl.DataFrame,
    targets: Sequence[str],
    drop: Sequence[str],
    named: Sequence[str],
    keys: Sequence[str],
) -> None:
    """Refuse columns that are not there, or are wanted for two things."""
    for name in (*targets, *drop, *named, *keys):
        if name not in frame.columns:
            raise UserError(f"There is no column {name!r}: {did_you_mean(name, frame.columns)}")
    for name, times in Counter(targets).items():
        if times > 1:
            raise UserError(f"--target names {name!r} {times} times: name each target once.")
        if name in drop or name in named or name in keys:
            raise UserError(f"Column {name!r} cannot be the target and something else too.")
    for name in keys:
        if name in drop:
            raise UserError(f"Column {name!r} is dropped, but --link or --as-of needs it: keep it.")


def _check_types(targets: pl.DataFrame) -> None:
    """Refuse targets whose values are lists, records or bytes."""
    for series in targets:
        if series.dtype.is_nested() or series.dtype == pl.Binary:
            raise UserError(
                f"The target {series.name!r} has the type {series.dtype}, but classes or numbers "
                "are expected: choose another column."
            )


def _in_order(frame: pl.DataFrame, order: str) -> pl.DataFrame:
    """Sort rows by a column; dates that are written as text by what they mean."""
    import narwhals as nw

    from featurewright.tables.dates import read_seconds

    kind = _dates_of(frame[order])
    if kind is None:
        return frame.sort(order, maintain_order=True)
    seconds = read_seconds(order, nw.from_native(frame[order], series_only=True), kind)
    if np.isnan(seconds).any():
        bad = frame[order].filter(np.isnan(seconds))
        raise UserError(
            f"Column {order!r} holds {bad[0]!r} among its dates, which is none, in {len(bad)} rows "
            "at least: mend it, or use --order-by with another column."
        )
    return frame[np.argsort(seconds, kind="stable")]


def _dates_of(series: pl.Series) -> Any:
    """Return how a column writes dates; None for anything else."""
    import narwhals as nw

    from featurewright.tables.dates import time_kind

    if series.dtype.is_float():
        return None  # most columns of wide tables, and looking closer takes a while
    kind = time_kind(nw.from_native(series, series_only=True))
    return kind if kind is not None and kind.is_date else None


def notices_of_time(
    frame: pl.DataFrame, training: TrainingTable, order: str | None
) -> Iterator[str]:
    """Yield sentences about the order in time of the rows: how it is known, or could be."""
    if order is not None:
        if frame[order].dtype == pl.String and _dates_of(frame[order]) is None:
            yield (
                f"Column {order!r} holds text such as {frame[order][0]!r}, no dates or numbers: "
                "rows are taken in its alphabetical order."
            )
    elif training.groups is None and not training.is_timed:
        dates = next((s.name for s in training.X.iter_columns() if _dates_of(s)), None)
        if dates is not None:
            yield (
                f"Column {dates!r} holds dates: if the model is for rows that come later than "
                f"these, add --order-by {shlex.quote(dates)}, and every fold tests on later rows."
            )


def _labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Read several targets as labels that a row has or has not."""
    for series in frame:
        values = set(series.unique().to_list())
        if not values <= {0, 1}:
            raise UserError(
                f"Several targets must be labels of 0 and 1 or true and false, but {series.name!r} "
                "holds other values: give one target, or fit each on its own."
            )
    return frame.cast(pl.Int64)


def check_target(y: Any, task: str) -> Any:
    """Return the target as the task needs it; refuse one that makes no sense for it."""
    if not isinstance(y, pl.Series):
        return y
    if task == "regression" and not y.dtype.is_numeric():
        raise UserError(
            f"Regression needs numbers, but the target {y.name!r} holds {y.drop_nulls()[0]!r}: "
            "choose another target, or --task classification."
        )
    # Classes are labels: 0.5 is one by its name alone.
    has_fractions = y.dtype.is_float() and (y != y.floor()).any()
    return y.cast(pl.String) if task == "classification" and has_fractions else y


def later_folds(n_folds: int, n_rows: int, most_at_once: int = 1) -> Any:
    """Return folds that test on later rows than they learn from.

    Rows just before the first one to test on are left out, as many as may have its time.
    """
    from sklearn.model_selection import TimeSeriesSplit

    if n_rows <= n_folds:
        raise UserError(
            f"{n_folds} folds in time need at least {n_folds + 1} rows, but there are {n_rows}: "
            "use fewer --folds, or more rows."
        )
    gap = most_at_once - 1
    if gap and n_rows - n_folds * (n_rows // (n_folds + 1)) - gap < _LEAST_LEARNED:
        raise UserError(
            f"{most_at_once} of {n_rows} rows have the same value of the column to order by, so "
            f"{n_folds} folds cannot test on later rows alone: use fewer --folds, or --order-by "
            "with a column of more values."
        )
    return TimeSeriesSplit(n_folds, gap=gap)


def fit_model(table: TrainingTable, listen: Listener, **parameters: Any) -> AutoFeatures:
    """Fit a search, telling what is tried."""
    # Not at the top: the other commands do without the methods and start sooner.
    from featurewright.auto import AutoFeatures

    class Watched(AutoFeatures):
        def _notify(self, event: dict[str, Any]) -> None:
            listen(event)

        def _tell(self, sentences: list[str]) -> None:
            pass  # it is among the results

    watched = Watched(**parameters).fit(
        table.X, table.y, groups=None if table.groups is None else table.groups.to_numpy()
    )
    # A model file holds no classes but the package's own.
    model = AutoFeatures(**parameters)
    model.__dict__.update(watched.__dict__)
    return model


@contextmanager
def watching(console: Console, seconds: float | None, *, quiet: bool) -> Iterator[Listener]:
    """Show what is being tried and the best so far, on a terminal or line by line.

    With a time limit, a bar shows how much of it has passed.
    """
    if quiet:
        with _handled(logging.NullHandler()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield lambda event: None
        return
    from featurewright.auto.text import told

    with _notices(console), warnings.catch_warnings():
        # What went wrong with a method is among the results.
        warnings.simplefilter("ignore")
        if not console.is_terminal:
            yield _line_by_line(console)
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(24))
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
            task = bar.add_task("getting ready", total=seconds)
            yield lambda event: bar.update(
                task, completed=event["seconds"] if seconds else None, description=told(event)
            )


_LAST_STAGES = ("fitting on all rows", "done")


def _line_by_line(console: Console) -> Listener:
    """Print a line for each fold and whenever something better was found."""
    from featurewright.auto.text import told

    best = ""

    def listen(event: dict[str, Any]) -> None:
        nonlocal best
        is_new = event["method"] == "original" or event["best_method"] != best
        if is_new or event["stage"] in _LAST_STAGES:
            line = f"{event['seconds']:6.1f} s  {told(event)}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        best = event["best_method"]

    return listen


@contextmanager
def _notices(console: Console) -> Iterator[None]:
    """Show what the package has to say, such as that it compiles."""

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            console.print(record.getMessage(), markup=False, highlight=False, soft_wrap=True)

    with _handled(Shown()):
        yield


@contextmanager
def _handled(handler: logging.Handler) -> Iterator[None]:
    """Send what the package logs to a handler."""
    logger = logging.getLogger("featurewright")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
