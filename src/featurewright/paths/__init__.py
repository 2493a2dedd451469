"""Forest paths as features: the encoding of rows by the nodes they pass, and its kernel."""

from __future__ import annotations

from featurewright.paths.displays import (
    ConvergenceDisplay,
    KernelMapDisplay,
    ProjectionDisplay,
)
from featurewright.paths.encoder import ForestPathEncoder

__all__ = ["ConvergenceDisplay", "ForestPathEncoder", "KernelMapDisplay", "ProjectionDisplay"]
