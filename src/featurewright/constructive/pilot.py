"""How large trees should be: small trials on rows that are held out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]

PILOT_ROUNDS, PILOT_RATE = 100, 0.1
_LEAVES = (8, 16, 31)  # of additive curves few are best, of tables with little noise many
_N_PARTS = 3  # of the rows: each in turn is held out
_FEW_ROWS, _LEAST_ROWS = 2_000, 60  # with more rows one part is enough, with fewer none


def choose_leaves(rows: Rows, seed: int, loss_of: Callable[[Rows, Rows, int], float]) -> int | None:
    """Return the number of leaves whose trees err least on held-out rows; None with few rows.

    Parameters
    ----------
    rows : ndarray of int
        The rows to learn from.
    seed : int
        Seed of the parts.
    loss_of : callable
        Takes rows to grow on, rows to hold out and a number of leaves; returns the held-out loss.
    """
    if len(rows) < _LEAST_ROWS:
        return None
    parts = np.array_split(np.random.default_rng(seed).permutation(rows), _N_PARTS)
    held_out = [np.sort(part) for part in parts[: 1 if len(rows) >= _FEW_ROWS else _N_PARTS]]
    losses = [
        np.mean([loss_of(np.setdiff1d(rows, held), held, leaves) for held in held_out])
        for leaves in _LEAVES
    ]
    return _LEAVES[int(np.argmin(losses))]
