"""The one decorator of compiled functions.

Three ways to compile, from fastest to slowest:

- the default leaves out what kernels do not need (`inline_compiler`), which halves the first use;
- ``FEATUREWRIGHT_COMPILER=numba`` compiles every kernel with plain ``numba.njit``, for when a new
  release of Numba breaks what `inline_compiler` leans on;
- ``NUMBA_DISABLE_JIT=1``, Numba's own switch, runs kernels as Python, to debug them or to measure
  which lines the tests run.

All of them give the same results.
"""

from __future__ import annotations

import hashlib
import os
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types
from numba.extending import typeof_impl

from featurewright.engine.compiler.cache import KernelCache, StandaloneCache
from featurewright.engine.compiler.references import Shared

if TYPE_CHECKING:
    from collections.abc import Callable

SWITCH = "FEATUREWRIGHT_COMPILER"
RUNS_PYTHON = bool(numba.config.DISABLE_JIT)


def _uses_plain_numba() -> bool:
    """Whether the environment asks for plain Numba."""
    asked = os.environ.get(SWITCH, "fast")
    if asked not in {"fast", "numba"}:
        raise ValueError(f"{SWITCH}={asked!r} is not known; set it to 'fast' or 'numba'.")
    return asked == "numba"


def _fingerprint() -> str:
    """Return a hash of the sources that kernels are compiled from."""
    engine = Path(__file__).parents[1]
    language = engine.parent / "expressions"
    digest = hashlib.sha1(usedforsecurity=False)
    for source in sorted([*engine.rglob("*.py"), *language.glob("*.py")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


_OPTIONS = {
    "nogil": True,
    # Nothing that rounds as a processor likes: `reassoc` adds up in an order that depends on the
    # width of its vectors, and `contract` fuses products and sums where it can. `nnan` and `ninf`
    # stay off too: missing values are NaN and must survive.
    "fastmath": {"nsz"},
    # x/0 is inf or NaN instead of an exception; the domain rules make it missing.
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,  # nothing but kernels and Python calls kernels
}
if _uses_plain_numba():
    _WHOLE_OPTIONS = _PART_OPTIONS = _OPTIONS
    _CACHE: type[KernelCache] = KernelCache
else:
    from featurewright.engine.compiler.inline_compiler import InlineCompiler, KernelCompiler

    # Kernels make no arrays, so they are compiled without reference counting, which would otherwise
    # cost an atomic operation for every array of every call: on small nodes more than the work.
    _WHOLE_OPTIONS = {**_OPTIONS, "_nrt": False, "pipeline_class": KernelCompiler}
    _PART_OPTIONS = {
        **_OPTIONS,
        "_nrt": False,
        "pipeline_class": InlineCompiler,
        "no_cpython_wrapper": True,
    }
    _CACHE = StandaloneCache

# Numba finds compiled code by the name and the file of a function, and does not see that a function
# it calls has changed, or that a new version was installed over an old one. With the fingerprint in
# the name, code compiled from other sources is never found.
_SOURCES = _fingerprint()


class Kernel:
    """A compiled function: whole and cached on disk for Python, inline code for other kernels."""

    def __init__(self, function: Callable[..., Any], *, inline: bool | None) -> None:
        self.function = function
        vars(function)["never_inline"] = inline is False  # read by `inline_compiler`
        function.__qualname__ = f"{function.__qualname__}_{_SOURCES}"
        update_wrapper(self, function)
        self._inline = bool(inline)

    # Python calls a dozen of the kernels, so that most have no code of their own.
    @cached_property
    def whole(self) -> Any:
        """What Python calls."""
        dispatcher = numba.njit(**_WHOLE_OPTIONS)(self.function)
        dispatcher._cache = _CACHE(self.function)
        return dispatcher

    @cached_property
    def part(self) -> Any:
        """What other kernels call."""
        return numba.njit(forceinline=self._inline, **_PART_OPTIONS)(self.function)

    def __call__(self, *arguments: Any) -> Any:
        """Run it, compiled or loaded for such arguments; named tuples are passed by address."""
        return self.whole(*[Shared(a) if isinstance(a, tuple) else a for a in arguments])

    def compile_for(self, *arguments: Any) -> Any:
        """Compile or load what a call with such arguments would run; return what Numba made."""
        kinds = tuple(
            numba.typeof(Shared(argument) if isinstance(argument, tuple) else argument)
            for argument in arguments
        )
        self.whole.compile(kinds)
        return self.whole.overloads[kinds]

    @property
    def is_cached(self) -> bool:
        """Whether it was compiled before, in this process or another, and is on disk."""
        return bool(self.whole._cache.is_stored())

    @property
    def is_ready(self) -> bool:
        """Whether it was compiled or loaded in this process already."""
        return bool(self.whole.signatures)


class PythonKernel:
    """A kernel that runs as Python, where Numba is switched off."""

    is_cached = is_ready = True

    def __init__(self, function: Callable[..., Any], **_: Any) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run it; overflow and x/0 are no errors in kernels."""
        with np.errstate(all="ignore"):
            return self.function(*[a.content if isinstance(a, Shared) else a for a in arguments])

    def compile_for(self, *arguments: Any) -> None:
        """Do nothing."""


@typeof_impl.register(Kernel)
def type_of_kernel(called: Kernel, context: Any) -> Any:
    """Return the type of a kernel where another one calls it."""
    return types.Dispatcher(called.part)


@typeof_impl.register(Shared)
def type_of_shared(value: Shared, context: Any) -> Any:
    """Return the type of a shared tuple."""
    return value.kind


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    inline: bool | None = None,
) -> Any:
    """Compile a function that runs without the interpreter lock and is cached on disk.

    It rounds after every operation and adds up in the order that is written, so that it gives the
    same result on every processor.

    Parameters
    ----------
    function : callable
        The function to compile.
    inline : bool or None
        Whether to inline the function into its callers, whatever its size: always, never (a large
        one that several call is then compiled once), or as the compiler thinks best.
    """

    def compile_it(function: Callable[..., Any]) -> Any:
        return (PythonKernel if RUNS_PYTHON else Kernel)(function, inline=inline)

    return compile_it if function is None else compile_it(function)


# Where kernels run as Python, these stand for their addresses.
_PYTHON_ADDRESSES: dict[int, Any] = {}


def kernel_address(function: Any, *arguments: Any) -> int:
    """Compile or load a kernel for such arguments; return its address."""
    if RUNS_PYTHON:
        _PYTHON_ADDRESSES[id(function)] = function.function
        return id(function)
    compiled = function.compile_for(*arguments)
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
