"""The classes that a model file may name, imported when a file first names them.

A name in a file is looked up in the tables below and never imported itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np
import numpy.typing as npt

from featurewright.export.stored import checks, relational
from featurewright.export.stored.archive import broken

Integers = npt.NDArray[np.int64]


# Records ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OneOf:
    """A kind of value: an instance of one of several records."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class RecordSpec:
    """Where a class of plain fields is, and what is special about it.

    Parameters
    ----------
    module : str
        The module that has it.
    check : callable
        Refuses fields that do not agree with each other.
    build : callable or None
        Makes an object from the fields; the class itself by default.
    kinds : dict
        Kinds of fields whose annotation says too little; None for a field that is not in a file.
    newer : tuple of str
        Fields that files of earlier versions do not have: they get their default.
    """

    module: str
    check: Callable[[Any], None] = lambda value: None
    build: Callable[..., Any] | None = None
    kinds: Mapping[str, Any] = field(default_factory=dict)
    newer: tuple[str, ...] = ()


def _build_construction(operators: tuple[Any, ...], **others: Any) -> Any:
    """Compile user operators again: addresses of compiled functions belong to one process."""
    from featurewright.engine.grammar import compile_operators

    compiled = compile_operators(operators)
    return get_record("Construction").made(operators=operators, compiled=compiled, **others)


_GRAMMAR = {
    "start": Integers,
    "n_distinct": Integers,
    "symbol": npt.NDArray[np.int32],
    "following": npt.NDArray[np.int32],
    "n_levels": Integers,
}
RECORDS = {
    "Schema": RecordSpec("featurewright.tables", checks.check_schema),
    "Forest": RecordSpec("featurewright.engine.forest", checks.check_trees, newer=("level_sets",)),
    "Grammar": RecordSpec("featurewright.engine.buffers", kinds=_GRAMMAR),
    "Construction": RecordSpec(
        "featurewright.estimators.construction",
        build=_build_construction,
        kinds={"compiled": None},
    ),
    "Column": RecordSpec("featurewright.expressions"),
    "Call": RecordSpec("featurewright.expressions"),
    "Feature": RecordSpec("featurewright.expressions"),
    "MultiTarget": RecordSpec("featurewright.tables", checks.check_outputs),
    "PointMap": RecordSpec("featurewright.landmarks.similarity", checks.check_points),
    "Inputs": RecordSpec("featurewright.recursive.inputs", checks.check_inputs),
    "Similarity": RecordSpec(
        "featurewright.landmarks.similarity", checks.check_similarity, kinds={"metric": str}
    ),
    "LandmarkMap": RecordSpec(
        "featurewright.landmarks.similarity",
        checks.check_landmarks,
        kinds={"landmarks": npt.NDArray[np.floating[Any]]},
    ),
    "Base": RecordSpec("featurewright.landmarks.runs"),
    "One": RecordSpec("featurewright.landmarks.runs", checks.check_member),
    "Bag": RecordSpec("featurewright.landmarks.runs", checks.check_members),
    "Boosted": RecordSpec("featurewright.landmarks.runs", checks.check_members),
    "Run": RecordSpec(
        "featurewright.landmarks.runs", kinds={"member": OneOf(("One", "Bag", "Boosted"))}
    ),
    "DerivedColumn": RecordSpec("featurewright.auto.reading"),
    "TextReader": RecordSpec("featurewright.tables.free_text", checks.check_text),
    "TableReader": RecordSpec("featurewright.auto.reading", checks.check_reader),
    "LinkedColumns": RecordSpec("featurewright.auto.links", checks.check_linked),
    "OutputColumn": RecordSpec("featurewright.auto.originals"),
    "Originals": RecordSpec(
        "featurewright.auto.originals", checks.check_originals, newer=("ranges",)
    ),
    "Part": RecordSpec("featurewright.auto.parts", checks.check_part),
    "Link": RecordSpec(
        "featurewright.relations", build=relational.build_link, kinds={"table": None, "on": Any}
    ),
    "LinkFeature": RecordSpec(
        "featurewright.relations", relational.check_link_feature, newer=("level",)
    ),
    "Condition": RecordSpec("featurewright.relations.aggregates", relational.check_condition),
    "Level": RecordSpec("featurewright.relations.aggregates", relational.check_level),
    "Window": RecordSpec("featurewright.relations.aggregates", relational.check_window),
    "KeyIndex": RecordSpec("featurewright.relations.keys", relational.check_index),
    "KeyTable": RecordSpec("featurewright.relations.keys", relational.check_key_table),
    "LinkedRows": RecordSpec(
        "featurewright.relations.linked",
        relational.check_rows,
        build=relational.build_rows,
        kinds={"place": None},
    ),
    "TableLayout": RecordSpec("featurewright.relations.linked", relational.check_layout),
    "NestedLayout": RecordSpec("featurewright.relations.sources"),
    "LinkLayout": RecordSpec("featurewright.relations.sources", newer=("are_days",)),
    "Source": RecordSpec("featurewright.relations.sources", relational.check_source),
    "TargetColumns": RecordSpec("featurewright.relations.targets", relational.check_target),
    "EarlierMeans": RecordSpec("featurewright.relations.targets", relational.check_earlier_means),
}


