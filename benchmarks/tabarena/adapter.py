"""featurewright as an external system of TabArena, and a run on a stand-in table.

TabArena runs a system as a subclass of its ``AbstractExecModel``: it hands over data frames that
are cleaned already, asks for ``_fit``, ``_predict`` and ``_predict_proba``, and takes the times.
Where TabArena is not installed, a stand-in with the same calls takes its place, so that the
adapter can be tried: ``python benchmarks/tabarena/adapter.py``.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from featurewright import (
    AutoFeatures,
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
)
from featurewright.datasets import load_airfoil

SYSTEMS = ("features", "boosting")


class StandIn:
    """The part of TabArena's base class that the adapter relies on."""

    def __init__(self, problem_type: str, eval_metric: Any = None, **unused: Any) -> None:
        self.problem_type = problem_type
        self.eval_metric = eval_metric

    def fit_custom(self, X: Any, y: Any, X_test: Any) -> dict[str, Any]:
        """Fit, predict and take the times, as TabArena does."""
        begun = time.perf_counter()
        self._fit(X=X, y=y)
        fitted = time.perf_counter()
        is_number = self.problem_type == "regression"
        probabilities = None if is_number else self._predict_proba(X_test)
        predictions = self._predict(X_test) if is_number else probabilities.idxmax(axis=1)
        return {
            "predictions": predictions,
            "probabilities": probabilities,
            "time_train_s": fitted - begun,
            "time_infer_s": time.perf_counter() - fitted,
        }


def system_class(base: type) -> type:
    """Return the adapter as a subclass of TabArena's base class, or of the stand-in."""

    class FeaturewrightSystem(base):
        """A search for features with the model they are for, or boosting that constructs.

        Parameters
        ----------
        system : {"features", "boosting"}
            What predicts: `AutoFeatures` for a boosted model, or `ConstructiveBoosting`.
        effort : {"quick", "standard", "thorough"}
            How much the search tries.
        n_jobs : int
            Threads.
        seed : int
            Of all random choices.
        """

        def __init__(
            self,
            *,
            system: str = "features",
            effort: str = "standard",
            n_jobs: int = 1,
            seed: int = 0,
            **given: Any,
        ) -> None:
            super().__init__(**given)
            if system not in SYSTEMS:
                raise ValueError(f"system={system!r} must be one of {', '.join(SYSTEMS)}.")
            self.system, self.effort, self.n_jobs, self.seed = system, effort, n_jobs, seed

        def _make(self) -> Any:
            shared = {"n_jobs": self.n_jobs, "random_state": self.seed}
            is_number = self.problem_type == "regression"
            if self.system == "boosting":
                kind = (
                    ConstructiveBoostingRegressor if is_number else ConstructiveBoostingClassifier
                )
                return kind(**shared)
            task = "regression" if is_number else "classification"
            return AutoFeatures("boosting", effort=self.effort, task=task, **shared)

        def _fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Any:
            # Rows held out for validation are rows to learn from: the search has folds of its own.
            if X_val is not None:
                X, y = pd.concat([X, X_val]), pd.concat([y, y_val])
            self.model = self._make().fit(X, y.to_numpy())
            return self

        def _predict(self, X: Any) -> pd.Series:
            return pd.Series(self.model.predict(X), index=X.index)

        def _predict_proba(self, X: Any) -> pd.DataFrame:
            return pd.DataFrame(
                self.model.predict_proba(X), index=X.index, columns=self.model.classes_
            )

    return FeaturewrightSystem


def base_class() -> type:
    """Return TabArena's base class; the stand-in where it is not installed."""
    try:
        from tabarena.benchmark.models.wrapper.abstract_class import AbstractExecModel
    except ImportError:
        return StandIn
    return AbstractExecModel


def run_stand_in(system: str, effort: str = "quick", rows: int | None = None) -> dict[str, float]:
    """Return the scores of the adapter on two small tables, R² and ROC AUC."""
    scores = {}
    for name, load, problem in (
        ("airfoil", load_airfoil, "regression"),
        ("breast cancer", load_breast_cancer, "binary"),
    ):
        X, y = load(return_X_y=True, as_frame=True)
        X, X_test, y, y_test = train_test_split(X[:rows], y[:rows], random_state=0)
        made = system_class(StandIn)(problem_type=problem, system=system, effort=effort)
        found = made.fit_custom(X, y, X_test)
        scores[name] = float(
            r2_score(y_test, found["predictions"])
            if problem == "regression"
            else roc_auc_score(y_test, found["probabilities"].iloc[:, 1])
        )
    return scores


def main() -> None:
    """Try the adapter on the stand-in tables."""
    parser = argparse.ArgumentParser(description="Try the adapter of TabArena on small tables.")
    parser.add_argument("--system", choices=SYSTEMS, default="boosting")
    parser.add_argument("--effort", default="quick")
    options = parser.parse_args()
    installed = base_class() is not StandIn
    print(f"TabArena is {'' if installed else 'not '}installed.")
    for name, score in run_stand_in(options.system, options.effort).items():
        print(f"{name}: {score:.3f}")


if __name__ == "__main__":
    main()
