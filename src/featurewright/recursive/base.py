"""The base of the transformer and the classifier: reading, recursing, choosing when to stop."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from featurewright.engine.products import affine
from featurewright.engine.threads import one_blas_thread
from featurewright.estimators.base import center_and_scale, in_units, plain_weights
from featurewright.estimators.parameters import (
    DeclaredParameters,
    Parameter,
    check_threads,
    choice,
    flag,
    real,
    whole_or_auto,
)
from featurewright.estimators.points import filled
from featurewright.estimators.shared_parameters import RANDOM_STATE
from featurewright.recursive.inputs import SCALES, Inputs, learn_inputs, rows_within_fences
from featurewright.recursive.members import (
    calibrates,
    fit_member,
    fit_model,
    join_probabilities,
    log_loss,
    sigmoid_probabilities,
)
from featurewright.recursive.steps import (
    LOSSES,
    NORMS,
    PROJECT,
    PROJECTIONS,
    RANKINGS,
    SOLVERS,
    Matrix,
    Plane,
    Problem,
    Stage,
    Weights,
    check_memory,
    each_problem,
    is_stochastic,
    plan_parts,
    plan_sizes,
    product,
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
_CALIBRATION_FOLDS = 3  # of more rows, for sigmoids
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


Part = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]  # rows to learn from, rows held out


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


@dataclass(frozen=True, eq=False)
class Recursed:
    """What all recursions learned, for members to be built on.

    Parameters
    ----------
    rows : Rows
        Scaled rows.
    plane : Plane
        Settings.
    plan : list of tuple of int
        Columns that each step of each recursion kept.
    stages : list of Stage
        Matrix and linear model of each problem.
    decisions : ndarray of shape (n_rows, n_problems) or None
        Decision values by models that had not seen the rows, where they are known already.
    """

    rows: Rows
    plane: Plane
    plan: list[tuple[int, ...]]
    stages: list[Stage]
    decisions: Matrix | None


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
            '"auto", "published", float or sequence of int',
            """
            Columns that a recursion leaves: a share of those it gets, or the sizes themselves, such
            as ``(720, 285)``, one for each recursion, of which `n_recursions` may ask for fewer.
            "auto" leaves seven eighths of the columns less two. Six sevenths of the columns left
            are chosen by the weights of all columns, the rest of them by the weights of a model of
            the other columns. "published" chooses in three such steps: of n columns, ceil(n/2) - 1,
            ceil(r/2) - 1 and ceil(s/2), where r and s are n/2 and n/4 rounded down, each at most
            the number of rows; the last step is left out where s < 3. All end at two columns.
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
        "project": Parameter(
            '{"first", "after"}',
            """
            Whether rows are projected by the weights of all columns before some are selected, so
            that a kept column also contains information of the others, or by the weights of the
            selected columns alone.
            """,
            choice(*PROJECT),
        ),
        "normalize": Parameter(
            '{"unit", "max"} or None',
            "Whether w has unit length or a largest entry of one first; None takes it as fitted.",
            choice(*NORMS),
        ),
        "ranking": Parameter(
            '{"class", "shared"}',
            """
            Whether each class selects columns by its own weights, or all by the mean of their
            absolute weights, as published. The projections differ between classes either way.
            See docs/results/recursive_variants.md.
            """,
            choice(*RANKINGS),
        ),
        "scale": Parameter(
            '{"auto", "minmax", "maxabs", "table", "standard"} or None',
            """
            How columns are scaled first. "auto" maps them to [0, 1], and divides those of a sparse
            table by their largest absolute value, which keeps it sparse. "table" divides all
            columns by one number, the largest absolute value of the table.
            """,
            choice(*SCALES),
        ),
        "remove_outliers": Parameter(
            "bool",
            """
            Whether to learn only from rows of which no number lies more than 1.5 interquartile
            ranges outside the quartiles of its column. A column of which half of the values are
            the same has no outliers. Not for sparse tables.
            """,
            flag,
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
            your own.
            """,
            check_threads,
        ),
        "random_state": RANDOM_STATE,
    }
    _schema: Schema
    _inputs: Inputs
    # What subclasses have as parameters: the member, its calibration, the task.
    estimator: Any = None
    calibration = "cross_fit"
    task = "classification"
    # What models of earlier versions did, in files that do not say.
    _absent_parameters: ClassVar = {
        "project": "after",
        "ranking": "class",
        "remove_outliers": False,
        "calibration": "published",
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    # Learning -----------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Recursed:
        """Learn the matrices; return what they were learned from, and the last models."""
        if is_sparse(X):
            if self.remove_outliers:
                raise ValueError(
                    "remove_outliers=True needs a dense table, but X is sparse: pass X.toarray(), "
                    "or use remove_outliers=False."
                )
            matrix, schema = read_sparse(self, X)
        else:
            matrix, schema = fit_table(self, X, dtype=np.float64, order="C")
        target = self._read_target(y, matrix.shape[0])
        weights = check_weights(sample_weight, matrix.shape[0])
        if weights is not None:
            weights = plain_weights(weights, len(weights))
            used = np.flatnonzero(weights > 0)
            matrix, target, weights = matrix[used], target[used], weights[used]
        if self.remove_outliers:
            used = rows_within_fences(matrix, schema)
            self._check_left(target, target[used])
            matrix, target = matrix[used], target[used]
            weights = None if weights is None else weights[used]
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
            self.project,
            self.ranking,
        )
        plan = plan_parts(n_columns, self.keep, self.n_recursions, len(target))
        n_parts = self._n_parts(len(target)) if self.n_recursions == "auto" else 0
        check_memory(n_columns, [sum(parts) for parts in plan], self._n_problems(), n_parts)
        columns = self._inputs.scaled(self._inputs.columns(matrix))
        return self._follow(Rows(columns, target, weights), plane, plan)

    def _follow(self, rows: Rows, plane: Plane, plan: list[tuple[int, ...]]) -> Recursed:
        """Recurse on all rows, as often as asked for or as held-out rows suggest."""
        random = check_random_state(self.random_state)
        n_problems = self._n_problems()
        self._seeds: list[int] = random.randint(np.iinfo(np.int32).max, size=n_problems).tolist()
        decisions = None
        with self._few_threads(rows), warnings.catch_warnings():
            # Weights that are close to the best ones rank the columns as well.
            warnings.simplefilter("ignore", ConvergenceWarning)
            if self.n_recursions == "auto":
                n_recursions, decisions = self._choose(rows, plane, plan)
                plan = plan[:n_recursions]
            problems = self._problems(rows.target, plane)
            n_jobs = self._threads(rows, plane)
            stages: list[Stage] = []
            losses = []
            for stages in recurse(rows.columns, problems, rows.weights, plane, plan, n_jobs=n_jobs):
                losses.append(float(np.mean([stage.weighed.loss for stage in stages])))
        if self.n_recursions != "auto":
            self.history_ = _history(rows, plan, losses)
        self.n_recursions_ = len(plan)
        inputs = self._inputs
        # All matrices side by side, scaling included: a transform is one product.
        n_columns = rows.columns.shape[1]
        self._joined: Matrix = np.hstack(
            [np.eye(n_columns) if stage.matrix is None else stage.matrix for stage in stages]
        )
        self._joined *= inputs.factor[:, np.newaxis]
        self._offset: Matrix = -inputs.shift @ self._joined
        return Recursed(rows, plane, plan, stages, decisions)

    def _choose(
        self, rows: Rows, plane: Plane, plan: list[tuple[int, ...]]
    ) -> tuple[int, Matrix | None]:
        """Return the number of recursions whose loss on held-out rows is lowest.

        Where members are calibrated on held-out rows and every row is held out once, the decision
        values that were found on the way are returned too.
        """
        parts = self._hold_out(rows)
        walks = self._walk_parts(rows, parts, plane, plan)
        losses: list[float] = []
        train_losses: list[float] = []
        decisions: list[Matrix | None] = []
        for tried in range(len(plan) + 1):
            if tried - int(np.argmin([*losses, np.inf])) > _PATIENCE:
                break
            found = [next(walk) for walk in walks]
            train_losses.append(
                float(np.mean([stage.weighed.loss for stages in found for stage in stages]))
            )
            if self._calibrates_on_held_out_rows():
                values = self._decisions(rows, parts, plane, found)
                decisions.append(values)
                losses.append(self._calibrated_loss(rows, parts, plane, values))
            else:
                decisions.append(None)
                losses.append(self._members_loss(rows, parts, plane, found))
        self.history_ = _history(rows, plan[: len(losses) - 1], train_losses, losses)
        best = int(np.argmin(losses))
        everyone = len(parts) > 1
        return best, decisions[best] if everyone else None

    def _walk_parts(
        self, rows: Rows, parts: list[Part], plane: Plane, plan: list[tuple[int, ...]]
    ) -> list[Iterator[list[Stage]]]:
        """Return the recursions of each training part."""
        n_jobs = self._threads(rows, plane)
        walks = []
        for train, _ in parts:
            some = rows.take(train)
            problems = self._problems(some.target, plane)
            walks.append(recurse(some.columns, problems, some.weights, plane, plan, n_jobs=n_jobs))
        return walks

    def _calibrates_on_held_out_rows(self) -> bool:
        """Whether sigmoids are fitted on rows that the transformation has not seen."""
        cross_fits = self.classes_ is not None and self.calibration == "cross_fit"
        return cross_fits and calibrates(self.estimator)

    def _held_out_decisions(self, found: Recursed) -> Matrix:
        """Return decision values of all rows by recursions and models that have not seen them."""
        if found.decisions is not None:
            return found.decisions
        rows, plane = found.rows, found.plane
        n_folds = _FOLDS if len(rows.target) <= _FEW_ROWS else _CALIBRATION_FOLDS
        parts = deal_folds(rows.target, min(n_folds, len(rows.target)), self._seeds[0])
        last: list[list[Stage]] = []
        for walk in self._walk_parts(rows, parts, plane, found.plan):
            *_, stages = walk
            last.append(stages)
        return self._decisions(rows, parts, plane, last)

    def _decisions(
        self, rows: Rows, parts: list[Part], plane: Plane, found: list[list[Stage]]
    ) -> Matrix:
        """Return decision values of held-out rows, one column for each problem; else NaN."""
        decisions = np.full((len(rows.target), len(self._seeds)), np.nan)
        for (train, test), stages in zip(parts, found, strict=True):
            some, others = rows.take(train), rows.columns[test]
            for k, problem in enumerate(self._problems(some.target, plane)):
                matrix, model = stages[k].matrix, stages[k].weighed.model
                if self.estimator is not None:
                    columns = product(some.columns, matrix)
                    model = fit_model(self.estimator, columns, problem, some.weights)
                if model is not None:
                    decisions[test, k] = model.decision_function(product(others, matrix))
        return decisions

    def _hold_out(self, rows: Rows) -> list[Part]:
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

    def _calibrated_loss(
        self, rows: Rows, parts: list[Part], plane: Plane, decisions: Matrix
    ) -> float:
        """Return the log loss on held-out rows, with sigmoids fitted to their decision values."""
        held_out = np.concatenate([test for _, test in parts])
        test = rows.take(held_out)
        problems = self._problems(test.target, plane)
        own = [
            sigmoid_probabilities(values, problem, test.weights)
            for values, problem in zip(decisions[held_out].T, problems, strict=True)
        ]
        return log_loss(join_probabilities(own), test.target, test.weights)

    def _members_loss(
        self, rows: Rows, parts: list[Part], plane: Plane, found: list[list[Stage]]
    ) -> float:
        """Return the mean loss on held-out rows of members, or of the model in regression."""
        losses = []
        for (train, test), stages in zip(parts, found, strict=True):
            pair = rows.take(train), rows.take(test)
            if plane.regression:
                columns = product(pair[1].columns, stages[0].matrix)
                wrong = stages[0].weighed.model.predict(columns) - pair[1].target
                losses.append(np.average(wrong**2, weights=pair[1].weights))
                continue
            own = each_problem(
                _probability,
                [stage.matrix for stage in stages],
                self._problems(pair[0].target, plane),
                (self.estimator, pair, plane),
                self._threads(pair[0], plane),
            )
            losses.append(log_loss(join_probabilities(own), pair[1].target, pair[1].weights))
        return float(np.mean(losses))

    def _threads(self, rows: Rows, plane: Plane) -> int | None:
        """Return the number of threads: one where liblinear draws random numbers.

        All threads share its generator, so that results would depend on their order. An estimator
        of the user may call liblinear too.
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

    def _check_left(self, before: npt.NDArray[Any], after: npt.NDArray[Any]) -> None:
        """Refuse to go on with classes, or a target, of which outliers leave no row."""
        gone = None
        if len(after) == 0:
            gone = "no row"
        elif self.classes_ is not None:
            lost = np.setdiff1d(before, after)
            gone = f"no row of class {self.classes_.tolist()[lost[0]]!r}" if len(lost) else None
        if gone is not None:
            raise ValueError(
                f"remove_outliers=True leaves {gone}, but some of each class are needed: use "
                "remove_outliers=False."
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
        blocks = _transformed(columns, matrix, offset, self.n_jobs)
        # A missing number makes all components of its row missing, too large a number some of them.
        broken = np.flatnonzero(~np.isfinite(blocks @ np.ones(blocks.shape[1])))
        if broken.size:
            check_range(columns[broken])
            blocks[broken] = _transformed(
                filled(columns[broken], self._inputs.fill), matrix, offset, self.n_jobs
            )
        return blocks


def _transformed(columns: Any, matrix: Matrix, offset: Matrix, n_jobs: int | None) -> Matrix:
    """Return columns @ matrix + offset."""
    if is_sparse(columns):
        product: Matrix = columns @ matrix
        product += offset
        return product
    return affine(columns, matrix, offset, n_jobs)


def deal_folds(codes: npt.NDArray[Any], n_folds: int, seed: int) -> list[Part]:
    """Return rows to learn from and rows held out; each class is spread over all folds.

    Parameters
    ----------
    codes : ndarray of int
        Classes of the rows.
    n_folds : int
        Number of folds.
    seed : int
        Decides who goes where.

    Returns
    -------
    list of (ndarray, ndarray)
        Training rows and held-out rows of each fold.

    Examples
    --------
    >>> [test.tolist() for _, test in deal_folds(np.array([0, 0, 1, 1]), 2, seed=0)]
    [[0, 3], [1, 2]]
    """
    chance = np.random.RandomState(seed).permutation(len(codes))
    order = np.lexsort((chance, codes))
    fold = np.empty(len(codes), dtype=np.intp)
    fold[order] = np.arange(len(codes)) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def _probability(
    matrix: Matrix | None, problem: Problem, estimator: Any, parts: tuple[Rows, Rows], plane: Plane
) -> Matrix:
    """Fit a member on training rows; return held-out rows' probabilities of its class."""
    train, test = parts
    columns = product(train.columns, matrix)
    member = fit_member(estimator, columns, problem, train.weights, plane)
    return member.predict_proba(product(test.columns, matrix))[:, 1]


def _history(
    rows: Rows,
    plan: list[tuple[int, ...]],
    train_losses: list[float],
    losses: list[float] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns that each recursion left, and the losses."""
    n_columns = [rows.columns.shape[1], *map(sum, plan)]
    unknown = [np.nan] * len(n_columns)
    return {
        "recursion": np.arange(len(n_columns)),
        "n_columns": np.array(n_columns),
        "train_loss": np.array(train_losses),
        "validation_loss": np.array(unknown if losses is None else losses),
    }
