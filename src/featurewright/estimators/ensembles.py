"""Trees, random forests and Extra-Trees whose nodes may test constructed expressions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin

from featurewright.engine.buffers import Target
from featurewright.engine.forest import Forest, join
from featurewright.engine.growth import (
    Job,
    TreeBlocks,
    draw_sample,
    grow_trees,
    load_kernels,
    order_rows,
    tree_seeds,
)
from featurewright.engine.threads import Halt
from featurewright.estimators.base import ConstructiveLearner, from_units
from featurewright.estimators.construction import (
    Construction,
    Limits,
    make_settings,
    plan_construction,
)
from featurewright.estimators.parameters import rows_or_share
from featurewright.estimators.progress import compilation_notice, progress
from featurewright.estimators.shared_parameters import (
    CLASS_WEIGHT,
    CUT_COST,
    GROWTH,
    MIN_SIDE_SHARE,
    MIN_WEIGHT,
    NUMBER_CRITERION,
    OUTPUT,
    RUNNING,
    SEARCH,
    check_raw_columns,
    class_criterion,
)
from featurewright.estimators.units import chosen_backend, grow_in_blocks


class GrownEnsemble(ConstructiveLearner):
    """Grow independent trees and average the values of their leaves."""

    _parameters: ClassVar = {
        **SEARCH,
        **GROWTH,
        "min_weight_fraction_leaf": MIN_WEIGHT,
        "min_side_share": MIN_SIDE_SHARE,
        **OUTPUT,
        **RUNNING,
    }
    _random_threshold = 0
    _level_sets = 0  # whether categories are split into two sets of levels
    _many_thresholds = 0  # averaging makes up for a coarse comparison of candidates
    _plain_columns = "sqrt"  # raw columns tried at a node when nothing is searched
    _round_columns: ClassVar[Callable[[float], int]] = round  # of their number
    _title = "growing trees"

    # The values of a subclass without the parameter.
    max_features: Any = None
    min_side_share: Any = 0.0
    cut_cost: Any = False
    n_estimators: Any = 1
    max_samples: Any = None
    oob_score = False
    warm_start = False
    n_jobs: int | None = None
    # Grows trees on rows that are not here, while a collection is fitted.
    _grown_elsewhere: Callable[[list[int], Any], list[Forest]] | None = None

    def _draws_with_replacement(self) -> bool:
        """Whether trees grow on bootstrap samples."""
        return False

    def _check_combinations(self) -> None:
        check_raw_columns(self)
        if self.cut_cost and self.criterion != "entropy":
            raise ValueError(
                f"cut_cost=True needs criterion='entropy', whose gain is in bits, but criterion is "
                f"{self.criterion!r}."
            )
        if self.oob_score and not self._draws_with_replacement():
            raise ValueError("oob_score=True needs bootstrap=True: else every tree sees every row.")
        if self.warm_start and hasattr(self, "forest_"):
            n_trees = self.forest_.n_trees
            if self.n_estimators < n_trees:
                raise ValueError(
                    f"n_estimators={self.n_estimators} must be larger or equal to the {n_trees} "
                    "trees grown so far when warm_start=True."
                )

    def _grow(
        self,
        matrix: npt.NDArray[np.float32],
        target: Target,
        scoring: Any,
        operators: Any,
        **leaves: Any,
    ) -> Self:
        """Grow the trees and list their features."""
        job = self._make_job(matrix, target, scoring, operators, **leaves)
        before = self._trees_before(leaves["n_values"])
        if before is None:
            self._seed = self._draw_seed()
        n_before = 0 if before is None else before.n_trees
        seeds = tree_seeds(self._seed, n_before, int(self.n_estimators))
        with (
            compilation_notice(),
            progress(len(seeds), self._title, verbose=self.verbose) as on_done,
        ):
            load_kernels(job.settings)
            trees = self._grow_trees(job, seeds, on_done, Halt(self.max_time))
        self.forest_ = join(([] if before is None else [before]) + trees)
        self.n_estimators_ = self.forest_.n_trees
        self._note_features(matrix, target.weights)
        return self

    def _plan(self, operators: Any) -> Construction:
        """Return what expressions are constructed from."""
        rounding = type(self)._round_columns
        return plan_construction(self, self._schema, operators, self._plain_columns, rounding)

    def _limits(self, n_rows: int) -> Limits:
        """Return the limits of growing."""
        return Limits.of(self)

    def _make_job(
        self,
        matrix: npt.NDArray[np.float32],
        target: Target,
        scoring: Any,
        operators: Any,
        **leaves: Any,
    ) -> Job:
        """Return what all trees have in common."""
        construction = self._plan(operators)
        by_class = bool(scoring["by_class"])
        settings = make_settings(
            self._limits(len(matrix)),
            construction,
            len(matrix),
            random_threshold=self._random_threshold,
            many_thresholds=self._many_thresholds,
            level_sets=self._level_sets,
            min_weight=self._least_weight(target),
            side_share=float(self.min_side_share) / (leaves["n_values"] if by_class else 1),
            cut_cost=int(bool(self.cut_cost) and by_class),
            **scoring,
        )
        self._construction: Construction = construction
        return Job(
            matrix=matrix,
            columns=np.ascontiguousarray(matrix.T),
            target=target,
            settings=settings,
            grammar=construction.grammar,
            users=construction.compiled.functions(np.float32),
            width=construction.width,
            **leaves,
        )

    def _grow_trees(self, job: Job, seeds: list[int], on_done: Any, halt: Halt) -> list[Forest]:
        """Grow one tree for each seed."""
        if not seeds:
            return []
        if self._grown_elsewhere is not None:
            return self._grown_elsewhere(seeds, on_done)
        n_draws = self._n_draws(order_rows(job.target).size)
        bootstrap = self._draws_with_replacement()
        running: dict[str, Any] = {"n_jobs": self.n_jobs, "halt": halt, "on_done": on_done}
        backend = chosen_backend()
        if backend is not None and len(seeds) > 1:
            compiled = self._construction.compiled
            blocks = TreeBlocks(job, compiled, n_draws, bootstrap=bootstrap)
            return grow_in_blocks(backend, blocks, seeds, **running)
        return grow_trees(job, seeds, n_draws=n_draws, bootstrap=bootstrap, **running)

    def _trees_before(self, n_values: int) -> Forest | None:
        """Return the trees that a warm start adds to."""
        if not self.warm_start or not hasattr(self, "forest_"):
            return None
        if self.forest_.values.shape[1] != n_values:
            raise ValueError(
                f"y has {n_values} classes or targets, but the trees grown so far have "
                f"{self.forest_.values.shape[1]}; use warm_start=False to begin anew."
            )
        return self.forest_

    def _least_weight(self, target: Target) -> float:
        """Return the least weight of a leaf."""
        share = float(self.min_weight_fraction_leaf)
        # A little less, so that a side of exactly this weight is allowed.
        return max(0.0, share * float(target.weights.sum(dtype=np.float64)) * (1 - 1e-6))

    def _n_draws(self, n_rows: int) -> int:
        """Return the number of rows drawn for a tree."""
        if self.max_samples is None:
            return n_rows
        return min(n_rows, rows_or_share("max_samples", self.max_samples, n_rows, 1))

    def _mean_values(self, X: Any) -> npt.NDArray[np.float64]:
        """Average the leaf values of all trees."""
        matrix = self._read_rows(X)
        users = self._construction.compiled.functions(np.float32)
        return self.forest_.sum_values(matrix, users, self.n_jobs) / self.forest_.n_trees

    def _oob_values(
        self, matrix: npt.NDArray[np.float32], target: Target
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Average, for each row, the leaf values of the trees that did not see it."""
        users = self._construction.compiled.functions(np.float32)
        order = order_rows(target)
        sums = np.zeros((len(matrix), self.forest_.values.shape[1]))
        counts = np.zeros(len(matrix))
        seeds = tree_seeds(self._seed, 0, self.forest_.n_trees)
        for k, seed in enumerate(seeds):
            sample = draw_sample(order, self._n_draws(order.size), seed, bootstrap=True)
            out = np.ones(len(matrix), bool)
            out[sample.rows] = False
            rows = np.flatnonzero(out)
            if len(rows):
                tree = self.forest_.trees(k, k + 1)
                sums[rows] += tree.sum_values(matrix[rows], users, self.n_jobs)
                counts[rows] += 1
        seen = counts > 0
        if not seen.any():
            warnings.warn(
                "every tree saw every row, so oob_score_ is not defined; grow more trees.",
                stacklevel=4,
            )
        sums[seen] /= counts[seen, None]
        return sums, seen

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the number of the leaf each row reaches in each tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_trees)
            Leaf numbers, counted through all trees.
        """
        matrix = self._read_rows(X)
        users = self._construction.compiled.functions(np.float32)
        return self.forest_.find_leaves(matrix, users, self.n_jobs)


class GrownClassifier(ClassifierMixin, GrownEnsemble):
    """Predict the class with the largest mean share in the leaves."""

    _parameters: ClassVar = {
        "criterion": class_criterion("normalized_gain"),
        "class_weight": CLASS_WEIGHT,
        "cut_cost": CUT_COST,
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes; a matrix of 0 and 1 for several labels at once.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted learner.
        """
        self._check_parameters()
        matrix, operators = self._read_table(X)
        target, scoring = self._class_target(y, sample_weight, len(matrix))
        if self._outputs is None:
            self._grow(matrix, target, scoring, operators, leaf="classes", n_values=self.n_classes_)
        else:
            self._grow(
                matrix, target, scoring, operators, leaf="mean", n_values=target.sums.shape[0]
            )
        if self.oob_score:
            self._score_out_of_bag(matrix, target)
        return self

    def _score_out_of_bag(self, matrix: npt.NDArray[np.float32], target: Target) -> None:
        """Score each row by the trees that did not see it."""
        values, seen = self._oob_values(matrix, target)
        self.oob_decision_function_ = np.where(seen[:, None], values, np.nan)
        if self._outputs is None:
            hits = np.argmax(values[seen], axis=1) == target.codes[seen]
        else:
            predicted = [np.argmax(block, axis=1) for block in self._blocks(values[seen])]
            hits = np.column_stack(predicted) == self._outputs.codes[seen]
        self.oob_score_ = float(np.mean(hits)) if seen.any() else np.nan

    def _blocks(self, values: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
        """Split the columns of several outputs."""
        edges = np.cumsum([len(classes) for classes in self._outputs.classes])[:-1]
        return np.split(values, edges, axis=1)

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them for several outputs
            Mean class shares of the leaves.
        """
        values = self._mean_values(X)
        return values if self._outputs is None else self._blocks(values)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The classes.
        """
        shares = self.predict_proba(X)
        if self._outputs is None:
            return self.classes_[np.argmax(shares, axis=1)]
        picked = [
            classes[np.argmax(block, axis=1)]
            for classes, block in zip(self._outputs.classes, shares, strict=True)
        ]
        return np.column_stack(picked)


class GrownRegressor(RegressorMixin, GrownEnsemble):
    """Predict the mean target of the leaves."""

    _parameters: ClassVar = {"criterion": NUMBER_CRITERION}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted learner.
        """
        self._check_parameters()
        matrix, operators = self._read_table(X)
        target, scoring, exact = self._number_target(y, sample_weight, len(matrix))
        self._grow(matrix, target, scoring, operators, leaf="mean", **exact)
        if self.oob_score:
            values, seen = self._oob_values(matrix, target)
            prediction = _one_or_more(from_units(values, self._unit))
            self.oob_prediction_ = np.where(seen, prediction.T, np.nan).T
            truth = np.asarray(y, dtype=np.float64).reshape(prediction.shape)
            enough = seen.sum() > 1  # R2 needs two
            # Imported where it is used: it takes a tenth of a second.
            from sklearn.metrics import r2_score

            self.oob_score_ = float(r2_score(truth[seen], prediction[seen])) if enough else np.nan
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The mean of the trees.
        """
        return _one_or_more(from_units(self._mean_values(X), self._unit))


def _one_or_more(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return one target as a vector and several as a matrix."""
    return values[:, 0] if values.shape[1] == 1 else values
