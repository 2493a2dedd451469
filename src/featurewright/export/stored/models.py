"""The estimators that a model file may hold: what each learns, and whether it fits together.

Everything that a loaded estimator reads later is checked here, before any of it is used, so that a
file that loads holds a model that works.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn.base import is_classifier

from featurewright.export.stored.archive import broken, reason
from featurewright.export.stored.checks import all_finite, check_programs, demand
from featurewright.export.stored.foreign import Unread
from featurewright.export.stored.learned import (
    OUTPUT,
    Learned,
    auto_kinds,
    batch_kinds,
    boosted_kinds,
    encoder_kinds,
    ensemble_kinds,
    fctree_kinds,
    grown_kinds,
    landmark_kinds,
    recursive_kinds,
    relational_kinds,
)
from featurewright.export.stored.relational import check_relational
from featurewright.expressions import Column

ROUTING = "_metadata_request"  # where scikit-learn keeps what is requested
# They do not say whether an estimator has been fitted.
SETTINGS = (ROUTING, OUTPUT)
# Computed again when a model is loaded, or no part of it.
DERIVED = ("_numbering", "_training", "drawn_")
_METHODS = ("fit", "score", "predict", "predict_proba", "decision_function", "transform")
_CONTAINERS = (None, "default", "pandas", "polars")


# The estimators ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class EstimatorSpec:
    """Where an estimator is, what it learns, and how to check what a file says it learned."""

    module: str
    learned: Callable[[], Learned]
    check: Callable[[Any], None]


def get_estimator(name: str) -> Any:
    """Import the class of an estimator."""
    return getattr(importlib.import_module(ESTIMATORS[name].module), name)


def estimator_name(value: Any) -> str | None:
    """Return the public class name of one of our estimators; None for other objects.

    A subclass within featurewright, such as one that shows progress, is saved as its public base.
    """
    if type(value).__module__.split(".")[0] != "featurewright":
        return None
    for base in type(value).__mro__:
        if base.__name__ in ESTIMATORS and get_estimator(base.__name__) is base:
            return base.__name__
    return None


@cache
def learned_kinds(name: str) -> Learned:
    """Return what an estimator learns; the classes of it are imported."""
    return ESTIMATORS[name].learned()


def settle(model: Any, name: str) -> None:
    """Check a fitted estimator, and compute again what is not in its file."""
    learned = set(vars(model)) - set(SETTINGS) - set(model.get_params(deep=False))
    _check_output_setting(model)
    if not learned:
        return  # not fitted
    for needed in learned_kinds(name).always:
        demand(needed in vars(model), f"{name} is fitted, but lacks {needed}")
    _check_parameters(model)
    ESTIMATORS[name].check(model)


def _check_output_setting(model: Any) -> None:
    """Refuse containers of output that scikit-learn does not know."""
    told = vars(model).get(OUTPUT, {})
    demand(
        set(told) <= {"transform"} and all(value in _CONTAINERS for value in told.values()),
        "an estimator gives its output in an unknown container",
    )


def _check_parameters(model: Any) -> None:
    """Refuse values of the parameters that fitted estimators read."""
    from featurewright.estimators.parameters import check_jobs, flag, whole_number

    check_jobs(getattr(model, "n_jobs", None))
    for name in ("include_original", "keep_missing", "append"):
        flag(name, getattr(model, name, False))
    if getattr(model, "n_features_out", None) is not None:
        whole_number("n_features_out", model.n_features_out, 1)
    kernel = getattr(model, "kernel", "linear")
    demand(isinstance(kernel, str) or callable(kernel), "a kernel is neither a name nor a function")


def _check_columns(model: Any, names: tuple[str, ...]) -> None:
    """Check that an estimator's columns are those of its table."""
    given = getattr(model, "feature_names_in_", names)
    demand(
        model.n_features_in_ == len(names) > 0 and list(given) == list(names),
        f"the columns of {type(model).__name__} are not those of its table",
    )


# Trees and features -----------------------------------------------------------------------------


