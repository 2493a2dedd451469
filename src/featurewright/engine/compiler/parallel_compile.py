"""Compile some kernels in a second process while this one compiles others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from joblib import cpu_count

if TYPE_CHECKING:
    from featurewright.engine.compiler.decorator import Kernel

_ROOT = Path(__file__).parents[len(__name__.split(".")) - 1]
_PATIENCE = 120.0  # seconds to wait for the other process when this one has done its part
_RUN = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
getattr(importlib.import_module(sys.argv[2]), sys.argv[3])()
"""


@contextmanager
def compiled_in_second_process(kernel: Kernel, module: str, function: str) -> Iterator[None]:
    """Compile a kernel in a second process by calling a function there, unless it is compiled.

    Numba compiles one function at a time in a process, and keeps what it made on disk, where other
    processes find it. When the context ends, so has the other process. Where there can be none,
    nothing is lost: who needs the kernel compiles it.
    """
    other = None if kernel.is_cached or not _can_start() else _start(module, function)
    try:
        yield
        if other is not None:
            with suppress(subprocess.TimeoutExpired):
                other.wait(_PATIENCE)
    finally:
        if other is not None:
            other.kill()
            other.wait()


def _can_start() -> bool:
    """Whether there is a core for another process, and a Python to run in it.

    In programs that embed Python, the executable may be that program.
    """
    python = Path(sys.executable or "").name.startswith("python")
    return python and not getattr(sys, "frozen", False) and cpu_count() > 1


def _start(module: str, function: str) -> subprocess.Popen[bytes] | None:
    """Start a process that imports this very package and calls a function of it."""
    # Without -P, modules of the working directory would come before those installed.
    command = [sys.executable, "-P", "-c", _RUN, str(_ROOT), module, function]
    nowhere, hidden = subprocess.DEVNULL, getattr(subprocess, "CREATE_NO_WINDOW", 0)
    try:
        return subprocess.Popen(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, creationflags=hidden
        )
    except OSError:
        return None
