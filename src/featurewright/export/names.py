"""Names of tables and columns in SQL: always quoted, and as a dialect can hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from featurewright.expressions.sql_form import Sql, check_names, quoted, sqlglot

_LONGEST = {"postgres": 63, "bigquery": 300, "snowflake": 255}
_CASE_COUNTS = ("postgres", "snowflake")  # where quoted names that differ in case differ


def write_table(table: Any, dialect: str) -> tuple[Sql, str]:
    """Write the name of a table; give its last part too."""
    parts = table.split(".") if isinstance(table, str) else table
    is_path = isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts)
    if not is_path or not 1 <= len(parts) <= 3 or not all(parts):
        raise ValueError(
            f"table={table!r} must be a name such as 'sales' or 'shop.sales', or a tuple of up to "
            "three names where a name holds a dot."
        )
    check_names(parts, dialect)
    exp = sqlglot()
    places = dict(zip(("this", "db", "catalog"), map(quoted, reversed(parts)), strict=False))
    return exp.Table(**places), parts[-1]


def read_keys(key: Any) -> list[str]:
    """Read the columns to carry along."""
    keys = [key] if isinstance(key, str) else list(key or ())
    if not all(isinstance(name, str) for name in keys) or len(set(keys)) < len(keys):
        raise ValueError(f"key={key!r} must be the name of a column, or a list of different names.")
    return keys


def check_inputs(names: Sequence[str], dialect: str) -> None:
    """Refuse names that a dialect cannot have, and those that it takes for the same."""
    check_names(names, dialect)
    if dialect in _CASE_COUNTS:
        return
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise ValueError(
                f"Columns {other!r} and {name!r} differ in case alone, which {dialect} does not "
                "see; rename one of them before the fit."
            )


def output_names(names: Sequence[str], keys: Sequence[str], dialect: str) -> list[str]:
    """Give the names of the columns of the result as a dialect can hold them."""
    for name in names:
        if name in keys:
            raise ValueError(
                f"key column {name!r} has the name of a column of the result; leave it out of key, "
                "or rename it."
            )
    longest = _LONGEST.get(dialect)
    if longest is None:
        return list(names)
    taken = {_folded(key, dialect) for key in keys}
    result = []
    for name in names:
        # BigQuery knows letters, digits and underscores alone.
        plain = re.sub(r"[^0-9A-Za-z_]+", "_", name) if dialect == "bigquery" else name
        if dialect == "bigquery" and not re.match(r"[A-Za-z_]", plain):
            plain = f"_{plain}"
        candidate, count = _cut(plain, longest), 1
        while _folded(candidate, dialect) in taken:
            count += 1
            candidate = _cut(plain, longest - len(str(count)) - 1) + f"_{count}"
        taken.add(_folded(candidate, dialect))
        result.append(candidate)
    return result


def _folded(name: str, dialect: str) -> str:
    """Give what a dialect compares names by."""
    return name if dialect in _CASE_COUNTS else name.casefold()


def _cut(name: str, longest: int) -> str:
    """Cut a name to a number of bytes, between characters."""
    return name.encode()[:longest].decode(errors="ignore")
