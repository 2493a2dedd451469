"""Dask and Spark: fits on clusters, and tables that are larger than a machine."""

from __future__ import annotations

from featurewright.distributed.fitting import Drawn, fit
from featurewright.distributed.warming import warm_up

__all__ = ["Drawn", "fit", "warm_up"]