def _check_grown(model: Any) -> None:
    """Check trees and forests."""
    _check_forest(model)
    _check_features(model)
    n_values = model.forest_.values.shape[1]
    demand(model.n_estimators_ == model.forest_.n_trees, "the trees are not as many as it says")
    if not is_classifier(model):
        demand(n_values > 0, "the leaves hold no numbers")
        return
    outputs = model._outputs
    several = [model.classes_] if outputs is None else list(outputs.classes)
    for classes in several:
        _check_classes(classes)
    demand(
        sum(len(classes) for classes in several) == n_values,
        "the leaves do not have a share for each class",
    )
    numbers = [len(classes) for classes in several]
    demand(
        model.n_classes_ == (numbers[0] if outputs is None else numbers)
        and (outputs is None) == isinstance(model.classes_, np.ndarray),
        "the classes are not as many as it says",
    )


def _check_fctree(model: Any) -> None:
    """Check trees with weights of operators."""
    _check_grown(model)
    weights = model.node_operator_weights_
    demand(
        weights.ndim == 2 and len(weights) in (0, len(model.forest_.left)),
        "the weights of operators are not one row for each node",
    )


def _check_boosted(model: Any) -> None:
    """Check that scores, groups of trees and leaves agree."""
    _check_forest(model)
    _check_features(model)
    groups, forest = model._groups, model.forest_
    demand(
        groups in (1, model.n_scores_)
        and model._start.shape == (model.n_scores_,)
        and forest.values.shape[1] + groups - 1 == model.n_scores_
        and forest.n_trees == groups * model.n_iter_,
        "the trees of boosting do not fit its scores",
    )
    if not is_classifier(model):
        demand(
            model.n_scores_ == 1 and model._center.shape == model._scale.shape == (1,),
            "the target has no scale",
        )
        return
    _check_classes(model.classes_)
    n_classes = len(model.classes_)
    demand(
        model.n_scores_ in (1 if n_classes == 2 else n_classes, n_classes),
        "the scores of boosting do not fit its classes",
    )


def _check_batch(model: Any) -> None:
    """Check constructed features."""
    _check_columns(model, model._schema.names)
    _check_features(model)


def _check_encoder(model: Any) -> None:
    """Check an encoder of paths, and number the nodes of its trees again."""
    from featurewright.paths import ForestPathEncoder
    from featurewright.paths.encoding import number_forest

    _check_forest(model)
    n_trees = model.forest_.n_trees
    demand(
        model._salts.shape == (n_trees,)
        and model.n_estimators_ == n_trees
        and model.n_nodes_ == len(model.forest_.left),
        "an encoder does not have as many trees and seeds as it says",
    )
    ForestPathEncoder._check_parameters(model)
    model._numbering = number_forest(model.forest_)


def _check_forest(model: Any) -> None:
    """Check what the nodes of trees test."""
    from featurewright.engine.level_sets import IN_SET
    from featurewright.expressions.opcodes import END

    forest, schema = model.forest_, model._schema
    _check_columns(model, schema.names)
    demand(
        model.feature_importances_.shape == (schema.n_columns,),
        "the importances are not as many as the columns",
    )
    inner = forest.left >= 0
    programs = forest.programs[inner]
    check_programs(programs, schema, model._construction.operators)
    lone = programs[:, 1] == END if programs.shape[1] > 1 else np.ones(len(programs), bool)
    tests, sets = forest.is_level[inner] == 1, forest.tests_set[inner]
    demand(
        np.all(lone[tests | sets]) and np.all(forest.is_level <= IN_SET),
        "a node tests a formula for a level",
    )
    levels = forest.threshold[inner][tests]
    n_levels = np.array([len(levels or ()) for levels in schema.levels], np.int64)
    demand(
        np.all((levels >= 0) & (levels < n_levels[programs[tests, 0]])),
        "a node tests for a level that there is not",
    )
    n_bits = 32 * forest.level_sets.shape[1]
    demand(
        np.array_equal(forest.threshold[forest.tests_set], np.arange(len(forest.level_sets)))
        and not forest.tests_set[~inner].any()
        and np.all((n_levels[programs[sets, 0]] > 0) & (n_levels[programs[sets, 0]] <= n_bits)),
        "a node tests for a set of levels that there is not",
    )


def _check_features(model: Any) -> None:
    """Check constructed features and the constants that fill them."""
    from featurewright.engine.grammar import user_operators

    schema = model._schema
    demand(
        model._fill.shape == (schema.n_columns + len(model.features_),),
        "the features are not as many as the values that stand in for them",
    )
    users = user_operators(model._construction.operators)
    for feature in model.features_:
        _check_feature(feature, schema, users)


