"""A saved model over a file of any size: some rows at a time, in and out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from featurewright.cli.errors import UserError, did_you_mean
from featurewright.cli.kinds import NULLS, commas_in_numbers, keep_types, kinds_of, refuse_absent
from featurewright.cli.links import link_columns
from featurewright.cli.sinks import open_sink
from featurewright.cli.sources import Source

MAX_COLUMNS = 100_000
Compute = Callable[[pl.DataFrame], pl.DataFrame]


def apply_model(
    model: Any,
    compute: Compute,
    source: Source,
    out: Path,
    *,
    keep: Sequence[str] = (),
    keep_all: bool = False,
    nulls: Iterable[str] = NULLS,
    told: Callable[[int], None] = lambda rows: None,
    notice: Callable[[str], None] = lambda text: None,
) -> int:
    """Compute columns for each part of a table and write them; return the number of rows."""
    rows = 0
    with open_sink(out) as sink:
        for frame in _computed(
            model, compute, source, keep=keep, keep_all=keep_all, nulls=nulls, notice=notice
        ):
            sink.write(frame)
            rows += frame.height
            told(rows)
        if not rows:
            raise UserError(
                f"{source.path} has no rows: a table with a header and rows is expected."
            )
    return rows


def _computed(
    model: Any,
    compute: Compute,
    source: Source,
    *,
    keep: Sequence[str],
    keep_all: bool,
    nulls: Iterable[str],
    notice: Callable[[str], None],
) -> Iterator[pl.DataFrame]:
    """Return the columns to write for each part of a table."""
    kinds = kinds_of(model)
    # Keys of links are left out as columns, but rows are found by them.
    needed = link_columns(model)
    unused = set(getattr(model, "left_out_", {})).difference(needed)
    first: list[str] | None = None
    never: set[str] = set()  # keys that no row had so far
    noticed: set[str] = set()
    for raw in source.batches():
        frame, is_first = raw, first is None
        if first is None:
            first = frame.columns
            for name in keep:
                if name not in first:
                    raise UserError(
                        f"There is no column {name!r} to keep: {did_you_mean(name, first)}"
                    )
            never = set(kinds).difference(unused)
        never.difference_update(frame.columns)
        if source.kind == "json lines":
            # A key that no row of this part has is missing in all of them.
            absent = [n for n in dict.fromkeys([*first, *kinds]) if n not in frame.columns]
            frame = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
        typed = keep_types(frame, kinds, nulls, unused=unused, delimiter=source.delimiter)
        if is_first:  # one notice for each column is enough
            for text in commas_in_numbers(frame, typed):
                notice(text)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = compute(typed)
        for warning in caught:
            text = str(warning.message)
            about = text.partition(":")[0]  # the numbers of rows differ from part to part
            if issubclass(warning.category, UserWarning) and about not in noticed:
                notice(text)
            noticed.add(about)
        wanted = first if keep_all else list(keep)
        kept = frame.select([name for name in wanted if name not in made.columns])
        yield pl.concat([kept, made], how="horizontal") if kept.width else made
    refuse_absent(sorted(never))


def features_of(model: Any) -> Compute:
    """Compute the features of a model."""
    if not hasattr(model, "transform"):
        raise UserError(f"The model is a {type(model).__name__}, which has no features to compute.")
    names = [str(name) for name in model.get_feature_names_out()]
    if len(names) > MAX_COLUMNS:
        raise UserError(
            f"The model has {len(names)} columns, too many for a file: use it in Python, where "
            "they are sparse."
        )

    def compute(frame: pl.DataFrame) -> pl.DataFrame:
        values = model.transform(frame)
        values = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
        return pl.DataFrame(np.asarray(values, dtype=np.float64), schema=names, orient="row")

    return compute


def predictions_of(model: Any, *, probabilities: bool) -> Compute:
    """Compute the predictions of a model, with the probability of each class if asked."""
    if not hasattr(model, "predict"):
        raise UserError(f"The model is a {type(model).__name__}, which does not predict.")
    if probabilities and not hasattr(model, "predict_proba"):
        raise UserError("The model gives no probabilities: drop --proba.")

    def compute(frame: pl.DataFrame) -> pl.DataFrame:
        predicted = np.asarray(model.predict(frame))
        if predicted.ndim == 1:
            columns = {"prediction": predicted.tolist()}
        else:
            columns = {
                f"prediction {name}": values.tolist()
                for name, values in zip(_label_names(model, predicted), predicted.T, strict=True)
            }
        if probabilities:
            columns |= _probabilities(model, frame)
        return pl.DataFrame(columns)

    return compute


def _label_names(model: Any, values: np.ndarray) -> list[str]:
    """Return the names of several labels, or their numbers from 1 where the model knows none."""
    known = getattr(model, "label_names_", None)
    return known or [str(number) for number in range(1, values.shape[1] + 1)]


def _probabilities(model: Any, frame: pl.DataFrame) -> dict[str, list[float]]:
    """Name the probabilities by their classes."""
    found = model.predict_proba(frame)
    classes = getattr(model, "classes_", None)
    matrix = np.asarray(found)
    if classes is None or isinstance(classes, list):
        names = _label_names(model, matrix)
        return {
            f"probability {name}": shares.tolist()
            for name, shares in zip(names, matrix.T, strict=True)
        }
    return {
        f"probability of {label}": p.tolist() for label, p in zip(classes, matrix.T, strict=True)
    }
