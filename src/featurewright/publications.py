"""The methods with the settings of their publications."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Publication:
    """An estimator and the settings that its publication gives it.

    Parameters
    ----------
    estimator : str
        Name of the class.
    settings : dict
        Parameters that differ from the defaults, or that the publication depends on.
    says : str
        What it is, in one line.
    paper : str
        Where it was published: authors, title, place and year.
    """

    estimator: str
    settings: dict[str, Any]
    says: str
    paper: str


_MONTE_CARLO = (
    "F. Maes, P. Geurts and L. Wehenkel, Embedding Monte Carlo Search of Features in Tree-Based "
    "Ensemble Methods, ECML PKDD 2012"
)
_PATHS = "C. Vens and F. Costa, Random Forest Based Feature Induction, ICDM 2011"
_FCTREE = (
    "W. Fan, E. Zhong, J. Peng, O. Verscheure, K. Zhang, J. Ren, R. Yan and Q. Yang, Generalized "
    "and Heuristic-Free Feature Construction for Improved Accuracy, SDM 2010"
)
_RECURSIVE = (
    "X. Zhao and S. S.-U. Guan, A subspace recursive and selective feature transformation method "
    "for classification tasks, Big Data Analytics 2, 2017"
)
_KERNEL_FEATURES = (
    "A. Ahmad, Decision tree ensembles based on kernel features, Applied Intelligence 41(1), 2014"
)
# Every candidate is scored on all rows of a node: halving is ours.
_SEARCH = {"search": "random", "budget": "10n", "max_size": 5, "halving": None}
_VOTES = {"loss": "adaboost_mh", "n_estimators": 1000, **_SEARCH}
# Ensembles of about 200 trees: 14 runs of 14 for those that are ensembles themselves. Columns are
# taken as they are.
_KERNELS = {"n_estimators": 200, "n_landmarks": 10, "criterion": "entropy", "scale": False}
_TREE = {"n_constructed": "1n", "reuse_columns": False, "include_original": True, "min_samples": 3}
PUBLISHED = {
    "monte_carlo_tree": Publication(
        "ConstructiveTreeClassifier",
        {**_SEARCH, "search": "look_ahead", "budget": "100n"},
        "a tree that searches expressions by look-ahead, 100 per column at each node",
        _MONTE_CARLO,
    ),
    "monte_carlo_forest": Publication(
        "ConstructiveForestClassifier",
        {"n_estimators": 1000, **_SEARCH},
        "1,000 bootstrap trees that draw ten expressions per column at each node",
        _MONTE_CARLO,
    ),
    "monte_carlo_extra_trees": Publication(
        "ConstructiveExtraTreesClassifier",
        {"n_estimators": 1000, **_SEARCH},
        "1,000 trees with drawn thresholds that draw ten expressions per column at each node",
        _MONTE_CARLO,
    ),
    "monte_carlo_stumps": Publication(
        "ConstructiveBoostingClassifier",
        {**_VOTES, "max_depth": 1},
        "AdaBoost.MH with 1,000 stumps over drawn expressions",
        _MONTE_CARLO,
    ),
    "monte_carlo_boosting": Publication(
        "ConstructiveBoostingClassifier",
        {**_VOTES, "max_depth": 3},
        "AdaBoost.MH with 1,000 trees of depth 3 over drawn expressions",
        _MONTE_CARLO,
    ),
    "forest_paths": Publication(
        "ForestPathEncoder",
        {"n_estimators": "auto", "step": 50, "tol": 0.01, "missing": "random"},
        "all nodes of a forest, grown until its kernel matrix changes by less than 0.01",
        _PATHS,
    ),
    "fctree": Publication(
        "FCTreeClassifier",
        dict(_TREE),
        "a feature construction tree with as many new features at a node as there are columns",
        _FCTREE,
    ),
    "fctree_unweighted": Publication(
        "FCTreeClassifier",
        {**_TREE, "weighting": False},
        "the same tree, whose operators are drawn alike at every node",
        _FCTREE,
    ),
    "tfc": Publication(
        "BatchConstructor",
        {"include_original": False},
        "every operator on every column and pair, as many kept as there are columns",
        _FCTREE,
    ),
    "rst": Publication(
        "RecursiveSelectiveClassifier",
        {
            "n_recursions": 6,
            "keep": "published",
            "project": "first",
            "normalize": "unit",
            "ranking": "shared",
            "scale": "table",
            "loss": "hinge",
            "remove_outliers": True,
            "calibration": "published",
        },
        "six recursions on columns with one scale, and SVMs calibrated on the transformed rows",
        _RECURSIVE,
    ),
    "kernel_forest": Publication(
        "KernelFeatureEnsembleClassifier",
        {"method": "random_forest", **_KERNELS},
        "14 random forests of 14 trees, each with ten kernel features of its own",
        _KERNEL_FEATURES,
    ),
    "kernel_bagging": Publication(
        "KernelFeatureEnsembleClassifier",
        {"method": "bagging", **_KERNELS},
        "14 bagging ensembles of 14 trees, each with ten kernel features of its own",
        _KERNEL_FEATURES,
    ),
    "kernel_adaboost": Publication(
        "KernelFeatureEnsembleClassifier",
        {"method": "adaboost", **_KERNELS},
        "14 AdaBoost.M1 ensembles of 14 trees, each with ten kernel features of its own",
        _KERNEL_FEATURES,
    ),
    "kernel_subspace": Publication(
        "KernelFeatureEnsembleClassifier",
        {"method": "random_subspace", **_KERNELS},
        "200 trees on half of the columns and ten kernel features each",
        _KERNEL_FEATURES,
    ),
    "kernel_only": Publication(
        "KernelFeatureEnsembleClassifier",
        {"method": "kernel_only", **_KERNELS},
        "200 trees on ten kernel features each",
        _KERNEL_FEATURES,
    ),
}


def published(name: str, **settings: Any) -> Any:
    """Return an estimator with the settings of its publication.

    Parameters
    ----------
    name : str
        One of "monte_carlo_tree", "monte_carlo_forest", "monte_carlo_extra_trees",
        "monte_carlo_stumps" and "monte_carlo_boosting" (Monte Carlo search of expressions in
        trees), "forest_paths" (random-forest feature induction), "fctree", "fctree_unweighted" and
        "tfc" (feature construction trees and the exhaustive method beside them), "rst" (recursive
        selective transformation), "kernel_forest", "kernel_bagging", "kernel_adaboost",
        "kernel_subspace" and "kernel_only" (kernel features for ensembles of trees).
    **settings
        Parameters to change or to add, such as `random_state` or `n_jobs`.

    Returns
    -------
    estimator
        Not fitted.

    Notes
    -----
    The defaults of the classes are chosen to serve most users best. They differ from the
    publications in sizes, in what is first scored on samples of rows, and where we have measured
    something better; compare `get_params` of both.

    References
    ----------
    ``"monte_carlo_…"``: F. Maes, P. Geurts and L. Wehenkel, Embedding Monte Carlo Search of
    Features in Tree-Based Ensemble Methods, ECML PKDD 2012.

    ``"forest_paths"``: C. Vens and F. Costa, Random Forest Based Feature Induction, ICDM 2011.

    ``"fctree…"`` and ``"tfc"``: W. Fan, E. Zhong, J. Peng, O. Verscheure, K. Zhang, J. Ren, R. Yan
    and Q. Yang, Generalized and Heuristic-Free Feature Construction for Improved Accuracy, SDM
    2010.

    ``"rst"``: X. Zhao and S. S.-U. Guan, A subspace recursive and selective feature transformation
    method for classification tasks, Big Data Analytics 2, 2017.

    ``"kernel_…"``: A. Ahmad, Decision tree ensembles based on kernel features, Applied Intelligence
    41(1), 2014.

    Examples
    --------
    >>> from featurewright import published
    >>> published("monte_carlo_forest", n_estimators=100, random_state=0)
    ConstructiveForestClassifier(halving=None, random_state=0)
    >>> published("fctree").get_params()["reuse_columns"]
    False
    """
    if not isinstance(name, str) or name not in PUBLISHED:
        known = ", ".join(map(repr, PUBLISHED))
        raise ValueError(f"{name!r} is no published method; use one of {known}.")
    found = PUBLISHED[name]
    made = getattr(importlib.import_module("featurewright"), found.estimator)
    return made(**{**found.settings, **settings})
