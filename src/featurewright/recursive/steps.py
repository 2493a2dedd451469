"""Recursions: a linear model weighs the columns, which are then selected and projected.

Columns of large weight come first; those left are weighed by themselves, and thinned out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, parallel_config
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from featurewright.engine.threads import local_threads, one_blas_thread
from featurewright.estimators.parameters import whole_number
from featurewright.estimators.units import chosen_backend, run_units

Matrix = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64] | None

PROJECTIONS = ("stretch", "diagonal", "orthogonal")
PROJECT = ("first", "after")
RANKINGS = ("class", "shared")
SCHEDULES = ("auto", "published")
NORMS = (None, "unit", "max")
LOSSES = ("squared_hinge", "hinge")
SOLVERS = ("auto", "liblinear", "sgd")
MAX_RECURSIONS = 20  # tried when the number is chosen by held-out rows
LEAST_COLUMNS = 2  # the published schedules end here
_MAX_BYTES = 2**31  # of all matrices together
STRONG_SHARE = 6 / 7  # of the columns left, those that come from the first step
_MANY_ROWS = 10_000  # above, stochastic gradients take over from coordinate descent
_MANY_CELLS = 100_000_000  # above, liblinear's copy of the rows takes gigabytes
_BITS = 14  # of the largest weight that are kept
# Newton steps end close to the best weights anyway; coordinate descent would take very long.
_TOLERANCE, _DUAL_TOLERANCE = 1e-12, 1e-4
_MANY_COLUMNS = 1_000  # above, and with fewer rows, coordinate descent is the faster one


def plan_sizes(
    n_columns: int, keep: Any, n_recursions: Any, n_rows: int | None = None
) -> list[int]:
    """Return the number of columns after each recursion.

    Parameters
    ----------
    n_columns : int
        Columns to begin with.
    keep : "auto", "published", float or sequence of int
        A named schedule, a share of the columns, or the sizes themselves.
    n_recursions : int or "auto"
        How many at most.
    n_rows : int, optional
        Training rows, which limit the published schedule.

    Returns
    -------
    list of int
        One size for each recursion; it may be shorter than asked for.

    Examples
    --------
    >>> plan_sizes(93, "auto", 6)
    [80, 68, 58, 49, 41, 34]
    >>> plan_sizes(4096, "published", 6, n_rows=240)
    [720, 509, 430, 375, 327, 285]
    >>> plan_sizes(10, 0.5, 6)
    [5, 2]
    """
    return [sum(parts) for parts in plan_parts(n_columns, keep, n_recursions, n_rows)]


def plan_parts(
    n_columns: int, keep: Any, n_recursions: Any, n_rows: int | None = None
) -> list[tuple[int, ...]]:
    """Return the columns that each step of each recursion keeps.

    Parameters
    ----------
    n_columns, keep, n_recursions, n_rows
        As in `plan_sizes`.

    Returns
    -------
    list of tuple of int
        For each recursion, how many columns its steps keep. Every step chooses among the columns
        that the steps before it have left.

    Examples
    --------
    >>> plan_parts(9, "published", 6)
    [(4, 1), (2,)]
    >>> plan_parts(93, "auto", 1)
    [(69, 11)]
    """
    most = MAX_RECURSIONS
    if not (isinstance(n_recursions, str) and n_recursions == "auto"):
        most = whole_number("n_recursions", n_recursions, 0, other="'auto'")
    if isinstance(keep, Sequence | np.ndarray) and not isinstance(keep, str):
        return [_two_parts(size) for size in _check_sizes(keep, n_columns)[:most]]
    plan: list[tuple[int, ...]] = []
    size = n_columns
    # A table that begins with so few columns still gets one recursion, which keeps them all.
    while len(plan) < most and (size > LEAST_COLUMNS or not plan):
        parts = _next_parts(size, keep, n_rows)
        if sum(parts) < LEAST_COLUMNS:
            parts = (min(size, LEAST_COLUMNS),)
        plan.append(parts)
        size = sum(parts)
    return plan


def check_memory(n_columns: int, sizes: Sequence[int], n_problems: int, n_parts: int) -> None:
    """Refuse tables whose matrices would fill the memory.

    Parameters
    ----------
    n_columns : int
        Columns of the scaled table.
    sizes : sequence of int
        Columns after each recursion.
    n_problems : int
        Matrices learned side by side.
    n_parts : int
        Training parts that each have such matrices while the number of recursions is chosen; 0
        where it is given.
    """
    # A choice may fall on no recursion, whose matrix has all columns.
    n_kept = sizes[0] * max(1, n_parts) if sizes else n_columns
    if n_parts:
        n_kept = max(n_kept, n_columns)
    n_bytes = n_problems * n_columns * n_kept * np.dtype(np.float64).itemsize
    if n_bytes > _MAX_BYTES:
        raise ValueError(
            f"X has {n_columns} columns (a category has one for each level), for which the "
            f"matrices of {n_problems} problems need {n_bytes / 2**30:.1f} GB, but at most "
            f"{_MAX_BYTES / 2**30:.0f} GB are used: keep fewer columns, as in "
            "n_recursions=1, keep=(50,), or select some first."
        )


def _next_parts(size: int, keep: Any, n_rows: int | None) -> tuple[int, ...]:
    """Return the columns that the steps of one recursion keep."""
    if isinstance(keep, str) and keep == "published":
        return _published_parts(size, n_rows)
    return _two_parts(_next_size(size, keep))


def _published_parts(size: int, n_rows: int | None) -> tuple[int, ...]:
    """Return about a half, a quarter and an eighth of the columns.

    The article does not state the rule; this one gives every size in its tables but those of mnist
    after the third. That two columns or fewer leave nothing to the last step is read off the small
    tables.
    """
    half, quarter = size // 2, size // 4
    parts = [ceil(size / 2) - 1, ceil(half / 2) - 1, ceil(quarter / 2) if quarter > 2 else 0]
    if n_rows is not None:
        parts = [min(part, n_rows) for part in parts]
    return tuple(part for part in parts if part > 0)


def _two_parts(size: int) -> tuple[int, ...]:
    """Return how many of the columns that are left come from the first and the second step."""
    strong = ceil(STRONG_SHARE * size)
    return (strong, size - strong) if size > strong else (strong,)


def _next_size(size: int, keep: Any) -> int:
    """Return the number of columns after one recursion."""
    if isinstance(keep, str) and keep == "auto":
        return ceil(0.875 * size) - 2
    if isinstance(keep, Real) and not isinstance(keep, bool) and 0.0 < float(keep) <= 1.0:
        return floor(float(keep) * size)
    raise ValueError(
        f"keep={keep!r} must be 'auto', 'published', a share in (0, 1], or a sequence of sizes "
        "such as (30, 10)."
    )


def _check_sizes(keep: Any, n_columns: int) -> list[int]:
    """Return the sizes of an explicit schedule, which must not grow."""
    sizes = [whole_number("a size in keep", size, 1) for size in keep]
    if not sizes:
        raise ValueError(
            "keep is empty: give a size for each recursion, a share, 'auto' or 'published'."
        )
    for before, after in zip([n_columns, *sizes], sizes, strict=False):
        if after > before:
            raise ValueError(
                f"keep={list(sizes)!r} asks for {after} columns where only {before} are left; "
                "give sizes that do not grow."
            )
    return sizes


def is_stochastic(solver: str, loss: str, shape: tuple[int, int]) -> bool:
    """Whether the linear model is fitted by stochastic gradients.

    The publication does so above 10,000 rows. With the squared hinge loss, liblinear's Newton steps
    take no longer there and end at the best weights.
    """
    if solver != "auto":
        return solver == "sgd"
    too_large = _needs_dual(loss, shape) or shape[0] * shape[1] > _MANY_CELLS
    return shape[0] > _MANY_ROWS and too_large


def _needs_dual(loss: str, shape: tuple[int, int]) -> bool:
    """Whether liblinear needs coordinate descent, or is much faster with it."""
    return loss == "hinge" or shape[1] > max(shape[0], _MANY_COLUMNS)


@dataclass(frozen=True)
class Plane:
    """Settings of the linear model, of the ranking and of the projection along its weights."""

    regression: bool
    stochastic: bool
    C: float
    loss: str
    projection: str
    normalize: str | None
    project: str
    ranking: str

    def uses_dual(self, shape: tuple[int, int]) -> bool:
        """Whether liblinear uses coordinate descent in random order."""
        return not self.stochastic and _needs_dual(self.loss, shape)

    def model(self, columns: Any, seed: int) -> Any:
        """Return the linear model for some columns, not fitted yet."""
        # Imported where they are used: a transform does not need them, and they load slowly.
        from sklearn.linear_model import SGDClassifier, SGDRegressor
        from sklearn.svm import LinearSVC, LinearSVR

        if self.stochastic:
            make, loss = (
                (SGDRegressor, "epsilon_insensitive")
                if self.regression
                else (SGDClassifier, "hinge")
            )
            return make(
                loss=loss,
                alpha=1.0 / (self.C * columns.shape[0]),
                # Projected columns may be large: steps of the usual size would run away.
                learning_rate="adaptive",
                eta0=1.0 / (_mean_square_length(columns) or 1.0),
                random_state=seed,
                average=True,
            )
        dual = self.uses_dual(columns.shape)
        tolerance = _DUAL_TOLERANCE if dual else _TOLERANCE
        common = {"C": self.C, "dual": dual, "tol": tolerance, "random_state": seed}
        if self.regression:
            loss = self.loss.replace("hinge", "epsilon_insensitive")
            return LinearSVR(loss=loss, epsilon=0.0, **common)
        return LinearSVC(loss=self.loss, **common)


@dataclass(frozen=True, eq=False)
class Problem:
    """One column of the target: -1 and 1 for a class against the rest, or numbers."""

    target: Matrix
    seed: int


class Weighed(NamedTuple):
    """A linear model of some columns: its weights, itself, and its mean loss on its rows.

    The model is None for a class that no training row has.
    """

    weights: Matrix
    model: Any
    loss: float


class Stage(NamedTuple):
    """One problem after some recursions: all of them as one matrix, and a linear model behind it.

    The matrix is None before the first recursion.
    """

    matrix: Matrix | None
    weighed: Weighed


def weigh(columns: Any, problem: Problem, weights: Weights, plane: Plane) -> Weighed:
    """Fit the linear model of some columns."""
    target = problem.target
    if not plane.regression and np.all(target == target[0]):
        return Weighed(np.zeros(columns.shape[1]), None, 0.0)
    model = plane.model(columns, problem.seed)
    model.fit(columns, target, sample_weight=weights)
    w = np.asarray(model.coef_, dtype=np.float64).ravel()
    if not np.isfinite(w).all():
        raise ValueError(
            "The linear model found weights that are not finite, as it does for columns of very "
            "different or very large size: use scale='minmax'."
        )
    if plane.regression:
        loss = np.abs(target - model.predict(columns))
    else:
        loss = np.maximum(0.0, 1.0 - target * model.decision_function(columns))
    return Weighed(rounded(w), model, float(np.average(loss, weights=weights)))


def each_problem(
    compute: Callable[..., Any],
    tables: Iterable[Any],
    problems: Sequence[Problem],
    settings: tuple[Any, ...],
    n_jobs: int | None,
) -> list[Any]:
    """Return `compute(table, problem, *settings)` for each problem with its table.

    In threads, or where the active joblib backend says unless `n_jobs` is 1.
    """
    backend = None if n_jobs == 1 or len(problems) == 1 else chosen_backend()
    if backend is None:
        pairs = zip(tables, problems, strict=True)
        with parallel_config("threading"):
            return list(
                Parallel(local_threads(n_jobs))(
                    delayed(compute)(table, problem, *settings) for table, problem in pairs
                )
            )
    tables = list(tables)
    # A table that all problems have in common is sent once.
    common = tables[0] if all(table is tables[0] for table in tables) else None
    units = [
        (None if common is not None else table, problem)
        for table, problem in zip(tables, problems, strict=True)
    ]
    shared = (compute, common, settings)
    return run_units(backend, _one_problem, shared, units, what="problem of a class", n_jobs=n_jobs)


def _one_problem(shared: tuple[Any, ...], unit: tuple[Any, Problem], seconds: float | None) -> Any:
    """Compute one problem in another process; there is no deadline."""
    (compute, common, settings), (table, problem) = shared, unit
    with one_blas_thread(), warnings.catch_warnings():
        # As in this process: weights that are close to the best ones will do.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return compute(common if table is None else table, problem, *settings)


def recurse(
    columns: Any,
    problems: Sequence[Problem],
    weights: Weights,
    plane: Plane,
    plan: Sequence[Sequence[int]],
    *,
    n_jobs: int | None = 1,
) -> Iterator[list[Stage]]:
    """Yield every problem after each recursion, and before the first.

    Parameters
    ----------
    columns : ndarray or sparse matrix of shape (n_rows, n_columns)
        The scaled training rows.
    problems : sequence of Problem
        Their targets: all classes, since a shared ranking needs the weights of all.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    plane : Plane
        Settings.
    plan : sequence of sequence of int
        Columns that each step of each recursion keeps.
    n_jobs : int or None, default=1
        Threads, each with a problem of its own.

    Yields
    ------
    list of Stage
        One for each problem.
    """

    def weigh_all(tables: Iterable[Any]) -> list[Weighed]:
        return each_problem(weigh, tables, problems, (weights, plane), n_jobs)

    stages = [Stage(None, found) for found in weigh_all([columns] * len(problems))]
    yield stages
    for parts in plan:
        matrices = _one_recursion(columns, stages, plane, parts, weigh_all)
        found = weigh_all(columns @ matrix for matrix in matrices)
        stages = [Stage(*pair) for pair in zip(matrices, found, strict=True)]
        yield stages


def _one_recursion(
    columns: Any,
    stages: list[Stage],
    plane: Plane,
    parts: Sequence[int],
    weigh_all: Callable[[Iterable[Any]], list[Weighed]],
) -> list[Matrix]:
    """Return the matrices of all problems after one more recursion."""
    n_before = len(stages[0].weighed.weights)
    left = [np.arange(n_before)] * len(stages)  # columns that no step has chosen yet
    w = [stage.weighed.weights for stage in stages]
    blocks: list[list[Matrix]] = [[] for _ in stages]
    for step, n_kept in enumerate(parts):
        if step > 0:
            found = weigh_all(
                product(columns, stage.matrix)[:, rest]
                for stage, rest in zip(stages, left, strict=True)
            )
            w = [weighed.weights for weighed in found]
        for k, order in enumerate(_rank(w, plane)):
            kept = np.sort(order[:n_kept])
            blocks[k].append(_project(stages[k].matrix, n_before, left[k], w[k], kept, plane=plane))
            left[k] = left[k][np.sort(order[n_kept:])]
    return [np.hstack(block) for block in blocks]


def _rank(w: list[Matrix], plane: Plane) -> list[npt.NDArray[np.intp]]:
    """Return the columns of each problem by falling importance, or the same order for all."""
    importance = [np.abs(one) for one in w]
    if plane.ranking == "shared":
        mean = np.mean([np.abs(normalized(one, plane.normalize)) for one in w], axis=0)
        importance = [mean] * len(w)
    return [np.argsort(-one, kind="stable") for one in importance]


def _project(
    matrix: Matrix | None,
    n_columns: int,
    among: npt.NDArray[np.intp],
    w: Matrix,
    kept: npt.NDArray[np.intp],
    *,
    plane: Plane,
) -> Matrix:
    """Return some columns of the matrix so far, projected by weights.

    Parameters
    ----------
    matrix : ndarray or None
        All recursions so far; None before the first.
    n_columns : int
        Columns of the matrix.
    among : ndarray of int
        Columns that were weighed.
    w : ndarray of float
        Their weights.
    kept : ndarray of int
        Places in `among` of the columns to keep.
    plane : Plane
        Settings.

    Returns
    -------
    ndarray of shape (n_columns_of_the_table, n_kept)
        Columns kept.
    """
    if plane.project == "after":
        among, w, kept = among[kept], w[kept], np.arange(len(kept))
    if matrix is None:
        block = np.zeros((n_columns, len(kept)))
        block[among[kept], np.arange(len(kept))] = 1.0
    else:
        block = matrix[:, among[kept]]
    w = normalized(w, "unit" if plane.projection == "orthogonal" else plane.normalize)
    if plane.projection == "diagonal":
        return block * np.abs(w[kept])
    if matrix is None:
        direction = np.zeros(n_columns)
        direction[among] = w
    else:
        direction = matrix[:, among] @ w
    along = np.outer(direction, w[kept])
    return block - along if plane.projection == "orthogonal" else block + along


def product(columns: Any, matrix: Matrix | None) -> Any:
    """Return transformed columns, or the columns where there is no matrix yet."""
    return columns if matrix is None else columns @ matrix


def _mean_square_length(columns: Any) -> float:
    """Return the mean over rows of the sum of their squared entries."""
    if issparse(columns):
        return float(columns.multiply(columns).sum()) / columns.shape[0]
    return float(np.einsum("ij,ij->", columns, columns)) / columns.shape[0]  # without a copy


def rounded(w: Matrix) -> Matrix:
    """Return weights rounded to about four digits of the largest.

    Solvers are not much more precise: noise in the last digits would decide between columns of
    equal weight, and make the matrices differ between machines.
    """
    largest = float(np.abs(w).max())
    if largest < np.finfo(np.float64).tiny:
        return np.zeros_like(w)
    unit = 2.0 ** (np.floor(np.log2(largest)) - _BITS)
    return np.rint(w / unit) * unit if unit > 0 else w


def normalized(w: Matrix, norm: str | None) -> Matrix:
    """Return weights of unit length or with a largest entry of one; zeros stay zeros."""
    if norm is None:
        return w
    size = np.linalg.norm(w) if norm == "unit" else np.abs(w).max()
    return w / size if size > 0 else w
