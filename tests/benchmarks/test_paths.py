"""Measures of the benchmark of path encodings, as the slow versions say."""

from __future__ import annotations

import numpy as np
import paths_tables
import paths_tasks
import pytest
from data import LabelSet
from paths_tasks import (
    Space,
    choose,
    gaussian,
    gaussian_of_products,
    machine,
    nearest_accuracies,
    right,
)
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier


def points(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 3))


def test_neighbours_vote():
    X, Z = points(60, 0), points(40, 1)
    y, z = (X[:, 0] > 0).astype(int), (Z[:, 0] > 0).astype(int)
    found = nearest_accuracies(Space(X @ X.T, Z @ X.T), y, z)
    for k, accuracy in found.items():
        assert accuracy == KNeighborsClassifier(k).fit(X, y).score(Z, z)
    assert list(found) == [1, 3, 5]


def test_each_measure_has_a_margin_of_its_own():
    X, Z = 0.01 * points(60, 3), 0.01 * points(60, 4)
    y, z = ((rows[:, 0] > -0.005).astype(int) for rows in (X, Z))  # most rows are of one class
    space = Space(X @ X.T, Z @ X.T)
    chosen = choose(space, y, z)
    # Machines with a small C rank rows well, but give all of them the larger class.
    assert chosen["auc"] < chosen["accuracy"]
    decisions = {what: machine(space, y, C) for what, C in chosen.items()}
    assert right(decisions["auc"], z) == z.mean() < right(decisions["accuracy"], z)
    assert roc_auc_score(z, decisions["auc"]) >= roc_auc_score(z, decisions["accuracy"])


def test_gaussian_kernel_from_products():
    X = points(20, 2)
    np.testing.assert_allclose(gaussian_of_products(X @ X.T, 0.7), gaussian(X, X, 0.7), rtol=1e-9)


def test_labels_are_measured_on_scaled_and_unscaled_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) * [1.0, 1.0, 1e4]  # the last is noise
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    rows = np.arange(90)
    labels = LabelSet("made", X, Y, True, rows[:60], rows[60:])
    monkeypatch.setattr(paths_tasks, "load_labels", lambda name: labels)
    settings = {"set": "made", "max_rows": None, "split": 0, "n_jobs": 1}
    found = paths_tasks.measure_labels(settings | {"params": {"n_estimators": 20}})
    assert found["micro-AUC original"] > found["micro-AUC unscaled"] + 0.1
    assert found["micro-AUC paths"] > found["micro-AUC unscaled"] + 0.1


class Measured:
    """Figures of one set, all near the published ones but for one."""

    def __init__(self, off):
        self.off = off

    def done(self, experiment):
        return ["wine"]

    def get(self, experiment, name, value):
        paths, original = paths_tables.MACHINE.published(name)
        centre = paths if value.endswith("paths") else original + self.off
        return np.array([centre - 0.02, centre, centre + 0.02])


@pytest.mark.parametrize(
    ("off", "far", "beyond"),
    [(0.0, "none", "none"), (-0.02, "none", "none"), (-0.1, "wine, original (-0.100)", None)],
)
def test_figures_far_from_the_published_ones_are_judged_by_noise(off, far, beyond):
    said = paths_tables.far_sentence(Measured(off), paths_tables.MACHINE)
    assert f"Further than 0.03 from the published figure: {far}." in said
    assert f"two of our standard errors: {beyond or far} (about 0.1 would" in said


class Repeated:
    """Figures of one set in two repetitions of ten folds; without roots there are none."""

    def done(self, experiment):
        return ["wine"]

    def get(self, experiment, name, value):
        centre = {"auc paths": 0.9, "auc original": 0.8}[value]
        return np.repeat([centre - 0.01, centre + 0.01], 10)


def test_wins_by_deviations_of_any_figure():
    said = paths_tables.apart_sentence(Repeated(), "auc")
    assert said.endswith("as published: paths are 1 better, 0 within noise, 0 worse.")
    said = paths_tables.apart_sentence(Repeated(), "auc", ("original", "paths"))
    assert said.endswith("0 better, 0 within noise, 1 worse.")
