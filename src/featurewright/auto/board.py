"""The scores of everything that was tried: by choice of columns and fold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.choice import (
    PROVED,
    SURE,
    VERY_SURE,
    best_keys,
    choose,
    corrected_error,
    is_above,
)
from featurewright.auto.workspace import Config
from featurewright.auto.yardstick import Measured

ORIGINAL = Config()


@dataclass
class Record:
    """What became of one method, or of several together."""

    status: str = "done"
    reason: str = ""
    seconds: float = 0.0
    configs: list[Config] = field(default_factory=list)


class Board:
    """Note scores, compare with the original columns, choose.

    Parameters
    ----------
    methods : sequence of str
        The methods asked for.
    test_share : float
        Test rows of a fold over its training rows.
    needs_proof : bool
        Whether rows are so few that a choice should be proved on further folds.
    """

    def __init__(self, methods: Any, test_share: float, *, needs_proof: bool = False) -> None:
        self.test_share = test_share
        self.needs_proof = needs_proof
        self.disproved: set[Config] = set()
        self.of_parts: tuple[Config, NDArray[np.float64]] | None = None  # of one fold alone
        self.n_first = 0  # folds by which the choices for further ones were found
        self.scores: dict[Config, dict[int, Measured]] = {ORIGINAL: {}}
        self.records: dict[str, Record] = {"original": Record(configs=[ORIGINAL])}
        for method in methods:
            self.records[method] = Record()

    def note(self, label: str, config: Config, fold: int, score: Measured) -> None:
        """Note one score."""
        self.scores.setdefault(config, {})[fold] = score
        record = self.records.setdefault(label, Record())
        if config not in record.configs:
            record.configs.append(config)

    @property
    def n_complete(self) -> int:
        """Number of folds that some method has done; those of the originals where none has."""
        done = [len(found) for config, found in self.scores.items() if config != ORIGINAL]
        return max(done, default=len(self.scores[ORIGINAL]))

    def complete(self, method: str) -> list[Config]:
        """Give the choices of a method that have all folds."""
        n_folds = self.n_complete
        return [c for c in self.records[method].configs if len(self.scores[c]) == n_folds]

    def finished(self) -> list[Config]:
        """Give all choices that have all folds."""
        n_folds = self.n_complete
        return [
            config
            for config, found in self.scores.items()
            if config != ORIGINAL and len(found) == n_folds
        ]

    def best(self, configs: list[Config]) -> Config | None:
        """Give the choice with the largest mean gain."""
        return max(configs, key=lambda config: self.gains(config).mean(), default=None)

    def smallest(self, configs: list[Config]) -> Config:
        """Give the choice with the fewest columns among those about as good as the best."""
        gains = {config: self.gains(config) for config in configs}
        return best_keys(gains, {config: config.n_columns for config in configs})[0]

    def best_gain(self, method: str) -> float:
        """Give the largest mean gain among a method's choices, 0 before there is one."""
        configs = self.records[method].configs
        if not configs:
            return 0.0
        most = max(len(self.scores[config]) for config in configs)
        return max(
            float(self.gains(config).mean())
            for config in configs
            if len(self.scores[config]) == most
        )

    def gains(self, config: Config) -> NDArray[np.float64]:
        """Give the differences to the original columns in the folds done, as choices see them."""
        base, found = self.scores[ORIGINAL], self.scores[config]
        return np.array([found[n].evidence - base[n].evidence for n in sorted(found)])

    def score_gains(self, config: Config) -> NDArray[np.float64]:
        """Give the same differences in the score itself."""
        base, found = self.scores[ORIGINAL], self.scores[config]
        return np.array([found[n].score - base[n].score for n in sorted(found)])

    def proofs(self, config: Config) -> list[float]:
        """Give the scores of the folds that prove something."""
        found = self.scores[config]
        return [found[number].score for number in sorted(found) if number >= self.n_first]

    def decide(self) -> tuple[Config, NDArray[np.float64]]:
        """Choose; give the honest gains fold by fold too."""
        if self.of_parts is not None:
            config, gains = self.of_parts
            if np.isfinite(gains).all() and is_above(gains, self.test_share, VERY_SURE):
                return config, self.score_gains(config)
            return ORIGINAL, np.zeros(1)
        usable = {}
        for config in self.finished():
            gains = self.gains(config)
            if np.isfinite(gains).all():
                usable[config] = gains
        sizes = {config: config.n_columns for config in usable}
        sure = SURE
        if self.needs_proof:
            sure = PROVED if self.n_first else VERY_SURE
        reported = {config: self.score_gains(config) for config in usable}
        choice = choose(usable, sizes, self.test_share, self.n_first, sure=sure, reported=reported)
        if choice.key is None or choice.key in self.disproved:
            return ORIGINAL, np.zeros_like(choice.gains)
        return choice.key, choice.gains

    def error(self, gains: NDArray[np.float64]) -> float:
        """Give the standard error of the mean of what `decide` gave; 0 where it is not known."""
        if self.of_parts is not None and gains.any():
            gains = self.of_parts[1]
        error = corrected_error(gains, self.test_share)
        return 0.0 if np.isnan(error) else error

    def results(self) -> list[dict[str, Any]]:
        """List every method tried, the original columns first, as plain values."""
        return [self._result(label, record) for label, record in self.records.items()]

    def _result(self, label: str, record: Record) -> dict[str, Any]:
        """Describe the best choice of one method."""
        found = [config for config in record.configs if self.scores[config]]
        most = max((len(self.scores[config]) for config in found), default=0)
        best = self.best([config for config in found if len(self.scores[config]) == most])
        scores = [self.scores[best][n].score for n in sorted(self.scores[best])] if best else []
        gains = self.score_gains(best) if best else np.zeros(0)
        return {
            "method": label,
            "status": record.status,
            "reason": record.reason,
            "fold_scores": [float(score) for score in scores],
            "mean": float(np.mean(scores)) if scores else float("nan"),
            "std": float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan"),
            "gain": float(gains.mean()) if len(gains) else float("nan"),
            "gain_std": corrected_error(gains, self.test_share),
            "seconds": round(record.seconds, 4),
            "n_features": best.n_columns if best else 0,
        }

    def event(self, method: str, stage: str, seconds: float) -> dict[str, Any]:
        """Say what was tried and what is best so far."""
        best = self.best(self.finished())
        if best is None or not self.gains(best).mean() > 0.0:
            best = ORIGINAL
        # Both are means over the same folds.
        found = self.scores[best]
        base = [self.scores[ORIGINAL][number].score for number in found]
        return {
            "method": method,
            "stage": stage,
            "seconds": seconds,
            "best_method": best.label,
            "best_score": float(np.mean([measured.score for measured in found.values()])),
            "baseline": float(np.mean(base)),
        }
