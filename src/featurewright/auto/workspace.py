"""Training rows and what was constructed from them: of one fold, or of all rows at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.originals import Originals, learn_originals
from featurewright.auto.parts import Part, rate_formulas
from featurewright.auto.requests import Request, Task
from featurewright.auto.selection import by_residual, distinct, indicator_target
from featurewright.auto.sources import POOL, SOURCES, Source
from featurewright.tables import EncodedTable

Matrix = NDArray[np.float64]

GAIN, RESIDUAL, JOINT, OWN = "gain", "residual", "joint", "own"
GAIN_SIZES = (10, 50)  # in this order fewer sizes are tried: it is seldom the better one
MAX_CELLS = 50_000_000  # rows times constructed columns of the last fit


@dataclass(frozen=True)
class Piece:
    """So many columns of one method, taken in some order."""

    method: str
    order: str
    size: int


@dataclass(frozen=True)
class Config:
    """A choice of constructed columns; none at all keeps the original ones only."""

    pieces: tuple[Piece, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods used."""
        return tuple(piece.method for piece in self.pieces)

    @property
    def label(self) -> str:
        """The methods in words."""
        return " + ".join(self.methods) or "original"

    @property
    def joint(self) -> tuple[Piece, ...]:
        """Methods whose formulas are taken in one common order."""
        return tuple(piece for piece in self.pieces if piece.order == JOINT)

    @property
    def single(self) -> tuple[Piece, ...]:
        """Methods whose columns are taken in an order of their own."""
        return tuple(piece for piece in self.pieces if piece.order != JOINT)

    @property
    def n_together(self) -> int:
        """Number of orders that are joined."""
        return len(self.single) + bool(self.joint)

    @property
    def n_columns(self) -> int:
        """Largest number of constructed columns."""
        return sum(piece.size for piece in (*self.joint[:1], *self.single))


@dataclass(frozen=True, eq=False)
class Problem:
    """A table with its target, as the search sees it.

    Parameters
    ----------
    table : EncodedTable
        All training rows.
    y : ndarray
        The target as estimators see it.
    codes : ndarray
        The target as methods see it: class codes, or numbers.
    weights : ndarray or None
        Weights of the rows.
    task : Task
        What to do.
    limit : int or None
        Largest number of constructed columns, where one was asked for.
    """

    table: EncodedTable
    y: NDArray[Any]
    codes: NDArray[Any]
    weights: NDArray[np.float64] | None
    task: Task
    limit: int | None

    def take(self, rows: Any) -> Problem:
        """Give some of the rows."""
        return Problem(
            EncodedTable(self.table.matrix[rows], self.table.schema),
            self.y[rows],
            self.codes[rows],
            None if self.weights is None else self.weights[rows],
            self.task,
            self.limit,
        )


