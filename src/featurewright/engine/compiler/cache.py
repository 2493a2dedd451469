"""Compiled code on disk, where it can be written and where it can only be read.

Numba refuses a cache directory that it cannot write to, and fails where there is none. Containers
are often read-only: there the code that an image was built with is read, and what is not there is
compiled again in every process.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import (
    CacheImpl,
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
)


class _ReadOnly:
    """Finds compiled code in a directory that cannot be written to."""

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
    """Stands for a cache where there can be none."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> Nowhere:
        """Return a locator for any function."""
        return cls(function, file)


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


class KernelCache(FunctionCache):
    """The compiled code of one function."""

    _impl_class = KernelCacheImpl

    def save_overload(self, signature: Any, data: Any) -> None:
        """Write compiled code, where it can be written."""
        with suppress(OSError):  # read-only, or a full disk: it is compiled again next time
            super().save_overload(signature, data)

    def is_stored(self) -> bool:
        """Whether there is compiled code of the function, of any signature."""
        return Path(self._cache_file._index_path).exists()
