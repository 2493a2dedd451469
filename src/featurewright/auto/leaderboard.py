"""The scores of all candidates in all folds, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.candidates import ORIGINAL, Candidate, Order
from featurewright.auto.choice import (
    NO_DOUBT,
    PROVED,
    SURE,
    VERY_SURE,
    best_keys,
    choose,
    corrected_error,
    is_above,
)
from featurewright.auto.methods import has_formulas
from featurewright.auto.outcomes import DONE, Outcome, Reason, Status
from featurewright.auto.scoring import HeldOutScore


@dataclass
class Record:
    """What became of one method, or of several together."""

    outcome: Outcome = DONE
    seconds: float = 0.0
    candidates: list[Candidate] = field(default_factory=list)


class Leaderboard:
    """The scores of candidates by fold, and what follows from them.

    Parameters
    ----------
    methods : iterable of str
        The methods asked for.
    test_share : float
        Test rows of a fold over its training rows.
    needs_proof : bool
        Whether rows are so few that a choice should be proved on further folds.

    Attributes
    ----------
    scores : dict
        The score of each candidate in each fold, by the number of the fold.
    records : dict
        What became of each method, by its label.
    n_choosing_folds : int
        Number of first folds that chose the candidates for further ones, and prove nothing.
    constants : dict
        The score of a model that predicts the same for every row, by the number of the fold; it is
        absent where the score is not defined for such a model.
    disproved : set of Candidate
        Candidates that are not to be chosen, whatever their scores.
    earlier : Leaderboard or None
        That of the stage before, on fewer rows.
    part_gains : (Candidate, ndarray) or None
        Where one fold is all there is: its best candidate, and the gains on parts of its rows.
    """

    def __init__(
        self, methods: Iterable[str], test_share: float, *, needs_proof: bool = False
    ) -> None:
        self.test_share = test_share
        self.needs_proof = needs_proof
        self.disproved: set[Candidate] = set()
        self.part_gains: tuple[Candidate, NDArray[np.float64]] | None = None
        self.n_choosing_folds = 0
        self.earlier: Leaderboard | None = None
        self.scores: dict[Candidate, dict[int, HeldOutScore]] = {ORIGINAL: {}}
        self.constants: dict[int, HeldOutScore] = {}
        self.records = {ORIGINAL.label: Record(candidates=[ORIGINAL])}
        self.records |= {method: Record() for method in methods}

    def for_next_stage(self) -> Leaderboard:
        """Return an empty leaderboard that knows what became of the methods so far."""
        board = Leaderboard((), self.test_share, needs_proof=self.needs_proof)
        board.earlier = self
        for label, record in self.records.items():
            board.records.setdefault(label, Record()).seconds = record.seconds
        board.keep_outcomes(self.records)
        return board

    def keep_outcomes(self, records: Mapping[str, Record]) -> None:
        """Take over what became of methods in another stage, and the time they took there."""
        for label, record in records.items():
            own = self.records.setdefault(label, Record())
            own.outcome, own.seconds = record.outcome, max(own.seconds, record.seconds)

    def was_tried(self, method: str) -> bool:
        """Whether a method has a score, in this stage or an earlier one."""
        return bool(self.records[method].candidates) or (
            self.earlier is not None and self.earlier.was_tried(method)
        )

    def add(self, label: str, candidate: Candidate, fold: int, score: HeldOutScore) -> None:
        """Add the score of a candidate in a fold."""
        self.scores.setdefault(candidate, {})[fold] = score
        record = self.records.setdefault(label, Record())
        if candidate not in record.candidates:
            record.candidates.append(candidate)

    # Comparisons --------------------------------------------------------------------------------

    @property
    def n_folds(self) -> int:
        """Number of folds that some method has done; those of the originals where none has."""
        done = [len(found) for candidate, found in self.scores.items() if candidate != ORIGINAL]
        return max(done, default=len(self.scores[ORIGINAL]))

    def n_scores(self, candidate: Candidate) -> int:
        """Return the number of folds that a candidate has been scored on."""
        return len(self.scores.get(candidate, ()))

    def complete(self, label: str) -> list[Candidate]:
        """Return the candidates of a method that have been scored on all folds."""
        n_folds = self.n_folds
        return [c for c in self.records[label].candidates if self.n_scores(c) == n_folds]

    def finished(self) -> list[Candidate]:
        """Return the candidates that may be chosen: they have been scored on all folds.

        Where the formulas of all methods are in one order, those of one method are not chosen,
        unless time ran out before that order was scored on the last fold.
        """
        scored = [
            candidate
            for candidate, found in self.scores.items()
            if candidate != ORIGINAL and len(found) == self.n_folds
        ]
        all_formulas = any(block.order is Order.JOINT for c in scored for block in c.blocks)
        return [
            candidate
            for candidate in scored
            if not (all_formulas and any(b.order is Order.RESIDUAL for b in candidate.blocks))
        ]

    def gains(self, candidate: Candidate) -> NDArray[np.float64]:
        """Return the differences to the original columns by fold, in what candidates compare by."""
        base, found = self.scores[ORIGINAL], self.scores[candidate]
        return np.array([found[n].evidence - base[n].evidence for n in sorted(found)])

    def mean_gain(self, candidate: Candidate) -> float:
        """Return the mean of `gains`."""
        return float(self.gains(candidate).mean())

    def score_gains(self, candidate: Candidate) -> NDArray[np.float64]:
        """Return the differences to the original columns by fold, in what is reported."""
        base, found = self.scores[ORIGINAL], self.scores[candidate]
        return np.array([found[n].score - base[n].score for n in sorted(found)])

    def best(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """Return the candidate with the largest mean gain."""
        return max(candidates, key=self.mean_gain, default=None)

    def smallest(self, candidates: Iterable[Candidate]) -> Candidate:
        """Return the candidate with the fewest columns among those about as good as the best."""
        gains = {candidate: self.gains(candidate) for candidate in candidates}
        sizes = {candidate: candidate.n_columns for candidate in gains}
        kinds = {candidate: candidate.methods for candidate in gains}
        return best_keys(gains, sizes, kinds, _readable(gains))[0]

    def best_gain(self, method: str) -> float:
        """Return the largest mean gain of a method's candidates, in this stage or the last one.

        It is 0 before there is one.
        """
        candidates = self.records[method].candidates if method in self.records else []
        if not candidates and self.earlier is not None:
            return self.earlier.best_gain(method)
        most = max(map(self.n_scores, candidates), default=0)
        return max((self.mean_gain(c) for c in candidates if self.n_scores(c) == most), default=0.0)

    def loses_everywhere(self, candidate: Candidate, first: int = 0) -> bool:
        """Whether a candidate loses in every fold from a first one on."""
        return bool(np.all(self.gains(candidate)[first:] < 0))

    def finalists(self, most: int) -> list[Candidate]:
        """Return the best few candidates, then the best ones of other methods by themselves.

        They are tried on further folds. The best few often have one method in common, and their
        scores err alike. A gain that varies much from fold to fold is more often due to chance than
        one that does not.
        """

        def lower_bound(candidate: Candidate) -> float:
            gains = self.gains(candidate)
            return float(gains.mean() - gains.std(ddof=1) / np.sqrt(len(gains)))

        ranked = [c for c in self.finished() if self.mean_gain(c) > 0.0]
        ranked.sort(key=lower_bound, reverse=True)
        if ranked:
            # First fewer columns that are as good.
            highest = self.mean_gain(ranked[0])
            no_better = [c for c in ranked if self.mean_gain(c) <= highest]
            ranked = list(dict.fromkeys([self.smallest(no_better), *ranked]))
        best = ranked[: (most + 1) // 2]
        alone: dict[str, Candidate] = {}
        for candidate in ranked[len(best) :]:
            if len(candidate.blocks) == 1 and candidate.methods not in [c.methods for c in best]:
                alone.setdefault(candidate.label, candidate)
        found = [*best, *alone.values()][:most]
        # Whatever the other methods score, the best formulas by themselves are tried too.
        formulas = [c for c in ranked if all(map(has_formulas, c.methods))]
        if formulas:
            limit = self.mean_gain(max(formulas, key=lower_bound))
            smallest = self.smallest(c for c in formulas if self.mean_gain(c) <= limit)
            found = list(dict.fromkeys([*found, smallest]))
        return found

    # The choice ---------------------------------------------------------------------------------

    def decide(self) -> tuple[Candidate, NDArray[np.float64]]:
        """Choose a candidate; return it with its gains by fold, without the bias of choosing."""
        if self.part_gains is not None:
            candidate, gains = self.part_gains
            if np.isfinite(gains).all() and is_above(gains, self.test_share, VERY_SURE):
                return candidate, self.score_gains(candidate)
            return ORIGINAL, np.zeros(1)
        listed = [candidate for candidate in self.finished() if candidate not in self.disproved]
        gains_of = {candidate: self.gains(candidate) for candidate in listed}
        usable = {key: gains for key, gains in gains_of.items() if np.isfinite(gains).all()}
        level = SURE
        if self.needs_proof:
            level = PROVED if self.n_choosing_folds else VERY_SURE
        constant = [self.constants.get(number) for number in sorted(self.scores[ORIGINAL])]
        over_constant = None
        if constant and all(found is not None for found in constant):
            over_constant = {c: self._over_constant(c) for c in usable}
        choice = choose(
            usable,
            {candidate: candidate.n_columns for candidate in usable},
            self.test_share,
            self.n_choosing_folds,
            sure=level,
            reported={candidate: self.score_gains(candidate) for candidate in usable},
            kinds={candidate: candidate.methods for candidate in usable},
            readable=_readable(usable),
            over_constant=over_constant,
        )
        if choice.key is None:
            n_proofs = self.n_folds - self.n_choosing_folds if self.finished() else 0
            return ORIGINAL, np.zeros(max(0, n_proofs))
        return choice.key, choice.gains

    def beats(self, candidate: Candidate, other: Leaderboard, rival: Candidate) -> bool:
        """Whether a candidate is better than that of another search on the same folds.

        It must be so surely, unless it has fewer columns.
        """
        if ORIGINAL in (candidate, rival):
            return candidate != ORIGINAL
        first = max(self.n_choosing_folds, other.n_choosing_folds)
        ours, theirs = self._gains_by_fold(candidate), other._gains_by_fold(rival)
        shared = [number for number in sorted(ours) if number in theirs]
        # A search that was sure of its choice before has no further folds.
        proofs = [number for number in shared if number >= first] or shared
        ahead = np.array([ours[number] - theirs[number] for number in proofs])
        if len(ahead) < 2 or candidate.n_columns < rival.n_columns:
            return bool(ahead.sum() > 0.0)
        return is_above(ahead, self.test_share, SURE)

    def _gains_by_fold(self, candidate: Candidate) -> dict[int, float]:
        """Return the differences to the original columns, by the number of the fold."""
        numbers = sorted(self.scores[candidate])
        return dict(zip(numbers, self.gains(candidate).tolist(), strict=True))

    def note_beaten(self, label: str, other: Leaderboard) -> None:
        """Take a method of another search over, which did no better than this one."""
        record = other.records[label]
        scores = {c: other.scores[c] for c in record.candidates}
        if not set(self.scores[ORIGINAL]) >= {n for found in scores.values() for n in found}:
            scores = {}  # on other folds
        self.scores |= scores
        outcome = record.outcome
        if outcome == DONE:
            outcome = Outcome(Status.STOPPED, Reason.NO_BETTER_JOINED)
        self.records[label] = replace(record, outcome=outcome, candidates=list(scores))

    def is_beyond_doubt(self) -> bool:
        """Whether the folds that chose a candidate leave no doubt that it gains."""
        candidate, _ = self.decide()
        return candidate != ORIGINAL and is_above(self.gains(candidate), self.test_share, NO_DOUBT)

    def _over_constant(self, candidate: Candidate) -> NDArray[np.float64]:
        """Return the differences to a constant prediction by fold."""
        found = self.scores[candidate]
        return np.array([found[n].evidence - self.constants[n].evidence for n in sorted(found)])

    def fold_scores(self, candidate: Candidate) -> list[float]:
        """Return the scores of a candidate by fold."""
        found = self.scores[candidate]
        return [found[number].score for number in sorted(found)]

    def proofs(self, candidate: Candidate) -> list[float]:
        """Return the scores of a candidate in the folds that have not chosen it."""
        found = self.scores[candidate]
        return [found[n].score for n in sorted(found) if n >= self.n_choosing_folds]

    def error(self, gains: NDArray[np.float64]) -> float:
        """Return the standard error of the mean of gains that `decide` returned; 0 if unknown."""
        if self.part_gains is not None and gains.any():
            gains = self.part_gains[1]
        error = corrected_error(gains, self.test_share)
        return 0.0 if np.isnan(error) else error

    # Plain values -------------------------------------------------------------------------------

    def results(self) -> list[dict[str, Any]]:
        """List every method, the original columns first, as plain values."""
        return [self._newest_result(label, record) for label, record in self.records.items()]

    def _newest_result(self, label: str, record: Record) -> dict[str, Any]:
        """Describe a method by the last stage in which it was tried."""
        board: Leaderboard = self
        while not board.records[label].candidates and board.earlier is not None:
            if label not in board.earlier.records:
                break
            board = board.earlier
        return board._result(label, record)

    def _result(self, label: str, record: Record) -> dict[str, Any]:
        """Describe the best candidate of one method."""
        listed = self.records[label].candidates
        found = [candidate for candidate in listed if self.scores[candidate]]
        most = max(map(self.n_scores, found), default=0)
        best = self.best(candidate for candidate in found if self.n_scores(candidate) == most)
        scores = [self.scores[best][n].score for n in sorted(self.scores[best])] if best else []
        gains = self.score_gains(best) if best else np.zeros(0)
        return {
            "method": label,
            **record.outcome.as_dict(),
            "fold_scores": [float(score) for score in scores],
            "mean": float(np.mean(scores)) if scores else float("nan"),
            "std": float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan"),
            "gain": float(gains.mean()) if len(gains) else float("nan"),
            "gain_std": corrected_error(gains, self.test_share),
            "seconds": round(record.seconds, 4),
            "n_features": best.n_columns if best else 0,
        }

    def event(
        self, method: str, stage: str, seconds: float, n_rows: int = 0, first: int = 0
    ) -> dict[str, Any]:
        """Describe what was tried and what is best so far, as plain values.

        Scores are means over the folds from a first one on, and on as many training rows.
        """
        best = self.best(self.finished())
        if best is None or not self.mean_gain(best) > 0.0:
            best = ORIGINAL
        # Both are means over the same folds.
        numbers = [number for number in self.scores[best] if number >= first]
        numbers = numbers or list(self.scores[best])
        score, base = (
            float(np.mean([self.scores[candidate][number].score for number in numbers]))
            for candidate in (best, ORIGINAL)
        )
        return {
            "method": method,
            "stage": stage,
            "seconds": seconds,
            "best_method": best.label,
            "best_score": score,
            "baseline": base,
            "n_folds": len(numbers),
            "n_rows": n_rows,
        }


def _readable(candidates: Iterable[Candidate]) -> set[Candidate]:
    """Return those of some candidates that are formulas alone."""
    return {c for c in candidates if all(map(has_formulas, c.methods))}
