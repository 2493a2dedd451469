"""Whether one operator is better than six drawn alike: without that, weights have nothing to learn.

Trees with the published settings on the training rows of the first fold of a set, cross-validated:
all six operators drawn alike, all six drawn by learned weights, and each operator alone. The
operator that is best alone is chosen on the first repetition and measured on the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from runner import markdown_table, outcome, say, show
from sklearn.model_selection import StratifiedKFold, cross_val_score

from featurewright import published

OPERATORS = ("sqrt", "square", "add", "sub", "mul", "gaussian")
FOLDS = 5
REPETITIONS = 4  # the first chooses the operator


def scores(X: np.ndarray, y: np.ndarray, repetition: int, **changes: Any) -> np.ndarray:
    """Return the accuracy in % on each fold of a repetition."""
    tree = published("fctree", random_state=repetition, **changes)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repetition)
    return 100 * cross_val_score(tree, X, y, cv=folds)


def compare(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Choose the best operator alone and return all scores of the other repetitions."""
    alone = {"weighting": False}
    means = [scores(X, y, 0, operators=[name], **alone).mean() for name in OPERATORS]
    best = OPERATORS[int(np.argmax(means))]
    kinds = {"alike": alone, "weighted": {}, "alone": {"operators": [best], **alone}}
    found = {
        kind: np.concatenate([scores(X, y, k, **changes) for k in range(1, REPETITIONS)])
        for kind, changes in kinds.items()
    }
    return {"best": best, **found}


def operators_report(tables: Iterable[tuple[str, np.ndarray, np.ndarray]]) -> str:
    """Measure tables of classes, given with their names, and write a table and what it says."""
    rows: list[list[str]] = []
    clear: dict[str, dict[str, list[str]]] = {
        kind: {"win": [], "loss": [], "draw": []} for kind in ("weighted", "alone")
    }
    for name, X, y in tables:
        say(f"one operator alone on {name}")
        found = compare(X, y)
        rows.append([name, show(found["alike"], 1)])
        for kind, names in clear.items():
            rows[-1].append(show(found[kind] - found["alike"], 1))
            names[outcome(100 - found[kind], 100 - found["alike"])].append(name)
        rows[-1].append(found["best"])
    header = ["set", "six alike", "by weights, more", "one alone, more", "which one"]

    def told(kind: str) -> str:
        won, lost = (clear[kind][verdict] for verdict in ("win", "loss"))
        return (
            f"better beyond two standard errors on {len(won)} of {len(rows)} sets "
            f"({', '.join(won) or 'none'}) and worse on {len(lost)} ({', '.join(lost) or 'none'})"
        )

    return f"""Accuracy in % on the training rows of the first fold of each set, {FOLDS} folds
{REPETITIONS - 1} times, `n_constructed="1n"`: six operators drawn alike, what learned weights add,
and what the operator adds that is best alone (chosen on {FOLDS} other folds).

{markdown_table(header, rows)}

Weights steer draws to an operator, so that they can add much only where one operator is better than
six. One alone is {told("alone")}; learned weights are {told("weighted")}."""
