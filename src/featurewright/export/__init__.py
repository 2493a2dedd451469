"""What leaves the process: model files, SQL queries and ONNX graphs."""

from __future__ import annotations

import importlib
import typing

from featurewright.export.files import load, save
from featurewright.export.pipelines import skops_types
from featurewright.export.stored.errors import ModelFileError

if typing.TYPE_CHECKING:
    from featurewright.export.files import load, save
    from featurewright.export.onnx import to_onnx
    from featurewright.export.pipelines import skops_types
    from featurewright.export.sql import to_sql
    from featurewright.export.stored.errors import ModelFileError

__all__ = ["ModelFileError", "load", "save", "skops_types", "to_onnx", "to_sql"]

# They know every method of the library, which takes a while to import.
_LATER = {
    "ModelFileError": "stored.errors",
    "load": "files",
    "save": "files",
    "skops_types": "pipelines",
    "to_onnx": "onnx",
    "to_sql": "sql",
}


def __getattr__(name: str) -> typing.Any:
    """Import what is used for the first time."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value
