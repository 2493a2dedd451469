"""The classes that a model file may name, and what their fields are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, get_type_hints

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from featurewright import auto, constructive, fctree, landmarks, paths, recursive
from featurewright.auto.dates import TimeKind
from featurewright.auto.originals import Originals, OutputColumn
from featurewright.auto.parts import Part
from featurewright.auto.reading import DerivedColumn, TableReader
from featurewright.engine.buffers import Grammar
from featurewright.engine.compiled_grammar import compile_operators
from featurewright.engine.forest import Forest
from featurewright.estimators.construction import Construction
from featurewright.export.stored import checks
from featurewright.export.stored.routing import ROUTING
from featurewright.expressions import Call, Column, Domain, Feature, Operator
from featurewright.landmarks.members import Bag, Boosted, One
from featurewright.landmarks.points import PointMap
from featurewright.landmarks.runs import Base, Run
from featurewright.landmarks.similarity import LandmarkMap, Similarity
from featurewright.recursive.inputs import Inputs
from featurewright.recursive.members import NeverMember
from featurewright.tables import MultiTarget, Schema

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Record:
    """A class without behaviour of its own: fields, how to build it, when it makes sense."""

    made: type
    kinds: Mapping[str, Any]
    build: Callable[..., Any]
    check: Callable[[Any], None]


def _record(
    made: Any,
    check: Callable[[Any], None] = lambda value: None,
    build: Callable[..., Any] | None = None,
    **kinds: Any,
) -> Record:
    """Take the fields of a class from its annotations, except where they say too little."""
    hints = get_type_hints(made)
    if is_dataclass(made):
        names = [field.name for field in fields(made) if field.init]
    else:
        names = list(made._fields)
    known = {name: kinds.get(name, hints[name]) for name in names}
    wanted = {name: kind for name, kind in known.items() if kind is not None}
    return Record(made, wanted, build or made, check)


def _plan(operators: tuple[Operator, ...], **others: Any) -> Construction:
    """Compile user operators again: addresses do not outlive a process."""
    return Construction(operators=operators, compiled=compile_operators(operators), **others)


RECORDS: dict[str, Record] = {
    record.made.__name__: record
    for record in (
        _record(Schema, checks.check_schema),
        _record(Forest, checks.check_trees),
        _record(
            Grammar,
            start=Integers,
            n_distinct=Integers,
            symbol=npt.NDArray[np.int32],
            following=npt.NDArray[np.int32],
            n_levels=Integers,
        ),
        # No kind: not in the file, but made again.
        _record(Construction, build=_plan, compiled=None),
        _record(Column),
        _record(Call),
        _record(Feature),
        _record(MultiTarget),
        _record(PointMap, checks.check_points),
        _record(Inputs, checks.check_inputs),
        _record(Similarity, checks.check_similarity, metric=str),
        _record(LandmarkMap, checks.check_landmarks),
        _record(Base),
        _record(One, checks.check_member),
        _record(Bag, checks.check_members),
        _record(Boosted, checks.check_members),
        _record(Run, member=One | Bag | Boosted),
        _record(DerivedColumn),
        _record(TableReader, checks.check_reader),
        _record(OutputColumn),
        _record(Originals, checks.check_originals),
        _record(Part, checks.check_part),
    )
}
CHOICES: dict[str, type[Enum]] = {"Domain": Domain, "TimeKind": TimeKind}
OF_CLASS = {record.made: name for name, record in RECORDS.items()}

ESTIMATORS: dict[str, type[BaseEstimator]] = {
    name: getattr(room, name)
    for room in (auto, constructive, fctree, landmarks, paths, recursive)
    for name in room.__all__
    if isinstance(getattr(room, name), type) and issubclass(getattr(room, name), BaseEstimator)
}
ESTIMATORS["NeverMember"] = NeverMember
OF_ESTIMATOR = {made: name for name, made in ESTIMATORS.items()}

# What fitted estimators may hold besides their parameters.
ATTRIBUTES: dict[str, Any] = {
    "_base": Base,
    "_center": Floats,
    "_construction": Construction,
    "_features": LandmarkMap,
    "_fill": Floats,
    "_groups": int,
    "_inputs": Inputs,
    "_joined": Floats,
    "_map": LandmarkMap,
    "_offset": Floats,
    "_outputs": MultiTarget | None,
    "_runs": tuple[Run, ...],
    "_salts": npt.NDArray[np.uint64],
    "_scale": Floats,
    "_schema": Schema,
    "_seed": int,
    "_seeds": list[int],
    "_sklearn_output_config": dict[str, str | None],
    "_start": Floats,
    "_unit": float,
    "baseline_score_": float,
    "best_method_": str,
    "classes_": npt.NDArray[Any] | list[npt.NDArray[Any]] | None,
    "columns_": tuple[OutputColumn, ...],
    "estimator_scores_": list[dict[str, Any]],
    "estimators_": list[Any],
    "feature_importances_": Floats,
    "feature_names_in_": npt.NDArray[np.object_],
    "features_": tuple[Feature, ...] | list[Feature],
    "forest_": Forest,
    "gain_": float,
    "gain_per_fold_": Floats,
    "gain_std_": float,
    "history_": dict[str, npt.NDArray[Any]] | list[dict[str, float]],
    "landmark_rows_": npt.NDArray[np.integer[Any]] | list[npt.NDArray[np.integer[Any]]],
    "landmarks_": npt.NDArray[np.floating[Any]],
    "left_out_": dict[str, str],
    "model_": object,
    "n_candidates_": int,
    "n_classes_": int | list[int],
    "n_estimators_": int,
    "n_features_in_": int,
    "n_iter_": int,
    "n_nodes_": int,
    "n_recursions_": int,
    "n_runs_": int,
    "n_scores_": int,
    "node_operator_weights_": Floats,
    "oob_decision_function_": Floats,
    "oob_prediction_": Floats,
    "oob_score_": float,
    "operator_weights_": dict[str, float],
    "originals_": Originals,
    "parts_": list[Part],
    "profile_": dict[str, Any],
    "reader_": TableReader,
    "results_": list[dict[str, Any]],
    "score_": float,
    "scoring_": str,
    "target_name_": str | None,
    "task_": str,
    "train_score_": Floats,
    "validation_score_": Floats,
    "width_": float | None,
}
# Worked out again when a model is loaded.
DERIVED = ("_numbering",)
# What says nothing about whether an estimator has been fitted.
SETTINGS = (ROUTING, "_sklearn_output_config")
