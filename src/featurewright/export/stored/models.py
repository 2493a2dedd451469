"""Whether what a loaded estimator holds fits together, before any of it is used."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from featurewright.auto import AutoFeatures
from featurewright.constructive.boosting import BoostedTrees
from featurewright.engine.compiled_grammar import user_operators
from featurewright.engine.forest import Forest
from featurewright.estimators.base import ConstructiveLearner
from featurewright.estimators.ensembles import GrownEnsemble
from featurewright.export.stored.checks import demand
from featurewright.export.stored.programs import check_programs
from featurewright.export.stored.registry import SETTINGS
from featurewright.expressions import Column, Feature
from featurewright.expressions.opcodes import END
from featurewright.landmarks.ensembles import KernelFeatureEnsemble
from featurewright.landmarks.features import LandmarkKernelFeatures
from featurewright.paths import ForestPathEncoder
from featurewright.paths.encoding import number_forest
from featurewright.recursive import RecursiveSelectiveClassifier
from featurewright.recursive.base import RecursiveSelective
from featurewright.tables import Schema


def settle(model: Any) -> None:
    """Check a fitted estimator and work out again what is not in its file."""
    learned = {name: value for name, value in vars(model).items() if name not in SETTINGS}
    if not set(learned) - set(model.get_params(deep=False)):
        return  # not fitted
    _need(model, "n_features_in_")
    if isinstance(model, AutoFeatures):
        _settle_auto(model)
        return
    _need(model, "_schema")
    schema: Schema = model._schema
    demand(
        model.n_features_in_ == schema.n_columns > 0
        and len(getattr(model, "feature_names_in_", schema.names)) == schema.n_columns,
        f"{type(model).__name__} does not have as many columns as its table",
    )
    if isinstance(model, ConstructiveLearner):
        _settle_constructive(model, schema)
    elif isinstance(model, KernelFeatureEnsemble):
        _settle_ensemble(model, schema)
    elif isinstance(model, LandmarkKernelFeatures):
        _need(model, "_map", "landmark_rows_", "landmarks_", "width_")
        _check_places(model._map.places, schema)
        demand(
            len(model.landmark_rows_) == len(model._map.landmarks),
            "the landmarks are not as many as their rows",
        )
    elif isinstance(model, RecursiveSelective):
        _settle_recursive(model, schema)


def _need(model: Any, *names: str) -> None:
    """Refuse a fitted estimator that lacks what it learned."""
    for name in names:
        demand(name in vars(model), f"{type(model).__name__} is fitted, but lacks {name}")


def _settle_constructive(model: Any, schema: Schema) -> None:
    """Check trees and features."""
    _need(model, "_construction")
    operators = model._construction.operators
    if isinstance(model, (GrownEnsemble, BoostedTrees)):
        _need(model, "forest_", "feature_importances_")
        _check_forest(model.forest_, schema, operators)
    if isinstance(model, ForestPathEncoder):
        _need(model, "_salts", "n_nodes_", "n_estimators_")
        demand(
            model._salts.shape == (model.forest_.n_trees,), "the trees have no seed for chance each"
        )
        model._numbering = number_forest(model.forest_)
        return
    _need(model, "features_", "_fill")
    demand(
        model._fill.shape == (schema.n_columns + len(model.features_),),
        "the features are not as many as the values that stand in for them",
    )
    for feature in model.features_:
        _check_feature(feature, schema, user_operators(operators))
    if isinstance(model, BoostedTrees):
        _need(model, "_groups", "_start", "n_scores_", "n_iter_")
        _check_boosting(model)
    elif isinstance(model, GrownEnsemble):
        _check_leaves(model)


def _check_forest(forest: Forest, schema: Schema, operators: Any) -> None:
    """Check what the nodes of sound trees test."""
    inner = forest.left >= 0
    programs = forest.programs[inner]
    check_programs(programs, schema, operators)
    lone = programs[:, 1] == END if programs.shape[1] > 1 else np.ones(len(programs), bool)
    tests = forest.is_level[inner] != 0
    demand(np.all(lone[tests]), "a node tests a formula for a level")
    levels = forest.threshold[inner][tests]
    n_levels = np.array([len(levels or ()) for levels in schema.levels], np.int64)
    demand(
        np.all((levels >= 0) & (levels < n_levels[programs[tests, 0]])),
        "a node tests for a level that there is not",
    )


def _check_feature(feature: Feature, schema: Schema, users: Any) -> None:
    """Check that an expression is about the columns and operators of the fit."""

    def column(node: Column) -> None:
        demand(
            node.index < schema.n_columns
            and node.name == schema.names[node.index]
            and node.domain == schema.domains[node.index],
            f"the feature {feature.name[:80]!r} names a column that there is not",
        )

    def call(node: Any, _: Any) -> None:
        demand(
            node.operator.opcode is not None or node.operator in users,
            f"the feature {feature.name[:80]!r} applies an operator that the fit did not",
        )
        levels = schema.levels[node.arguments[0].index] if node.operator.has_level else None
        demand(
            levels is None or node.code < len(levels),
            f"the feature {feature.name[:80]!r} tests for a level that there is not",
        )

    feature.expression.fold(column, call)


def _check_boosting(model: Any) -> None:
    """Check that scores, groups of trees and what leaves say are as many."""
    groups, forest = model._groups, model.forest_
    demand(
        groups in (1, model.n_scores_)
        and model._start.shape == (model.n_scores_,)
        and forest.values.shape[1] + groups - 1 == model.n_scores_
        and forest.n_trees == groups * model.n_iter_,
        "the trees of boosting do not fit its scores",
    )
    if is_classifier(model):
        _check_classes(model)
        n_scores = 1 if len(model.classes_) == 2 else len(model.classes_)
        demand(
            model.n_scores_ in (n_scores, len(model.classes_)),
            "the scores of boosting do not fit its classes",
        )
    else:
        _need(model, "_unit", "_center", "_scale")
        demand(model._center.shape == model._scale.shape == (1,), "the target has no scale")


def _check_leaves(model: Any) -> None:
    """Check that leaves say something about each class."""
    n_values = model.forest_.values.shape[1]
    if not is_classifier(model):
        _need(model, "_unit")
        demand(n_values > 0, "the leaves hold no numbers")
        return
    _need(model, "_outputs", "n_classes_")
    if model._outputs is None:
        _check_classes(model)
        n_classes = len(model.classes_)
    else:
        n_classes = sum(len(classes) for classes in model._outputs.classes)
    demand(n_classes == n_values, "the leaves do not have a share for each class")


def _check_classes(model: Any) -> None:
    """Check that there is one column of classes."""
    _need(model, "classes_")
    classes = model.classes_
    demand(
        isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0,
        "the classes are not one column",
    )


def _check_places(points: Any, schema: Schema) -> None:
    """Check that points come from the columns of the table."""
    widths = {column: len(schema.levels[column] or ()) for column, _ in points.labels}
    demand(
        len(points.fill) == schema.n_columns
        and all(widths[column] == levels for column, levels in points.labels),
        "the points do not come from the columns of the table",
    )


def _settle_ensemble(model: Any, schema: Schema) -> None:
    """Check the runs of an ensemble over kernel features."""
    _need(model, "_runs", "_features", "_base", "estimators_")
    base, runs, features = model._base, model._runs, model._features
    _check_places(features.places, schema)
    if base.places is not None:
        _check_places(base.places, schema)
    demand(
        base.schema.n_columns == schema.n_columns
        and runs
        and len(features.landmarks) % len(runs) == 0,
        "the runs do not fit their landmarks",
    )
    for run in runs:
        demand(
            run.columns.ndim == 1 and np.all((run.columns >= 0) & (run.columns < base.n_columns)),
            "a run names a column that there is not",
        )
    members = [one for run in runs for one in getattr(run.member, "members", (run.member,))]
    if is_classifier(model):
        _check_classes(model)
        demand(
            all(one.n_classes == len(model.classes_) for one in members),
            "a member does not have the classes of its ensemble",
        )
    else:
        _need(model, "_unit")
        demand(all(one.n_classes == 0 for one in members), "a member of a regressor has classes")


def _settle_recursive(model: Any, schema: Schema) -> None:
    """Check the matrices of recursions."""
    _need(model, "_inputs", "_joined", "_offset", "_seeds", "n_recursions_", "classes_")
    _check_places(model._inputs, schema)
    joined = model._joined
    demand(
        joined.ndim == 2
        and model._seeds
        and joined.shape[0] == len(model._inputs.names)
        and joined.shape[1] % len(model._seeds) == 0
        and model._offset.shape == joined.shape[1:],
        "the matrices of recursions do not fit their columns",
    )
    n_problems = 1
    if model.classes_ is not None:
        _check_classes(model)
        n_problems = 1 if len(model.classes_) == 2 else len(model.classes_)
    demand(len(model._seeds) == n_problems, "the matrices are not as many as the classes")
    if isinstance(model, RecursiveSelectiveClassifier):
        demand(model.classes_ is not None, "a classifier has no classes")
        _need(model, "estimators_")
        demand(
            len(model.estimators_) == len(model._seeds)
            and all(hasattr(member, "predict_proba") for member in model.estimators_),
            "the members are not as many as the matrices",
        )


def _settle_auto(model: Any) -> None:
    """Check the reader of a table, and that all columns are computed from what it reads."""
    needed = ("reader_", "originals_", "parts_", "columns_", "features_", "model_", "results_")
    _need(model, *needed, "task_", "best_method_", "score_", "baseline_score_", "gain_")
    reader, schema = model.reader_, model.reader_.schema
    steps, n_parts = model.originals_.steps, sum(len(part.names) for part in model.parts_)
    demand(
        model.n_features_in_ == len(reader.names_in)
        and len(getattr(model, "feature_names_in_", reader.names_in)) == len(reader.names_in)
        and all(0 <= at < schema.n_columns for _, at, _ in steps)
        and len(model.columns_) == len(steps) + n_parts,
        "AutoFeatures does not compute as many columns as it names",
    )
    for feature in (*model.features_, *(f for part in model.parts_ for f in part.features)):
        _check_feature(feature, schema, ())
    for part in model.parts_:
        made = part.transformer
        demand(
            made is None or getattr(made, "n_features_in_", None) == schema.n_columns,
            "a part of AutoFeatures does not fit its table",
        )
    demand(hasattr(model.model_, "predict"), "AutoFeatures has no estimator")