@dataclass(frozen=True)
class Record:
    """A class of plain fields: their kinds, how to build it, when it makes sense."""

    made: type
    kinds: Mapping[str, Any]
    build: Callable[..., Any]
    check: Callable[[Any], None]
    newer: frozenset[str]


@cache
def get_record(name: str) -> Record:
    """Import the class of a record; the kinds of its fields are its annotations."""
    spec = RECORDS[name]
    made: Any = getattr(importlib.import_module(spec.module), name)
    hints = get_type_hints(made)
    if is_dataclass(made):
        names = [item.name for item in fields(made) if item.init]
    else:
        names = list(made._fields)
    kinds = {item: spec.kinds.get(item, hints[item]) for item in names}
    stored = {item: kind for item, kind in kinds.items() if kind is not None}
    return Record(made, stored, spec.build or made, spec.check, frozenset(spec.newer))


def record_name(made: type) -> str | None:
    """Return the name under which files hold objects of a class; None for other classes."""
    name = made.__name__
    return name if name in RECORDS and get_record(name).made is made else None


# Enumerations -----------------------------------------------------------------------------------

CHOICES = {
    "Domain": "featurewright.expressions",
    "TimeKind": "featurewright.tables.dates",
    "LinkKind": "featurewright.relations.links",
}


@cache
def get_choices(name: str) -> type[Enum]:
    """Import an enumeration."""
    found: type[Enum] = getattr(importlib.import_module(CHOICES[name]), name)
    return found


def choices_name(made: type) -> str | None:
    """Return the name under which files hold members of an enumeration; None for other classes."""
    name = made.__name__
    return name if name in CHOICES and get_choices(name) is made else None


# Kinds of values --------------------------------------------------------------------------------

_NUMBERS = {
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    bool: (bool, np.bool_),
}


def check_fields(name: str, values: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Refuse fields of other kinds than those written down."""
    for item, value in values.items():
        if not is_kind(value, kinds[item]):
            raise broken(f"{name}.{item} is a {type(value).__name__} of a kind that it never is")


def is_kind(value: Any, kind: Any) -> bool:
    """Whether a value fits an annotation made of plain types, containers and arrays."""
    if kind is Any or kind is object:
        return True
    if kind is None or kind is NoneType:
        return value is None
    if isinstance(kind, OneOf):
        return isinstance(value, tuple(get_record(name).made for name in kind.names))
    if is_typeddict(kind):
        return isinstance(value, dict) and _has_entries(value, kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(is_kind(value, part) for part in parts)
    if origin is Callable:
        return False  # no file holds a function
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_dtype(value, parts[1])
    if origin is tuple:
        return isinstance(value, tuple) and _are_kinds(value, parts)
    if origin is list:
        return isinstance(value, list) and all(is_kind(item, parts[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            is_kind(key, parts[0]) and is_kind(item, parts[1]) for key, item in value.items()
        )
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and (kind is bool or not isinstance(value, bool))
    return isinstance(value, kind)


def _has_entries(value: Mapping[Any, Any], kind: Any) -> bool:
    """Whether a dict has what a TypedDict names; it may have more."""
    # Not `__required_keys__`, which takes every key for required where annotations are texts.
    for key, hint in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        if key not in value:
            if not optional:
                return False
        elif not is_kind(value[key], get_args(hint)[0] if optional else hint):
            return False
    return True


def _are_kinds(values: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    """Whether the items of a tuple fit their annotations."""
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return all(is_kind(value, kinds[0]) for value in values)
    return len(values) == len(kinds) and all(map(is_kind, values, kinds))


def _has_dtype(array: Any, kind: Any) -> bool:
    """Whether the dtype of an array is that of ``np.dtype[...]``."""
    (scalar,) = get_args(kind)
    scalar = get_origin(scalar) or scalar
    return scalar is Any or np.issubdtype(array.dtype, scalar)
