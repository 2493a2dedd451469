"""One column at one node, scored by the kernel and by the naive search."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from tests.engine.arguments import (
    WORST,
    as_values,
    class_target,
    make_node,
    make_settings,
    make_state,
    sums_target,
)
from tests.naive import bins as naive_bins
from tests.naive import split as naive
from tests.naive.criteria import CLASS_CRITERIA
from tests.naive.streams import Stream

from featurewright.engine.buffers import MAX_EXACT_ROWS, N_THRESHOLDS
from featurewright.engine.criteria import SQUARES, is_entropy
from featurewright.engine.split import refine_threshold, score_values

# Sparse columns: the value of most rows, and the others.
SPARSE = {
    "mostly low": (0.0, (1.0, 2.0, 5.0)),
    "mostly high": (9.0, (-1.0, 2.0, 5.0)),
    "zeros": (0.0, (1.0,)),
    "ones": (1.0, (0.0,)),
}


class Case:
    """A column, a target and settings; rows in the order in which kernels see them."""

    def __init__(
        self, seed, n, criterion, *, missing=0.0, whole=True, kind="number", n_targets=0, **settings
    ):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=n).astype(np.float32)
        if kind == "ties":
            x = np.round(x * 2).astype(np.float32)
        elif kind == "tails":
            x = (x / np.abs(rng.normal(size=n)) ** 3).astype(np.float32)
        elif kind in SPARSE:
            fill, others = SPARSE[kind]
            x = np.full(n, fill, np.float32)
            some = rng.permutation(n)[: rng.integers(1, max(2, n // 2)) if len(others) == 1 else 20]
            x[some[: n - 1]] = rng.choice(others, len(some[: n - 1]))
        elif kind != "number":
            x = rng.integers(0, int(kind), n).astype(np.float32)
        by_class = criterion in CLASS_CRITERIA
        weights = rng.integers(1, 5, n).astype(np.float64) if whole else 0.1 + rng.random(n)
        if by_class:
            noisy = np.clip(x, -5, 5) + rng.normal(size=n)
            n_classes = int(rng.integers(2, 5))
            codes = np.clip(np.round(noisy + 1), 0, n_classes - 1)
            codes = np.unique(codes, return_inverse=True)[1]
            target = class_target(codes, weights)
        else:
            values = rng.normal(size=(max(2, n_targets), n))
            values[0] += np.clip(x, -5, 5)
            target = sums_target(values[: n_targets or 1 + seed % 2], weights)
        x[rng.random(n) < missing] = np.nan
        settings = {"criterion": criterion, "centered": 1, "whole_weights": int(whole), **settings}
        self.settings = make_settings(by_class=int(by_class), **settings)
        levels = int(kind) if settings.get("level_sets") else 0
        self.node = make_node(target, self.settings, n_levels=levels)
        self.x = x[self.node.ids]
        self.weights = weights[self.node.ids].astype(np.float32)
        if by_class:
            self.sums = naive.of_classes(target.codes[self.node.ids], self.weights)
        else:
            self.sums = naive.of_targets(target.sums, target.weights, centered=True)
        # Scores are ratios of differences of sums, of which float32 keeps fewer digits.
        self.close = {"rel": 2e-3, "abs": 2e-5 * float(self.weights.sum())}
        self.state = make_state(seed + 1)

    def score(self, n_levels: int = 0, best_so_far: float = WORST) -> float:
        """Return the kernel's score of the column; the state then has the threshold."""
        return score_values(
            as_values(self.x), 0, self.node.buffers.rows, len(self.x), self.node.n_stats,
            self.settings, self.node.buffers.scratch, n_levels, np.float32(best_so_far), self.state,
        )  # fmt: skip

    def naive_score(self, test: float | None = None, *, is_level: bool = False) -> float:
        """Return the naive score of a threshold or level, by default of the chosen one."""
        test = float(self.state["threshold"]) if test is None else test
        wide = self.x.astype(np.float64)
        return naive.score_test(wide, self.sums, self.settings, test, is_level=is_level)

    def naive_routed(self, test: float, *, is_level: bool = False) -> float:
        """Return the naive score of a threshold or level with missing rows on the better side."""
        wide = self.x.astype(np.float64)
        return naive.score_routed(wide, self.sums, self.settings, test, is_level=is_level)

    def slack(self, score: float) -> float:
        """Return the largest rounding error of a score."""
        return max(self.close["abs"], self.close["rel"] * abs(score))

    @property
    def takes_fast_path(self) -> bool:
        """Whether classes are packed, or there is one number, and no split is forbidden."""
        settings = self.settings
        if settings["by_class"]:
            fits = self.node.buffers.rows.summary["class_bits"] > 0 and is_entropy(
                settings["criterion"]
            )
        else:
            fits = self.node.n_stats == 1 and settings["criterion"] == SQUARES
        limited = settings["min_rows"] > 1 or settings["min_weight"] > 0
        return bool(fits and not limited and not settings["side_share"])

    def sampled_values(self) -> np.ndarray:
        """Return the smallest value and those of a few rows, one of every stratum."""
        n = len(self.x)
        count = min(n, 2 * N_THRESHOLDS if n <= MAX_EXACT_ROWS else N_THRESHOLDS)
        bits = Stream(int(self.state["random"])).bits()
        jitter = [((bits >> t) & 0xFFFF) * (n // count) >> 16 for t in range(count)]
        places = [t * n // count + jitter[t] for t in range(1, count)]
        values = np.array([naive_bins.value_range(self.x)[0], *self.x[places]], np.float64)
        return values[np.isfinite(values)]

    def refine(self, coarse: float) -> None:
        """Refine the threshold just found."""
        self.state["best_score"] = coarse
        self.state["best_threshold"] = self.state["threshold"]
        refine_threshold(
            as_values(self.x), self.node.buffers.rows, len(self.x), self.node.n_stats,
            self.settings, self.node.buffers.scratch, self.state,
        )  # fmt: skip
        self.state["threshold"] = self.state["best_threshold"]


def check_best(case: Case, tests: Iterable[float], *, n_levels: int = 0) -> None:
    """Score the column and check that the best of some tests was found."""
    check_score(case, case.score(n_levels), tests, is_level=n_levels > 0)


def check_score(
    case: Case,
    actual: float,
    tests: Iterable[float],
    *,
    is_level: bool = False,
    best_so_far: float = -np.inf,
) -> None:
    """Check that score and threshold are those of the best test, or of separating missing values.

    Missing values are separated if that scores more than the best so far and more than the best
    test with missing rows routed. Tests whose scores differ only by rounding are equally good.
    """
    scored = [(case.naive_score(test, is_level=is_level), test) for test in tests]
    best = max((score for score, _ in scored), default=-np.inf)
    alone = case.naive_score(np.inf)
    chosen = float(case.state["threshold"])
    if np.isinf(chosen):
        assert actual > best_so_far
        assert actual == pytest.approx(alone, **case.close)
        good = [test for score, test in scored if score >= best - case.slack(best)]
        routed = [case.naive_routed(test, is_level=is_level) for test in good]
        assert best == -np.inf or alone >= min(routed) - case.slack(alone)
        return
    to_beat = best_so_far
    if best == -np.inf:
        assert actual == WORST
    else:
        assert actual == pytest.approx(best, **case.close)
        if actual > best_so_far or np.isnan(case.x).any():
            assert case.naive_score(is_level=is_level) == pytest.approx(best, **case.close)
            to_beat = max(to_beat, case.naive_routed(chosen, is_level=is_level))
    assert alone == -np.inf or alone <= to_beat + case.slack(alone)


def check_drawn(
    case: Case, actual: float, drawn: float, *, is_level: bool, best_so_far: float = -np.inf
) -> None:
    """Check that the score is that of the drawn test, or of separating missing values if higher."""
    low, high, _ = naive_bins.value_range(case.x)
    tests = [float(drawn)] if low < high else []
    check_score(case, actual, tests, is_level=is_level, best_so_far=best_so_far)
    if not np.isinf(case.state["threshold"]):
        expected = np.float32(drawn if tests else np.nan)
        np.testing.assert_array_equal(case.state["threshold"], expected)
