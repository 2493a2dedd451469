"""The bundled table is whole, in every form."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from featurewright.datasets import load_airfoil


def test_arrays():
    airfoil = load_airfoil()
    assert airfoil.data.shape == (1503, 5)
    assert np.isfinite(airfoil.data).all()
    assert airfoil.feature_names[-1] == "displacement_thickness"
    assert airfoil.target.min() == 103.38
    assert airfoil.target.max() == 140.987
    assert "CC BY 4.0" in airfoil.DESCR
    assert airfoil.frame is None
    # The sum of a column stands for the values.
    assert airfoil.data[:, 0].sum() == 4338230


def test_frame():
    airfoil = load_airfoil(as_frame=True)
    X, y = load_airfoil(as_frame=True, return_X_y=True)
    assert list(X.columns) == airfoil.feature_names
    assert airfoil.frame.shape == (1503, 6)
    assert y.name == "sound_level"
    arrays = load_airfoil(return_X_y=True)
    assert_array_equal(X.to_numpy(), arrays[0])
    assert_array_equal(y.to_numpy(), arrays[1])


def test_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas, which is not installed"):
        load_airfoil(as_frame=True)
