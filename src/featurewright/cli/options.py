"""Options and steps that several commands share.

Commands import what they work with when they run, so that help and errors come at once.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import featurewright
from featurewright.cli.errors import UserError, did_you_mean
from featurewright.expressions.dialects import DIALECTS

if TYPE_CHECKING:
    from rich.console import Console

    from featurewright.cli.sources import Source

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
Seed = Annotated[
    int,
    typer.Option(help="Seed of all random choices.", min=0, max=2**32 - 1, metavar="N"),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time",
        help="Seconds after which the search is cut short, as a guard; the result then depends on "
        "how fast the machine is.",
        min=0.1,
        show_default="no limit",
        metavar="SECONDS",
    ),
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
NewerLinks = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        help="The rows of a link of the model, such as orders=orders.csv; repeat it for several.",
        show_default=False,
        metavar="NAME=FILE",
    ),
]
KeepAll = Annotated[bool, typer.Option("--keep-all", help="Carry all columns along.")]


PARTS = "A table in parts"
Processes = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        help="Processes that compute parts side by side.",
        min=1,
        show_default="all cores",
        metavar="N",
        rich_help_panel=PARTS,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Address of a Dask scheduler whose workers compute the parts, instead of processes "
        "here; they must see the files under the same names.",
        metavar="ADDRESS",
        rich_help_panel=PARTS,
    ),
]


class Task(StrEnum):
    """What the target is taken for."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Effort(StrEnum):
    """How much is tried."""

    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


class Estimator(StrEnum):
    """The model the features are for."""

    LINEAR = "linear"
    KNN = "knn"
    BOOSTING = "boosting"


def _known_dialect(name: str) -> str:
    """Refuse a database that no SQL is written for."""
    if name not in DIALECTS:
        raise typer.BadParameter(f"there is no dialect {name!r}: {did_you_mean(name, DIALECTS)}")
    return name


DIALECT: dict[str, Any] = {
    "help": f"For which database: {', '.join(DIALECTS)}.",
    "metavar": "NAME",
    "callback": _known_dialect,
}
"""Settings of the option that names a dialect."""


def error_console() -> Console:
    """Return a console on the standard error of the moment."""
    from rich.console import Console

    return Console(stderr=True)


def tell_oddities(source: Source, console: Console) -> None:
    """Warn of a file that is not UTF-8 or has short rows, and print how it was read."""
    from featurewright.cli.display import say

    if source.recoded:
        told = f"{source.path} is not UTF-8; it was read as Windows-1252."
        say(console, told, "yellow")
    if source.n_absent > 0:
        told = (
            f"Rows of {source.path} have fewer cells than its header: {source.n_absent:,} cells at "
            "their ends are missing."
        )
        say(console, told, "yellow")


def check_model_path(path: Path) -> None:
    """Refuse a path that cannot be a model file."""
    if not path.exists():
        raise UserError(f"There is no file {path}: make one with `featurewright fit … --out`.")
    if path.is_dir():
        raise UserError(f"{path} is a folder, but a model file is expected: name the file.")


def load_model(path: Path, *, predicts: bool = True) -> Any:
    """Load a model, whole or to compute columns only, or say why not."""
    check_model_path(path)
    if predicts:
        return featurewright.load(path)
    from featurewright.export.files import load_to_transform

    return load_to_transform(path)


def write_sql(model: Any, table: str, dialect: str, **more: Any) -> str:
    """Write a model as SQL; linked tables have the names of their links, unless told otherwise."""
    from featurewright.cli.links import needed_links
    from featurewright.export import to_sql

    names = {title: title for title in needed_links(model)}
    if names:
        more["links"] = names | more.get("links", {})
    return to_sql(model, table, dialect, pretty=True, **more).rstrip() + "\n"


def print_json(value: Any) -> None:
    """Print plain values as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def slim(summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary without what only the page needs."""
    features = [
        {key: feature[key] for key in ("name", "latex", "gain", "stability", "inputs", "undefined")}
        for feature in summary["features"]
    ]
    return {**summary, "features": features, "path": [entry["name"] for entry in summary["path"]]}
