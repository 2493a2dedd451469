"""The one place where a search survives an error: a method that fails is left out and logged."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Self

from featurewright.auto.outcomes import Outcome, Reason, Status

_logger = logging.getLogger("featurewright")

PROGRAMMING_ERRORS = (AssertionError, AttributeError, LookupError, NameError, TypeError)
"""What a mistake in this package raises, rather than a table that a method cannot handle."""

# Errors that are raised all the same; the tests put PROGRAMMING_ERRORS here.
_not_caught: tuple[type[Exception], ...] = ()


class ScoringError(ValueError):
    """Held-out rows that a scorer cannot score."""


class EstimatorError(ValueError):
    """An estimator, which may be a user's, that fails on constructed columns."""


class Attempt:
    """A context manager in which an error ends a part of the search, but not all of it.

    The error is logged with its traceback.

    Parameters
    ----------
    task : str
        What is attempted, for the log.

    Attributes
    ----------
    error : Exception or None
        What went wrong.

    Examples
    --------
    >>> with Attempt("batch on fold 1") as attempt:
    ...     raise ValueError("no rows left. Pass more.")
    >>> attempt.outcome.text
    'ValueError: no rows left'
    """

    def __init__(self, task: str) -> None:
        self.task = task
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception) or isinstance(error, _not_caught):
            return False
        self.error = error
        if isinstance(error, ScoringError):  # says all there is to say
            _logger.warning("%s was left out: %s", self.task, error)
        else:
            _logger.warning("%s failed and was left out.", self.task, exc_info=error)
        return True

    @property
    def outcome(self) -> Outcome:
        """The outcome of a method that failed, with the first sentence of the error."""
        assert self.error is not None
        message = " ".join(str(self.error).split()).split(". ")[0].rstrip(".")
        kind = type(self.error).__name__
        told = isinstance(self.error, EstimatorError | ScoringError)
        detail = message if told else f"{kind}: {message}"
        return Outcome(Status.FAILED, Reason.ERROR, detail)