def _check_feature(feature: Any, schema: Any, users: Any) -> None:
    """Check that an expression is about the columns and operators of the fit."""

    def column(node: Any) -> None:
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


def _check_classes(classes: Any) -> None:
    """Check that there is one column of classes, each once."""
    demand(
        isinstance(classes, np.ndarray)
        and classes.ndim == 1
        and len(set(classes.tolist())) == len(classes) > 0,
        "the classes are not one column",
    )


# Points -----------------------------------------------------------------------------------------


def _check_places(points: Any, schema: Any) -> None:
    """Check that points come from the columns of the table."""
    widths = {column: len(schema.levels[column] or ()) for column, _ in points.labels}
    demand(
        len(points.fill) == schema.n_columns
        and all(widths[column] == levels for column, levels in points.labels),
        "the points do not come from the columns of the table",
    )


def _check_map(features: Any, schema: Any) -> None:
    """Check that landmarks are compared with the columns of the table."""
    if features.places is not None:
        _check_places(features.places, schema)
    else:
        demand(
            np.all(features.landmarks < schema.n_columns),
            "a landmark is a column that there is not",
        )


def _check_landmarks(model: Any) -> None:
    """Check the features of landmarks."""
    _check_columns(model, model._schema.names)
    _check_map(model._map, model._schema)
    demand(
        model.landmark_rows_.shape == (len(model._map.landmarks),)
        and model.landmarks_.shape == model._map.landmarks.shape,
        "the landmarks are not as many as their rows",
    )


def _check_ensemble(model: Any) -> None:
    """Check the runs of an ensemble over kernel features."""
    base, runs, features, schema = model._base, model._runs, model._features, model._schema
    _check_columns(model, schema.names)
    _check_map(features, schema)
    if base.places is not None:
        _check_places(base.places, base.schema)
    demand(
        base.schema.n_columns == (0 if features.places is None else schema.n_columns)
        and runs
        and len(model.landmark_rows_) == len(model.estimators_) == model.n_runs_ == len(runs)
        and len(features.landmarks) % len(runs) == 0,
        "the runs do not fit their landmarks",
    )
    n_classes: int | tuple[int, ...] = 0
    if is_classifier(model):
        several = isinstance(model.classes_, list)
        for classes in model.classes_ if several else [model.classes_]:
            _check_classes(classes)
        sizes = list(map(len, model.classes_)) if several else len(model.classes_)
        demand(sizes and model.n_classes_ == sizes, "the classes are not as many as it says")
        n_classes = tuple(sizes) if isinstance(sizes, list) else sizes
    n_landmarks = len(features.landmarks) // len(runs)
    n_values = set()
    for run in runs:
        demand(
            run.columns.ndim == 1 and np.all((run.columns >= 0) & (run.columns < base.n_columns)),
            "a run names a column that there is not",
        )
        for member in getattr(run.member, "members", (run.member,)):
            demand(
                member.n_classes == n_classes, "a member does not have the classes of its ensemble"
            )
            n_columns = len(run.columns) + n_landmarks
            if isinstance(n_classes, int) and n_classes:
                check_learner(member.learner, n_columns, n_classes)
            else:
                n_values.add(_count_values(member, n_columns))
    wanted = {sum(n_classes)} if isinstance(n_classes, tuple) else n_values
    demand(
        len(n_values) <= 1 and n_values <= wanted,
        "the members do not predict as many values as their ensemble",
    )


def _count_values(member: Any, n_columns: int) -> int:
    """Return how many numbers a member says of a row: one for each target, or for each class."""
    learner = member.learner
    if estimator_name(learner) is None:
        said = answer(member, "values", n_columns)
        demand(said.ndim == 2 and len(said) == 2, "a member does not predict each row")
        return int(said.shape[1])
    demand(learner.n_features_in_ == n_columns, "a member takes another number of columns")
    for classes, n_classes in zip(
        getattr(learner, "classes_", ()), np.atleast_1d(member.n_classes), strict=False
    ):
        demand(
            np.array_equal(classes, np.arange(n_classes)),
            "a member has classes that its ensemble does not have",
        )
    return int(learner.forest_.values.shape[1]) if hasattr(learner, "forest_") else 1


