"""Features over linked rows beside featuretools, tsfresh and getML: time, memory, accuracy.

Each library runs in a process and an environment of its own (`peers.py` installs them), with one
thread, on the same rows and linked rows; one that has no result within the limit is reported and
left out. The features go to LightGBM at its defaults, beside the columns of the table, which learns
from rows before the test dates and is scored on those after them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import polars as pl
from data import data_folder
from pages import PAGES, size_of, write_page
from peers import ABSENT, OURS, install, is_there, python_of, run_worker
from runner import markdown_table, say
from sklearn.metrics import r2_score, roc_auc_score

from featurewright.datasets import make_shop

WRITE = PAGES / "relations_peers.md"
WORKER = Path(__file__).resolve().parent / "relations_worker.py"
N_AIR_ROWS = 600
N_SHOP_ROWS = 2_000
BAR = 20  # times the time of ours, that a feature of a peer was aimed to take
VARIANTS = (
    (OURS, "same"),
    (OURS, "searched"),
    ("featuretools", "same"),
    ("tsfresh", "same"),
    ("getml", "searched"),
)
TITLES = {
    (OURS, "same"): "featurewright, the same aggregates",
    (OURS, "searched"): "featurewright, searched",
    ("featuretools", "same"): "featuretools",
    ("tsfresh", "same"): "tsfresh",
    ("getml", "searched"): "getML, FastProp",
}


@dataclass(frozen=True)
class Database:
    """Rows, the rows that belong to them, and how they do.

    Attributes
    ----------
    title : str
        How the page calls it.
    rows : DataFrame
        Keys, times, columns and `target`; training rows first.
    n_train : int
        How many they are.
    linked : DataFrame
        The linked rows.
    key, time, as_of : str
        The key, the time of linked rows and that of rows.
    windows : tuple of float or None
        Days back that are seen; None for all.
    """

    title: str
    rows: pl.DataFrame
    n_train: int
    linked: pl.DataFrame
    key: str
    time: str
    as_of: str
    windows: tuple[float | None, ...]

    @property
    def classes(self) -> bool:
        """Whether the target is a class."""
        return self.rows["target"].dtype == pl.Boolean


def shop() -> Database:
    """Return a generated shop."""
    customers, orders, y = make_shop(N_SHOP_ROWS, random_state=0)
    rows = pl.DataFrame(customers).with_columns(target=pl.Series(y))
    n_train = 2 * N_SHOP_ROWS // 3
    days = (None, 90.0)
    linked = pl.DataFrame(orders)
    return Database("generated shop", rows, n_train, linked, "customer", "date", "day", days)


def retail() -> Database:
    """Return the shop of the data folder."""
    folder = data_folder() / "relational" / "retail"
    table = pl.read_parquet(folder / "task_spend.parquet")
    lines = pl.read_parquet(folder / "lines.parquet").drop("Description")
    rows, n_train = _in_order(table)
    days = (None, 90.0)
    return Database("retail", rows, n_train, lines, "customer", "date", "as_of", days)


def air() -> Database:
    """Return the air stations: some rows, and all earlier hours of their station."""
    table = pl.read_parquet(data_folder() / "relational" / "air" / "task_pm25_6h.parquet")
    history = table.drop("target", "split", "wd")
    rows, n_train = _in_order(table)
    parts = (rows[:n_train], rows[n_train:])
    counts = (2 * N_AIR_ROWS // 3, N_AIR_ROWS // 3)
    few = [
        part[np.linspace(0, len(part) - 1, n).astype(int)]
        for part, n in zip(parts, counts, strict=True)
    ]
    title = f"air, {N_AIR_ROWS} rows"
    both = pl.concat(few).rename({"time": "now"})
    return Database(title, both, counts[0], history, "station", "time", "now", (1.0, 7.0))


def _in_order(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return rows before the test dates and then those after them, and how many the former are."""
    is_test = pl.col("split") == "test"
    train, test = table.filter(~is_test), table.filter(is_test)
    return pl.concat([train, test]).drop("split"), len(train)


def compute(database: Database, library: str, variant: str, limit: float) -> dict[str, Any]:
    """Return the features of a library with their cost, or the reason why there are none."""
    if not is_there(library):
        return {"reason": ABSENT}
    # An engine that was just ended may still be writing its log.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        database.rows.write_parquet(folder / "rows.parquet")
        database.linked.write_parquet(folder / "linked.parquet")
        names = ("n_train", "key", "time", "as_of", "windows", "classes")
        task = {one: getattr(database, one) for one in names}
        task |= {"library": library, "variant": variant, "seed": 0}
        (folder / "task.json").write_text(json.dumps(task))
        reason = run_worker(WORKER, python_of(library), folder, 1, limit)
        if reason:
            return {"reason": reason}
        with np.load(folder / "out.npz", allow_pickle=False) as made:
            values = made["values"]
        return {"values": values, **json.loads((folder / "out.json").read_text())}


