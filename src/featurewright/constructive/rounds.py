"""The rounds of boosting: trees grown one after the other, and when they end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from featurewright.constructive.losses import Loss
from featurewright.engine.forest import Forest
from featurewright.engine.growth import (
    BufferPool,
    Job,
    draw_sample,
    grow_one,
    leaf_of_rows,
    load_kernels,
    tree_seeds,
)
from featurewright.engine.threads import Halt, local_threads, run_in_threads


class Rounds:
    """The rounds of one fit: the trees so far, the scores of all rows, and when to stop."""

    def __init__(
        self,
        job: Job,
        loss: Loss,
        *,
        watched: Loss | None,
        outer: Any,
        n_rounds: int,
        rate: float,
        learner: Any,
        seed: int,
    ) -> None:
        self.job, self.loss, self.watched, self.outer = job, loss, watched, outer
        self.n_rounds, self.rate, self.learner, self.seed = n_rounds, rate, learner, seed
        load_kernels(job.settings)
        self.halt = Halt(learner.max_time)
        self.n_threads = min(local_threads(learner.n_jobs), loss.n_groups)
        n_rows = job.columns.shape[1]
        self.raw = np.repeat(loss.start()[:, None], n_rows, axis=1)
        self.order = np.flatnonzero(job.target.weights > 0).astype(np.int32)
        self.buffer_pool = BufferPool(len(self.order))
        self.trees: list[Forest] = []
        self.train = [loss.mean(self.raw)]
        self.held: list[float] = []
        if watched is not None:
            self.outer_raw = np.repeat(loss.start()[:, None], len(outer), axis=1)
            self.held = [watched.mean(self.outer_raw)]

    def run(self, on_done: Any) -> None:
        """Grow rounds up to their number, until nothing is gained, or until time is up."""
        learner = self.learner
        with ThreadPoolExecutor(self.n_threads) as threads:
            for round_number in range(self.n_rounds):
                if not self._add_round(round_number, threads):
                    break
                on_done(round_number + 1)
                if self.watched is not None:
                    best = int(np.argmin(self.held))
                    if len(self.held) - 1 - best >= learner.n_iter_no_change:
                        break
                if self.halt.time_is_up:
                    break
        if self.watched is not None:
            keep = max(1, int(np.argmin(self.held)))
            self.trees = self.trees[: keep * self.loss.n_groups]

    def _nothing_left(self, grown: list[Any]) -> bool:
        """Whether F is asked for and no tree of a round was split."""
        asks = self.job.settings["f_to_enter"] > 0
        return asks and all(tree.n_leaves == 1 for tree, _ in grown)

    def _add_round(self, round_number: int, threads: ThreadPoolExecutor) -> bool:
        """Grow one round's trees and add the values of their leaves to all scores."""
        loss, groups = self.loss, self.loss.n_groups
        first = round_number * groups
        seeds = tree_seeds(self.seed, first, first + groups)
        draws = max(1, int(self.learner.subsample * len(self.order)))
        sample = draw_sample(self.order, draws, seeds[0], bootstrap=False)
        jobs = [replace(self.job, target=target) for target in loss.targets(self.raw)]
        # The first round is grown whole, whatever the deadline: there must be a result.
        halt = self.halt if self.trees else Halt()
        tasks = [
            partial(grow_one, job, sample, seed, halt, self.buffer_pool)
            for job, seed in zip(jobs, seeds, strict=True)
        ]
        grown = run_in_threads(tasks, self.n_threads, halt=halt, pool=threads)
        if halt.flag[0]:
            return False
        if self.trees and self._nothing_left(grown):
            return False
        added = []
        for group, (tree, places) in enumerate(filter(None, grown)):
            leaves = leaf_of_rows(tree, places, self.job, everyone=draws < len(self.order))
            values = loss.leaf_values(tree.values.astype(np.float64), leaves, self.raw, self.rate)
            if values is None:
                if not self.trees:  # nothing beats chance: keep one tree that adds nothing
                    values = np.zeros(tree.values.shape)
                else:
                    return False
            added.append((group, replace(tree, values=values), leaves))
        for group, tree, leaves in added:
            step = tree.values[leaves].T
            rows = slice(group, group + step.shape[0])
            self.raw[rows] += step
            self.trees.append(tree)
            if self.watched is not None:
                self.outer_raw[rows] += tree.sum_values(self.outer, self.job.users).T
        self.train.append(loss.mean(self.raw))
        if self.watched is not None:
            self.held.append(self.watched.mean(self.outer_raw))
        return True
