"""Problems to try things on: artificial ones of the literature and two real tables."""

from featurewright.datasets.artificial import (
    make_ringnorm,
    make_sin_inverse,
    make_twonorm,
    make_unit_square,
    make_waveform,
)
from featurewright.datasets.bundled import load_airfoil, load_vehicle

__all__ = [
    "load_airfoil",
    "load_vehicle",
    "make_ringnorm",
    "make_sin_inverse",
    "make_twonorm",
    "make_unit_square",
    "make_waveform",
]
