"""Forests with and without constructed features on a real table: held-out errors and formulas.

Run it with ``make demo``, or with ``python examples/demo.py`` where featurewright and pandas are
installed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from featurewright import ConstructiveExtraTreesClassifier, ConstructiveForestClassifier
from featurewright.datasets import load_vehicle

N_TREES = 100
N_SPLITS = 5
N_FORMULAS = 8
LEARNERS = {
    "random forest": ConstructiveForestClassifier,
    "Extra-Trees": ConstructiveExtraTreesClassifier,
}


def held_out_errors(make: Any, X: Any, y: Any, search: str | None) -> list[float]:
    """Fit on two thirds of the rows and count mistakes on the rest, several times."""
    splits = StratifiedShuffleSplit(n_splits=N_SPLITS, test_size=1 / 3, random_state=0)
    errors = []
    for train, test in splits.split(X, y):
        model = make(n_estimators=N_TREES, search=search, random_state=0, n_jobs=-1)
        model.fit(X.iloc[train], y.iloc[train])
        errors.append(1 - model.score(X.iloc[test], y.iloc[test]))
    return errors


def main() -> None:
    """Compare the learners, then show what was constructed."""
    started = time.perf_counter()
    X, y = load_vehicle(as_frame=True, return_X_y=True)
    print(f"Table: {len(X)} vehicle silhouettes, {X.shape[1]} columns, {y.nunique()} vehicles.")
    print(
        f"Each number is the share of mistakes on rows the model has not seen: a third of the "
        f"table,\nmean of {N_SPLITS} random splits, {N_TREES} trees. Lower is better. "
        "The first fit also compiles.\n"
    )
    print(f"{'learner':<16}{'columns only':>14}{'constructed':>14}{'mistakes saved':>16}")
    for name, make in LEARNERS.items():
        plain = np.mean(held_out_errors(make, X, y, search=None))
        constructed = np.mean(held_out_errors(make, X, y, search="random"))
        saved = 1 - constructed / plain
        print(f"{name:<16}{plain:>14.1%}{constructed:>14.1%}{saved:>16.0%}")
    print(
        "\ncolumns only: splits test the columns as they are."
        "\nconstructed:  splits may test small formulas found while the trees grow."
    )

    model = ConstructiveExtraTreesClassifier(
        n_estimators=N_TREES, search="random", random_state=0, n_jobs=-1
    )
    model.fit(X, y)
    print(
        f"\nThe {N_FORMULAS} features that helped Extra-Trees most, fitted on the whole table"
        "\n(gain: what the splits on it were worth in sum; nodes: how many splits use it):\n"
    )
    print(f"{'gain':>10}{'nodes':>8}  formula")
    for feature in model.features_[:N_FORMULAS]:
        print(f"{feature.gain:>10.3g}{feature.count:>8}  {feature.name}")
    print(f"\nDone in {time.perf_counter() - started:.0f} seconds.")


if __name__ == "__main__":
    main()
