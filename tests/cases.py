"""Loops over cases in one test, each named where it fails."""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def case(*names: object) -> Iterator[None]:
    """Add the names of a case to whatever goes wrong in it."""
    try:
        yield
    except BaseException as error:  # pytest's own failures are no Exception
        error.add_note(f"in the case {', '.join(map(reprlib.repr, names))}")
        raise


def loop_over(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[..., Any]:
    """Call a test with each of some cases, as `pytest.mark.parametrize` does, but as one test.

    For many cases that are alike and take no time: a test costs more than they do. Fixtures are
    made once for all cases.
    """
    cases = list(cases)
    names = (names,) if isinstance(names, str) else names

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**others: Any) -> None:
            for values in cases:
                values = values if len(names) > 1 else (values,)
                with case(*values):
                    test(**others, **dict(zip(names, values, strict=True)))

        signature = inspect.signature(test)
        others = [value for name, value in signature.parameters.items() if name not in names]
        run.__signature__ = signature.replace(parameters=others)
        return run

    return decorate
