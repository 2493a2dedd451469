"""Rows of a missing value grow on in both children, within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.grown import make_job
from tests.engine.workbench import as_values, make_state
from tests.naive.streams import Stream

from featurewright.engine.criteria import INFORMATION, SQUARES
from featurewright.engine.growth import (
    COPIES_PER_ROW,
    RowPlacement,
    RowSample,
    grow_one,
    order_rows,
)
from featurewright.engine.partition import partition_rows_both_ways
from featurewright.engine.threads import Halt


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(0, 80), st.booleans())
def test_rows_are_shared(seed, n, room, is_level):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, n).astype(np.float32)
    values[rng.random(n) < 0.4] = np.nan
    ids = np.full(5 + n + room + 2, -1, np.int32)
    ids[5 : 5 + n] = rows = rng.permutation(n).astype(np.int32)
    state, stream = make_state(seed), Stream(seed)
    missing = np.isnan(values)
    left = values == 1 if is_level else values <= 1
    if missing.sum() <= room:
        lefts, rights = rows[left | missing], rows[~left | missing]
    else:
        thrown = left.copy()
        thrown[missing] = [stream.below(2) == 0 for _ in range(missing.sum())]
        lefts, rights = rows[thrown], rows[~thrown]
    size, other, left_room = partition_rows_both_ways(
        ids,
        5,
        n,
        room,
        as_values(values),
        np.float32(1),
        is_level,
        state,
        np.empty(n + 1, np.int32),
    )
    assert (size, other) == (len(lefts), len(rights))
    rest = n + room - size - other
    assert 0 <= left_room <= rest
    assert ids[5 : 5 + size].tolist() == lefts.tolist()
    second = 5 + size + left_room
    assert ids[second : second + other].tolist() == rights.tolist()
    assert (ids[:5] == -1).all()
    assert (ids[5 + n + room :] == -1).all()


def grown_with_missing(share: float, *, by_class: bool = True, **changes) -> tuple:
    """Grow one tree on a table with holes; give the job, the tree and where its rows went."""
    changes = {"criterion": INFORMATION if by_class else SQUARES, "missing_both": 1} | changes
    job = make_job(300, 3, by_class=by_class, budget=0, n_raw=3, **changes)
    holes = np.random.default_rng(3).random(job.matrix.shape) < share
    job.matrix[holes] = np.nan
    job.columns[...] = job.matrix.T
    tree, places = grow_one(job, RowSample(order_rows(job.target), None), 7, Halt())
    return job, tree, places


def rows_of(places: RowPlacement, node: int) -> np.ndarray:
    return places.row_ids[places.start[node] : places.start[node] + places.size[node]]


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("limits", [{"max_depth": 3}, {"max_leaves": 8}])
def test_growth_sends_missing_rows_to_all_children(by_class, limits):
    job, tree, places = grown_with_missing(0.03, by_class=by_class, **limits)
    both = 0
    # Rows of inner nodes are overwritten by those of their children: go upwards from the leaves.
    reached: dict[int, list[int]] = {}
    for node in range(len(tree.left) - 1, -1, -1):
        if tree.left[node] < 0:
            reached[node] = rows_of(places, node).tolist()
            continue
        assert np.isfinite(tree.threshold[node])  # missing against known is no test
        left, right = (set(reached[int(tree.left[node]) + side]) for side in (0, 1))
        reached[node] = sorted(left | right)
        assert len(reached[node]) == tree.n_rows[node]
        x = job.matrix[reached[node], tree.programs[node, 0]]
        missing = {row for row, value in zip(reached[node], x, strict=True) if np.isnan(value)}
        assert left & right == missing
        both += len(missing)
    assert both > 5
    assert sorted(reached[0]) == list(range(300))


@pytest.mark.parametrize("by_class", [True, False])
def test_gains_count_known_rows_alone(by_class):
    job, tree, _ = grown_with_missing(0.3, by_class=by_class, max_depth=1)
    x = job.matrix[:, tree.programs[0, 0]]
    known = ~np.isnan(x)
    left = x[known] <= tree.threshold[0]

    def impurity(values: np.ndarray) -> float:
        if not by_class:
            return float(((values - values.mean()) ** 2).sum())
        counts = np.bincount(values)
        counts = counts[counts > 0]
        return float(-(counts * np.log2(counts / len(values))).sum())

    y = (job.target.codes if by_class else job.target.sums[0].astype(float))[known]
    gain = impurity(y) - impurity(y[left]) - impurity(y[~left])
    assert tree.gain[0] == pytest.approx(gain, rel=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.95])
def test_copies_are_bounded(share):
    _, tree, places = grown_with_missing(share, max_depth=2**31 - 1)
    leaves = np.flatnonzero(tree.left < 0)
    held = np.concatenate([rows_of(places, node) for node in leaves])
    assert set(held.tolist()) == set(range(300))
    assert len(held) <= (1 + COPIES_PER_ROW) * 300
    if share == 0.0:
        assert len(held) == 300
    for node in leaves:
        assert len(set(rows_of(places, node).tolist())) == places.size[node]
