"""Sets that need no data folder: made up, part of scikit-learn, or on OpenML by name.

A set of OpenML is taken only if it has the rows and columns that the experiments have; anything
else is another table of the same name. What cannot be had raises `MissingSetError`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

BINARY, MULTICLASS, REGRESSION, LABELS = "binary", "multiclass", "regression", "multilabel"
# Name: task, rows, columns, classes or labels, name at OpenML, version, columns to leave out.
_OPENML: dict[str, tuple[str, int, int, int, str, int, tuple[str, ...]]] = {
    "vehicle": (MULTICLASS, 846, 18, 4, "vehicle", 1, ()),
    "vowel": (MULTICLASS, 990, 10, 11, "vowel", 2, ("Speaker_Number", "Sex")),
    "segment": (MULTICLASS, 2310, 19, 7, "segment", 1, ()),
    "spambase": (BINARY, 4601, 57, 2, "spambase", 1, ()),
    "pendigits": (MULTICLASS, 10992, 16, 10, "pendigits", 1, ()),
    "letter": (MULTICLASS, 20000, 16, 26, "letter", 1, ()),
    "arcene": (BINARY, 200, 10000, 2, "arcene", 1, ()),
    "blood_transfusion": (BINARY, 748, 4, 2, "blood-transfusion-service-center", 1, ()),
    "breast_wisconsin_original": (BINARY, 699, 9, 2, "breast-w", 1, ()),
    "sonar": (BINARY, 208, 60, 2, "sonar", 1, ()),
    "credit_approval": (BINARY, 690, 15, 2, "credit-approval", 1, ()),
    "cylinder_bands": (BINARY, 540, 39, 2, "cylinder-bands", 2, ()),
    "ecoli": (MULTICLASS, 336, 7, 8, "ecoli", 1, ()),
    "glass": (MULTICLASS, 214, 9, 6, "glass", 1, ()),
    "haberman": (BINARY, 306, 3, 2, "haberman", 1, ()),
    "hepatitis": (BINARY, 155, 19, 2, "hepatitis", 1, ()),
    "ionosphere": (BINARY, 351, 34, 2, "ionosphere", 1, ()),
    "libras_movement": (MULTICLASS, 360, 90, 15, "libras", 1, ()),
    "pima_diabetes": (BINARY, 768, 8, 2, "diabetes", 1, ()),
    "spectf_heart": (BINARY, 267, 44, 2, "SPECTF", 1, ()),
    "olivetti_faces": (MULTICLASS, 400, 4096, 40, "Olivetti_Faces", 1, ()),
    "mnist": (MULTICLASS, 70000, 784, 10, "mnist_784", 1, ()),
    "adult": (BINARY, 48842, 14, 2, "adult", 2, ()),
    "electricity": (BINARY, 45312, 8, 2, "electricity", 1, ()),
    "california_housing": (REGRESSION, 20640, 8, 0, "houses", 1, ()),
    "bike_sharing_hour": (REGRESSION, 17379, 12, 0, "Bike_Sharing_Demand", 2, ()),
    "airfoil_self_noise": (REGRESSION, 1503, 5, 0, "airfoil_self_noise", 1, ()),
    "wine_quality_red": (REGRESSION, 1599, 11, 0, "wine-quality-red", 1, ()),
    "wine_quality_white": (REGRESSION, 4898, 11, 0, "wine-quality-white", 1, ()),
    "raetsch_banana": (BINARY, 5300, 2, 2, "banana", 1, ()),
    "raetsch_ringnorm": (BINARY, 7400, 20, 2, "ringnorm", 1, ()),
    "raetsch_twonorm": (BINARY, 7400, 20, 2, "twonorm", 1, ()),
    "raetsch_titanic": (BINARY, 2201, 3, 2, "Titanic", 1, ()),
    "mulan_emotions": (LABELS, 593, 72, 6, "emotions", 3, ()),
    "mulan_scene": (LABELS, 2407, 294, 6, "scene", 4, ()),
    "mulan_yeast": (LABELS, 2417, 103, 14, "yeast", 4, ()),
}
_NOMINAL = {"credit_approval", "cylinder_bands", "hepatitis", "adult", "raetsch_titanic"}
# Sets whose rows the package makes: task, rows, columns, classes.
_MADE = {
    "waveform": (MULTICLASS, 5000, 21, 3),
    "twonorm": (BINARY, 10000, 20, 2),
    "ringnorm": (BINARY, 10000, 20, 2),
}
# Sets that come with scikit-learn: its function, task, rows, columns, classes.
_BUNDLED = {
    "iris": ("load_iris", MULTICLASS, 150, 4, 3),
    "wine": ("load_wine", MULTICLASS, 178, 13, 3),
    "digits": ("load_digits", MULTICLASS, 1797, 64, 10),
    "breast_wisconsin_diagnostic": ("load_breast_cancer", BINARY, 569, 30, 2),
}
# Classes in the order of their codes, where the folder's labels are numbers and OpenML's are words.
_ORDER = {
    "glass": (
        *("build wind float", "build wind non-float", "vehic wind float"),
        *("containers", "tableware", "headlamps"),
    ),
}
# Sizes of Rätsch's splits, which are drawn where the folder has none.
_SPLITS = {
    "raetsch_banana": (400, 4900),
    "raetsch_ringnorm": (400, 7000),
    "raetsch_twonorm": (400, 7000),
    "raetsch_titanic": (150, 2051),
}


class MissingSetError(LookupError):
    """A set that can be had from nowhere; the text says why."""


def _entry(task: str, n_rows: int, n_features: int, n_classes: int, source: str) -> dict[str, Any]:
    """Describe a set as a manifest does."""
    entry: dict[str, Any] = {"task": task, "n_rows": n_rows, "n_features": n_features}
    return entry | {"n_classes": n_classes or None, "source": source}


def catalogue() -> dict[str, dict[str, Any]]:
    """Describe all sets that may be had without a data folder."""
    found = {name: _entry(*size, "made up") for name, size in _MADE.items()}
    found |= {name: _entry(*parts[1:], "scikit-learn") for name, parts in _BUNDLED.items()}
    found |= {name: _entry(*parts[:4], "OpenML") for name, parts in _OPENML.items()}
    for name in _NOMINAL:
        found[name]["n_nominal"] = 1  # at least
    for name, (train, test) in _SPLITS.items():
        sizes = {"train": train, "test": test}
        found[name] |= {"n_splits_available": 0, "official_sizes": sizes}
    return found


def fetch(name: str) -> tuple[Any, Any]:
    """Get the inputs and the target of a set.

    Parameters
    ----------
    name : str
        A name of the catalogue.

    Returns
    -------
    X : ndarray or pandas.DataFrame
        The inputs.
    y : ndarray
        The target; a matrix of 0 and 1 for several labels.

    Raises
    ------
    MissingSetError
        With the reason.
    """
    if name in _MADE:
        return make_up(name, 0)
    if name in _BUNDLED:
        from sklearn import datasets as bundled

        return getattr(bundled, _BUNDLED[name][0])(return_X_y=True)
    if name not in _OPENML:
        raise MissingSetError("neither the data folder nor OpenML has it")
    return _from_openml(name)


def make_up(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a sample of a set whose rows the package makes, as large as the published one."""
    from featurewright import datasets

    return getattr(datasets, f"make_{name}")(_MADE[name][1], random_state=seed)


