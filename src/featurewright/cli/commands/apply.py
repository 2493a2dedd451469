"""``featurewright transform`` and ``featurewright predict``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from featurewright.cli import display
from featurewright.cli.applying import Compute, apply_model, features_of, predictions_of
from featurewright.cli.kinds import NULLS
from featurewright.cli.options import (
    Debug,
    Delimiter,
    Keep,
    KeepAll,
    Model,
    NoHeader,
    Null,
    Out,
    Quiet,
    Table,
    ending_well,
    error_console,
    load_model,
    tell_encoding,
)
from featurewright.cli.sinks import STANDARD_OUTPUT, check_output
from featurewright.cli.sources import open_table

TRANSFORM_EXAMPLES = (
    "featurewright transform features.fw new_rows.csv -o features.csv",
    "featurewright transform features.fw big.parquet -o out.parquet --keep customer_id",
    "featurewright transform features.fw new_rows.csv -o - | gzip > features.csv.gz",
)
PREDICT_EXAMPLES = (
    "featurewright predict features.fw new_rows.csv -o predictions.csv",
    "featurewright predict features.fw new_rows.csv -o p.csv --proba --keep customer_id",
)


@ending_well
def transform(
    model: Model,
    table: Table,
    out: Out,
    keep: Keep = None,
    keep_all: KeepAll = False,
    null: Null = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compute the features of a model for the rows of a table.

    The table is read and written some rows at a time, so it may be larger than the memory. Extra
    columns are ignored; the target need not be there.
    """
    fitted = load_model(model)
    how = {"keep": keep or (), "keep_all": keep_all, "nulls": NULLS if null is None else null}
    reading = {"delimiter": delimiter, "header": not no_header}
    _apply(fitted, features_of(fitted), (model, table, out), reading, how, quiet=quiet)


@ending_well
def predict(
    model: Model,
    table: Table,
    out: Out,
    proba: Annotated[bool, typer.Option("--proba", help="Add class probabilities.")] = False,
    keep: Keep = None,
    keep_all: KeepAll = False,
    null: Null = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the target for the rows of a table, with the model the features were found for."""
    fitted = load_model(model)
    how = {"keep": keep or (), "keep_all": keep_all, "nulls": NULLS if null is None else null}
    reading = {"delimiter": delimiter, "header": not no_header}
    compute = predictions_of(fitted, probabilities=proba)
    _apply(fitted, compute, (model, table, out), reading, how, quiet=quiet)


def _apply(
    fitted: Any,
    compute: Compute,
    paths: tuple[Path, Path, Path],
    reading: dict[str, Any],
    how: dict[str, Any],
    *,
    quiet: bool,
) -> None:
    """Run a model over a file."""
    model, table, out = paths
    source = open_table(table, **reading)
    if out != STANDARD_OUTPUT:
        check_output(out, table, model)
    console = error_console()
    watched = console.is_terminal and not quiet
    with console.status("reading …") if watched else nullcontext() as shown:

        def told(done: int) -> None:
            if shown is not None:
                shown.update(f"{done:,} rows")

        notices: list[str] = []
        rows = apply_model(fitted, compute, source, out, told=told, notice=notices.append, **how)
    if not quiet:
        for notice in notices:
            display.say(console, notice, "yellow")
        tell_encoding(source, console)
        place = "the standard output" if out == STANDARD_OUTPUT else out
        display.say(console, f"{display.counted(rows, 'row')} written to {place}.")
