"""SQL and ONNX beside the models they were written from: differences, sizes and times.

scikit-learn's wines are fitted as they are, and once more with a tenth of the values replaced by
zeros, missing, huge and tiny numbers. Every model is written, run in DuckDB, SQLite and
onnxruntime, and compared with itself.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import polars as pl
from pages import PAGES, size_of, write_page
from runner import markdown_table, say, warm_up
from sklearn.datasets import load_wine

from featurewright import (
    BatchConstructor,
    ConstructiveBoostingClassifier,
    ConstructiveExtraTreesClassifier,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
    ConstructiveTreeClassifier,
    FCTreeClassifier,
    LandmarkKernelFeatures,
    RecursiveSelectiveTransformer,
)
from featurewright.export import to_onnx, to_sql

NASTY = [0.0, -1.0, 1e30, -1e30, 1e-30, np.nan, 16777217.0, 0.1]
WIDE = ["add", "sub", "mul", "div", "log", "exp", "sqrt", "gaussian", "min", "less"]
KEY = "row number"
WRITE = PAGES / "exports.md"


def models(n_trees: int) -> list[tuple[str, Any]]:
    """List what is exported; with all operators, then with arithmetic alone."""
    return [
        ("tree", ConstructiveTreeClassifier(random_state=0)),
        (f"forest, {n_trees} trees", ConstructiveForestClassifier(n_trees, random_state=0)),
        (
            f"forest, {n_trees} trees, with log and exp",
            ConstructiveForestClassifier(n_trees, operators=WIDE, random_state=0),
        ),
        (
            f"Extra-Trees, {n_trees} trees",
            ConstructiveExtraTreesClassifier(n_trees, random_state=0),
        ),
        (
            f"regression forest, {n_trees} trees",
            ConstructiveForestRegressor(n_trees, random_state=0),
        ),
        ("boosting, 10 rounds", ConstructiveBoostingClassifier(10, random_state=0)),
        ("feature construction tree", FCTreeClassifier(random_state=0)),
        ("batch", BatchConstructor()),
        ("landmarks", LandmarkKernelFeatures(20, scale=True, random_state=0)),
        ("recursive", RecursiveSelectiveTransformer(1, random_state=0)),
    ]


def in_duckdb(frame: pl.DataFrame, query: str) -> list[Any]:
    """Run a query in DuckDB."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("given", frame.to_arrow())
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
        return connection.execute(query).fetchall()


def in_sqlite(frame: pl.DataFrame, query: str) -> list[Any]:
    """Run a query in SQLite."""
    connection = sqlite3.connect(":memory:")
    columns = ", ".join(f'"{name}"' for name in frame.columns)
    connection.execute(f"CREATE TABLE t ({columns})")
    places = ", ".join("?" * frame.width)
    connection.executemany(f"INSERT INTO t VALUES ({places})", frame.rows())
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def run(model: Any, engine: str, frame: pl.DataFrame, output: str) -> tuple[Any, int, float, float]:
    """Write a model and run it: the result, its size, and the seconds that both took."""
    started = time.perf_counter()
    if engine == "onnx":
        made = to_onnx(model, output=output).SerializeToString()
        written = time.perf_counter()
        session = onnxruntime.InferenceSession(made)
        (found,) = session.run(None, {"X": frame.to_numpy().astype(float)})
        return found, len(made), written - started, time.perf_counter() - written
    made = to_sql(model, "t", engine, key=KEY, output=output)
    written = time.perf_counter()
    keyed = frame.with_row_index(KEY)
    rows = (in_duckdb if engine == "duckdb" else in_sqlite)(keyed, made)
    taken = time.perf_counter() - written
    found = np.array([row[1:] for row in sorted(rows)], dtype=float)
    return found, len(made), written - started, taken


def line(name: str, table: str, model: Any, frame: pl.DataFrame, engine: str) -> list[str]:
    """Compare one model with its export."""
    output = "transform"
    if hasattr(model, "predict"):
        output = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    expected = np.asarray(getattr(model, output)(frame), dtype=float)
    found, size, write, taken = run(model, engine, frame, output)
    found = np.asarray(found, dtype=float).reshape(expected.shape)
    apart = np.abs(found - expected) / np.maximum(np.abs(expected), 1e-12)
    rows = int((apart.reshape(len(apart), -1) > 1e-6).any(axis=1).sum())
    cells = [name, table, output, engine, f"{size / 1000:,.0f} kB", f"{write:.2f} s"]
    usual = float(apart[apart <= 1e-6].max(initial=0.0))
    return [*cells, f"{taken:.2f} s", f"{usual:.1e}", str(rows)]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=int, default=10, help="of forests (default: 10)")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", default=WRITE, help="write the Markdown here"
    )
    options = parser.parse_args()
    warm_up()
    X, y = load_wine(return_X_y=True)
    names = [f"c{k}" for k in range(X.shape[1])]
    random = np.random.default_rng(0)
    nasty = np.where(random.random(X.shape) < 0.1, random.choice(NASTY, X.shape), X)
    tables = {"wine": X, "hostile": nasty}
    lines = []
    for table, values in tables.items():
        frame = pl.DataFrame(np.asarray(values, dtype=float), schema=names)
        for name, model in models(options.trees):
            if table == "hostile" and name in ("landmarks", "recursive"):
                continue  # distances between numbers of 1e30 are noise in the model itself
            say(f"{table}: {name}")
            target = random.normal(size=len(X)) if name.startswith("regression") else y
            model.fit(frame, target)
            lines += [
                line(name, table, model, frame, engine) for engine in ("duckdb", "sqlite", "onnx")
            ]
    header = ["model", "table", "output", "engine", "size", "writing", "running", "difference"]
    text = f"""# Exports beside their models

{len(X)} rows of {X.shape[1]} columns, in memory, one thread. "Running" is reading the query or
graph, planning and computing; "difference" is the largest relative difference of a value among the
rows that agree; the last column counts rows that do not agree to six digits.

{markdown_table([*header, "rows apart"], lines)}
"""
    print(text)
    write_page(options.write, text, size_of(True, sys.argv[1:]))


if __name__ == "__main__":
    main()
