"""Commands that look at a model: ``inspect``, ``sql``, ``report``, and ``methods``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from featurewright.cli.errors import ending_well
from featurewright.cli.options import (
    DIALECT,
    Debug,
    Json,
    Model,
    Quiet,
    error_console,
    load_model,
    print_json,
    slim,
    write_sql,
)

INSPECT_EXAMPLES = (
    "featurewright inspect features.fw",
    "featurewright inspect features.fw --json",
)
SQL_EXAMPLES = (
    "featurewright sql features.fw --table customers",
    "featurewright sql features.fw --table customers --dialect postgres --key id -o features.sql",
)
REPORT_EXAMPLES = ("featurewright report features.fw -o report.html",)


@ending_well
def inspect(model: Model, as_json: Json = False, debug: Debug = False) -> None:
    """Show what a model holds: formulas, gains, scores by number of formulas, methods tried."""
    from rich.console import Console

    from featurewright.auto import text
    from featurewright.auto.summary import summarize
    from featurewright.cli import display

    fitted = load_model(model)
    console = Console()
    if hasattr(fitted, "results_"):
        summary = summarize(fitted)
        if as_json:
            print_json(slim(summary))
            return
        display.show(console, text.inspection_blocks(summary))
        display.show_history(console, summary)
        display.show(console, text.left_out_blocks(summary))
        return
    described = _described(fitted)
    if as_json:
        print_json(described)
        return
    display.show_lines(console, display.plain(described["model"], style="bold"))
    for title, key in (("Parameters", "parameters"), ("Formulas", "features")):
        if described[key]:
            table = display.table_of(title, "name", "value", numbers=1)
            for name, value in described[key].items():
                display.add_row(table, name, value)
            console.print(table)


def _described(model: Any) -> dict[str, Any]:
    """Return what is known of a model that is not a search."""
    features = getattr(model, "features_", ())
    return {
        "model": type(model).__name__,
        "parameters": {name: repr(value) for name, value in model.get_params(deep=False).items()},
        "columns": [str(name) for name in getattr(model, "feature_names_in_", ())],
        "features": {feature.name: f"{feature.gain:.4g}" for feature in features},
    }


@ending_well
def sql(
    model: Model,
    table: Annotated[
        str, typer.Option(help="The table the columns are in.", metavar="NAME")
    ] = "my_table",
    dialect: Annotated[str, typer.Option(**DIALECT)] = "duckdb",
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="A column to carry along, such as a key; repeat it for several.", metavar="COLUMN"
        ),
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            help="The table of a link in the database, such as orders=shop.orders; by default it "
            "is called as the link.",
            show_default=False,
            metavar="NAME=TABLE",
        ),
    ] = None,
    predict: Annotated[
        bool, typer.Option("--predict", help="Predict instead, where SQL can do it.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write here instead of printing.", metavar="FILE"),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the features of a model as a SELECT that gives the same columns in a database."""
    from featurewright.cli import display
    from featurewright.cli.links import link_names
    from featurewright.cli.sinks import STANDARD_OUTPUT, check_output, write_text

    to_file = None if out is None or out == STANDARD_OUTPUT else out
    if to_file is not None:
        check_output(to_file, model)
    fitted = load_model(model)
    more: dict[str, Any] = {"key": key} if key else {}
    if predict:
        more["output"] = "predict"
    if link:
        more["links"] = link_names(link)
    text = write_sql(fitted, table, dialect, **more)
    if to_file is None:
        typer.echo(text, nl=False)
        return
    write_text(to_file, text)
    if not quiet:
        display.say(error_console(), f"Written: {to_file}")


@ending_well
def report(
    model: Model,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where to write the page.", metavar="FILE")
    ] = Path("report.html"),
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write one HTML page about a model: verdict, scores, formulas, methods; no network needed."""
    from featurewright.cli import display
    from featurewright.cli.sinks import check_output
    from featurewright.report import write_report

    check_output(out, model)
    fitted = load_model(model)
    write_report(fitted, out, model_file=model.name)
    if not quiet:
        display.say(error_console(), f"Written: {out}")


@ending_well
def methods(as_json: Json = False, debug: Debug = False) -> None:
    """List the methods: what each one does and when it pays."""
    from featurewright.cli import catalogue

    if as_json:
        print_json(catalogue.as_dicts())
        return
    from rich.console import Console

    from featurewright.cli import display

    console = Console()
    table = display.table_of("Methods", "name", "gives", "what it does", "when it pays")
    for method in catalogue.methods():
        display.add_row(table, method.name, method.gives, method.idea, method.when)
    console.print(table)
    console.print(
        display.plain(
            "`featurewright fit` tries those that give formulas and keeps what helps; "
            "--methods all tries every one, --methods forest,batch these two.",
            300,
        )
    )
