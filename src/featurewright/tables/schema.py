"""What is learned about the columns of a table when a model is fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featurewright.expressions.domains import Domain

# Labels of one Category column, sorted; the position of a label is its code in the matrix.
Levels = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Schema:
    """Names, domains and category levels of the columns of a table.

    Parameters
    ----------
    names : tuple of str
        One name per column; ``"x0"``, ``"x1"``, ... where the table had none.
    given_names : bool
        True where the names came with the table.
    domains : ndarray of int8
        One `Domain` per column.
    levels : tuple
        Per column None, or for a Category column the tuple of its labels in the order of their
        codes. The empty tuple marks a column of text in which nothing was present: it is a Real
        column which is always missing.

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
        """Own the domains and forbid writing to them, since a schema is shared by many trees."""
        domains = np.array(self.domains, dtype=np.int8)
        domains.flags.writeable = False
        object.__setattr__(self, "domains", domains)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def is_numeric(self) -> bool:
        """True where no column is a Category."""
        return not bool(np.any(self.domains == Domain.CATEGORY))


def generated_names(n_columns: int) -> tuple[str, ...]:
    """Name the columns of a table without names as scikit-learn does."""
    return tuple(f"x{index}" for index in range(n_columns))
