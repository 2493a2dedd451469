"""What leaves the process: model files, SQL queries and ONNX graphs."""

from __future__ import annotations

from featurewright.export.files import load, save
from featurewright.export.onnx import to_onnx
from featurewright.export.pipelines import skops_types
from featurewright.export.sql import to_sql
from featurewright.export.stored.errors import ModelFileError

__all__ = ["ModelFileError", "load", "save", "skops_types", "to_onnx", "to_sql"]
