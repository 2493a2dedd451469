"""What leaves the process: model files."""

from __future__ import annotations

from featurewright.export.files import load, save
from featurewright.export.pipelines import skops_types
from featurewright.export.stored.errors import ModelFileError

__all__ = ["ModelFileError", "load", "save", "skops_types"]
