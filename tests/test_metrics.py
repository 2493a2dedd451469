"""Target alignment against its definition."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.naive import paths as naive

from featurewright import metrics
from featurewright.metrics import target_alignment


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_alignment(n_classes, scale, monkeypatch):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 60)
    K = rng.normal(size=(60, 60)) + (y[:, None] == y[None, :])
    expected = naive.target_alignment(K, y)
    assert target_alignment(K * scale, y) == pytest.approx(expected)
    monkeypatch.setattr(metrics, "_BLOCK_ROWS", 7)
    assert target_alignment(K * scale, [str(label) for label in y]) == pytest.approx(expected)


def test_extremes():
    y = np.array(["a", "a", "b", "b"])
    ideal = np.where(y[:, None] == y[None, :], 1.0, -1.0)
    assert target_alignment(ideal, y) == 1.0
    assert target_alignment(-ideal, y) == -1.0
    assert target_alignment(np.eye(4), y) == 0.0


def test_no_second_matrix():
    K = np.ones((3000, 3000))
    tracemalloc.start()
    target_alignment(K, np.arange(3000) % 2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * K.nbytes


@pytest.mark.parametrize(
    ("K", "y", "message"),
    [
        (np.ones((3, 2)), [0, 1, 0], "is square"),
        (np.ones((3, 3)), [0, 1], "inconsistent"),
        (np.ones((3, 3)), [0.5, 1, 0], "classes are expected"),
        (np.ones((1, 1)), [1], "at least two"),
        (np.ones((3, 3)), ["a"] * 3, "one class only, 'a'"),
        (np.ones((3, 3)), np.array(["a", None, "b"], object), "every row needs a target"),
        (np.full((2, 2), np.nan), [0, 1], "NaN"),
    ],
)
def test_bad_input_is_refused(K, y, message):
    with pytest.raises(ValueError, match=message):
        target_alignment(K, y)
