"""The same formulas on every processor."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from featurewright import AutoFeatures

# What OpenBLAS and NumPy do on an old processor; the code that Numba compiles is tested with the
# decorator of kernels, since compiling all of it again takes a minute.
OLD = {
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}


def found() -> list:
    """Search a small table; return formulas with their gains, and the front, to nine decimals."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(150, 4)), rng.uniform(1.0, 9.0, 150)])
    y = X[:, 0] * X[:, 1] + np.log(X[:, 4]) + 0.2 * rng.normal(size=150)
    auto = AutoFeatures(methods=["batch", "forest"], effort="quick", cv=2, random_state=0).fit(X, y)
    gains = [[feature.name, round(feature.gain, 9)] for feature in auto.features_]
    return [gains, [[p["n_formulas"], round(p["score"], 9), p["chosen"]] for p in auto.front_]]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names processors of x86")
def test_an_old_processor_finds_the_same():
    here = found()
    assert len(here[0]) > 1
    code = "import json; from tests.auto.test_processors import found; print(json.dumps(found()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | OLD,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert json.loads(done.stdout) == here
