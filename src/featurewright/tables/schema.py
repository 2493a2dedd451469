"""The schema of a table: what is learned about its columns when a model is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.expressions.domains import Domain

# Labels of one Category column, sorted; the position of a label is its code in the matrix.
Levels = tuple[object, ...]

MAX_CODES = 254  # levels of a category that scikit-learn's boosting takes as one column
MAX_LABEL = 1_000
"""Characters that a name of a column or a class may have: names are in every formula and query."""


def check_label(text: str, what: str) -> None:
    """Refuse a name or a label that is too long.

    Parameters
    ----------
    text : str
        The name or label.
    what : str
        What it is, to begin the sentence with.

    Examples
    --------
    >>> check_label("x" * 2000, "The name of column 1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: The name of column 1 has 2,000 characters ...
    """
    if len(text) > MAX_LABEL:
        raise ValueError(
            f"{what} has {len(text):,} characters ('{text[:20]}...'), but at most {MAX_LABEL:,} "
            "are expected: shorten it."
        )


@dataclass(frozen=True, eq=False)
class Schema:
    """Names, domains and category levels of the columns of a table.

    Parameters
    ----------
    names : tuple of str
        One name per column; ``"x0"``, ``"x1"``, ... where the table had none.
    given_names : bool
        Whether the names came with the table.
    domains : ndarray of int8
        One `Domain` per column.
    levels : tuple
        Per column None, or for a Category column the tuple of its labels in the order of their
        codes. The empty tuple marks a column of text without a single value: it counts as a Real
        column that is always missing.

    Examples
    --------
    >>> import polars as pl
    >>> from featurewright.tables import learn_schema
    >>> schema = learn_schema(pl.DataFrame({"size": [1.5, 2.5], "colour": ["red", "blue"]}))
    >>> schema.names, schema.domains.tolist(), schema.levels
    (('size', 'colour'), [0, 2], (None, ('blue', 'red')))
    """

    names: tuple[str, ...]
    given_names: bool
    domains: NDArray[np.int8]
    levels: tuple[Levels | None, ...]

    def __post_init__(self) -> None:
        """Copy the domains and make them read-only: many trees share a schema."""
        domains = np.array(self.domains, dtype=np.int8)
        domains.flags.writeable = False
        object.__setattr__(self, "domains", domains)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def is_numeric(self) -> bool:
        """Whether no column is a Category."""
        return not bool(np.any(self.domains == Domain.CATEGORY))


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table that has been encoded already, for learners that train inside another one.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_columns)
        Missing is NaN, a Boolean 0 or 1, a Category the code of its level.
    schema : Schema
        What the columns are.

    Examples
    --------
    >>> from featurewright.tables import learn_schema
    >>> table = EncodedTable(np.array([[1.0, 2.0]]), learn_schema([[1, 2]]))
    >>> table.shape
    (1, 2)
    """

    matrix: NDArray[np.floating[Any]]
    schema: Schema

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.matrix.shape[0], self.matrix.shape[1]


def check_input_names(schema: Schema, names: Any) -> None:
    """Refuse `input_features` of `get_feature_names_out` that are not the names of the fit."""
    given = [str(name) for name in names]
    seen = list(schema.names)
    if len(given) != len(seen):
        raise ValueError(
            f"input_features should have length equal to the number of features "
            f"({len(seen)}), but it has {len(given)}."
        )
    if schema.given_names and given != seen:
        raise ValueError("input_features is not equal to feature_names_in_ of the fit.")


def generated_names(n_columns: int) -> tuple[str, ...]:
    """Return scikit-learn's names for the columns of a table without names."""
    return tuple(f"x{index}" for index in range(n_columns))
