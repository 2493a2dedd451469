"""What the transformer and the classifier share: reading, recursing, choosing when to stop."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

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
from featurewright.estimators.parameters import check_jobs, number, one_of
from featurewright.estimators.points import filled
from featurewright.recursive.inputs import SCALES, Inputs, learn_inputs
from featurewright.recursive.members import fit_member, join_probabilities, log_loss
from featurewright.recursive.schedule import check_memory, plan_sizes
from featurewright.recursive.steps import (
    LOSSES,
    NORMS,
    PROJECTIONS,
    SOLVERS,
    Matrix,
    Plane,
    Problem,
    Weights,
    is_stochastic,
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
_FEW_ROWS = 3_000  # up to here, rows are held out in folds: one part of few rows misleads
_FOLDS = 5
_SHARE = 0.2  # of more rows that is held out once
_LEAST_ROWS = 4  # fewer cannot be parted
_SMALL_TABLE = 1_000_000  # cells up to which matrix products gain nothing from threads


@dataclass(frozen=True, eq=False)
class Rows:
    """Scaled rows with their target and weights: classes as codes, or numbers."""

    columns: Any
    target: npt.NDArray[Any]
    weights: Weights

    def take(self, rows: npt.NDArray[np.intp]) -> Rows:
        """Take some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Rows(self.columns[rows], self.target[rows], weights)


