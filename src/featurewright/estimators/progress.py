"""Progress bars, and a notice while the engine is compiled on first use."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from featurewright.engine.grow import grow_tree

_NOTICE_SECONDS = 2.0  # of compiling before it is logged
_logger = logging.getLogger("featurewright")


@contextmanager
def progress(total: int, title: str, *, verbose: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of steps done; it draws a bar if `verbose`."""
    if not verbose:
        yield lambda done: None
        return
    try:
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
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), transient=verbose < 2) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def compilation_notice() -> Iterator[None]:
    """Log that the kernels are being compiled, if that takes more than a moment."""
    if grow_tree.is_ready:  # compiled or loaded in this process already
        yield
        return

    def log() -> None:
        if not grow_tree.is_ready:  # still neither compiled nor loaded from disk
            _logger.warning("compiling the tree engine, once after installing: about half a minute")

    timer = threading.Timer(_NOTICE_SECONDS, log)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