class Workspace:
    """Construct from training rows, and choose among what was constructed."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self.originals: Originals = learn_originals(problem.table.matrix, problem.table.schema)
        self.base = self.originals.compute(np.asarray(problem.table.matrix, np.float64))
        self._pools: dict[str, tuple[Part, dict[str, NDArray[np.intp]]]] = {}
        self._joint: dict[tuple[str, ...], list[Part]] = {}

    def construct(self, source: Source, sizes: Sequence[int], seconds: float) -> list[Piece]:
        """Run a method; give the choices of its columns that are worth trying.

        Without any sizes, none is tried: columns are wanted for good then, and have their names.
        """
        problem = self.problem
        rows = self._rows(source)
        sample = problem if rows is None else problem.take(rows)
        weights = sample.weights
        if rows is not None and source.name == "landmarks":
            # Landmarks are named by their row, so that the others stay, without any weight.
            sample, weights = problem, np.zeros(len(problem.y))
            weights[rows] = 1.0
        asked = Request(
            sample.table,
            sample.codes,
            weights,
            problem.task,
            self.seed,
            seconds,
            named=not sizes or source.readable,
        )
        part = source.make(asked)
        values = part.compute(problem.table)
        orders: dict[str, NDArray[np.intp]] = {}
        if source.readable:
            fresh = distinct(self.base, values)
            orders[GAIN] = fresh
            target = indicator_target(problem.codes, problem.task.kind)
            ranked = by_residual(self.base, values[:, fresh], target, max(source.sizes))
            orders[RESIDUAL] = fresh[ranked]
        else:
            orders[OWN] = _fresh(self.base, part, values)
        self._pools[source.name] = part, orders
        return [
            Piece(source.name, order, size)
            for order, chosen in orders.items()
            for size in sizes
            if len(chosen) and (order != GAIN or size in GAIN_SIZES)
        ]

    def width(self, piece: Piece) -> int:
        """Give the number of columns a choice has here: fewer where there are not so many."""
        return min(piece.size, len(self._pools[piece.method][1][piece.order]))

    def parts(self, config: Config) -> list[Part]:
        """Give the chosen columns, without those that earlier ones say already."""
        found = self._joint_parts(config.joint) if config.joint else []
        known = self.base
        room = self.problem.limit or config.n_columns
        room -= sum(len(part.names) for part in found)
        if found and config.single:
            known = self.columns(found)
        for piece in config.single:
            part, orders = self._pools[piece.method]
            chosen = part.take(orders[piece.order][: piece.size])
            if found:
                values = chosen.compute(self.problem.table)
                fresh = _fresh(known, chosen, values)[: max(0, room)]
                chosen, values = chosen.take(fresh), values[:, fresh]
                known = np.hstack([known, values])
            elif len(config.single) > 1:
                known = self.columns([chosen])
            room -= len(chosen.names)
            if len(chosen.names):
                found.append(chosen)
        return found

    def _joint_parts(self, pieces: tuple[Piece, ...]) -> list[Part]:
        """Choose formulas of several methods in one order, by what is left to explain."""
        methods = tuple(piece.method for piece in pieces)
        if methods not in self._joint:
            pools = [
                self._pools[method][0].take(self._pools[method][1][GAIN][:POOL])
                for method in methods
            ]
            values = np.hstack([pool.compute(self.problem.table) for pool in pools])
            fresh = distinct(self.base, values)
            target = indicator_target(self.problem.codes, self.problem.task.kind)
            most = max(SOURCES[methods[0]].sizes)
            order = fresh[by_residual(self.base, values[:, fresh], target, most)]
            starts = np.cumsum([0, *(len(pool.names) for pool in pools)])
            which = np.searchsorted(starts, order, side="right") - 1
            self._joint[methods] = [
                pools[at].take([place - starts[at]]) for place, at in zip(order, which, strict=True)
            ]
        return merge(self._joint[methods][: pieces[0].size])

    def _rows(self, source: Source) -> Any:
        """Choose the rows a method learns from; None for all."""
        n_rows = len(self.problem.table.matrix)
        if n_rows <= source.max_rows:
            return None
        chosen = np.random.default_rng(self.seed).permutation(n_rows)[: source.max_rows]
        return np.sort(chosen)

    def rated(self, config: Config) -> list[Part]:
        """Give the parts of a choice, their formulas with gains that compare."""
        parts = self.parts(config)
        target = indicator_target(self.problem.codes, self.problem.task.kind)
        return rate_formulas(parts, self.columns(parts), target)

    def undefined(self, parts: list[Part]) -> NDArray[np.float64]:
        """Give the share of rows in which each of the `columns` is undefined and was filled."""
        shares = (part.undefined(self.problem.table) for part in parts)
        return np.concatenate([np.zeros(self.base.shape[1]), *shares])

    def columns(self, parts: list[Part]) -> Matrix:
        """Give original and constructed columns of the training rows."""
        return np.hstack([self.base, *(part.compute(self.problem.table) for part in parts)])


def _fresh(known: Matrix, part: Part, values: Matrix) -> NDArray[np.intp]:
    """Give the columns that say something new; leaves of trees overlap little, and are many."""
    return np.arange(values.shape[1]) if part.kind == "path" else distinct(known, values)


def merge(parts: list[Part]) -> list[Part]:
    """Join parts of one method that have formulas."""
    by_method: dict[str, list[Part]] = {}
    for part in parts:
        by_method.setdefault(part.method, []).append(part)
    return [_joined(found) for found in by_method.values()]


def _joined(parts: list[Part]) -> Part:
    """Join parts that have formulas."""
    first = parts[0]
    return Part(
        first.method,
        first.kind,
        tuple(feature for part in parts for feature in part.features),
        None,
        np.concatenate([part.keep for part in parts]),
        tuple(name for part in parts for name in part.names),
        np.concatenate([part.fill for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
    )


def adds(method: str, config: Config) -> bool:
    """Tell whether a method's columns may join a choice."""
    if method in config.methods:
        return False
    source = SOURCES[method]
    others = [SOURCES[other] for other in config.methods if SOURCES[other].trees]
    # Ensembles of two kinds err in different rows; leaves besides would be too many columns.
    return not source.trees or not others or all(s.by_class for s in [source, *others])


def readable(methods: Any) -> list[str]:
    """Give those of some methods that have formulas."""
    return [method for method in methods if SOURCES[method].readable]
