"""Stand-ins for a fitted search: what the page needs, made in no time, hostile where wanted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from featurewright.auto.front import front_points
from featurewright.auto.profile import profile_columns
from featurewright.expressions import Feature, Real, parse

NAMES = ["width", "height", "mean radius", "x"]
FORMULAS = [
    "width / height",
    "(width - height) * `mean radius`",
    "sqrt(x) + log(width)",
    "square(x) / (width + height)",
    "max(x, gaussian(width, height))",
    "width < x",
]


def result(method: str, scores: Any, base: Any, *, seconds: float, n_features: int) -> dict:
    difference = np.asarray(scores) - np.asarray(base)
    return {
        "method": method,
        "status": "done",
        "reason": "",
        "fold_scores": list(scores),
        "mean": float(np.mean(scores)),
        "std": float(np.std(scores)),
        "gain": float(np.mean(difference)),
        "gain_std": float(np.std(difference, ddof=1) / np.sqrt(len(difference))),
        "seconds": seconds,
        "n_features": n_features,
    }


def fitted(
    *,
    task: str = "classification",
    names: list[str] | None = None,
    labels: list[str] | None = None,
    target: str = "vehicle",
    keep_original: bool = False,
) -> SimpleNamespace:
    """Make an object with the attributes of a fitted AutoFeatures."""
    random = np.random.RandomState(0)
    names = names or NAMES
    labels = labels or ["bus", "opel", "saab", "van"]
    scoring = "accuracy" if task == "classification" else "neg_root_mean_squared_error"
    rename = dict(zip(NAMES, names, strict=True))
    expressions = [parse(text, NAMES, [Real] * 4) for text in FORMULAS]
    features = [
        Feature.of(expression.fold(_renamed(rename), _same), gain=0.4 / (rank + 1), count=3)
        for rank, expression in enumerate(expressions)
    ]
    X = np.abs(random.normal(size=(400, 4))) + 0.1
    values = np.column_stack([e.evaluate(X) for e in expressions])
    y = random.randint(0, len(labels), size=400) if task == "classification" else X[:, 0] * 9
    if task == "classification":
        values += y[:, np.newaxis] * 0.5
    columns = [feature.name for feature in features]
    base = np.array([0.78, 0.80, 0.76, 0.79, 0.81]) - (0 if task == "classification" else 9)
    after = base + np.array([0.03, 0.02, 0.04, 0.03, 0.01])
    originals = [SimpleNamespace(name=name, kind="number", source=name) for name in names]
    constructed = [SimpleNamespace(name=c, kind="formula", source="forest") for c in columns]
    return SimpleNamespace(
        cv=5,
        time_budget=None,
        stopped_by_time_=False,
        task_=task,
        classes_=np.array(labels) if task == "classification" else None,
        front_=front_points(
            {1: base + 0.01, 2: base + 0.02, 3: base + 0.021, 6: after},
            base,
            0.25,
            chosen=0 if keep_original else 6,
        ),
        path_=SimpleNamespace(features=tuple(features)),
        path_stability_=np.array([1.0, 1.0, 0.8, 0.8, 0.4, 0.0]),
        stability_=np.zeros(0) if keep_original else np.array([1.0, 1.0, 0.8, 0.8, 0.4, 0.0]),
        target_name_=target,
        scoring_=scoring,
        n_features_in_=4,
        feature_names_in_=np.array(names, dtype=object),
        results_=[
            result("original", base, base, seconds=0.2, n_features=4),
            result("forest", after, base, seconds=12.3, n_features=26),
            result("boosting", base - 0.004, base, seconds=8.5, n_features=30),
            result("batch", base + 0.01, base, seconds=3.1, n_features=18),
            {
                "method": "landmarks",
                "status": "skipped",
                "reason": "not enough time left",
                "fold_scores": [],
                "mean": None,
                "std": None,
                "gain": None,
                "gain_std": None,
                "seconds": 0.0,
                "n_features": 0,
            },
        ],
        best_method_="original" if keep_original else "forest",
        features_=[] if keep_original else features,
        baseline_score_=float(np.mean(base)),
        score_=float(np.mean(base if keep_original else after)),
        gain_=0.0 if keep_original else float(np.mean(after - base)),
        gain_std_=0.0 if keep_original else 0.005,
        gain_per_fold_=np.zeros(5) if keep_original else after - base,
        left_out_={"row id": "a different value in every row", names[0] + " copy": "constant"},
        estimator_scores_=[
            {"estimator": name, "before": old.tolist(), "after": new.tolist(), "gain_std": 0.004}
            for name, old, new in (
                ("linear", base, after),
                ("knn", base - 0.06, base + 0.01),
                ("boosting", base, base - 0.002),
            )
        ],
        columns_=tuple(originals if keep_original else originals + constructed),
        profile_=profile_columns(
            values, columns, y, task, class_labels=labels if task == "classification" else None
        ),
    )


def _renamed(names: dict[str, str]) -> Any:
    """Rename columns."""
    return lambda node: type(node)(node.index, names[node.name], node.domain)


def _same(node: Any, arguments: list[Any]) -> Any:
    """Build a call anew over other arguments."""
    return type(node)(node.operator, tuple(arguments), node.parameter)
