"""Whether a value is of the kind that an annotation names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

from featurewright.export.stored.errors import broken

_NUMBERS = {
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    bool: (bool, np.bool_),
}


def check_fields(name: str, fields: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Refuse fields of other kinds than those written down."""
    for field, value in fields.items():
        if not is_kind(value, kinds[field]):
            raise broken(f"{name}.{field} is a {type(value).__name__}, which it never is")


def is_kind(value: Any, kind: Any) -> bool:
    """Tell whether a value fits an annotation made of plain types, containers and arrays."""
    if kind is Any or kind is object:
        return True
    if kind is None or kind is NoneType:
        return value is None
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


def _are_kinds(values: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    """Compare the items of a tuple."""
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return all(is_kind(value, kinds[0]) for value in values)
    return len(values) == len(kinds) and all(map(is_kind, values, kinds))


def _has_dtype(array: Any, kind: Any) -> bool:
    """Compare the dtype of an array with ``np.dtype[...]``."""
    (scalar,) = get_args(kind)
    scalar = get_origin(scalar) or scalar
    return scalar is Any or np.issubdtype(array.dtype, scalar)
