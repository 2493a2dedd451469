"""Problems to try things on: artificial ones of the literature and a real table."""

from featurewright.datasets.airfoil import load_airfoil
from featurewright.datasets.artificial import (
    make_ringnorm,
    make_sin_inverse,
    make_twonorm,
    make_unit_square,
    make_waveform,
)
from featurewright.datasets.relational import make_shop

__all__ = [
    "load_airfoil",
    "make_ringnorm",
    "make_shop",
    "make_sin_inverse",
    "make_twonorm",
    "make_unit_square",
    "make_waveform",
]
