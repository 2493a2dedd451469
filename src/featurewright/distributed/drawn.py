"""What a fit on a collection saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MAX_ROWS = 100_000  # that are drawn where a method needs its rows in one place


@dataclass(frozen=True)
class Drawn:
    """The rows of a collection that a fit saw.

    Attributes
    ----------
    n_rows : int
        Rows of the collection.
    n_drawn : int
        Rows that were drawn: for the fit, or for each tree of a forest.
    by : str
        "trees": for each tree, across all partitions, without replacement. "classes": each class
        by its share. "rows": by chance. "groups": whole groups.
    held_out : dict or None
        Of `AutoFeatures`: how many other rows proved the choice ("n_rows"), and the scores on them
        of the model ("score") and of the original columns alone ("baseline").
    """

    n_rows: int
    n_drawn: int
    by: str
    held_out: Mapping[str, float] | None = None
