"""What fitted estimators hold besides their parameters: attributes and their kinds.

The classes in it are imported when an estimator that has them is loaded or saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.integer[Any]]
Kinds = Mapping[str, Any]

OUTPUT = "_sklearn_output_config"  # where scikit-learn keeps what set_output was told


class Result(TypedDict):
    """What became of one method, an entry of `results_`."""

    method: str
    status: str
    reason: str
    reason_code: NotRequired[str]  # not in files of earlier versions
    fold_scores: list[float]
    mean: float
    std: float
    gain: float
    gain_std: float
    seconds: float
    n_features: int | None


class FrontPoint(TypedDict):
    """Scores with a number of formulas, an entry of `front_`."""

    n_formulas: int
    score: float
    score_std: float
    gain: float
    gain_std: float
    fold_gains: list[float]
    chosen: bool


class Comparison(TypedDict):
    """Scores of one estimator, an entry of `estimator_scores_`."""

    estimator: str
    before: list[float]
    after: list[float]
    gain_std: float


class Overlap(TypedDict):
    """Another column that is much the same."""

    name: str
    rho: float


class ColumnProfile(TypedDict):
    """What one column looks like."""

    name: str
    quantiles: list[float]
    distinct: int
    discrete: bool
    edges: list[float]
    counts: list[list[int]]
    means: list[float | None] | None
    undefined: float
    overlap: list[Overlap]


class Profile(TypedDict):
    """What columns look like, `profile_`."""

    rows: int
    task: str
    classes: list[str]
    columns: list[ColumnProfile]


class Losses(TypedDict):
    """Losses by recursion, `history_` of the recursive methods."""

    recursion: npt.NDArray[np.integer[Any]]
    n_columns: npt.NDArray[np.integer[Any]]
    train_loss: npt.NDArray[np.floating[Any]]
    validation_loss: npt.NDArray[np.floating[Any]]


class Change(TypedDict):
    """How much the kernel changed with more trees, an entry of an encoder's `history_`."""

    n_trees: int
    change: float


class Learned(NamedTuple):
    """Kinds of the attributes that a fitted estimator always has, and of those it may have."""

    always: Kinds
    sometimes: Kinds


def _learned(always: Kinds, sometimes: Kinds | None = None) -> Learned:
    """Add what every estimator has."""
    named = {"feature_names_in_": npt.NDArray[np.object_], OUTPUT: dict[str, str | None]}
    return Learned({"n_features_in_": int, **always}, {**named, **(sometimes or {})})


def _target_kinds() -> dict[str, Any]:
    """Return what estimators learn about a target that may hold classes or numbers."""
    from featurewright.tables import MultiTarget

    return {
        "_outputs": MultiTarget | None,
        "_unit": float,
        "classes_": npt.NDArray[Any] | list[npt.NDArray[Any]],
        "n_classes_": int | list[int],
    }


def _constructive_kinds() -> dict[str, Any]:
    """Return what all estimators over constructed expressions learn."""
    from featurewright.estimators.construction import Construction
    from featurewright.tables import Schema

    return {"_construction": Construction, "_schema": Schema}


def _tree_kinds() -> dict[str, Any]:
    """Return what all estimators that grow trees learn."""
    from featurewright.engine.forest import Forest

    return {
        **_constructive_kinds(),
        "_seed": int,
        "feature_importances_": Floats,
        "forest_": Forest,
    }


def _feature_kinds() -> dict[str, Any]:
    """Return what all transformers to constructed features learn."""
    from featurewright.expressions import Feature

    return {"_fill": Floats, "features_": tuple[Feature, ...]}


def grown_kinds(*, regressor: bool) -> Learned:
    """Return what trees and forests learn."""
    target = _target_kinds()
    own = ("_unit",) if regressor else ("_outputs", "classes_", "n_classes_")
    return _learned(
        {
            **_tree_kinds(),
            **_feature_kinds(),
            **{name: target[name] for name in own},
            "n_estimators_": int,
        },
        {"oob_decision_function_": Floats, "oob_prediction_": Floats, "oob_score_": float},
    )


def fctree_kinds(*, regressor: bool) -> Learned:
    """Return what FC-trees learn."""
    always, sometimes = grown_kinds(regressor=regressor)
    own = {
        "n_candidates_": int,
        "node_operator_weights_": Floats,
        "operator_weights_": dict[str, float],
    }
    return Learned({**always, **own}, sometimes)


def boosted_kinds(*, regressor: bool) -> Learned:
    """Return what boosted trees learn."""
    own = {"_unit": float, "_center": Floats, "_scale": Floats}
    return _learned(
        {
            **_tree_kinds(),
            **_feature_kinds(),
            **(own if regressor else {"classes_": npt.NDArray[Any]}),
            "_groups": int,
            "_start": Floats,
            "n_iter_": int,
            "n_scores_": int,
            "train_score_": Floats,
            "validation_score_": Floats,
        }
    )


