"""The bundled real tables."""

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
    data, target, names = _read("vehicle")
    bunch = _bunch("vehicle", data, target, names, as_frame=as_frame)
    bunch.target_names = np.unique(target)
    return (bunch.data, bunch.target) if return_X_y else bunch


def load_airfoil(*, as_frame: bool = False, return_X_y: bool = False) -> Bunch | tuple[Any, Any]:
    """Load the airfoil self-noise: the sound level of airfoils in a wind tunnel, by 5 numbers.

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
        A Bunch with ``data`` of shape (1503, 5), ``target`` (decibels), ``frame`` (both together,
        or None), ``feature_names`` and ``DESCR``.

    Examples
    --------
    >>> airfoil = load_airfoil()
    >>> airfoil.data.shape, airfoil.feature_names[0], airfoil.target[:2].tolist()
    ((1503, 5), 'frequency', [126.201, 125.201])
    """
    data, target, names = _read("airfoil")
    bunch = _bunch("airfoil", data, target.astype(np.float64), names, as_frame=as_frame)
    return (bunch.data, bunch.target) if return_X_y else bunch


def _bunch(
    table: str, data: NDArray[np.float64], target: NDArray[Any], names: list[str], *, as_frame: bool
) -> Bunch:
    """Put a table together in the form asked for."""
    frame = None
    X, y = data, target
    if as_frame:
        frame = _as_frame(table, data, target, names)
        X, y = frame[names[:-1]], frame[names[-1]]
    return Bunch(
        data=X,
        target=y,
        frame=frame,
        feature_names=names[:-1],
        DESCR=_files().joinpath(f"{table}.txt").read_text(encoding="utf-8"),
    )


def _files() -> Any:
    """Find the files beside this module, also inside a zipped package."""
    return resources.files("featurewright.datasets")


def _read(table: str) -> tuple[NDArray[np.float64], NDArray[Any], list[str]]:
    """Read a table; its last column is the target."""
    with _files().joinpath(f"{table}.csv").open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    data = np.array([row[:-1] for row in rows], dtype=np.float64)
    return data, np.array([row[-1] for row in rows]), names


def _as_frame(table: str, data: NDArray[np.float64], target: NDArray[Any], names: list[str]) -> Any:
    """Build the pandas frame; pandas is wanted for this alone."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            f"load_{table}(as_frame=True) needs pandas, which is not installed: install it, or "
            f"call load_{table}() for arrays."
        ) from error
    frame = pd.DataFrame(data, columns=names[:-1])
    frame[names[-1]] = target
    return frame
