"""How far compilation has got."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class _Counter(event.Listener):
    """Counts functions as they are compiled."""

    def __init__(self, on_compiled: Callable[[int], None]) -> None:
        self.on_compiled = on_compiled
        self.n_compiled = 0

    def on_start(self, event: Any) -> None:
        """Do nothing."""

    def on_end(self, event: Any) -> None:
        """Report one more."""
        self.n_compiled += 1
        self.on_compiled(self.n_compiled)


@contextmanager
def counted_compilations(on_compiled: Callable[[int], None]) -> Iterator[None]:
    """Call a function with the number of functions compiled so far, after each of them."""
    with event.install_listener("numba:compile", _Counter(on_compiled)):
        yield
