"""Progress bars, and a notice while the engine is compiled on first use."""

from __future__ import annotations

import importlib.util
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from featurewright.engine.compiler import counted_compilations
from featurewright.engine.grow import grow_tree

_FUNCTIONS_BEFORE_NOTICE = 12
_FUNCTIONS_OF_A_FIT = 160  # that a first fit compiles in this process, more or less
_logger = logging.getLogger("featurewright")


@contextmanager
def progress(total: int, title: str, *, verbose: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of steps done; it draws a bar if `verbose`."""
    if not verbose:
        yield lambda done: None
        return
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        warnings.warn(
            "verbose asks for a progress bar, which needs rich; install featurewright[cli].",
            stacklevel=3,
        )
        yield lambda done: None
        return
    if _lacks_widgets():
        # A notebook without widgets shows what a terminal does; rich alone would show a warning.
        console = Console(force_jupyter=False, force_terminal=True, stderr=True, width=80)
    else:
        console = None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=verbose < 2) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)


def _lacks_widgets() -> bool:
    """Whether this is a notebook in which rich cannot draw a bar of its own."""
    from rich.console import Console

    return Console().is_jupyter and importlib.util.find_spec("ipywidgets") is None


_is_ahead: ContextVar[bool] = ContextVar("_is_ahead", default=False)


@contextmanager
def without_notice() -> Iterator[None]:
    """Compile without the notice of a first fit, which advises to do what is done here."""
    token = _is_ahead.set(True)
    try:
        yield
    finally:
        _is_ahead.reset(token)


@contextmanager
def compilation_notice() -> Iterator[None]:
    """Log that the engine is being compiled, and how long that will take on this machine.

    Until the first functions are compiled, nobody knows how fast the machine is. So the notice
    waits for some of them.
    """
    # Loading takes no time to speak of.
    if _is_ahead.get() or grow_tree.is_ready or grow_tree.is_cached:
        yield
        return
    started = time.monotonic()

    def count(n_compiled: int) -> None:
        if n_compiled != _FUNCTIONS_BEFORE_NOTICE:
            return
        spent = time.monotonic() - started
        left = spent / n_compiled * (_FUNCTIONS_OF_A_FIT - n_compiled)
        _logger.warning(
            "compiling the engine, once after installing: about %d s more on this machine "
            "(`featurewright compile` does it ahead)",
            max(1, round(left)),
        )

    with counted_compilations(count):
        yield
