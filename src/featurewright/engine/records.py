"""Scalars shared by kernels, as records: one pointer to pass instead of dozens of arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

SETTINGS = np.dtype(
    [
        # scoring
        ("by_class", np.int64),  # 1: statistics are classes, rows are sorted by class
        ("whole_weights", np.int64),  # 1: all weights are whole numbers
        ("criterion", np.int64),
        ("random_threshold", np.int64),  # 1: one uniform threshold, 0: the best one
        ("many_thresholds", np.int64),  # 1: compare candidates by more than a few thresholds
        ("min_rows", np.int64),  # rows on each side of a split
        ("min_weight", np.float32),  # weight on each side of a split
        ("l2", np.float32),
        ("centered", np.int64),  # 1: target sums are taken about the node's mean
        # search
        ("strategy", np.int64),
        ("budget", np.int64),  # score calls per node; 0: no expressions
        ("n_raw", np.int64),  # raw columns tried besides
        ("sample", np.int64),  # rows of the first round of halving; 0: no halving
        ("keep", np.int64),  # one in so many candidates goes on, to so many times the rows
        # growth
        ("max_depth", np.int64),
        ("max_leaves", np.int64),  # 0: depth first without a limit; else best first
        ("min_split", np.int64),  # rows a node needs to be split
        ("min_gain", np.float32),
        ("strict", np.int64),  # 1: a split must gain something
        ("missing_both", np.int64),  # 1: rows missing the tested value go to both sides
        ("room", np.int64),  # row ids free behind the tree's rows, for those that go both ways
        # addresses of kernels
        ("scorer", np.int64),
        ("runner", np.int64),
        ("searcher", np.int64),  # of expressions; 0 where there is no search
        ("filler", np.int64),  # of the pool; 0 where there is none
    ],
    align=True,
)

STATE = np.dtype(
    [
        ("random", np.uint64),  # the tree's stream of random numbers
        ("grammar_state", np.int64),  # of the automaton after the symbol just drawn
        ("node", np.int64),  # counts the nodes searched
        ("scored", np.int64),  # score calls at this node
        ("tries", np.int64),  # candidates drawn at this node
        ("remembered", np.int64),  # programs in the hash table
        # the candidate just scored
        ("boundary", np.int64),
        ("many", np.int64),  # it is to be compared by more than a few thresholds
        ("few", np.int64),  # it was compared by a few thresholds
        ("missing", np.int64),  # some of its values are missing
        ("perfect", np.int64),  # it separates the last two classes: nothing scores higher
        ("low", np.float32),
        ("high", np.float32),
        ("threshold", np.float32),
        ("center", np.float32),  # where most of its values are, if it has long tails
        ("width", np.float32),
        # the node's best candidate
        ("best_score", np.float32),
        ("best_threshold", np.float32),
        ("best_is_level", np.int64),
        ("best_perfect", np.int64),
        ("best_few", np.int64),
    ],
    align=True,
)


def make_record(dtype: np.dtype, **values: Any) -> Any:
    """Make a record of zeros with some fields set."""
    record = np.zeros(1, dtype)[0]
    for name, value in values.items():
        record[name] = value
    return record
