"""Dask and Spark: fits on clusters, and tables that are larger than a machine."""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from featurewright.distributed import spark
    from featurewright.distributed.drawn import Drawn
    from featurewright.distributed.fitting import fit
    from featurewright.distributed.warming import warm_up

__all__ = ["Drawn", "fit", "spark", "warm_up"]

# Imported on first use: who has Spark need not have Dask, and the other way round.
_MODULES = {"Drawn": "drawn", "fit": "fitting", "spark": "", "warm_up": "warming"}


def __getattr__(name: str) -> _typing.Any:
    """Import the module of a name that is used for the first time."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not _MODULES[name]:
        return _importlib.import_module(f"{__name__}.{name}")
    return getattr(_importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