def _check_recursive(model: Any) -> None:
    """Check the matrices of recursions."""
    _check_columns(model, model._schema.names)
    _check_places(model._inputs, model._schema)
    joined, n_problems = model._joined, 1
    if model.classes_ is not None:
        _check_classes(model.classes_)
        n_problems = 1 if len(model.classes_) == 2 else len(model.classes_)
    demand(
        joined.ndim == 2
        and len(model._seeds) == n_problems
        and model.n_recursions_ >= 0
        and joined.shape[0] == len(model._inputs.names)
        and joined.shape[1] % n_problems == 0
        and model._offset.shape == joined.shape[1:],
        "the matrices of recursions do not fit their columns and classes",
    )
    demand(
        len({array.shape for array in model.history_.values()}) == 1
        and all(array.ndim == 1 for array in model.history_.values()),
        "the losses of recursions are not as many as the recursions",
    )
    demand(all_finite(joined, model._offset), "the matrices of recursions are not finite")


def _check_recursive_transformer(model: Any) -> None:
    """Check that the block of columns that is asked for exists."""
    _check_recursive(model)
    model._shown_blocks()


def _check_recursive_classifier(model: Any) -> None:
    """Check that there is one member for each matrix."""
    from featurewright.recursive.members import CalibratedMember

    _check_recursive(model)
    demand(model.classes_ is not None, "a classifier has no classes")
    demand(
        len(model.estimators_) == len(model._seeds), "the members are not as many as the matrices"
    )
    for member in model.estimators_:
        demand(hasattr(member, "predict_proba"), "a member gives no probabilities")
        n_columns = model._joined.shape[1] // len(model._seeds)
        if isinstance(member, CalibratedMember):
            decisions = answer(member.model_, "decision_function", n_columns)
            demand(decisions.shape == (2,), "a member has no decision value for each row")
        check_learner(member, n_columns, 2)


def _check_calibrated(model: Any) -> None:
    """Check the sigmoid of a member; its ensemble checks what is before it."""
    demand(all_finite(model.slope_, model.offset_), "a sigmoid is not finite")
    demand(hasattr(model.model_, "decision_function"), "a member has no decision values")


def _check_never(model: Any) -> None:
    """Refuse anything learned: it never is."""
    demand(False, f"{type(model).__name__} has learned something")


# Learners inside others -------------------------------------------------------------------------


def check_learner(learner: Any, n_columns: int, n_classes: int) -> None:
    """Check that a learner inside another one takes its columns and knows its classes.

    One of ours has been checked when it was loaded. One of another library answers for two rows:
    nobody else knows what it must hold.

    Parameters
    ----------
    learner : estimator
        The learner.
    n_columns : int
        Columns that it will get.
    n_classes : int
        Classes that are coded 0, 1, ...; 0 for numbers.
    """
    classes = getattr(learner, "classes_", None) if n_classes else None
    if classes is not None:
        codes = np.asarray(classes)
        demand(
            codes.ndim == 1
            and codes.dtype.kind in "biu"
            and len(np.unique(codes)) == len(codes)
            and np.all((codes >= 0) & (codes < n_classes)),
            "a member has classes that its ensemble does not have",
        )
    if estimator_name(learner) is not None:
        width = getattr(learner, "n_features_in_", n_columns)
        demand(width == n_columns, "a member takes another number of columns than it gets")
        return
    if n_classes and hasattr(learner, "predict_proba"):
        shares = answer(learner, "predict_proba", n_columns)
        n_shares = n_classes if classes is None else len(classes)
        demand(shares.shape == (2, n_shares), "a member has no probability for each class")
        return
    said = answer(learner, "predict", n_columns)
    demand(said.shape in ((2,), (2, 1)), "a member does not predict one value for each row")
    if n_classes:
        demand(
            said.dtype.kind in "biu" and np.all((said >= 0) & (said < n_classes)),
            "a member predicts classes that its ensemble does not have",
        )


