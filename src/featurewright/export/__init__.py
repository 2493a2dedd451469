"""Fitted models in other forms: SQL queries and ONNX graphs."""

from __future__ import annotations

from featurewright.export.onnx import to_onnx
from featurewright.export.sql import to_sql

__all__ = ["to_onnx", "to_sql"]
