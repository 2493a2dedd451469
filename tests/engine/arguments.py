"""Arguments for kernels, with the types that the package uses: other types compile again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featurewright.engine.buffers import (
    LANES,
    SETTINGS,
    STATE,
    ColumnBins,
    GrowContext,
    GrownTree,
    Histograms,
    Target,
    TreeBuffers,
    UserFunctions,
    make_record,
)
from featurewright.engine.descend import BLOCK_ROWS, find_leaves, pack_nodes
from featurewright.engine.grammar import build_grammar
from featurewright.engine.grow import grow_tree, kernel_addresses
from featurewright.engine.growth import count_slots
from featurewright.engine.leaves import number_leaves, place_rows
from featurewright.engine.level_sets import IN_SET
from featurewright.engine.node_search import prepare
from featurewright.expressions import Category, resolve_operators
from featurewright.expressions.opcodes import END, operator_symbol, symbol_opcode

NO_USERS = UserFunctions(np.zeros(0, np.int64), np.zeros(0, np.int64))
WORST = np.float32(-np.inf)
WIDTH = 5
ARITHMETIC = ("add", "sub", "mul", "div")


def make_settings(**values: Any) -> Any:
    """Return the settings of an unlimited tree over classes, with some changes."""
    strategy = values.get("strategy") if values.get("budget") else None
    usual = {
        "by_class": 1,
        "whole_weights": 1,
        "min_rows": 1,
        "keep": 2,
        "max_depth": 30,
        "min_split": 2,
        **kernel_addresses(strategy),  # kernels call these, so zeros would crash the process
    }
    return make_record(SETTINGS, **{**usual, **values})


def make_state(seed: int = 1) -> Any:
    """Return the state of a new tree."""
    return make_record(STATE, random=seed)


def as_values(x: Any) -> np.ndarray:
    """Return values as a row, padded with the last one as `gather` does."""
    x = np.asarray(x, np.float32)
    return np.concatenate([x, np.full(LANES, x[-1], np.float32)])[None, :]


def as_programs(*programs: Sequence[int], width: int = WIDTH) -> np.ndarray:
    """Pad programs to one width."""
    out = np.full((len(programs), width), END, np.int32)
    for k, program in enumerate(programs):
        out[k, : len(program)] = program
    return out


def class_target(codes: Any, weights: Any = None) -> Target:
    """Return a target of classes."""
    codes = np.asarray(codes, np.int32)
    weights = np.ones(len(codes)) if weights is None else weights
    return Target(codes, np.zeros((0, len(codes)), np.float32), np.asarray(weights, np.float32))


def sums_target(values: Any, weights: Any = None) -> Target:
    """Return a target of numbers: one column per row, multiplied by the weights."""
    values = np.atleast_2d(np.asarray(values, np.float64))
    weights = np.ones(values.shape[1]) if weights is None else np.asarray(weights)
    sums = np.ascontiguousarray(values * weights, np.float32)
    return Target(np.zeros(0, np.int32), sums, weights.astype(np.float32))


def sorted_rows(target: Target) -> np.ndarray:
    """Return all rows, sorted by class if there are classes."""
    if len(target.codes):
        return np.argsort(target.codes, kind="stable").astype(np.int32)
    return np.arange(len(target.weights), dtype=np.int32)


def n_statistics(target: Target) -> int:
    """Return the number of classes or target columns."""
    return int(target.codes.max()) + 1 if len(target.codes) else len(target.sums)


def make_buffers(
    target: Target, settings: Any, n_columns: int = 1, width: int = WIDTH, n_levels: int = 0
) -> TreeBuffers:
    """Allocate the working arrays for a target."""
    n, n_stats = len(target.weights), n_statistics(target)
    return TreeBuffers.allocate(n, n_columns, n_stats, width, settings, 2 * n + 1, n_levels)


@dataclass
class Node:
    """A node over all rows of a target with its statistics; rows in the order of `ids`."""

    target: Target
    settings: Any
    ids: np.ndarray
    buffers: TreeBuffers
    n_stats: int


def make_node(
    target: Target, settings: Any, n_columns: int = 1, width: int = WIDTH, n_levels: int = 0
) -> Node:
    """Return the root node of a target."""
    buffers = make_buffers(target, settings, n_columns, width, n_levels)
    ids = sorted_rows(target)
    n_stats = prepare(target, ids, 0, len(ids), len(ids), settings, buffers.rows)
    return Node(target, settings, ids, buffers, n_stats)


def make_grammar(
    domains: Sequence[int] = (0, 0, 0),
    operators: Sequence[Any] = ARITHMETIC,
    width: int = WIDTH,
    n_levels: int = 3,
    **more: Any,
) -> Any:
    """Return a grammar; every Category column has the same number of levels."""
    kinds = np.array(domains, np.int8)
    levels = np.where(kinds == Category, n_levels, 0).astype(np.int64)
    return build_grammar(kinds, levels, resolve_operators(operators), width, **more)


def walk(grammar: Any, program: Sequence[int]) -> int:
    """Return the automaton's state after a program's symbols, whatever their parameters."""
    state = 0
    for symbol in program:
        wanted = symbol if symbol >= 0 else operator_symbol(symbol_opcode(symbol))
        first, last = grammar.start[state], grammar.start[state + 1]
        place = np.flatnonzero(grammar.symbol[first:last] == wanted)
        if not len(place):
            raise ValueError(f"symbol {symbol} of program {list(program)} is not valid there.")
        state = int(grammar.following[first + place[0]])
    return state


@dataclass
class Tree:
    """A grown tree and the rows at its nodes."""

    left: np.ndarray
    programs: np.ndarray
    threshold: np.ndarray
    is_level: np.ndarray
    missing_left: np.ndarray
    gain: np.ndarray
    start: np.ndarray
    size: np.ndarray
    depth: np.ndarray
    level_sets: np.ndarray
    ids: np.ndarray

    def rows(self, node: int) -> np.ndarray:
        """Return the rows of a node."""
        return self.ids[self.start[node] : self.start[node] + self.size[node]]

    @property
    def inner(self) -> np.ndarray:
        """Nodes that are split."""
        return np.flatnonzero(self.left >= 0)

    @property
    def leaves(self) -> np.ndarray:
        """Nodes that are not split."""
        return np.flatnonzero(self.left < 0)


def grow(
    columns: Any,
    target: Target,
    settings: Any,
    *,
    grammar: Any = None,
    users: UserFunctions = NO_USERS,
    seed: int = 1,
    stop: np.ndarray | None = None,
    width: int = WIDTH,
    bins: ColumnBins | None = None,
) -> Tree:
    """Grow a tree on all rows; with bins, raw columns are scored by histograms."""
    columns = np.ascontiguousarray(columns, np.float32)
    grammar = make_grammar([0] * len(columns), width=width) if grammar is None else grammar
    n = columns.shape[1]
    capacity = 2 * n + 1
    n_levels = int(grammar.n_levels.max(initial=0)) if settings["level_sets"] else 0
    grown = GrownTree.allocate(capacity, width, n_levels)
    buffers = TreeBuffers.allocate(
        n, len(columns), n_statistics(target), width, settings, capacity, n_levels
    )
    if bins is not None:
        histograms = Histograms.allocate(bins, count_slots(settings), capacity)
        buffers = buffers._replace(histograms=histograms)
    ids = sorted_rows(target)
    context = GrowContext(
        buffers.rows, ids, np.ascontiguousarray(columns.T), columns, target, settings, grammar,
        users, make_state(seed), np.zeros(1, np.int64) if stop is None else stop, grown, buffers,
    )  # fmt: skip
    count = grow_tree(context, context.of_sample())
    names = ("left", "programs", "threshold", "is_level", "missing_left", "gain", "start", "size")
    names = (*names, "depth", "level_sets")
    return Tree(*(getattr(grown, name)[:count].copy() for name in names), ids)


def leaf_of_grown_rows(tree: Tree) -> np.ndarray:
    """Return the leaf number of each row according to growth."""
    left = tree.left.copy()
    number_leaves(left)
    out = np.empty(len(tree.ids), np.int32)
    place_rows(left, tree.start, tree.size, tree.ids, out)
    return out


def block_buffers() -> tuple[np.ndarray, ...]:
    """Return the buffers in which a block of rows descends, without keys and salts."""
    keys, salts = np.empty(0, np.uint64), np.empty(0, np.uint64)
    return np.empty(BLOCK_ROWS, np.int64), np.empty(BLOCK_ROWS, np.int64), keys, salts


def leaf_of_rows(tree: Tree, columns: Any, users: UserFunctions = NO_USERS) -> np.ndarray:
    """Return the leaf number of each row by descent."""
    matrix = np.ascontiguousarray(np.asarray(columns, np.float32).T)
    left = tree.left.copy()
    number_leaves(left)
    packed = np.empty((len(left), 4), np.int32)
    pack_nodes(left, tree.programs, tree.threshold, tree.is_level, tree.missing_left, packed)
    packed[:, 2] = tree.threshold.view(np.int32)
    in_set = tree.is_level == IN_SET
    packed[in_set, 2] = np.flatnonzero(in_set)  # while it grows, a tree has a set for each node
    out = np.empty((len(matrix), 1), np.int32)
    stack = np.empty(tree.programs.shape[1] + 1, np.float32)
    roots = np.zeros(1, np.int64)
    find_leaves(
        matrix, 0, len(matrix), roots, packed, tree.level_sets, tree.programs, users, stack,
        *block_buffers(), out,
    )  # fmt: skip
    return out[:, 0]