def batch_kinds() -> Learned:
    """Return what the batch constructor learns."""
    always = {**_constructive_kinds(), **_feature_kinds(), "n_candidates_": int}
    return _learned(always, _target_kinds())


def encoder_kinds() -> Learned:
    """Return what path encoders learn."""
    own = {
        "_salts": npt.NDArray[np.uint64],
        "history_": list[Change],
        "n_estimators_": int,
        "n_nodes_": int,
    }
    return _learned({**_tree_kinds(), **own}, _target_kinds())


def landmark_kinds() -> Learned:
    """Return what landmark features learn."""
    from featurewright.landmarks.similarity import LandmarkMap
    from featurewright.tables import Schema

    return _learned(
        {
            "_map": LandmarkMap,
            "_schema": Schema,
            "landmark_rows_": Rows,
            "landmarks_": npt.NDArray[np.floating[Any]],
            "width_": float | None,
        }
    )


def ensemble_kinds(*, regressor: bool) -> Learned:
    """Return what ensembles over kernel features learn."""
    from featurewright.landmarks.runs import Base, Run
    from featurewright.landmarks.similarity import LandmarkMap
    from featurewright.tables import Schema

    target = _target_kinds()
    names = ("_unit",) if regressor else ("classes_", "n_classes_")
    own = {name: target[name] for name in names}
    return _learned(
        {
            "_base": Base,
            "_features": LandmarkMap,
            "_runs": tuple[Run, ...],
            "_schema": Schema,
            "estimators_": list[tuple[Any, ...]],
            "landmark_rows_": list[Rows],
            "n_runs_": int,
            "width_": float | None,
            **own,
        },
        {
            "n_landmarks_": int,
            "oob_decision_function_": Floats,
            "oob_prediction_": Floats,
            "oob_score_": float,
        },
    )


def recursive_kinds(**own: Any) -> Learned:
    """Return what the recursive methods learn."""
    from featurewright.recursive.inputs import Inputs
    from featurewright.tables import Schema

    return _learned(
        {
            "_inputs": Inputs,
            "_joined": Floats,
            "_offset": Floats,
            "_schema": Schema,
            "_seeds": list[int],
            "classes_": npt.NDArray[Any] | None,
            "history_": Losses,
            "n_recursions_": int,
            **own,
        }
    )


def relational_kinds() -> Learned:
    """Return what features over links learn."""
    from featurewright.relations import LinkFeature
    from featurewright.relations.keys import KeyTable
    from featurewright.relations.linked import TableLayout
    from featurewright.relations.sources import Source
    from featurewright.relations.targets import EarlierMeans

    return _learned(
        {
            "_feature_sources": npt.NDArray[np.int64],
            "_fill": Floats,
            "_group_names": list[str],
            "_groups": list[KeyTable | EarlierMeans],
            "_layout": TableLayout,
            "_n_columns": int,
            "_sources": list[Source],
            "_statistics": dict[int, KeyTable],
            "features_": tuple[LinkFeature, ...],
            "n_candidates_": int,
            "worth_": Floats,
        },
        # Not in files of earlier versions.
        {"_own_columns": npt.NDArray[np.int64]},
    )


def auto_kinds() -> Learned:
    """Return what AutoFeatures learns."""
    from featurewright.auto.links import LinkedColumns
    from featurewright.auto.originals import Originals, OutputColumn
    from featurewright.auto.parts import Part
    from featurewright.auto.reading import TableReader
    from featurewright.expressions import Feature

    return _learned(
        {
            "baseline_score_": float,
            "best_method_": str,
            "columns_": tuple[OutputColumn, ...],
            "estimator_scores_": list[Comparison],
            "features_": list[Feature],
            "gain_": float,
            "gain_per_fold_": Floats,
            "gain_std_": float,
            "left_out_": dict[str, str],
            "model_": object,
            "originals_": Originals,
            "parts_": list[Part],
            "profile_": Profile,
            "reader_": TableReader,
            "results_": list[Result],
            "score_": float,
            "scoring_": str,
            "target_name_": str | None,
            "task_": str,
        },
        {
            "classes_": npt.NDArray[Any] | list[npt.NDArray[Any]],
            # Not in files of earlier versions.
            "feature_mapping_": dict[str, str],
            "front_": list[FrontPoint],
            "label_names_": list[str] | None,
            "later_folds_": bool,
            "linked_": LinkedColumns | None,
            "path_": Part | None,
            "path_stability_": Floats,
            "stability_": Floats,
            "stopped_by_time_": bool,
        },
    )
