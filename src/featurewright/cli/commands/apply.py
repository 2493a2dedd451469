"""``featurewright transform`` and ``featurewright predict``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from featurewright.cli.errors import UserError, ending_well
from featurewright.cli.options import (
    Debug,
    Delimiter,
    Keep,
    KeepAll,
    Model,
    NewerLinks,
    NoHeader,
    Null,
    Out,
    Processes,
    Quiet,
    Scheduler,
    Table,
    check_model_path,
    error_console,
    load_model,
    tell_oddities,
)

TRANSFORM_EXAMPLES = (
    "featurewright transform features.fw new_rows.csv -o features.csv",
    "featurewright transform features.fw big.parquet -o out.parquet --keep customer_id",
    "featurewright transform features.fw new_rows.csv -o features.csv --link orders=orders.csv",
    "featurewright transform features.fw new_rows.csv -o - | gzip > features.csv.gz",
    "featurewright transform features.fw 'parts/*.parquet' -o features/ --jobs 4",
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
    link: NewerLinks = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    null: Null = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    jobs: Processes = None,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compute the features of a model for the rows of a table.

    The table is read and written some rows at a time, so it may be larger than the memory. Extra
    columns are ignored; the target need not be there. A folder, or a pattern such as
    'parts/*.parquet', stands for a table in parts: each becomes a file of the folder --out.
    """
    from featurewright.cli.applying import features_of

    how = {"keep": keep or (), "keep_all": keep_all, "nulls": null, "link": link or ()}
    reading = {"delimiter": delimiter, "header": not no_header}
    where = {"n_jobs": jobs, "scheduler": scheduler, "probabilities": None}
    if _apply_to_parts((model, table, out), reading, how, where, quiet=quiet):
        return
    _apply(features_of, (model, table, out), reading, how, predicts=False, quiet=quiet)


@ending_well
def predict(
    model: Model,
    table: Table,
    out: Out,
    proba: Annotated[bool, typer.Option("--proba", help="Add class probabilities.")] = False,
    link: NewerLinks = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    null: Null = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    jobs: Processes = None,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the target for the rows of a table, with the model the features were found for.

    A folder, or a pattern such as 'parts/*.parquet', stands for a table in parts: each becomes a
    file of the folder --out.
    """
    from featurewright.cli.applying import predictions_of

    how = {"keep": keep or (), "keep_all": keep_all, "nulls": null, "link": link or ()}
    reading = {"delimiter": delimiter, "header": not no_header}
    where = {"n_jobs": jobs, "scheduler": scheduler, "probabilities": proba}
    if _apply_to_parts((model, table, out), reading, how, where, quiet=quiet):
        return
    columns_of = partial(predictions_of, probabilities=proba)
    _apply(columns_of, (model, table, out), reading, how, predicts=True, quiet=quiet)


def _apply_to_parts(
    paths: tuple[Path, Path, Path],
    reading: dict[str, Any],
    how: dict[str, Any],
    where: dict[str, Any],
    *,
    quiet: bool,
) -> bool:
    """Run a model over the parts of a table side by side; False where the table is one file."""
    from featurewright.cli.folders import apply_to_parts, find_parts

    model, table, out = paths
    parts = find_parts(table)
    if not parts:
        if where["scheduler"] is not None:
            raise UserError(
                f"--scheduler is for a table in parts, but {table} is not: name a folder or a "
                "pattern such as 'parts/*.parquet'."
            )
        return False
    from featurewright.cli import display
    from featurewright.estimators.progress import progress

    check_model_path(model)
    console = error_console()
    shown = 1 if console.is_terminal and not quiet else 0
    with progress(len(parts), "parts", verbose=shown) as on_done:
        rows = apply_to_parts(model, parts, out, reading | how, on_done=on_done, **where)
    if not quiet:
        counted = f"{display.counted(rows, 'row')} of {display.counted(len(parts), 'part')}"
        display.say(console, f"{counted} written to {out}.")
    return True


def _apply(
    columns_of: Callable[[Any], Any],
    paths: tuple[Path, Path, Path],
    reading: dict[str, Any],
    how: dict[str, Any],
    *,
    predicts: bool,
    quiet: bool,
) -> None:
    """Run a model over a file; what is wrong with the files is told before the model is loaded."""
    from featurewright.cli import display
    from featurewright.cli.applying import apply_model
    from featurewright.cli.kinds import NULLS
    from featurewright.cli.links import check_titles, link_tables, parse_newer
    from featurewright.cli.sinks import STANDARD_OUTPUT, check_output
    from featurewright.cli.sources import open_table

    model, table, out = paths
    check_model_path(model)
    linked = check_titles(map(parse_newer, how.pop("link")))
    source = open_table(table, **reading)
    if out != STANDARD_OUTPUT:
        check_output(out, table, model)
    if how["nulls"] is None:
        how["nulls"] = NULLS
    fitted = load_model(model, predicts=predicts)
    fitted = link_tables(fitted, linked, how["nulls"], reading["delimiter"])
    compute = columns_of(fitted)
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
        tell_oddities(source, console)
        place = "the standard output" if out == STANDARD_OUTPUT else out
        display.say(console, f"{display.counted(rows, 'row')} written to {place}.")
