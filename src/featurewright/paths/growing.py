"""Grow the trees that encode: any kind of target, or none, and as many trees as it takes."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import Target
from featurewright.engine.features import column_importances
from featurewright.engine.forest import Forest, join
from featurewright.engine.growth import Job, tree_seeds
from featurewright.engine.threads import Halt
from featurewright.estimators.base import plain_weights, sum_target
from featurewright.estimators.construction import CLASS_CRITERIA, NUMBER_CRITERIA
from featurewright.estimators.ensembles import GrownEnsemble
from featurewright.estimators.parameters import flag, number, one_of, whole_number
from featurewright.estimators.progress import compilation_notice, progress
from featurewright.paths.convergence import Convergence, hold_out
from featurewright.paths.numbering import Numbering, number_forest
from featurewright.paths.trails import Trails
from featurewright.paths.unsupervised import table_as_target
from featurewright.tables import check_weights


class GrownPaths(GrownEnsemble):
    """Trees grown for their paths; what their leaves predict is not worked out."""

    _round_columns = math.ceil
    _class_criterion = "gini"  # the variance of the classes, as it is for every other target

    # What the learners have a parameter for and encoders do not.
    n_features_out = 1
    min_weight_fraction_leaf = 0.0

    _numbering: Numbering

    def _draws_with_replacement(self) -> bool:
        return flag("bootstrap", self.bootstrap)

    def _fit_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[npt.NDArray[np.float32], Target]:
        """Grow the trees and number their nodes; give the table and the target as read."""
        self._check_parameters()
        matrix, operators = self._read_table(X)
        target, scoring, n_values = self._read_target(y, sample_weight, matrix)
        scoring = {**scoring, "missing_both": 1}
        job = self._make_job(matrix, target, scoring, operators, leaf="nothing", n_values=n_values)
        self._seed = self._draw_seed()
        started = time.monotonic()
        self.history_: list[dict[str, float]] = []
        with compilation_notice():
            n_trees = self.n_estimators
            if isinstance(n_trees, str):
                n_trees = self._enough_trees(job)
            # At least one tree is grown, however little time is left.
            left = self.max_time and max(1e-3, self.max_time - (time.monotonic() - started))
            seeds = tree_seeds(self._seed, 0, n_trees)
            with progress(n_trees, self._title, verbose=self.verbose) as on_done:
                trees = self._grow_trees(job, seeds, on_done, Halt(left))
        self.forest_: Forest = join(trees)
        self._numbering = number_forest(self.forest_)
        self._salts = np.array(seeds[: self.forest_.n_trees], np.uint64)
        self.n_estimators_ = self.forest_.n_trees
        self.n_nodes_ = len(self.forest_.left)
        self.feature_importances_ = column_importances(self.forest_, self._schema.n_columns)
        return matrix, target

    def _check_parameters(self) -> None:
        """Refuse what makes no sense before any work is done."""
        if isinstance(self.n_estimators, str):
            if self.n_estimators != "auto":
                whole_number("n_estimators", self.n_estimators, 1, other="'auto'")
            number("tol", self.tol, above=0.0)
            whole_number("step", self.step, 1)
            whole_number("max_estimators", self.max_estimators, 1)
            share = number("validation_fraction", self.validation_fraction, above=0.0)
            if share >= 1.0:
                raise ValueError(f"validation_fraction={share:g} must lie below 1.")
        else:
            whole_number("n_estimators", self.n_estimators, 1, other="'auto'")
        one_of("criterion", self.criterion, (*CLASS_CRITERIA, *NUMBER_CRITERIA, None))

    def _read_target(
        self, y: Any, sample_weight: Any, matrix: npt.NDArray[np.float32]
    ) -> tuple[Target, dict[str, Any], int]:
        """Read a target of any kind; give it, how it is scored, and how many values it has."""
        n_rows = len(matrix)
        if y is not None:
            target, scoring = self._any_target(y, sample_weight, n_rows)
            n_values = int(self.n_classes_) if scoring["by_class"] else len(target.sums)
            return target, scoring, n_values
        if self.class_weight is not None:
            raise ValueError("class_weight needs classes; weigh rows with sample_weight.")
        if self.criterion in CLASS_CRITERIA:
            raise ValueError(
                f"criterion={self.criterion!r} scores classes, but y is None: pass y, or no "
                "criterion."
            )
        weights = check_weights(sample_weight, n_rows)
        columns = table_as_target(matrix, self._schema, plain_weights(weights, n_rows))
        target, scoring = sum_target(columns.T, weights, n_rows)
        return target, scoring, len(target.sums)

    def _enough_trees(self, job: Job) -> int:
        """Find the number of trees after which the kernel of held-out rows stands still."""
        held, weights = hold_out(job.target.weights, self.validation_fraction, self._seed)
        job = replace(job, target=job.target._replace(weights=weights))
        convergence = Convergence(np.ascontiguousarray(job.matrix[held]))
        halt = Halt(self.max_time and self.max_time / 2)  # the rest is for the final trees
        title = "finding the number of trees"
        with progress(self.max_estimators, title, verbose=self.verbose) as on_done:
            while convergence.n_trees < self.max_estimators and not halt.time_is_up:
                first = convergence.n_trees
                last = min(first + self.step, self.max_estimators)
                seeds = tree_seeds(self._seed, first, last)
                new = self._grow_trees(job, seeds, lambda done: None, halt)
                if not new:
                    break
                added = join(new)
                salts = np.array(seeds[: added.n_trees], np.uint64)
                change = convergence.add(self._make_trails(added, number_forest(added), salts))
                on_done(convergence.n_trees)
                if change < self.tol:
                    break
        self.history_ = convergence.history
        return convergence.n_trees

    def _make_trails(
        self, forest: Forest, numbering: Numbering, salts: npt.NDArray[np.uint64]
    ) -> Trails:
        """Give the ways of rows through trees as the parameters say."""
        users = self._construction.compiled.functions(np.float32)
        spread = one_of("missing", self.missing, ("random", "spread")) == "spread"
        return Trails(forest, numbering, users, salts, spread, self.n_jobs)
