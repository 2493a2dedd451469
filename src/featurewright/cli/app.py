"""The application: all commands and what they share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

import featurewright
from featurewright.cli.commands import apply, demo, fit, look
from featurewright.cli.commands.compile import COMPILE_EXAMPLES, compile_engine

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="New here? Run [bold]featurewright demo[/bold]: it explains itself on a real table.",
)


def _help(command: Callable[..., None]) -> str:
    """Return the description of a command, one line for each paragraph."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


def _version(value: bool) -> None:
    """Print the version and end."""
    if value:
        typer.echo(f"featurewright {featurewright.__version__}")
        raise typer.Exit


@app.callback(
    help="Find new columns of a table that help to predict one of its columns.\n\nGive it a table "
    "and a target: it finds formulas that make a model better on held-out rows, shows how much, "
    "and writes the columns, the model, SQL and a report."
)
def start(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Read the options that stand before a command."""


def _examples(lines: Sequence[str]) -> str:
    """Write examples for the end of a help text."""
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(f"  {line}" for line in lines)


for command, examples in (
    (compile_engine, COMPILE_EXAMPLES),
    (fit.fit, fit.EXAMPLES),
    (apply.transform, apply.TRANSFORM_EXAMPLES),
    (apply.predict, apply.PREDICT_EXAMPLES),
    (look.inspect, look.INSPECT_EXAMPLES),
    (look.sql, look.SQL_EXAMPLES),
    (look.report, look.REPORT_EXAMPLES),
    (look.methods, ()),
    (demo.demo, ()),
):
    app.command(
        name=command.__name__.removesuffix("_engine"),  # `compile` is a built-in of Python
        help=_help(command),
        epilog=_examples(examples) if examples else None,
    )(command)
