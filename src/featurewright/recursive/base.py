"""The base of the transformer and the classifier: reading, recursing, choosing when to stop."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.linalg.blas import dgemm
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from featurewright.engine.threads import one_blas_thread
from featurewright.estimators.base import center_and_scale, in_units, plain_weights
from featurewright.estimators.parameters import (
    DeclaredParameters,
    Parameter,
    check_threads,
    choice,
    real,
    whole_or_auto,
)
from featurewright.estimators.points import filled
from featurewright.estimators.shared_parameters import RANDOM_STATE
from featurewright.recursive.inputs import SCALES, Inputs, learn_inputs
from featurewright.recursive.members import fit_member, join_probabilities, log_loss
from featurewright.recursive.steps import (
    LOSSES,
    NORMS,
    PROJECTIONS,
    SOLVERS,
    Matrix,
    Plane,
    Problem,
    Weights,
    check_memory,
    is_stochastic,
    plan_sizes,
    recurse,
)
from featurewright.tables import (
    MultiTarget,
    Schema,
    apply_table,
    check_range,
    check_weights,
    fit_table,
    holds_numbers,
    is_sparse,
    read_classes,
    read_numbers,
    read_sparse,
)

_PATIENCE = 2  # recursions without a lower loss after which the search stops
_FEW_ROWS = 3_000  # up to here, rows are held out in folds: one small part is too noisy
_FOLDS = 5
_SHARE = 0.2  # of more rows that is held out once
_LEAST_ROWS = 4  # fewer cannot be split
_SMALL_TABLE = 1_000_000  # cells up to which matrix products gain nothing from threads


ATTRIBUTES = """
matrices_ : ndarray of shape (n_matrices, n_columns, n_components)
    One matrix for each class, or a single one for two classes and for regression, with all
    recursions and the scaling in it. Rows are the columns of the table, where each category has
    become one indicator per level, after the numbers.
offsets_ : ndarray of shape (n_matrices, n_components)
    Constants added to the components.
n_recursions_ : int
    Number of recursions in the matrices; fewer than asked for where columns or sizes ran out.
history_ : dict of ndarray
    "recursion", "n_columns", "train_loss" (mean hinge loss of the linear SVMs on the columns left)
    and "validation_loss" (log loss of the calibrated ensemble on held-out rows; the squared error
    in regression), which is NaN unless `n_recursions` is "auto".
    `featurewright.recursive.RecursionDisplay` plots it.
classes_ : ndarray of shape (n_classes,)
    The classes.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : ndarray of str
    Their names, where the table had names.
