"""Compiled code on disk, where it can be written and where it can only be read.

Numba refuses a cache directory that it cannot write to, and fails where there is none. Containers
are often read-only: there the code that an image was built with is read, and what is not there is
compiled again in every process.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm
from numba.core import config
from numba.core.caching import (
    CacheImpl,
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
)


class _ReadOnly:
    """Finds compiled code in a directory that cannot be written to; nothing is written there."""

    _cache_path: str

    def ensure_cache_path(self) -> None:
        """Do nothing: what cannot be written is not."""

    def holds(self, name: str) -> bool:
        """Whether there is code of a function."""
        return any(Path(self._cache_path).glob(f"*.{name}-*.nbi"))


class ReadOnlyUserProvided(_ReadOnly, UserProvidedCacheLocator):
    """The directory in ``NUMBA_CACHE_DIR``."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> ReadOnlyUserProvided | None:
        """Return a locator if the directory has code of the function."""
        if not config.CACHE_DIR:
            return None
        found = cls(function, file)
        return found if found.holds(function.__qualname__) else None


class ReadOnlyInTree(_ReadOnly, InTreeCacheLocator):
    """The directory beside the source."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> ReadOnlyInTree | None:
        """Return a locator if the directory has code of the function."""
        found = cls(function, file)
        return found if found.holds(function.__qualname__) else None


class Nowhere(_ReadOnly, InTreeCacheLocator):
    """Stands for a cache where there can be none.

    A function whose source is no file, such as one made by ``exec``, has none either: the directory
    that Numba would take for it is one of the working directory.
    """

    @classmethod
    def from_function(cls, function: Any, file: str) -> Nowhere:
        """Return a locator for any function."""
        return cls(function, file)

    def get_source_stamp(self) -> str:
        """Return what tells versions of a source apart: nothing is kept."""
        return ""


class KernelCacheImpl(CompileResultCacheImpl):
    """Looks in more places than Numba does."""

    # Numba tries each in turn: a directory that it can write to comes before one of its kind that
    # it can only read, and the user's own before the one beside the source.
    _locator_classes = (
        UserProvidedCacheLocator,
        ReadOnlyUserProvided,
        InTreeCacheLocator,
        ReadOnlyInTree,
        *(kind for kind in CacheImpl._locator_classes if kind.__name__.startswith("UserWide")),
        Nowhere,
    )


class StandaloneCacheImpl(KernelCacheImpl):
    """Keeps the machine code of a kernel without the code it was made from.

    Numba also writes LLVM's form of a function, for others that call it. A kernel that Python calls
    is called by nothing else, and reading that form takes longer than the machine code.
    """

    def reduce(self, compiled: Any) -> Any:
        """Return what is written to the disk."""
        (name, kind, (machine_code, _)), function, *others = compiled._reduce()
        # Numba asks the second part which names the code defines, and nothing else.
        names = (function.llvm_func_name, function.llvm_cpython_wrapper_name)
        stubs = "".join(f'define void @"{defined}"() {{ ret void }}\n' for defined in names)
        outline = llvm.parse_assembly(stubs).as_bitcode()
        return ((name, kind, (machine_code, outline)), function, *others)


class KernelCache(FunctionCache):
    """The compiled code of one function."""

    _impl_class = KernelCacheImpl

    def save_overload(self, signature: Any, data: Any) -> None:
        """Write compiled code, where it can be written."""
        if isinstance(self._impl.locator, _ReadOnly):
            return
        with suppress(OSError):  # read-only, or a full disk: it is compiled again next time
            super().save_overload(signature, data)

    def is_stored(self) -> bool:
        """Whether there is compiled code of the function, of any signature."""
        return Path(self._cache_file._index_path).exists()


class StandaloneCache(KernelCache):
    """The compiled code of one function that needs nothing of Numba to run."""

    _impl_class = StandaloneCacheImpl

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load compiled code without what Numba needs to compile, which takes half a second."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, target)
