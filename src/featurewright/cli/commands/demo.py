"""``featurewright demo``: the main job on a real table, explained as it goes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import featurewright
from featurewright.cli.errors import UserError, ending_well
from featurewright.cli.options import Debug, Seed, TimeLimit, error_console, write_sql

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

FOLDER = Path("featurewright-demo")
TARGET = "sound_level"
N_FORMULAS = 8
# Those with formulas, but for one: its own kernels would be compiled for the demo alone.
METHODS = ["forest", "batch", "boosting"]


@ending_well
def demo(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The folder to write the results to.", metavar="FOLDER"),
    ] = FOLDER,
    seconds: TimeLimit = None,
    seed: Seed = 0,
    debug: Debug = False,
) -> None:
    """Show the whole job on a real table that comes with the package: about a minute."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file, but a folder to write to is expected: choose another.")
    import polars as pl
    from rich.console import Console

    from featurewright.auto.text import feature_blocks, front_blocks
    from featurewright.cli import display
    from featurewright.cli.fitting import TrainingTable, fit_model, watching
    from featurewright.report import summarize

    console = Console()
    started = time.perf_counter()
    X, y = _table()
    train, test = _split(X.height, seed)
    _explain(
        console,
        "1. The table",
        f"{X.height} measurements from a wind tunnel. How loud is an airfoil, in decibels? Five "
        f"numbers are known: {', '.join(X.columns)}. {len(test)} of the rows are put aside now; "
        "nothing below sees them until step 3.",
    )
    _explain(
        console,
        "2. The search",
        "A plain linear model can only add the five numbers up. featurewright now looks for new "
        "columns, formulas of them, that help it. It tries several methods and tests each on rows "
        f"it did not learn from, using the other {len(train)} rows only: a quick search, which "
        "gives the same formulas on any machine. The first run after installing also compiles the "
        "engine: up to a minute more.",
    )
    table = TrainingTable(X[train], pl.Series(TARGET, y[train]), None, 0)
    with watching(error_console(), seconds, quiet=False) as listen:
        model = fit_model(
            table,
            listen,
            methods=METHODS,
            effort="quick",
            time_budget=seconds,
            random_state=seed,
            n_jobs=-1,
        )
    summary = summarize(model)
    console.print(display.plain(summary["verdict"]["sentence"], 400, "bold green"))
    if summary["cut_short"]:
        console.print(display.plain(summary["cut_short"], 400, "yellow"))
    meaning = "R² says how much of the ups and downs of the sound is explained: 1 is all of it."
    console.print(display.plain(meaning))
    display.show(console, feature_blocks(summary, N_FORMULAS))
    display.show(console, front_blocks(summary))
    _explain(
        console,
        "3. The proof",
        f"The {len(test)} rows that were put aside, predicted by three usual models: each trained "
        "once on the original columns, and once with the new columns beside them.",
    )
    _show_proof(console, model, (X, y), (train, test), seed)
    files = _write(model, X, y, out)
    _explain(console, "4. What you can do with it", "Written:")
    for path, what in files:
        console.print(display.plain(f"  {path}  {what}", 300))
    table_file, saved = out / "airfoil.csv", out / "features.fw"
    console.print()
    console.print(display.plain("Next, on a table of your own or on this one:"))
    for line in (
        f"featurewright fit {table_file} --target {TARGET} --max-formulas 5 --report report.html",
        f"featurewright transform {saved} {table_file} -o features.csv",
        f"featurewright predict {saved} {table_file} -o predictions.csv",
        f"featurewright sql {saved} --table airfoils --dialect postgres",
    ):
        console.print(display.plain(f"  {line}", 300, "cyan"), soft_wrap=True)
    console.print(
        display.plain(f"Done in {time.perf_counter() - started:.0f} seconds.", style="dim")
    )


def _table() -> tuple[pl.DataFrame, Any]:
    """Read the bundled table."""
    import polars as pl

    from featurewright.datasets import load_airfoil

    airfoil: Any = load_airfoil()
    return pl.DataFrame(airfoil.data, schema=list(airfoil.feature_names)), airfoil.target


def _split(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Put a third of the rows aside."""
    import numpy as np

    order = np.random.RandomState(seed).permutation(n_rows)
    n_test = n_rows // 3
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def _explain(console: Console, title: str, text: str) -> None:
    """Print what comes next."""
    from featurewright.cli import display

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
    import numpy as np

    from featurewright.auto.estimators import few_threads, standard_estimator
    from featurewright.auto.summary import ESTIMATORS
    from featurewright.cli import display

    (X, y), (train, test) = table, rows
    before = X[train].to_numpy(), X[test].to_numpy()
    after = np.asarray(model.transform(X[train])), np.asarray(model.transform(X[test]))
    shown = display.table_of(
        f"Mean error on {len(test)} measurements never seen before",
        "model",
        "original columns",
        "with features",
        "change",
        numbers=3,
    )
    for name, words in ESTIMATORS.items():
        errors = []
        for columns, held_out in (before, after):
            estimator = standard_estimator(name, "regression", random_state=seed)
            with few_threads(1, columns.size):
                predicted = estimator.fit(columns, y[train]).predict(held_out)
            errors.append(float(np.mean(np.abs(predicted - y[test]))))
        display.add_row(
            shown,
            words,
            *(f"{error:.2f} dB" for error in errors),
            f"{errors[1] / errors[0] - 1:+.0%}",
        )
    console.print(shown)


def _write(model: Any, X: pl.DataFrame, y: Any, out: Path) -> list[tuple[Path, str]]:
    """Write the table, the model, the report and the SQL."""
    import polars as pl

    from featurewright.cli.sinks import unfinished, write_text
    from featurewright.report import write_report

    out.mkdir(parents=True, exist_ok=True)
    files = [
        (out / "airfoil.csv", "the table"),
        (out / "features.fw", "the features and the model, for Python and the command line"),
        (out / "report.html", "a page about all of it: open it in a browser"),
        (out / "features.sql", "the features as SQL"),
    ]
    table, saved, page, sql = (path for path, _ in files)
    with unfinished(table) as temporary:
        X.with_columns(pl.Series(TARGET, y)).write_csv(temporary)
    featurewright.save(model, saved)
    write_report(model, page, model_file=saved.name)
    write_text(sql, write_sql(model, "airfoils", "duckdb"))
    return files
