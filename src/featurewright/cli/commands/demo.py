"""``featurewright demo``: the main job on a real table, explained as it goes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from rich.console import Console
from sklearn.model_selection import StratifiedShuffleSplit

import featurewright
from featurewright.cli import display
from featurewright.cli.fitting import TrainingTable, fit_model, watching
from featurewright.cli.options import Debug, ending_well, error_console, write_sql
from featurewright.cli.problems import UserError
from featurewright.cli.sinks import unfinished, write_text
from featurewright.datasets import load_vehicle
from featurewright.report import summarize, write_report
from featurewright.report.summary import ESTIMATORS

FOLDER = Path("featurewright-demo")
TARGET = "vehicle"
N_FORMULAS = 8


@ending_well
def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The folder to write the results to.", metavar="FOLDER"),
    ] = FOLDER,
    seconds: Annotated[
        float, typer.Option("--time", help="Seconds to search.", min=0.1, metavar="SECONDS")
    ] = 20.0,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.", min=0, metavar="N")] = 0,
    debug: Debug = False,
) -> None:
    """Show the whole job on a real table that comes with the package: about a minute."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file, but a folder to write to is expected: choose another.")
    console = Console()
    started = time.perf_counter()
    X, y = _table()
    train, test = _split(y, seed)
    _explain(
        console,
        "1. The table",
        f"{X.height} silhouettes of vehicles, each measured by {X.width} numbers such as "
        f"{X.columns[0]!r} or {X.columns[1]!r}. The task is to tell which vehicle it is: "
        f"{', '.join(sorted(set(y)))}. {len(test)} of the rows are put aside now; nothing below "
        "sees them until step 3.",
    )
    _explain(
        console,
        "2. The search",
        f"featurewright now looks for new columns, formulas of the {X.width} numbers, that help a "
        f"plain linear model. It tries several methods for {seconds:.0f} seconds and tests each on "
        f"rows it did not learn from, using the other {len(train)} rows only. The first run after "
        "installing also compiles the engine, which takes up to a minute.",
    )
    table = TrainingTable(X[train], pl.Series(TARGET, y[train]), None, 0)
    with watching(error_console(), seconds, quiet=False) as listen:
        model = fit_model(
            table,
            listen,
            methods="readable",
            time_budget=seconds,
            random_state=seed,
            n_jobs=-1,
        )
    summary = summarize(model)
    console.print(display.plain(summary["verdict"]["sentence"], 400, "bold green"))
    display.show_features(console, summary, N_FORMULAS)
    _explain(
        console,
        "3. The proof",
        f"The {len(test)} rows that were put aside, predicted by three usual models: trained once "
        "on the original columns, and once with the new columns beside them.",
    )
    _show_proof(console, model, (X, y), (train, test), seed)
    files = _write(model, X, y, out)
    _explain(console, "4. What you can do with it", "Written:")
    for path, what in files:
        console.print(display.plain(f"  {path}  {what}", 300))
    vehicle, saved = out / "vehicle.csv", out / "features.fw"
    console.print()
    console.print(display.plain("Next, on a table of your own or on this one:"))
    for line in (
        f"featurewright fit {vehicle} --target {TARGET} --time 20 --report report.html",
        f"featurewright transform {saved} {vehicle} -o features.csv",
        f"featurewright predict {saved} {vehicle} -o predictions.csv --proba",
        f"featurewright sql {saved} --table vehicles --dialect postgres",
    ):
        console.print(display.plain(f"  {line}", 300, "cyan"), soft_wrap=True)
    console.print(
        display.plain(f"Done in {time.perf_counter() - started:.0f} seconds.", style="dim")
    )


def _table() -> tuple[pl.DataFrame, Any]:
    """Read the bundled table."""
    vehicle: Any = load_vehicle()
    return pl.DataFrame(vehicle.data, schema=list(vehicle.feature_names)), vehicle.target


def _split(y: Any, seed: int) -> tuple[Any, Any]:
    """Put a third of the rows aside."""
    splitter = StratifiedShuffleSplit(1, test_size=1 / 3, random_state=seed)
    train, test = next(splitter.split(np.zeros((len(y), 1)), y))
    return np.sort(train), np.sort(test)


def _explain(console: Console, title: str, text: str) -> None:
    """Say what comes next."""
    console.print()
    console.print(display.plain(title, style="bold cyan"))
    console.print(display.plain(text, 1000))


def _show_proof(
    console: Console,
    model: Any,
    table: tuple[pl.DataFrame, Any],
    rows: tuple[Any, Any],
    seed: int,
) -> None:
    """Compare models with and without the features on rows nothing has seen."""
    from featurewright.auto import standard_estimator

    (X, y), (train, test) = table, rows
    before = X[train].to_numpy(), X[test].to_numpy()
    after = np.asarray(model.transform(X[train])), np.asarray(model.transform(X[test]))
    shown = display.table_of(
        f"Predicted right of {len(test)} vehicles never seen before",
        "model",
        "original columns",
        "with features",
        "mistakes",
        numbers=3,
    )
    for name, words in ESTIMATORS.items():
        right = []
        for columns, held_out in (before, after):
            estimator = standard_estimator(name, "classification", random_state=seed)
            predicted = estimator.fit(columns, y[train]).predict(held_out)
            right.append(int(np.sum(predicted == y[test])))
        display.add_row(
            shown,
            words,
            *(f"{count / len(test):.1%}" for count in right),
            f"{len(test) - right[0]} → {len(test) - right[1]}",
        )
    console.print(shown)


def _write(model: Any, X: pl.DataFrame, y: Any, out: Path) -> list[tuple[Path, str]]:
    """Write the table, the model, the report and the SQL."""
    out.mkdir(parents=True, exist_ok=True)
    files = [
        (out / "vehicle.csv", "the table"),
        (out / "features.fw", "the features and the model, for Python and the command line"),
        (out / "report.html", "a page about all of it: open it in a browser"),
        (out / "features.sql", "the features as SQL"),
    ]
    table, saved, page, sql = (path for path, _ in files)
    with unfinished(table) as temporary:
        X.with_columns(pl.Series(TARGET, y)).write_csv(temporary)
    featurewright.save(model, saved)
    write_report(model, page, model_file=saved.name)
    write_text(sql, write_sql(model, "vehicles", "duckdb"))
    return files
