"""Problems to try things on: artificial ones of the literature and one real table."""

from featurewright.datasets.artificial import (
    make_ringnorm,
    make_sin_inverse,
    make_twonorm,
    make_unit_square,
    make_waveform,
)
from featurewright.datasets.vehicle import load_vehicle

__all__ = [
    "load_vehicle",
    "make_ringnorm",
    "make_sin_inverse",
    "make_twonorm",
    "make_unit_square",
    "make_waveform",
]
