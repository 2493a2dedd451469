"""What an installed package must do without extras, from any folder."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import featurewright
from featurewright.datasets import make_ringnorm

X, y = make_ringnorm(300, random_state=0)
forest = featurewright.ConstructiveForestClassifier(10, random_state=0).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.fw"
    featurewright.save(forest, path)
    again = featurewright.load(path)
assert np.array_equal(again.predict_proba(X), forest.predict_proba(X))
assert forest.score(X, y) > 0.9
auto = featurewright.AutoFeatures(methods=["batch"], effort="quick", random_state=0).fit(X, y)
assert np.isfinite(auto.transform(X)).all()
assert "featurewright" in str(featurewright.__file__)
sys.stdout.write(f"featurewright {featurewright.__version__} with NumPy {np.__version__}: works\n")
