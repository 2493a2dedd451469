"""Loops over cases in one test, each named where it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def case(*names: object) -> Iterator[None]:
    """Add the names of a case to whatever goes wrong in it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the case {', '.join(map(repr, names))}")
        raise
