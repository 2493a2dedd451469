"""Which rows of a collection a fit sees: drawn by their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

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
        How they were drawn. "trees": for each tree, across all partitions, without replacement.
        "classes": each class by its share. "rows": by chance. "groups": whole groups. "keys":
        whole histories.
    held_out : dict or None
        Of `AutoFeatures`: how many other rows proved the choice ("n_rows"), and the scores on them
        of the model ("score") and of the original columns alone ("baseline").
    held_out_is_later : bool
        Whether these rows are later than all that were drawn, as they are with `as_of` or a
        history.
    levels : {"sample", "all rows"}
        The rows in which the levels of categories were looked for: "sample" if a column has more
        than 10,000. A level that was not found is a missing value.
    medians : {"sample", "all rows"}
        The rows from which constants for undefined values, ranges that values are clipped to and
        shares of levels were learned. Of all rows they are exact, in single precision.
    groups : {"sample", "all rows"}
        The rows from which statistics of groups without times, and of their targets, were learned.
    """

    n_rows: int
    n_drawn: int
    by: str
    held_out: Mapping[str, float] | None = None
    held_out_is_later: bool = False
    levels: str = "sample"
    medians: str = "sample"
    groups: str = "sample"


def row_chances(numbers: Numbers, seed: int) -> npt.NDArray[np.float64]:
    """Return a number in [0, 1) for each row that depends on its number and the seed alone."""
    # SplitMix64: one multiplication more than a good hash needs, and no state.
    with np.errstate(over="ignore"):
        bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(seed + 1)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