class RecursiveSelective(BaseEstimator):
    """Learn one matrix for each class by recursive selective transformation."""

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
        """Learn the matrices; give the rows, not scaled, and the settings."""
        self._check_parameters()
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
        """Recurse on all rows, as often as asked for or as a validation part says."""
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
        """Give the number of recursions whose loss on held-out rows is lowest."""
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
        """Give the rows to learn from and those to measure on, once or in folds."""
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
        """Give how often rows are held out: once, or so many folds."""
        if self.validation == "auto":
            return min(_FOLDS, n_rows) if n_rows <= _FEW_ROWS else 1
        return min(int(self.validation), n_rows) if isinstance(self.validation, Integral) else 1

    def _held_out_loss(
        self, part: tuple[Rows, Rows], plane: Plane, matrices: list[Matrix | None]
    ) -> float:
        """Measure the loss of the ensemble, or of the linear model, on held-out rows."""
        train, test = part
        problems = self._problems(train.target, plane)
        if plane.regression:
            columns = _product(train.columns, matrices[0])
            model = plane.model(columns, problems[0].seed)
            model.fit(columns, problems[0].target, sample_weight=train.weights)
            wrong = model.predict(_product(test.columns, matrices[0])) - test.target
            return float(np.average(wrong**2, weights=test.weights))
        n_jobs = self._threads(train, plane)
        chances = Parallel(n_jobs, prefer="threads")(
            delayed(_chance)(self.estimator, part, plane, matrix, problem)
            for matrix, problem in zip(matrices, problems, strict=True)
        )
        return log_loss(join_probabilities(chances), test.target, test.weights)

    def _threads(self, rows: Rows, plane: Plane) -> int | None:
        """Give the number of threads: one where liblinear draws random numbers.

        All threads share its generator, so that results would depend on who comes first; a member
        of the user's may be made of it too.
        """
        shared = plane.uses_dual(rows.columns.shape) or self.estimator is not None
        return 1 if shared else self.n_jobs

    def _problems(self, target: npt.NDArray[Any], plane: Plane) -> list[Problem]:
        """Make a problem of each class against the rest; one of two classes and of numbers."""
        if plane.regression:
            return [Problem(target, self._seeds[0])]
        first = len(self.classes_) - len(self._seeds)  # of two classes, the second is meant
        return [
            Problem(np.where(target == first + k, 1.0, -1.0), seed)
            for k, seed in enumerate(self._seeds)
        ]

    # Reading ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse what makes no sense before any work."""
        plan_sizes(np.iinfo(np.int32).max, self.keep, self.n_recursions)
        one_of("projection", self.projection, PROJECTIONS)
        one_of("normalize", self.normalize, NORMS)
        one_of("scale", self.scale, SCALES)
        one_of("loss", self.loss, LOSSES)
        one_of("solver", self.solver, SOLVERS)
        number("C", self.C, above=0.0)
        _check_validation(self.validation)
        check_jobs(self.n_jobs)

    def _read_target(self, y: Any, n_rows: int) -> npt.NDArray[Any]:
        """Read codes of classes, or numbers in a unit of reasonable size."""
        self.classes_: Any = None
        task = one_of("task", self.task, ("auto", "classification", "regression"))
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
        """Give the number of matrices: one for each class, one for two classes and for numbers."""
        return 1 if self.classes_ is None or len(self.classes_) == 2 else len(self.classes_)

    def _few_threads(self, rows: Rows) -> AbstractContextManager[Any]:
        """Spare matrix products their threads where tables are small.

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
        # A missing or infinite number spoils every component of its row: one of them tells.
        spoilt = np.flatnonzero(~np.isfinite(blocks[:, 0]))
        if spoilt.size:
            check_range(columns[spoilt])
            blocks[spoilt] = _affine(filled(columns[spoilt], self._inputs.fill), matrix, offset)
        return blocks


def _affine(columns: Any, matrix: Matrix, offset: Matrix) -> Matrix:
    """Multiply and add a row, which costs next to nothing inside the product."""
    if is_sparse(columns):
        product: Matrix = columns @ matrix
        product += offset
        return product
    blocks = np.empty((len(columns), len(offset)))
    blocks[:] = offset
    # In the order of Fortran, the product of the transposed matrices is written in place.
    dgemm(1.0, matrix.T, columns.T, beta=1.0, c=blocks.T, overwrite_c=1)
    return blocks


def _check_validation(validation: Any) -> None:
    """Refuse what is neither a number of folds nor a share of the rows."""
    if isinstance(validation, str) and validation == "auto":
        return
    folds = isinstance(validation, Integral)
    if folds and not isinstance(validation, bool) and validation >= 2:
        return
    if folds or not (isinstance(validation, Real) and 0.0 < float(validation) < 1.0):
        raise ValueError(
            f"validation={validation!r} must be 'auto', a number of folds of at least 2, or a "
            "share in (0, 1)."
        )


def _walk(
    rows: Rows, problem: Problem, plane: Plane, sizes: list[int]
) -> tuple[Matrix, list[float]]:
    """Recurse to the end; give the last matrix and the losses on the way."""
    final = np.eye(rows.columns.shape[1])
    losses = []
    for matrix, loss in recurse(rows.columns, problem, rows.weights, plane, sizes):
        final = final if matrix is None else matrix
        losses.append(loss)
    return final, losses


def _chance(
    estimator: Any, parts: tuple[Rows, Rows], plane: Plane, matrix: Matrix | None, problem: Problem
) -> Matrix:
    """Fit a member on training rows and give held-out rows' chances of its class."""
    train, test = parts
    columns = _product(train.columns, matrix)
    member = fit_member(estimator, columns, problem, train.weights, plane)
    return member.predict_proba(_product(test.columns, matrix))[:, 1]


def _product(columns: Any, matrix: Matrix | None) -> Any:
    """Transform columns, or leave them where there is no matrix yet."""
    return columns if matrix is None else columns @ matrix


def _history(
    rows: Rows,
    sizes: list[int],
    train_losses: npt.NDArray[np.float64],
    losses: npt.NDArray[np.float64] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Write down what each recursion left and how good it was."""
    n_columns = [rows.columns.shape[1], *sizes]
    return {
        "recursion": np.arange(len(n_columns)),
        "n_columns": np.array(n_columns),
        "train_loss": train_losses,
        "validation_loss": np.full(len(n_columns), np.nan) if losses is None else losses,
    }