def answer(learner: Any, method: str, n_columns: int) -> npt.NDArray[Any]:
    """Return what an estimator of another library says of two rows; refuse one that fails."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return np.asarray(getattr(learner, method)(np.zeros((2, n_columns))))
    except Exception as error:
        name = type(learner).__name__
        raise broken(f"a {name} inside it does not work ({reason(error)})") from error


# AutoFeatures -----------------------------------------------------------------------------------


def _check_auto(model: Any) -> None:
    """Check that all columns are computed from the table that is read."""
    reader, schema = model.reader_, model.reader_.schema
    linked = getattr(model, "linked_", None)
    if linked is not None:
        schema = linked.extend(schema)
    path = getattr(model, "path_", None)
    originals, parts = model.originals_, model.parts_
    _check_columns(model, reader.names_in)
    n_columns = len(originals.steps) + sum(len(part.names) for part in parts)
    demand(
        len(model.columns_) == n_columns,
        "AutoFeatures does not compute as many columns as it names",
    )
    mapping = getattr(model, "feature_mapping_", {})
    named = {column.name for column in model.columns_}
    others = named.difference(mapping.values())
    demand(
        named.issuperset(mapping.values())
        and others.isdisjoint(mapping)
        and len(set(mapping.values())) == len(mapping),
        "the short names of AutoFeatures are not those of its columns",
    )
    for kind, at, number in originals.steps:
        demand(0 <= at < reader.schema.n_columns, "an original column is not one of the table")
        if kind == "code":
            demand(
                number == len(schema.levels[at] or ()),
                "the codes of a column are not as many as its levels",
            )
        if kind == "frequency":
            demand(
                originals.frequencies[at].shape == (len(schema.levels[at] or ()),),
                "the frequencies of a column are not as many as its levels",
            )
    listed = [*parts, *([] if path is None else [path])]
    for feature in (*model.features_, *(f for part in listed for f in part.features)):
        _check_feature(feature, schema, ())
    for part in listed:
        _check_part(part, schema.n_columns)
        _check_labels(part, schema)
    if path is not None:
        demand(
            len(path.features) == len(path.names) == len(getattr(model, "path_stability_", ())),
            "the formulas in one order are not as many as their shares",
        )
    demand(model.task_ in _TASKS, "AutoFeatures has an unknown task")
    demand(
        len(getattr(model, "stability_", model.features_)) == len(model.features_),
        "the formulas are not as many as their shares",
    )
    demand(
        model.task_ == "regression" or hasattr(model, "classes_"),
        "AutoFeatures has no classes",
    )
    label_names = getattr(model, "label_names_", None)
    demand(
        label_names is None or len(label_names) == len(model.classes_),
        "the names are not as many as the labels",
    )
    demand(model.gain_per_fold_.ndim == 1, "the gains are not one for each fold")
    _check_model(model, n_columns)


_TASKS = ("classification", "regression", "multilabel")


def _check_labels(part: Any, schema: Any) -> None:
    """Check that labels are columns of codes."""
    if part.kind != "label":
        return
    columns = [feature.expression for feature in part.features]
    demand(
        all(isinstance(column, Column) and schema.levels[column.index] for column in columns)
        and part.high.tolist() == [len(schema.levels[column.index]) for column in columns],
        "a part of AutoFeatures has labels that there are not",
    )


def _check_part(part: Any, n_columns: int) -> None:
    """Check that the columns that a part takes from its transformer exist."""
    made = part.transformer
    if made is None:
        return
    demand(
        estimator_name(made) is not None and vars(made).get("n_features_in_") == n_columns,
        "a part of AutoFeatures does not fit its table",
    )
    if part.kind not in ("score", "vote"):
        width = len(made.get_feature_names_out())
    elif not is_classifier(made):
        width = made.forest_.values.shape[1]
    elif hasattr(made, "decision_function"):
        width = made.n_scores_
    else:
        demand(isinstance(made.classes_, np.ndarray), "a part votes for several targets")
        width = len(made.classes_) - (len(made.classes_) == 2)
    demand(
        np.all((part.keep >= 0) & (part.keep < width)),
        "a part of AutoFeatures takes a column that there is not",
    )


def _check_model(model: Any, n_columns: int) -> None:
    """Check the estimator that AutoFeatures fitted on its columns."""
    learner = model.model_
    if isinstance(learner, Unread):
        return
    demand(hasattr(learner, "predict"), "AutoFeatures has no estimator")
    if estimator_name(learner) is not None:
        demand(
            getattr(learner, "n_features_in_", None) == n_columns,
            "the estimator of AutoFeatures takes another number of columns than there are",
        )
        return
    said = answer(learner, "predict", n_columns)
    demand(len(said) == 2, "the estimator of AutoFeatures does not answer for each row")
    if hasattr(learner, "predict_proba"):
        from featurewright.auto.estimators import probabilities

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                probabilities(learner, np.zeros((2, n_columns)))
        except Exception as error:
            raise broken(f"the estimator of AutoFeatures fails ({reason(error)})") from error


def _regressor(kinds: Callable[..., Learned]) -> Callable[[], Learned]:
    return lambda: kinds(regressor=True)


def _classifier(kinds: Callable[..., Learned]) -> Callable[[], Learned]:
    return lambda: kinds(regressor=False)


_TREES = "featurewright.constructive"
ESTIMATORS = {
    **{
        f"Constructive{kind}{task}": EstimatorSpec(_TREES, of_task(grown_kinds), _check_grown)
        for kind in ("Tree", "Forest", "ExtraTrees")
        for task, of_task in (("Classifier", _classifier), ("Regressor", _regressor))
    },
    "ConstructiveBoostingClassifier": EstimatorSpec(
        _TREES, _classifier(boosted_kinds), _check_boosted
    ),
    "ConstructiveBoostingRegressor": EstimatorSpec(
        _TREES, _regressor(boosted_kinds), _check_boosted
    ),
    "BatchConstructor": EstimatorSpec("featurewright.fctree", batch_kinds, _check_batch),
    "FCTreeClassifier": EstimatorSpec(
        "featurewright.fctree", _classifier(fctree_kinds), _check_fctree
    ),
    "FCTreeRegressor": EstimatorSpec(
        "featurewright.fctree", _regressor(fctree_kinds), _check_fctree
    ),
    "ForestPathEncoder": EstimatorSpec("featurewright.paths", encoder_kinds, _check_encoder),
    "LandmarkKernelFeatures": EstimatorSpec(
        "featurewright.landmarks", landmark_kinds, _check_landmarks
    ),
    "KernelFeatureEnsembleClassifier": EstimatorSpec(
        "featurewright.landmarks", _classifier(ensemble_kinds), _check_ensemble
    ),
    "KernelFeatureEnsembleRegressor": EstimatorSpec(
        "featurewright.landmarks", _regressor(ensemble_kinds), _check_ensemble
    ),
    "RecursiveSelectiveTransformer": EstimatorSpec(
        "featurewright.recursive", recursive_kinds, _check_recursive_transformer
    ),
    "RecursiveSelectiveClassifier": EstimatorSpec(
        "featurewright.recursive",
        lambda: recursive_kinds(estimators_=list[Any]),
        _check_recursive_classifier,
    ),
    "NeverMember": EstimatorSpec(
        "featurewright.recursive.members", lambda: Learned({}, {}), _check_never
    ),
    "CalibratedMember": EstimatorSpec(
        "featurewright.recursive.members",
        lambda: Learned({"model_": Any, "slope_": float, "offset_": float}, {}),
        _check_calibrated,
    ),
    "RelationalFeatures": EstimatorSpec(
        "featurewright.relations", relational_kinds, check_relational
    ),
    "AutoFeatures": EstimatorSpec("featurewright.auto", auto_kinds, _check_auto),
}


# Metadata routing -------------------------------------------------------------------------------


def get_requests(model: Any) -> dict[str, dict[str, Any]]:
    """Return the metadata that methods request, as `set_fit_request` and the like were told."""
    if ROUTING not in vars(model):
        return {}
    request = vars(model)[ROUTING]
    asked = {name: dict(getattr(request, name).requests) for name in _METHODS}
    return {name: told for name, told in asked.items() if told}


def set_requests(model: Any, requests: Any) -> None:
    """Set the metadata that methods request."""
    try:
        with config_context(enable_metadata_routing=True):
            for name, told in dict(requests).items():
                if name not in _METHODS or any(
                    not isinstance(alias, (str, bool, type(None))) for alias in dict(told).values()
                ):
                    raise broken("an estimator requests metadata in an unknown way")
                getattr(model, f"set_{name}_request")(**told)
    except (TypeError, ValueError, AttributeError) as error:
        raise broken("an estimator requests metadata that it does not take") from error
