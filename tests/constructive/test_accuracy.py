"""Plain learners are as good as scikit-learn's, and construction wins where it should."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.datasets import make_friedman1
from tests.constructive.learners import make, make_loose, table

from featurewright.datasets import make_ringnorm, make_twonorm, make_waveform

PEERS = {
    "TreeClassifier": tree.DecisionTreeClassifier,
    "ForestClassifier": ensemble.RandomForestClassifier,
    "ExtraTreesClassifier": ensemble.ExtraTreesClassifier,
    "TreeRegressor": tree.DecisionTreeRegressor,
    "ForestRegressor": ensemble.RandomForestRegressor,
    "ExtraTreesRegressor": ensemble.ExtraTreesRegressor,
}
CLASS_SETS = {"twonorm": make_twonorm, "ringnorm": make_ringnorm, "waveform": make_waveform}
REPEATS = 3
long = partial(pytest.param, marks=pytest.mark.slow)


def class_set(which: str, seed: int, n_rows: int = 1300):
    if which == "product":
        X = table(n_rows, 6, seed)
        return X, X[:, 0] * X[:, 1] > 0
    return CLASS_SETS[which](n_rows, random_state=seed)


def mean_score(make_model, which: str) -> float:
    """Average the scores on new rows of fits on 300 rows."""
    scores = []
    for seed in range(REPEATS):
        X, y = class_set(which, seed)
        scores.append(make_model(seed).fit(X[:300], y[:300]).score(X[300:], y[300:]))
    return float(np.mean(scores))


@pytest.mark.parametrize("which", ["twonorm", long("ringnorm"), long("waveform")])
@pytest.mark.parametrize("name", [name for name in PEERS if name.endswith("Classifier")])
def test_plain_classifiers_keep_up(name, which):
    trees = {} if name.startswith("Tree") else {"n_estimators": 60}
    ours = mean_score(lambda seed: make(name, search=None, random_state=seed, **trees), which)
    peer = mean_score(lambda seed: PEERS[name](random_state=seed, **trees), which)
    assert ours > peer - (0.04 if name.startswith("Tree") else 0.025)


@pytest.mark.parametrize("name", [name for name in PEERS if name.endswith("Regressor")])
def test_plain_regressors_keep_up(name):
    trees = {} if name.startswith("Tree") else {"n_estimators": 40}
    differences = []
    for seed in range(REPEATS):
        X, y = make_friedman1(1000, noise=1.0, random_state=seed)
        fits = (
            make(name, search=None, max_features=1.0, random_state=seed, **trees),
            PEERS[name](random_state=seed, **trees),
        )
        ours, peer = (model.fit(X[:300], y[:300]).score(X[300:], y[300:]) for model in fits)
        differences.append(ours - peer)
    assert np.mean(differences) > (-0.06 if name.startswith("Tree") else -0.02)


WINS = [
    ("TreeClassifier", "twonorm", 0.85),
    ("TreeClassifier", "product", 0.3),
    long("ForestClassifier", "twonorm", 0.85),
    ("ForestClassifier", "ringnorm", 0.75),
    ("ForestClassifier", "product", 0.5),
    ("ExtraTreesClassifier", "product", 0.5),
    ("BoostingClassifier", "ringnorm", 0.75),
    long("BoostingClassifier", "twonorm", 0.9),
    ("BoostingClassifier", "product", 0.5),
]


@pytest.mark.parametrize(("name", "which", "share"), WINS)
def test_construction_wins(name, which, share):
    trees = {} if name.startswith("Tree") else {"n_estimators": 60}
    errors = [
        1 - mean_score(lambda seed, s=s: make_loose(name, random_state=seed, **s, **trees), which)
        for s in ({"budget": "10n"}, {"search": None})
    ]
    assert errors[0] < share * errors[1]


@pytest.mark.parametrize("depth", [1, long(3)])
def test_construction_wins_with_votes(depth):
    settings = {"loss": "adaboost_mh", "max_depth": depth, "n_estimators": 60}
    errors = [
        1
        - mean_score(
            lambda seed, s=s: make("BoostingClassifier", random_state=seed, **s, **settings),
            "ringnorm",
        )
        for s in ({"budget": "10n"}, {"search": None})
    ]
    assert errors[0] < 0.85 * errors[1]


@pytest.mark.parametrize("kind", ["Tree", "Forest", "ExtraTrees", "Boosting"])
def test_construction_wins_on_numbers(kind):
    X = table(900, 6)
    y = X[:, 0] * X[:, 1] + X[:, 2]
    trees = {} if kind == "Tree" else {"n_estimators": 60}
    errors = [
        1 - make(f"{kind}Regressor", **s, **trees).fit(X[:300], y[:300]).score(X[300:], y[300:])
        for s in ({"budget": "20n"}, {"search": None})
    ]
    assert errors[0] < 0.75 * errors[1]


def test_halving_costs_little_accuracy():
    X, y = make_ringnorm(4000, random_state=0)
    settings = {"n_estimators": 20, "budget": "5n", "max_depth": 6}
    scores = [
        make("ForestClassifier", halving=halving, **settings)
        .fit(X[:2500], y[:2500])
        .score(X[2500:], y[2500:])
        for halving in ("auto", 128, None)
    ]
    assert min(scores[:2]) > scores[2] - 0.02
