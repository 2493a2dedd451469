"""What boosting classifiers and regressors share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import sqrt
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from featurewright.constructive.losses import Loss
from featurewright.constructive.rounds import Rounds
from featurewright.engine.forest import join
from featurewright.engine.growth import Job
from featurewright.estimators.base import ConstructiveLearner
from featurewright.estimators.construction import (
    VOTE_HALVING_ROWS,
    Construction,
    Limits,
    make_settings,
    plan_construction,
)
from featurewright.estimators.parameters import number, one_of, whole_number
from featurewright.estimators.progress import compilation_notice, progress

_LEAST_ROWS = 10
# Candidates of a node, by columns and by their root: benchmarks/boosting_budget.py measures this.
_COLUMN_BUDGET, _ROOT_BUDGET = 10, 20
_EARLY_ROWS = 10_000  # early_stopping="auto" holds rows out from here on, as scikit-learn does


class BoostedTrees(ConstructiveLearner):
    """Grow trees one after the other, each on what those before it got wrong."""

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: str | None = None,
        learning_rate: float | None = None,
        search: str | None = "random",
        budget: int | str = "auto",
        max_size: int = 5,
        operators: Any = None,
        sampling: str = "symbol",
        max_features: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | None = None,
        min_gain: float = 0.0,
        l2: float = 1.0,
        subsample: float = 1.0,
        halving: int | str | None = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight: Any = None,
        n_features_out: int = 50,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.learning_rate = learning_rate
        self.search = search
        self.budget = budget
        self.max_size = max_size
        self.operators = operators
        self.sampling = sampling
        self.max_features = max_features
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.l2 = l2
        self.subsample = subsample
        self.halving = halving
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.n_features_out = n_features_out
        self.include_original = include_original
        self.keep_missing = keep_missing
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Growing ------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse parameters that make no sense before any work."""
        whole_number("n_estimators", self.n_estimators, 1)
        whole_number("n_iter_no_change", self.n_iter_no_change, 1)
        number("l2", self.l2, least=0.0)
        number("subsample", self.subsample, above=0.0)
        number("validation_fraction", self.validation_fraction, above=0.0)
        if self.learning_rate is not None:
            number("learning_rate", self.learning_rate, above=0.0)
        if self.max_time is not None:
            number("max_time", self.max_time, above=0.0)
        one_of("early_stopping", self.early_stopping, (True, False, "auto"))
        if self.subsample > 1 or self.validation_fraction >= 1:
            raise ValueError(
                f"subsample={self.subsample!r} and validation_fraction="
                f"{self.validation_fraction!r} are shares of the rows; use at most 1, and less "
                "than 1 to hold out."
            )

    @property
    def _votes(self) -> bool:
        """Whether the loss is that of AdaBoost.MH."""
        return self.loss == "adaboost_mh"

    def _limits(self) -> Limits:
        """Fill in the limits that depend on the loss."""
        depth, leaves, rows = self.max_depth, self.max_leaf_nodes, self.min_samples_leaf
        halving = self.halving
        if self._votes:
            depth = 3 if depth is None and leaves is None else depth
            rows = 1 if rows is None else rows
            halving = (
                VOTE_HALVING_ROWS if isinstance(halving, str) and halving == "auto" else halving
            )
        else:
            leaves = 31 if leaves is None and depth is None else leaves
            rows = 20 if rows is None else rows
        return Limits(depth, leaves, self.min_samples_split, rows, self.min_gain, halving)

    def _wanted_budget(self) -> int | str:
        """Fill in the budget that depends on the loss."""
        if not isinstance(self.budget, str) or self.budget != "auto":
            return self.budget
        n_columns = self._schema.n_columns
        if self._votes:  # as published
            return _COLUMN_BUDGET * n_columns
        return min(_COLUMN_BUDGET * n_columns, int(_ROOT_BUDGET * sqrt(n_columns)))

    def _boost(
        self,
        matrix: npt.NDArray[np.float32],
        operators: Any,
        make_loss: Callable[[npt.NDArray[np.int64]], Loss],
        weights: npt.NDArray[np.float64],
        labels: npt.NDArray[np.int32] | None,
    ) -> Self:
        """Grow the rounds; `make_loss` gives the loss of some of the rows."""
        plain = "all"
        construction = plan_construction(
            self, self._schema, operators, plain, budget=self._wanted_budget()
        )
        if self.max_features is None and not self._votes and self.search is not None:
            # Gradient boosting has few trees to find a plain column by chance.
            construction = replace(construction, n_raw=self._schema.n_columns)
        self._construction: Construction = construction
        self._seed = self._draw_seed()
        kept, held = self._hold_out(weights, labels)
        loss, watched = make_loss(kept), None if held is None else make_loss(held)
        settings = make_settings(
            self._limits(),
            construction,
            len(kept),
            l2=0.0 if self._votes else self.l2,
            **loss.scoring,
        )
        inner = matrix if held is None else matrix[kept]
        outer = None if held is None else matrix[held]
        job = Job(
            matrix=inner,
            columns=np.ascontiguousarray(inner.T),
            target=loss.targets(np.zeros((loss.n_scores, len(kept))))[0],
            settings=settings,
            grammar=construction.grammar,
            users=construction.compiled.functions(np.float32),
            width=construction.width,
            leaf=loss.leaf,
            n_values=loss.n_scores if loss.n_groups == 1 else 1,
        )
        rate = self.learning_rate or (1.0 if self._votes else 0.1)
        with (
            compilation_notice(),
            progress(self.n_estimators, "boosting", verbose=self.verbose) as on_done,
        ):
            rounds = Rounds(
                job, loss, watched=watched, outer=outer, rate=rate, learner=self, seed=self._seed
            )
            rounds.run(on_done)
        self.n_scores_, self._groups = loss.n_scores, loss.n_groups
        self._start = loss.start()
        self.train_score_ = np.array(rounds.train)
        self.validation_score_ = np.array(rounds.held)
        self.n_iter_ = len(rounds.trees) // loss.n_groups
        self.forest_ = join(rounds.trees)
        self._note_features(matrix, weights)
        return self

    def _hold_out(
        self, weights: npt.NDArray[np.float64], labels: npt.NDArray[np.int32] | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
        """Part the rows into those to grow on and those to watch; rows of no weight do neither."""
        n_rows = len(weights)
        stop = n_rows >= _EARLY_ROWS if self.early_stopping == "auto" else self.early_stopping
        rows = np.flatnonzero(weights > 0)
        if not stop:
            return np.arange(n_rows), None
        n_held = max(1, int(self.validation_fraction * len(rows)))
        if len(rows) < _LEAST_ROWS:
            raise ValueError(
                f"early_stopping=True holds out validation_fraction={self.validation_fraction!r} "
                f"of the rows, but there are only {len(rows)}; use early_stopping=False with "
                f"fewer than {_LEAST_ROWS}."
            )
        # Held-out rows have every class where the classes are large enough for that.
        counts = np.bincount(labels[rows]) if labels is not None else np.zeros(1, np.int64)
        counts = counts[counts > 0]
        even = labels is not None and counts.min() > 1 and n_held >= len(counts)
        kept, held = train_test_split(
            rows,
            test_size=n_held,
            random_state=self._seed,
            stratify=labels[rows] if even and labels is not None else None,
        )
        return np.sort(kept), np.sort(held)

    # Predicting ---------------------------------------------------------------------------------

    def _raw(self, X: Any) -> npt.NDArray[np.float64]:
        """Give the raw scores of each row."""
        matrix = self._read_rows(X)
        users = self._construction.compiled.functions(np.float32)
        return self._start + self.forest_.sum_values(matrix, users, self.n_jobs, self._groups)

    def _staged_raw(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Give the raw scores of each row after each round."""
        matrix = self._read_rows(X)
        users = self._construction.compiled.functions(np.float32)
        raw = np.tile(self._start, (len(matrix), 1))
        for first in range(0, self.forest_.n_trees, self._groups):
            step = self.forest_.trees(first, first + self._groups)
            raw = raw + step.sum_values(matrix, users, self.n_jobs, self._groups)
            yield raw
