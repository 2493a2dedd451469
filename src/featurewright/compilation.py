"""Compile everything ahead of the first use: in an image, on a CI machine, on workers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from featurewright.constructive import (
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
    ConstructiveExtraTreesClassifier,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
    ConstructiveTreeClassifier,
)
from featurewright.estimators.progress import progress, without_notice
from featurewright.expressions import Column, Real
from featurewright.fctree import BatchConstructor, FCTreeClassifier, FCTreeRegressor
from featurewright.paths import ForestPathEncoder
from featurewright.recursive import RecursiveSelectiveTransformer
from featurewright.relations.aggregates import AGGREGATES, LinkFeature, LinkValues, SeenRows
from featurewright.relations.keys import KeyColumn, learn_keys
from featurewright.relations.linked import Times, sort_rows
from featurewright.tables import learn_schema

_ROWS = 96
_SMALL: dict[str, Any] = {"n_estimators": 2, "random_state": 0}


def compile_all(*, verbose: int = 0) -> float:
    """Compile all kernels for this machine and write them to Numba's cache.

    Code that is there already is not compiled again. The cache is in the directory that the
    environment variable ``NUMBA_CACHE_DIR`` names, otherwise beside the installed package if that
    can be written to, otherwise in the user's cache directory. Code is compiled for the processor
    of the machine; set ``NUMBA_CPU_NAME`` when an image is to run on others.

    Parameters
    ----------
    verbose : int, default=0
        Whether to show a progress bar, which needs rich.

    Returns
    -------
    float
        The seconds it took.

    Examples
    --------
    >>> from featurewright import compile_all
    >>> seconds = compile_all()
    >>> seconds > 0
    True
    """
    started = time.monotonic()
    steps = _steps()
    title = "compiling the engine"
    with (
        progress(len(steps), title, verbose=verbose) as on_done,
        warnings.catch_warnings(),
        without_notice(),
    ):
        warnings.simplefilter("ignore")  # the tables are tiny, and some learners say so
        for number, step in enumerate(steps):
            step()
            on_done(number + 1)
    return time.monotonic() - started


def _steps() -> list[Callable[[], Any]]:
    """Return small fits that together call every kernel with every type."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, 4))
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    number = X[:, 0] * X[:, 1]
    classes = np.digitize(number, [-0.3, 0.3])
    several = np.column_stack([number, X[:, 2]])
    forests = (ConstructiveForestClassifier, ConstructiveExtraTreesClassifier)

    def learn(learner: Any, target: Any) -> Callable[[], Any]:
        def step() -> None:
            fitted = learner.fit(X, target)
            fitted.predict(X)
            fitted.transform(X)

        return step

    def encode(missing: str, **settings: Any) -> Callable[[], Any]:
        def step() -> None:
            encoder = ForestPathEncoder(missing=missing, **_SMALL, **settings)
            encoder.fit(holes, classes).transform(holes)
            encoder.kernel(holes)

        return step

    return [
        *(
            learn(forest(search=search, **_SMALL), classes)
            for forest in forests
            for search in ("random", "step", None)
        ),
        learn(ConstructiveForestRegressor(**_SMALL), several),
        learn(ConstructiveTreeClassifier(search="look_ahead", random_state=0), classes),
        learn(ConstructiveBoostingClassifier(**_SMALL), classes),
        learn(ConstructiveBoostingClassifier(loss="adaboost_mh", **_SMALL), classes),
        learn(ConstructiveBoostingRegressor(**_SMALL), number),
        learn(FCTreeClassifier(random_state=0), classes),
        learn(FCTreeRegressor(random_state=0), number),
        lambda: BatchConstructor().fit(X, number).transform(X),
        *(encode(missing) for missing in ("random", "spread")),
        encode("random", n_hash=16),
        encode("random", depth_weights=0.5),
        lambda: RecursiveSelectiveTransformer(random_state=0).fit(X, classes).transform(X),
        lambda: _aggregate(X),
    ]


def _aggregate(X: Any) -> None:
    """Compute every aggregate of linked rows, with and without the row itself."""
    keys = np.arange(len(X)) % 4
    known = learn_keys([KeyColumn("numbers", keys, keys >= 0)], ["key"])
    linked = sort_rows("rows", learn_schema(X), np.abs(X), known, Times(X[:, 0], False, False))
    until = np.full(len(X), 1.0)
    starts, ends = linked.spans(keys, until)
    value = Column(1, "x1", Real)
    for own in (None, linked.place):
        values = LinkValues(linked, SeenRows(keys, starts, ends, until, own))
        for name, aggregate in AGGREGATES.items():
            if own is None or aggregate.for_groups:
                values.compute(LinkFeature("rows", name, value))
