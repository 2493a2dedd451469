"""Our boosting beside others on small noisy tables that are made up, all at their defaults.

Classes whose labels are wrong in a fifth to two fifths of the rows, and numbers with noise, of 300
to 4,000 rows and 6 to 10 columns of unlike units; 4,000 further rows to test on. ``--params`` gives
our boosting other parameters, which is how its defaults were chosen, on like tables and on inner
splits of sets of the data folder. ``--sums 3`` gives it three weighted sums of standardised columns
for each column too: what sparse oblique splits test.
"""

from __future__ import annotations

import argparse
import json
from typing import NamedTuple

import numpy as np
from compare_learners import LEARNERS
from data import Dataset
from oblique import with_sums
from runner import Learner, Values, fit_and_score, make_model, markdown_table, say
from scipy.stats import rankdata

TEST_ROWS = 4000
OURS, WITH_SUMS = "our boosting", "our boosting + sums"
OTHERS = (OURS, "CatBoost", "YDF oblique", "XGBoost", "LightGBM", "sklearn HGB")


class Table(NamedTuple):
    """What a table is drawn from: a signal, and the share of wrong labels or the noise's spread."""

    task: str
    signal: str
    n_rows: int
    n_columns: int
    noise: float


TABLES = (
    Table("binary", "linear", 300, 8, 0.3),
    Table("binary", "linear", 2000, 10, 0.3),
    Table("binary", "additive", 400, 6, 0.3),
    Table("binary", "additive", 1500, 8, 0.2),
    Table("binary", "additive", 4000, 8, 0.35),
    Table("binary", "products", 500, 8, 0.2),
    Table("binary", "products", 2000, 8, 0.3),
    Table("binary", "steps", 300, 6, 0.3),
    Table("binary", "steps", 1000, 8, 0.25),
    Table("binary", "steps", 4000, 10, 0.4),
    Table("binary", "ratio", 700, 6, 0.25),
    Table("binary", "ratio", 3000, 8, 0.35),
    Table("regression", "smooth", 400, 6, 0.3),
    Table("regression", "smooth", 1500, 8, 0.1),
    Table("regression", "smooth", 4000, 8, 0.7),
    Table("regression", "additive", 800, 8, 1.0),
    Table("regression", "linear", 600, 10, 0.5),
    Table("regression", "steps", 1200, 8, 0.8),
    Table("regression", "products", 1000, 6, 0.2),
)


def signal_of(kind: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return what a target depends on, of columns of unit variance."""
    a, b, c, d, e = X.T[:5]
    if kind == "linear":
        return X @ rng.normal(size=X.shape[1])
    if kind == "additive":
        return 1.5 * np.sin(2 * a) + b**2 + np.abs(c) + 0.7 * d - 1.8
    if kind == "products":
        return a * b + 0.8 * c + np.where(d > 0, e, -0.3 * e)
    if kind == "steps":
        return (a > 0) * 1.0 + (b > 0.5) * 1.0 + ((c > 0) & (d > 0)) * 1.5 - 1.2
    if kind == "ratio":
        return np.log(np.abs(a) + 0.2) - np.log(np.abs(b) + 0.2) + 0.4 * c
    if kind == "smooth":
        return np.sin(a + b) + 2 * np.exp(-(c**2)) + 0.5 * d * e
    raise ValueError(f"signal {kind!r} is unknown; use one of those of TABLES.")


def draw(table: Table, seed: int) -> Dataset:
    """Draw a table; its last rows are those to test on."""
    rng = np.random.default_rng([seed, TABLES.index(table)])
    n = table.n_rows + TEST_ROWS
    X = rng.normal(size=(n, table.n_columns))
    signal = signal_of(table.signal, X, rng)
    signal = signal / signal.std()
    name = f"{table.signal} {table.n_rows}x{table.n_columns}, {table.noise:g}"
    if table.task == "binary":
        y = (signal > 0) ^ (rng.random(n) < table.noise)
        y = y.astype(np.int64)
    else:
        y = signal + table.noise * rng.normal(size=n)
    units = np.exp(rng.normal(size=table.n_columns))
    return Dataset(name, (X * units).astype(np.float32), y, table.task)


def measure(table: Table, learner: Learner, options: argparse.Namespace) -> Values:
    """Return the means over the draws of one learner on one kind of table."""
    found = []
    for seed in range(options.first_seed, options.first_seed + options.draws):
        dataset = draw(table, seed)
        if learner.label == WITH_SUMS:
            dataset = with_sums(dataset, table.n_rows, options.sums, seed)
        model = make_model(learner.family, dict(learner.params), table.task, seed, options.jobs)
        train, test = np.split(np.arange(len(dataset.y)), [table.n_rows])
        found.append(fit_and_score(model, dataset, train, test, options.jobs))
    return {key: float(np.mean([values[key] for values in found])) for key in found[0]}


def report(found: dict[Table, dict[str, Values]], labels: list[str]) -> str:
    """Write the ranks and every table as Markdown."""
    parts = []
    titles = {"log_loss": "Log loss", "error": "Error", "rmse": "RMSE over the target's spread"}
    for value, title in titles.items():
        tables = [t for t in found if value in found[t][labels[0]]]
        if not tables:
            continue
        scores = np.array([[found[t][label][value] for label in labels] for t in tables])
        rows = [
            [draw(t, 0).name, *(f"{score:.4f}" for score in line)]
            for t, line in zip(tables, scores, strict=True)
        ]
        ranks = rankdata(scores, axis=1).mean(axis=0)
        rows.append(["mean rank", *(f"{rank:.2f}" for rank in ranks)])
        parts.append(f"{title}\n\n{markdown_table(['table', *labels], rows)}")
    seconds = [f"{sum(found[t][label]['fit_seconds'] for t in found):.1f}" for label in labels]
    parts.append(markdown_table(["seconds of all fits", *labels], [["", *seconds]]))
    return "\n\n".join(parts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=2, help="of each table (default: 2)")
    parser.add_argument("--first-seed", type=int, default=100, help="default: 100")
    parser.add_argument("--jobs", type=int, default=1, help="threads (default: 1)")
    parser.add_argument(
        "--learners", nargs="+", choices=OTHERS, default=list(OTHERS), metavar="LEARNER"
    )
    parser.add_argument("--sums", type=int, default=0, help="weighted sums for each column")
    parser.add_argument(
        "--params",
        type=json.loads,
        action="append",
        default=[],
        metavar="JSON",
        help="our boosting with these parameters too; may be repeated",
    )
    options = parser.parse_args()
    learners = [LEARNERS[label] for label in options.learners]
    learners += [Learner(json.dumps(p), LEARNERS[OURS].family, p) for p in options.params]
    if options.sums:
        learners.append(Learner(WITH_SUMS, LEARNERS[OURS].family))
    found: dict[Table, dict[str, Values]] = {}
    for table in TABLES:
        found[table] = {learner.label: measure(table, learner, options) for learner in learners}
        say(f"{draw(table, 0).name} is done.")
    print(report(found, [learner.label for learner in learners]))


if __name__ == "__main__":
    main()
