"""The bundled real table."""

from __future__ import annotations

import csv
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch


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
    data, target, names = _read()
    X, y, frame = data, target, None
    if as_frame:
        frame = _as_frame(data, target, names)
        X, y = frame[names[:-1]], frame[names[-1]]
    if return_X_y:
        return X, y
    text = _files().joinpath("airfoil.txt").read_text(encoding="utf-8")
    return Bunch(data=X, target=y, frame=frame, feature_names=names[:-1], DESCR=text)


def _files() -> Any:
    """Find the files beside this module, also inside a zipped package."""
    return resources.files("featurewright.datasets")


def _read() -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Read the table; its last column is the target."""
    with _files().joinpath("airfoil.csv").open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    values = np.array(rows, dtype=np.float64)
    return np.ascontiguousarray(values[:, :-1]), values[:, -1].copy(), names


def _as_frame(data: NDArray[np.float64], target: NDArray[np.float64], names: list[str]) -> Any:
    """Build the pandas frame; pandas is wanted for this alone."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "load_airfoil(as_frame=True) needs pandas, which is not installed: install it, or "
            "call load_airfoil() for arrays."
        ) from error
    frame = pd.DataFrame(data, columns=names[:-1])
    frame[names[-1]] = target
    return frame