def score(database: Database, values: np.ndarray) -> float:
    """Return the score of LightGBM on later rows, with features beside the table's own columns."""
    plain = database.rows.drop("target", database.key, database.as_of).select(
        pl.selectors.numeric()
    )
    own = plain.to_numpy().astype(float).reshape(len(database.rows), plain.width)
    # Without any column the model is the mean of the target.
    columns = np.hstack([own, values, np.zeros((len(values), 1))])
    columns[~np.isfinite(columns)] = np.nan
    target = database.rows["target"].to_numpy()
    train, test = slice(0, database.n_train), slice(database.n_train, None)
    learner = lgb.LGBMClassifier if database.classes else lgb.LGBMRegressor
    model = learner(verbose=-1, n_jobs=1, random_state=0).fit(columns[train], target[train])
    guess = model.booster_.predict(columns[test])
    measure = roc_auc_score if database.classes else r2_score
    return float(measure(target[test], guess))


def lines(database: Database, limit: float) -> tuple[list[list[str]], list[str]]:
    """Return the rows of a database in the table, and sentences on the time of a feature."""
    none = np.empty((len(database.rows), 0))
    measure = "AUC" if database.classes else "R²"
    head = [database.title, "no features", "", "", "", "", f"{measure} {score(database, none):.3f}"]
    rows, sentences = [head], []
    ours = np.nan
    for library, variant in VARIANTS:
        title = TITLES[library, variant]
        say(f"{database.title}: {title}")
        found = compute(database, library, variant, limit)
        if "reason" in found:
            rows.append([database.title, title, "", "", "", "", found["reason"]])
            continue
        made, seconds = found["n_candidates"], found["seconds"]
        each = 1e3 * seconds / made
        rows.append(
            [
                *(database.title, title, f"{made} / {found['values'].shape[1]}"),
                *(f"{seconds:.3g}", f"{each:.3g}", f"{found['memory'] / 1e6:.0f}"),
                f"{measure} {score(database, found['values']):.3f}",
            ]
        )
        if (library, variant) == (OURS, "same"):
            ours = each
        elif library != OURS:
            said = "" if each >= BAR * ours else f", less than the {BAR} times that were aimed at"
            sentences.append(
                f"- {database.title}: a feature of {title} takes {each / ours:.0f} times as long"
                f"{said}."
            )
    return rows, sentences


def page(databases: Sequence[Database], limit: float) -> str:
    """Return the page."""
    rows: list[list[str]] = []
    sentences: list[str] = []
    for database in databases:
        more, said = lines(database, limit)
        rows += more
        sentences += said
        say("\n".join(" | ".join(row) for row in more))
    head = [
        *("rows", "features of", "computed / kept", "CPU s", "CPU ms a feature"),
        *("memory, MB", "LightGBM"),
    ]
    sizes = "; ".join(
        f"{one.title}: {len(one.rows):,} rows, {len(one.linked):,} linked rows, "
        f"{one.n_train:,} rows to learn from"
        for one in databases
    )
    return f"""# Features over links beside peers

{(__doc__ or "").split(chr(10) * 2, 1)[1].strip()} Limit: {limit:g} s.

The same aggregates are count, sum, mean, standard deviation, minimum, maximum, median, trend,
first, last, distinct labels and time since the last row, of every column, as far as a library has
them, over all earlier rows and the last 90 days, or over the last day and week of hourly rows. Rows
see nothing of their own time or later: cutoff times of featuretools, rows chosen beforehand for
tsfresh, whose larger set of features had no result within the limit when it was tried, and has no
row here. The search compares its candidates on a sample of rows and keeps 50; its windows and
conditions are its own, and its time is that of the whole fit and transform, with the candidates as
features. Seconds are those of the processor, memory is what the process grew by; reading the tables
is part of both.

{sizes}.

{markdown_table(head, rows)}

{chr(10).join(sentences)}
"""


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made = {"shop": shop, "retail": retail, "air": air}
    parser.add_argument("--sets", nargs="*", choices=made, default=list(made))
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of each run")
    parser.add_argument("--write", type=Path, metavar="FILE", default=WRITE)
    options = parser.parse_args()
    for library in ("featuretools", "tsfresh", "getml"):
        if reason := install(library):
            say(f"{library} is absent: {reason}")
    text = page([made[name]() for name in options.sets], options.limit)
    print(text)
    write_page(options.write, text, size_of(True, sys.argv[1:]))


if __name__ == "__main__":
    main()
