"""The bundled real table."""

from __future__ import annotations

import csv
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch


def load_vehicle(*, as_frame: bool = False, return_X_y: bool = False) -> Bunch | tuple[Any, Any]:
    """Load the vehicle silhouettes: four kinds of vehicle told apart by 18 numbers.

    The table comes with the package; nothing is downloaded. Its source and licence (CC BY 4.0)
    are in ``DESCR``.

    Parameters
    ----------
    as_frame : bool, default=False
        Give a pandas DataFrame and Series instead of arrays.
    return_X_y : bool, default=False
        Give the pair (data, target) alone.

    Returns
    -------
    Bunch or tuple
        A Bunch with ``data`` of shape (846, 18), ``target`` (the names of the vehicles),
        ``frame`` (both together, or None), ``feature_names``, ``target_names`` and ``DESCR``.

    Examples
    --------
    >>> vehicle = load_vehicle()
    >>> vehicle.data.shape, vehicle.feature_names[0], vehicle.target[:3].tolist()
    ((846, 18), 'compactness', ['van', 'van', 'saab'])
    >>> vehicle.target_names.tolist()
    ['bus', 'opel', 'saab', 'van']
    """
    data, target, names = _read()
    frame = None
    X, y = data, target
    if as_frame:
        frame = _as_frame(data, target, names)
        X, y = frame[names[:-1]], frame[names[-1]]
    if return_X_y:
        return X, y
    return Bunch(
        data=X,
        target=y,
        frame=frame,
        feature_names=names[:-1],
        target_names=np.unique(target),
        DESCR=_files().joinpath("vehicle.txt").read_text(encoding="utf-8"),
    )


def _files() -> Any:
    """Find the files beside this module, also inside a zipped package."""
    return resources.files("featurewright.datasets")


def _read() -> tuple[NDArray[np.float64], NDArray[Any], list[str]]:
    """Read the table; its last column is the target."""
    with _files().joinpath("vehicle.csv").open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    data = np.array([row[:-1] for row in rows], dtype=np.float64)
    return data, np.array([row[-1] for row in rows]), names


def _as_frame(data: NDArray[np.float64], target: NDArray[Any], names: list[str]) -> Any:
    """Build the pandas frame; pandas is wanted for this alone."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "load_vehicle(as_frame=True) needs pandas, which is not installed: install it, or "
            "call load_vehicle() for arrays."
        ) from error
    frame = pd.DataFrame(data, columns=names[:-1])
    frame[names[-1]] = target
    return frame
