"""What leaves the process: model files, SQL queries and ONNX graphs."""

from __future__ import annotations

import importlib
import typing

if typing.TYPE_CHECKING:
    from featurewright.export.files import load, save
    from featurewright.export.onnx import to_onnx
    from featurewright.export.sql import to_sql
    from featurewright.export.stored.archive import ModelFileError
    from featurewright.export.stored.foreign import skops_types

__all__ = ["ModelFileError", "load", "save", "skops_types", "to_onnx", "to_sql"]

# Imported on first use: exporters know every method of the library.
_LATER = {
    "ModelFileError": "stored.archive",
    "load": "files",
    "save": "files",
    "skops_types": "stored.foreign",
    "to_onnx": "onnx",
    "to_sql": "sql",
}


def __getattr__(name: str) -> typing.Any:
    """Import a name that is used for the first time."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value
