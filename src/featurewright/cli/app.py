"""The commands, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

import featurewright
from featurewright.cli.commands import apply, demo, fit, look

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="New here? Run [bold]featurewright demo[/bold]: it explains itself on a real table.",
)


def _version(value: bool) -> None:
    """Print the version and end."""
    if value:
        typer.echo(f"featurewright {featurewright.__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Construct features for a table under supervision.

    Give it a table and a target; it finds formulas that make a model better on rows it has not
    seen, proves it, and hands over the columns, the model, SQL and a report.
    """


def _examples(lines: Sequence[str]) -> str:
    """Write examples for the end of a help text."""
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(f"  {line}" for line in lines)


app.command(epilog=_examples(fit.EXAMPLES))(fit.fit)
app.command(epilog=_examples(apply.TRANSFORM_EXAMPLES))(apply.transform)
app.command(epilog=_examples(apply.PREDICT_EXAMPLES))(apply.predict)
app.command(epilog=_examples(look.INSPECT_EXAMPLES))(look.inspect)
app.command(epilog=_examples(look.SQL_EXAMPLES))(look.sql)
app.command(epilog=_examples(look.REPORT_EXAMPLES))(look.report)
app.command()(look.methods)
app.command()(demo.demo)
