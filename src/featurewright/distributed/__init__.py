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
    try:
        module = _importlib.import_module(f"{__name__}.{_MODULES[name] or name}")
    except ModuleNotFoundError as missing:
        if (package := (missing.name or "").split(".")[0]) == "featurewright":
            raise
        extra = "dask" if _MODULES[name] else "spark"
        raise ImportError(
            f"featurewright.distributed.{name} needs the package {package}, which is not "
            f"installed; run 'pip install featurewright[{extra}]'."
        ) from missing
    return getattr(module, name) if _MODULES[name] else module
