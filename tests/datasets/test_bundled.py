"""The bundled tables are whole, in every form."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from featurewright.datasets import load_airfoil, load_vehicle


def test_arrays():
    vehicle = load_vehicle()
    assert vehicle.data.shape == (846, 18)
    assert np.isfinite(vehicle.data).all()
    assert len(set(vehicle.feature_names)) == 18
    labels, counts = np.unique(vehicle.target, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {
        "bus": 218,
        "opel": 212,
        "saab": 217,
        "van": 199,
    }
    assert "CC BY 4.0" in vehicle.DESCR
    assert vehicle.frame is None
    # The sums of a few columns stand for the values.
    assert vehicle.data.sum(axis=0)[[0, 11, 17]].tolist() == [79252, 372165, 165505]


def test_airfoil():
    airfoil = load_airfoil()
    assert airfoil.data.shape == (1503, 5)
    assert np.isfinite(airfoil.data).all()
    assert airfoil.feature_names[-1] == "displacement_thickness"
    assert airfoil.target.min() == 103.38
    assert airfoil.target.max() == 140.987
    assert "CC BY 4.0" in airfoil.DESCR
    assert airfoil.data[:, 0].sum() == 4338230
    X, y = load_airfoil(as_frame=True, return_X_y=True)
    assert_array_equal(X.to_numpy(), airfoil.data)
    assert y.name == "sound_level"


def test_frame():
    vehicle = load_vehicle(as_frame=True)
    X, y = load_vehicle(as_frame=True, return_X_y=True)
    assert list(X.columns) == vehicle.feature_names
    assert vehicle.frame.shape == (846, 19)
    arrays = load_vehicle(return_X_y=True)
    assert_array_equal(X.to_numpy(), arrays[0])
    assert_array_equal(y.to_numpy(), arrays[1])


def test_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas, which is not installed"):
        load_vehicle(as_frame=True)
