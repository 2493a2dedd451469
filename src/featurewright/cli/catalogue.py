"""The methods: what each one does and when to take it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Method:
    """One method of the search.

    Parameters
    ----------
    name : str
        How ``--methods`` calls it.
    gives : str
        What its columns are.
    idea : str
        What it does.
    when : str
        When it pays.
    python : str
        The estimators to use it with on its own.
    """

    name: str
    gives: str
    idea: str
    when: str
    python: str


METHODS = (
    Method(
        "forest",
        "formulas",
        "a random forest whose nodes search small formulas to split on",
        "first choice: interactions of numbers, many rows, noise",
        "ConstructiveForest…, ConstructiveExtraTrees…, ConstructiveTree…",
    ),
    Method(
        "batch",
        "formulas",
        "every operator on every column and pair, the best by their worth on the whole table",
        "few columns, few rows, simple relations such as one ratio",
        "BatchConstructor",
    ),
    Method(
        "fctree",
        "formulas",
        "trees that learn on their way down which operators pay",
        "few formulas, fast; relations that hold in parts of the table",
        "FCTree…",
    ),
    Method(
        "boosting",
        "formulas",
        "shallow trees on what a linear model leaves over; formulas with bends and steps",
        "many weak relations that add up, regression",
        "ConstructiveBoosting…",
    ),
    Method(
        "landmarks",
        "similarities",
        "similarities to some of the training rows",
        "smooth or round boundaries that no small formula describes",
        "LandmarkKernelFeatures, KernelFeatureEnsemble…",
    ),
    Method(
        "scores",
        "scores",
        "what boosted trees that test formulas add up to, one column for each class",
        "a simple model that should be as good as a boosting machine",
        "ConstructiveBoosting…",
    ),
    Method(
        "votes",
        "votes",
        "the share of Extra-Trees that vote for a class, or the mean of their predictions",
        "a simple model that should be as good as a forest, small tables too",
        "ConstructiveExtraTrees…(search=None)",
    ),
    Method(
        "formula votes",
        "votes",
        "the same, of trees whose nodes search formulas to split on",
        "where formulas help a forest, and a simple model should have all of it",
        "ConstructiveExtraTrees…",
    ),
    Method(
        "paths",
        "indicators",
        "nodes of a forest that a row passes",
        "a linear model that should see what a forest sees",
        "ForestPathEncoder",
    ),
    Method(
        "formula paths",
        "indicators",
        "the same, in a forest whose nodes search formulas to split on",
        "where formulas help a forest, and a linear model should have all of it",
        "ForestPathEncoder(search=…)",
    ),
    Method(
        "recursive",
        "components",
        "linear combinations of chosen columns, one set for each class",
        "many columns, few of which matter; text counts, gene expression",
        "RecursiveSelective…",
    ),
)


def as_dicts() -> list[dict[str, Any]]:
    """Give the methods as plain values."""
    return [asdict(method) for method in METHODS]
