"""What became of a method in a search: a status, and the reason where it was not finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Status(Enum):
    """How far a method was tried; the value is what `AutoFeatures.results_` holds."""

    DONE = "done"
    SKIPPED = "skipped"
    STOPPED = "stopped"
    FAILED = "failed"


class Reason(Enum):
    """Why a method was not tried, or no further; the value is stored in `results_`."""

    NO_TIME = "no_time"
    TIME_FOR_OTHERS = "time_for_others"  # in files of earlier versions
    TOO_SLOW = "too_slow"
    FOUND_BY_BOOSTING = "found_by_boosting"
    SCREENED_OUT = "screened_out"
    FAR_BEHIND = "far_behind"
    WORSE = "worse"
    NO_BETTER_JOINED = "no_better_joined"
    NO_BETTER_ON_ALL_ROWS = "no_better_on_all_rows"
    NOTHING_NEW = "nothing_new"
    TOO_FEW_ROWS = "too_few_rows"
    UNDEFINED_SCORE = "undefined_score"
    ONE_TARGET_ONLY = "one_target_only"
    TOO_MANY_CLASSES = "too_many_classes"
    NO_CATEGORIES = "no_categories"
    ERROR = "error"

    @property
    def is_short_of_time(self) -> bool:
        """Whether more time would have changed it."""
        return self in (Reason.NO_TIME, Reason.TIME_FOR_OTHERS)


_TEXTS = {
    Reason.NO_TIME: "not enough time left",
    Reason.TIME_FOR_OTHERS: "stopped early, less promising than others",
    Reason.TOO_SLOW: "too slow for this effort",
    Reason.FOUND_BY_BOOSTING: "boosting grows such trees itself",
    Reason.SCREENED_OUT: "less promising than others on some of the rows or folds",
    Reason.FAR_BEHIND: "far behind other methods",
    Reason.WORSE: "worse than the original columns in every fold",
    Reason.NO_BETTER_JOINED: "no better than the best choice without it",
    Reason.NO_BETTER_ON_ALL_ROWS: "no better with all rows",
    Reason.NOTHING_NEW: "found nothing beyond the original columns",
    Reason.TOO_FEW_ROWS: "too few rows, or too few of each class, to hold any out",
    Reason.UNDEFINED_SCORE: "the score is undefined in every fold",
    Reason.ONE_TARGET_ONLY: "takes one target only",
    Reason.TOO_MANY_CLASSES: "makes columns for each class, and there are too many classes",
    Reason.NO_CATEGORIES: "the estimator takes no columns of categories",
    Reason.ERROR: "an error",
}
# What model files without a code for the reason may hold besides the texts above.
_FORMER_TEXTS = {
    "the time budget leaves no room for it": Reason.NO_TIME,
    "left to a search of more effort": Reason.TOO_SLOW,
    "it constructs nothing here that the original columns do not say": Reason.NOTHING_NEW,
    "makes columns for each of the classes, which are too many here": Reason.TOO_MANY_CLASSES,
    "no better than without, or out of time": Reason.NO_TIME,
    "the time is better spent on other methods": Reason.TIME_FOR_OTHERS,
    "a screen on some rows promised less of it": Reason.SCREENED_OUT,
}


@dataclass(frozen=True)
class Outcome:
    """What became of a method.

    Parameters
    ----------
    status : Status
        How far it was tried.
    reason : Reason or None
        Why it was not tried further; None where it was.
    detail : str
        What was special about this case, such as the message of an error.

    Examples
    --------
    >>> Outcome(Status.STOPPED, Reason.FAR_BEHIND).text
    'far behind other methods'
    >>> Outcome(Status.FAILED, Reason.ERROR, "ValueError: no rows").text
    'ValueError: no rows'
    """

    status: Status
    reason: Reason | None = None
    detail: str = ""

    @property
    def text(self) -> str:
        """The reason for people; "" where there is none."""
        if self.reason is None:
            return ""
        return self.detail or _TEXTS[self.reason]

    def as_dict(self) -> dict[str, str]:
        """Return the entries of `results_`: status, reason as text and as a code."""
        code = "" if self.reason is None else self.reason.value
        return {"status": self.status.value, "reason": self.text, "reason_code": code}


DONE = Outcome(Status.DONE)


def reason_of(result: Mapping[str, Any]) -> Reason | None:
    """Return the reason of an entry of `results_`; None where there is none, or no known one.

    Model files of earlier versions hold the text alone.

    Examples
    --------
    >>> reason_of({"status": "stopped", "reason": "far behind other methods"})
    <Reason.FAR_BEHIND: 'far_behind'>
    >>> reason_of({"status": "failed", "reason": "RuntimeError: no time"})
    <Reason.ERROR: 'error'>
    """
    known = {reason.value: reason for reason in Reason}
    if result.get("reason_code") in known:
        return known[result["reason_code"]]
    if result["status"] == Status.FAILED.value:
        return Reason.ERROR
    texts = {text: reason for reason, text in _TEXTS.items()} | _FORMER_TEXTS
    return texts.get(result["reason"])
