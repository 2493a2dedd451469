"""The jobs behind the tables of kernel features, and what they found."""

from __future__ import annotations

from typing import Any

import numpy as np
from landmarks_published import METHODS
from runner import Settings, Store, column

from featurewright.publications import PUBLISHED as PUBLICATIONS

Cells = dict[tuple[str, ...], list[Settings]]


def params_of(label: str, **kernel: Any) -> dict[str, Any]:
    """Return the parameters of a row of the tables: the published ones, with a kernel or plain."""
    ensemble = label.removesuffix(" + K")
    settings = PUBLICATIONS[METHODS[ensemble]].settings
    if label.endswith(" + K") or ensemble == "kernel only":
        return settings | kernel
    plain = settings | {"n_landmarks": 0}
    # The plain AdaBoost.M1 is one run of all its trees.
    return plain | {"n_runs": 1} if ensemble == "AdaBoost.M1" else plain


def job(name: str, split: int, params: dict[str, Any], n_jobs: int) -> Settings:
    """Describe one run."""
    return {
        "set": name,
        "family": "KernelFeatureEnsemble",
        "params": params,
        "split": split,
        "n_jobs": n_jobs,
    }


def errors(store: Store, jobs: list[Settings]) -> np.ndarray:
    """Return the errors of a cell in %."""
    return 100 * column(store, jobs, "error")
