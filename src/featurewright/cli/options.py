"""Options that several commands share, and how errors end a command."""

from __future__ import annotations

import functools
import json
import os
import sys
import traceback
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import polars as pl
import typer
from rich.console import Console

import featurewright
from featurewright.cli.display import say
from featurewright.cli.problems import UserError
from featurewright.cli.sources import Source

P = ParamSpec("P")

READING = "How the table is read"
"""Heading of options in the help."""

Table = Annotated[
    Path,
    typer.Argument(
        help="CSV or TSV (any delimiter), JSON lines, Parquet or Arrow; text also .gz, .bz2, .xz "
        "or .zst.",
        show_default=False,
        metavar="TABLE",
    ),
]
Model = Annotated[
    Path,
    typer.Argument(help="A file that `fit --out` wrote.", show_default=False, metavar="MODEL"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the full trace of an error.")]
Null = Annotated[
    list[str] | None,
    typer.Option(
        "--null",
        help="Text that means a missing value in CSV; repeat it for several. By default: empty, "
        "NA, N/A, NaN, null and ?.",
        show_default=False,
        metavar="TEXT",
        rich_help_panel=READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What separates the columns of a CSV.",
        show_default="found by itself",
        metavar="CHARACTER",
        rich_help_panel=READING,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The CSV has no header: columns are column_1, column_2, …",
        rich_help_panel=READING,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        help="Where to write: .csv, .tsv, .jsonl, .parquet or .arrow; text also .gz, .bz2, .xz or "
        ".zst; - for CSV to the standard output.",
        show_default=False,
        metavar="FILE",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        help="A column to carry along, such as a key; repeat it for several.",
        metavar="COLUMN",
    ),
]
KeepAll = Annotated[bool, typer.Option("--keep-all", help="Carry all columns along.")]


class Task(StrEnum):
    """What the target is taken for."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Estimator(StrEnum):
    """The model the features are for."""

    LINEAR = "linear"
    KNN = "knn"
    BOOSTING = "boosting"


class Dialect(StrEnum):
    """Databases SQL is written for."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SQLITE = "sqlite"
    SPARK = "spark"
    BIGQUERY = "bigquery"
    SNOWFLAKE = "snowflake"


# What data, files and models can do wrong; anything else is a fault of the program.
_EXPECTED = (
    UserError,
    ArithmeticError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
)


def error_console() -> Console:
    """Write to the standard error of the moment."""
    return Console(stderr=True)


def ending_well(command: Callable[P, None]) -> Callable[P, None]:
    """Show errors of a command in one line and end with 1; with ``--debug``, show the trace."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            sys.stderr.write("Stopped; nothing was written.\n")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader has seen enough; what is left in the buffer must not be written at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except _EXPECTED as error:
            if kwargs.get("debug"):
                sys.stderr.write(traceback.format_exc())
            say(error_console(), f"Error: {_sentence(error)}", "red")
            raise typer.Exit(1) from None

    return run


def _sentence(error: BaseException) -> str:
    """Put an error in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"the memory does not suffice{': ' + text if text else '.'}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return text or type(error).__name__


def tell_encoding(source: Source, console: Console) -> None:
    """Say that a file was not UTF-8 and what was done."""
    if source.recoded:
        told = f"{source.path} is not UTF-8; it was read as Windows-1252."
        say(console, told, "yellow")


def load_model(path: Path) -> Any:
    """Load a model, or say why not."""
    if not path.exists():
        raise UserError(f"There is no file {path}: make one with `featurewright fit … --out`.")
    if path.is_dir():
        raise UserError(f"{path} is a folder, but a model file is expected: name the file.")
    return featurewright.load(path)


def write_sql(model: Any, table: str, dialect: str, **more: Any) -> str:
    """Write a model as SQL."""
    from featurewright.export import to_sql

    return to_sql(model, table, dialect, pretty=True, **more).rstrip() + "\n"


def print_json(value: Any) -> None:
    """Print plain values as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def slim(summary: dict[str, Any]) -> dict[str, Any]:
    """Leave away what only the page needs."""
    features = [
        {key: feature[key] for key in ("name", "latex", "gain", "inputs", "undefined")}
        for feature in summary["features"]
    ]
    return {**summary, "features": features}
