"""Run queries on a frame in DuckDB and in SQLite."""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb
import numpy as np
import polars as pl

ENGINES = ("duckdb", "sqlite")
KEY = "the key"


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def run(query: str, engine: str, frame: pl.DataFrame, table: str = "t") -> tuple[list, list]:
    """Return the names and the rows, in the order of the frame, without the key."""
    keyed = frame.with_row_index(KEY)
    ordered = f"SELECT * FROM ({query}) ORDER BY {quote(KEY)}"
    if engine == "duckdb":
        with duckdb.connect() as connection:
            connection.execute("SET threads = 1")
            connection.register("given", keyed.to_arrow())
            connection.execute(f"CREATE TABLE {quote(table)} AS SELECT * FROM given")
            cursor = connection.execute(ordered)
            names, rows = [column[0] for column in cursor.description], cursor.fetchall()
    else:
        connection = sqlite3.connect(":memory:")
        columns = ", ".join(map(quote, keyed.columns))
        connection.execute(f"CREATE TABLE {quote(table)} ({columns})")
        places = ", ".join("?" * keyed.width)
        connection.executemany(f"INSERT INTO {quote(table)} VALUES ({places})", keyed.rows())
        cursor = connection.execute(ordered)
        names, rows = [column[0] for column in cursor.description], cursor.fetchall()
        connection.close()
    assert names[0] == KEY
    assert [row[0] for row in rows] == list(range(len(frame)))
    return names[1:], [row[1:] for row in rows]


def numbers(rows: list[Any]) -> np.ndarray:
    """Return rows as floats, NULL as NaN."""
    return np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=float)


def mixed_frame(n_rows: int, seed: int = 0, *, hostile: bool = True) -> pl.DataFrame:
    """Return a table of nasty names, and of nasty values where asked."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(n_rows, 3)).round(2)
    if hostile:
        nasty = [0.0, -0.0, -1.0, 1e30, -1e30, 1e-30, np.nan, 3.4e38, 1e-45, 16777217.0, 0.1]
        values = np.where(
            random.random(values.shape) < 0.3, random.choice(nasty, values.shape), values
        )
    return pl.DataFrame(
        {
            'a"b': values[:, 0],
            "x'; DROP TABLE t; --\n": values[:, 1],
            "größe": pl.Series(values[:, 2]).fill_nan(None),
            "c`ol": random.choice(["red", "it's", "", "'; --", None], n_rows).tolist(),
            "flag": random.choice([True, False, None], n_rows).tolist(),
        },
        schema_overrides={"c`ol": pl.String, "flag": pl.Boolean},
    )
