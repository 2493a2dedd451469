"""A clock that tests move: deadlines pass after a number of trees, not after a time."""

from __future__ import annotations

import time
from typing import Any

import pytest

FAR = 1e9  # seconds: beyond any limit a test sets


class Clock:
    """Stands in for the module `time` in the modules that read it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
        self.now = 0.0
        for module in ("featurewright.engine.threads", *modules):
            monkeypatch.setattr(f"{module}.time", self)

    def monotonic(self) -> float:
        return self.now

    def run_out_after(
        self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, calls: int, flag_of: Any
    ) -> None:
        """Let a function of a module be called some times; then time is up before each call.

        Later calls wait for the flag that tells them to stop, so that all of them are cut short.
        """
        work = getattr(module, name)
        done = 0

        def called(*arguments: Any) -> Any:
            nonlocal done
            done += 1
            if done > calls:
                self.now += FAR
                while not flag_of(arguments)[0]:
                    time.sleep(0.001)
            return work(*arguments)

        monkeypatch.setattr(module, name, called)

    def cut_trees_after(self, monkeypatch: pytest.MonkeyPatch, module: Any, n_trees: int) -> None:
        """Let some trees grow whole and cut all others."""
        self.run_out_after(monkeypatch, module, "grow_one", n_trees, lambda given: given[3].flag)