"""


def check_validation(name: str, validation: Any) -> None:
    """Check how rows are held out: a number of folds, or a share of the rows."""
    if isinstance(validation, str) and validation == "auto":
        return
    folds = isinstance(validation, Integral)
    if folds and not isinstance(validation, bool) and validation >= 2:
        return
    if folds or not (isinstance(validation, Real) and 0.0 < float(validation) < 1.0):
        raise ValueError(
            f"{name}={validation!r} must be 'auto', a number of folds of at least 2, or a "
            "share in (0, 1)."
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Scaled rows with their target and weights: classes as codes, or numbers."""

    columns: Any
    target: npt.NDArray[Any]
    weights: Weights

    def take(self, rows: npt.NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Rows(self.columns[rows], self.target[rows], weights)


class RecursiveSelective(DeclaredParameters, BaseEstimator):
    """Learn one matrix for each class by recursive selective transformation."""

    _parameters: ClassVar = {
        "n_recursions": Parameter(
            'int or "auto"',
            """
            How often the columns are weighed, selected and projected. "auto" goes on until the loss
            on held-out rows has not dropped for two recursions and keeps the best number, which may
            be 0; the matrices are then learned from all rows. Where the columns or the sizes in
            `keep` run out, fewer recursions happen than asked for: see `n_recursions_`.
            """,
            whole_or_auto(0),
        ),
        "keep": Parameter(
            '"auto", float or sequence of int',
            """
            Columns that a recursion leaves: a share of those it gets, or the sizes themselves, such
            as ``(720, 285)``, one for each recursion, of which `n_recursions` may ask for fewer.
            "auto" takes the published schedule, about 86 % (seven eighths less two), and ends at
            two columns.
            """,
            lambda name, value: plan_sizes(np.iinfo(np.int32).max, value, 1),
        ),
        "projection": Parameter(
            '{"stretch", "diagonal", "orthogonal"}',
            """
            What is done with the selected columns and their weights w: stretch the rows along w
            (I + ww'), multiply each column by its weight, or remove the direction of w. See the
            measured comparison in docs/results/recursive.md.
            """,
            choice(*PROJECTIONS),
        ),
        "normalize": Parameter(
            '{"unit", "max"} or None',
            "Whether w has unit length or a largest entry of one first; None takes it as fitted.",
            choice(*NORMS),
        ),
        "scale": Parameter(
            '{"auto", "minmax", "maxabs", "standard"} or None',
            """
            How columns are scaled first. "auto" maps them to [0, 1], and divides those of a sparse
            table by their largest absolute value, which keeps it sparse.
            """,
            choice(*SCALES),
        ),
        "C": Parameter(
            "float",
            "Inverse strength of the regularisation of the linear SVM.",
            real(above=0.0),
        ),
        "loss": Parameter(
            '{"squared_hinge", "hinge"}',
            """
            Loss of the linear SVM; of linear support vector regression, the squared or the absolute
            error.
            """,
            choice(*LOSSES),
        ),
        "solver": Parameter(
            '{"auto", "liblinear", "sgd"}',
            """
            How the linear SVM is fitted. "sgd" is a stochastic gradient with the hinge loss (the
            absolute error in regression). "auto" takes it above 10,000 rows where `loss` is
            "hinge", where there are more columns than rows, or where the table has more than 100
            million cells; else liblinear.
            """,
            choice(*SOLVERS),
        ),
        "validation": Parameter(
            'int, float or "auto"',
            """
            What is held out where `n_recursions` is "auto": a number of folds in turn, or a share
            of the rows once. "auto" is five folds up to 3,000 rows and a fifth of the rows above.
            """,
            check_validation,
        ),
        "n_jobs": Parameter(
            "int",
            """
            Threads: classes are learned side by side, except where liblinear draws random numbers
            (the hinge loss, or more than 1,000 columns and fewer rows) and with an `estimator` of
            yours.
            """,
            check_threads,
        ),
        "random_state": RANDOM_STATE,
    }
    _schema: Schema
    _inputs: Inputs
    estimator: Any = None  # the member, where the subclass has that parameter
    task = "classification"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    # Learning -----------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Plane]:
        """Learn the matrices; return the rows, not scaled, and the settings."""
        if is_sparse(X):
            matrix, schema = read_sparse(self, X)
        else:
            matrix, schema = fit_table(self, X, dtype=np.float64, order="C")
        target = self._read_target(y, matrix.shape[0])
        weights = check_weights(sample_weight, matrix.shape[0])
        if weights is not None:
            weights = plain_weights(weights, len(weights))
            used = np.flatnonzero(weights > 0)
            matrix, target, weights = matrix[used], target[used], weights[used]
        regression = self.classes_ is None
        if regression:
            center, spread = center_and_scale(target, plain_weights(weights, len(target)))
            target = (target - center) / spread
        else:
            self._check_variety(target)
        self._schema = schema
        self._inputs = learn_inputs(matrix, schema, self.scale)
        n_columns = len(self._inputs.factor)
        plane = Plane(
            regression,
            is_stochastic(self.solver, self.loss, (len(target), n_columns)),
            self.C,
            self.loss,
            self.projection,
            self.normalize,
        )
        sizes = plan_sizes(n_columns, self.keep, self.n_recursions)
        n_parts = self._n_parts(len(target)) if self.n_recursions == "auto" else 0
        check_memory(n_columns, sizes, self._n_problems(), n_parts)
        columns = self._inputs.columns(matrix)
        self._follow(Rows(self._inputs.scaled(columns), target, weights), plane)
        return Rows(columns, target, weights), plane

    def _follow(self, rows: Rows, plane: Plane) -> None:
        """Recurse on all rows, as often as asked for or as held-out rows suggest."""
        sizes = plan_sizes(rows.columns.shape[1], self.keep, self.n_recursions)
        n_problems = self._n_problems()
        random = check_random_state(self.random_state)
        self._seeds: list[int] = random.randint(np.iinfo(np.int32).max, size=n_problems).tolist()
        with self._few_threads(rows), warnings.catch_warnings():
            # Weights that are close to the best ones rank the columns as well.
            warnings.simplefilter("ignore", ConvergenceWarning)
            n_jobs = self._threads(rows, plane)
            if self.n_recursions == "auto":
                sizes = sizes[: self._choose(rows, plane, sizes)]
            paths = Parallel(n_jobs, prefer="threads")(
                delayed(_walk)(rows, problem, plane, sizes)
                for problem in self._problems(rows.target, plane)
            )
        if self.n_recursions != "auto":
            self.history_ = _history(rows, sizes, np.mean([losses for _, losses in paths], axis=0))
        self.n_recursions_ = len(sizes)
        inputs = self._inputs
        # All matrices side by side, scaling included: a transform is one product.
        self._joined: Matrix = np.hstack([matrix for matrix, _ in paths])
        self._joined *= inputs.factor[:, np.newaxis]
        self._offset: Matrix = -inputs.shift @ self._joined

    def _choose(self, rows: Rows, plane: Plane, sizes: list[int]) -> int:
        """Return the number of recursions whose loss on held-out rows is lowest."""
        parts = [(rows.take(train), rows.take(test)) for train, test in self._hold_out(rows)]
        paths = [
            [
                recurse(train.columns, problem, train.weights, plane, sizes)
                for problem in self._problems(train.target, plane)
            ]
            for train, _ in parts
        ]
        n_jobs = self._threads(rows, plane)
        losses: list[float] = []
        train_losses: list[float] = []
        for tried in range(len(sizes) + 1):
            if tried - int(np.argmin([*losses, np.inf])) > _PATIENCE:
                break
            found = []
            for part, walks in zip(parts, paths, strict=True):
                walked = Parallel(n_jobs, prefer="threads")(map(delayed(next), walks))
                held_out = self._held_out_loss(part, plane, [matrix for matrix, _ in walked])
                found.append((np.mean([loss for _, loss in walked]), held_out))
            train_loss, loss = np.mean(found, axis=0)
            train_losses.append(train_loss)
            losses.append(loss)
        kept = sizes[: len(losses) - 1]
        self.history_ = _history(rows, kept, np.array(train_losses), np.array(losses))
        return int(np.argmin(losses))

    def _hold_out(self, rows: Rows) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Return the rows to learn from and those to measure on, once or in folds."""
        n_rows = len(rows.target)
        everything = np.arange(n_rows)
        if n_rows < _LEAST_ROWS:
            return [(everything, everything)]
        seed, target = self._seeds[0], rows.target
        rarest = n_rows
        if self.classes_ is not None:
            counts = np.bincount(target)
            rarest = counts[counts > 0].min()
        folds = self._n_parts(n_rows)
        if folds > 1:
            # Folds of their own for each class need as many rows of it.
            make = StratifiedKFold if self.classes_ is not None and rarest >= folds else KFold
            return list(make(folds, shuffle=True, random_state=seed).split(everything, target))
        share = _SHARE if self.validation == "auto" else float(self.validation)
        n_test = max(1, round(share * n_rows))
        enough = min(n_test, n_rows - n_test) >= (0 if self.classes_ is None else len(counts))
        stratify = target if self.classes_ is not None and rarest > 1 and enough else None
        train, test = train_test_split(
            everything, test_size=n_test, random_state=seed, stratify=stratify
        )
        return [(train, test)]

    def _n_parts(self, n_rows: int) -> int:
        """Return how often rows are held out: once, or the number of folds."""
        if self.validation == "auto":
            return min(_FOLDS, n_rows) if n_rows <= _FEW_ROWS else 1
        return min(int(self.validation), n_rows) if isinstance(self.validation, Integral) else 1

    def _held_out_loss(
        self, part: tuple[Rows, Rows], plane: Plane, matrices: list[Matrix | None]
    ) -> float:
        """Return the loss of the ensemble, or of the linear model, on held-out rows."""
        train, test = part
        problems = self._problems(train.target, plane)
        if plane.regression:
            columns = _product(train.columns, matrices[0])
            model = plane.model(columns, problems[0].seed)
            model.fit(columns, problems[0].target, sample_weight=train.weights)
            wrong = model.predict(_product(test.columns, matrices[0])) - test.target
            return float(np.average(wrong**2, weights=test.weights))
        n_jobs = self._threads(train, plane)
        own = Parallel(n_jobs, prefer="threads")(
            delayed(_probability)(self.estimator, part, plane, matrix, problem)
            for matrix, problem in zip(matrices, problems, strict=True)
        )
        return log_loss(join_probabilities(own), test.target, test.weights)

    def _threads(self, rows: Rows, plane: Plane) -> int | None:
        """Return the number of threads: one where liblinear draws random numbers.

        All threads share its generator, so that results would depend on who comes first; a member
        of the user's may be made of it too.
        """
        shared = plane.uses_dual(rows.columns.shape) or self.estimator is not None
        return 1 if shared else self.n_jobs

    def _problems(self, target: npt.NDArray[Any], plane: Plane) -> list[Problem]:
        """Return a problem for each class against the rest; one for two classes and for numbers."""
        if plane.regression:
            return [Problem(target, self._seeds[0])]
        first = len(self.classes_) - len(self._seeds)  # of two classes, the second is meant
        return [
            Problem(np.where(target == first + k, 1.0, -1.0), seed)
            for k, seed in enumerate(self._seeds)
        ]

    # Reading ------------------------------------------------------------------------------------

    def _read_target(self, y: Any, n_rows: int) -> npt.NDArray[Any]:
        """Return codes of classes, or numbers divided by a unit."""
        self.classes_: Any = None
        task = self.task
        if task == "auto" and y is not None:
            task = "regression" if holds_numbers(y) else "classification"
        if task == "regression":
            values = read_numbers(y, n_rows)
            if values.shape[1] > 1:
                raise ValueError(f"y has {values.shape[1]} columns, but one target is expected.")
            return in_units(values)[0][:, 0]
        target = read_classes(y, n_rows)
        if isinstance(target, MultiTarget):
            raise ValueError(
                f"y has {target.codes.shape[1]} columns of classes, but one is expected: fit one "
                "estimator for each."
            )
        self.classes_ = target.classes
        return target.codes

    def _check_variety(self, target: npt.NDArray[Any]) -> None:
        """Refuse rows that are all of one class."""
        present = np.unique(target)
        if len(present) == 1:
            only = self.classes_.tolist()[present[0]]
            raise ValueError(
                f"y has one class only, {only!r}, in the rows with a positive "
                "weight, but two or more classes are expected: pass rows of another class too."
            )

    def _n_problems(self) -> int:
        """Return the number of matrices: one for each class, or one for two classes or numbers."""
        return 1 if self.classes_ is None or len(self.classes_) == 2 else len(self.classes_)

    def _few_threads(self, rows: Rows) -> AbstractContextManager[Any]:
        """Keep matrix products to one thread where tables are small.

        Many tiny models are fitted, and threads of the products would wait for each other most of
        the time.
        """
        return one_blas_thread() if np.prod(rows.columns.shape) <= _SMALL_TABLE else nullcontext()

    def _read_columns(self, X: Any) -> Any:
        """Read rows to be transformed: columns that are not scaled and may have gaps."""
        check_is_fitted(self)
        if is_sparse(X):
            matrix, _ = read_sparse(self, X, self._schema)
        else:
            matrix = apply_table(self, self._schema, X, dtype=np.float64, order="C", any_range=True)
        return self._inputs.columns(matrix, keep_gaps=True)

    @property
    def matrices_(self) -> Matrix:
        """One matrix for each class: coefficients of the columns as they came."""
        check_is_fitted(self)
        joined = self._joined.reshape(len(self._joined), len(self._seeds), -1)
        return joined.transpose(1, 0, 2)

    @property
    def offsets_(self) -> Matrix:
        """Constants that are added to the components of each class."""
        check_is_fitted(self)
        return self._offset.reshape(len(self._seeds), -1)

    def _blocks(self, columns: Any, first: int, last: int) -> Matrix:
        """Transform columns by the matrices of some classes that follow each other."""
        width = self._joined.shape[1] // len(self._seeds)
        part = slice(first * width, last * width)
        matrix, offset = self._joined[:, part], self._offset[part]
        blocks = _affine(columns, matrix, offset)
        # A missing or infinite number makes every component of its row so: look at the first.
        broken = np.flatnonzero(~np.isfinite(blocks[:, 0]))
        if broken.size:
            check_range(columns[broken])
            blocks[broken] = _affine(filled(columns[broken], self._inputs.fill), matrix, offset)
        return blocks


def _affine(columns: Any, matrix: Matrix, offset: Matrix) -> Matrix:
    """Return columns @ matrix + offset; the sum costs next to nothing inside the product."""
    if is_sparse(columns):
        product: Matrix = columns @ matrix
        product += offset
        return product
    blocks = np.empty((len(columns), len(offset)))
    blocks[:] = offset
    # In the order of Fortran, the product of the transposed matrices is written in place.
    dgemm(1.0, matrix.T, columns.T, beta=1.0, c=blocks.T, overwrite_c=1)
    return blocks


def _walk(
    rows: Rows, problem: Problem, plane: Plane, sizes: list[int]
) -> tuple[Matrix, list[float]]:
    """Recurse to the end; return the last matrix and the losses on the way."""
    final = np.eye(rows.columns.shape[1])
    losses = []
    for matrix, loss in recurse(rows.columns, problem, rows.weights, plane, sizes):
        final = final if matrix is None else matrix
        losses.append(loss)
    return final, losses


def _probability(
    estimator: Any, parts: tuple[Rows, Rows], plane: Plane, matrix: Matrix | None, problem: Problem
) -> Matrix:
    """Fit a member on training rows; return held-out rows' probabilities of its class."""
    train, test = parts
    columns = _product(train.columns, matrix)
    member = fit_member(estimator, columns, problem, train.weights, plane)
    return member.predict_proba(_product(test.columns, matrix))[:, 1]


def _product(columns: Any, matrix: Matrix | None) -> Any:
    """Return transformed columns, or the columns where there is no matrix yet."""
    return columns if matrix is None else columns @ matrix


def _history(
    rows: Rows,
    sizes: list[int],
    train_losses: npt.NDArray[np.float64],
    losses: npt.NDArray[np.float64] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns that each recursion left, and the losses."""
    n_columns = [rows.columns.shape[1], *sizes]
    return {
        "recursion": np.arange(len(n_columns)),
        "n_columns": np.array(n_columns),
        "train_loss": train_losses,
        "validation_loss": np.full(len(n_columns), np.nan) if losses is None else losses,
    }
