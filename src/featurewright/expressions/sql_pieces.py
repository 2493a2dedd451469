"""The smallest pieces of SQL: names, numbers, strings, types and CASE."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

Sql = Any
Make = Callable[[], Sql]


@cache
def sqlglot() -> Any:
    """Return sqlglot's expressions; the package is optional and imported on first use."""
    try:
        return import_module("sqlglot.expressions")
    except ImportError:
        raise ImportError(
            "Writing SQL needs the package sqlglot, which is not installed; run 'pip install "
            "featurewright[sql]'."
        ) from None


def quoted(name: str, *, column: bool = False) -> Sql:
    """Write a name in quotes, whatever it holds."""
    if not name or "\0" in name:
        raise ValueError(
            f"The name {name!r} cannot be written in SQL, where names are not empty and hold no "
            "NUL character; rename the column."
        )
    exp = sqlglot()
    identifier = exp.Identifier(this=name, quoted=True)
    return exp.Column(this=identifier) if column else identifier


def number(value: float) -> Sql:
    """Write a number with an exponent, which databases read as a float and not as a decimal."""
    exp = sqlglot()
    text = repr(abs(float(value)))
    literal = exp.Literal(this=text if "e" in text else f"{text}e0", is_string=False)
    return exp.Neg(this=literal) if math.copysign(1.0, value) < 0 and value != 0 else literal


def text(value: str) -> Sql:
    """Write a string."""
    if "\0" in value:
        raise ValueError(
            f"The label {value!r} cannot be written in SQL, where strings hold no NUL character; "
            "rename the label."
        )
    return sqlglot().Literal.string(value)


def case(*branches: tuple[Sql, Sql], otherwise: Sql = None) -> Sql:
    """Write CASE WHEN condition THEN value ... ELSE otherwise END."""
    exp = sqlglot()
    ifs = [exp.If(this=condition, true=value) for condition, value in branches]
    return exp.Case(ifs=ifs, default=otherwise)


def kind(name: str) -> Sql:
    """Write a type: DOUBLE, FLOAT, INT or TEXT."""
    exp = sqlglot()
    return exp.DataType(this=exp.DataType.Type[name])


def double(value: Sql) -> Sql:
    """Write a cast to float64; where a dialect has such a cast, what is no number gives NULL."""
    exp = sqlglot()
    return exp.TryCast(this=value, to=kind("DOUBLE"))