def _from_openml(name: str) -> tuple[Any, Any]:
    """Get a set from OpenML, if it is the table that is meant."""
    from sklearn.datasets import fetch_openml

    task, n_rows, n_columns, n_labels, title, number, dropped = _OPENML[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # one for each retry
            found = fetch_openml(title, version=number, as_frame=True, parser="auto", n_retries=1)
    except (OSError, ValueError, LookupError, ImportError) as e:
        raise MissingSetError(f"OpenML does not answer for {title}: {type(e).__name__}") from e
    X, y = found.data, found.target
    X = X.drop(columns=[column for column in dropped if column in X])
    if X.shape != (n_rows, n_columns) or y is None:
        raise MissingSetError(f"OpenML's {title} is another table, of shape {X.shape}")
    if task == LABELS:
        Y = np.isin(y.to_numpy().astype(str), ("TRUE", "True", "1")).astype(np.int64)
        if Y.shape != (n_rows, n_labels):
            raise MissingSetError(f"OpenML's {title} has other labels, of shape {Y.shape}")
        return X, Y
    if task == REGRESSION:
        return X, y.to_numpy(dtype=float)
    return X, _numbers(y.to_numpy().astype(str), _ORDER.get(name))


def _numbers(labels: np.ndarray, order: tuple[str, ...] | None) -> np.ndarray:
    """Turn labels into numbers where they are: as strings, 10 comes before 2."""
    if order is not None and set(labels) <= set(order):
        return np.array([order.index(label) for label in labels])
    try:
        return labels.astype(float)
    except ValueError:
        return labels
