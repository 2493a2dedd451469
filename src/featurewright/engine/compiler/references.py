"""Tuples of arrays that kernels pass on as one address.

A tuple of arrays is hundreds of words, and a kernel that gets it as an argument has all of them
copied with every call: at small nodes that takes longer than the work, and the code that copies
takes longer to compile than the rest. `Shared` lays a tuple out in memory as compiled code reads
it. A reference to it is one word, and reading a field reads that field alone.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)

_WORD_BYTES = 8
_FIRST = ir.Constant(ir.IntType(32), 0)


class Reference(types.Type):
    """The type of a tuple that is passed on as the address it lies at."""

    def __init__(self, content: Any) -> None:
        self.content = content
        # Numba writes the names of types into the names of functions: the full one has 10,000
        # characters.
        digest = hashlib.sha1(str(content).encode(), usedforsecurity=False).hexdigest()[:12]
        super().__init__(name=f"Reference_{digest}")


register_model(Reference)(models.OpaqueModel)


class Shared:
    """A tuple laid out in memory, for as long as this object lives.

    Parameters
    ----------
    content : named tuple
        Of C-contiguous arrays, records, whole numbers and such tuples.
    known : Layouts, optional
        Tuples inside that were laid out before.
    """

    __slots__ = ("_words", "address", "content", "kind")

    def __init__(self, content: Any, known: Layouts | None = None) -> None:
        self.content = content  # keeps the arrays alive
        words: list[int] = []
        layout: list[Any] = []
        _lay_out(content, words, layout, {} if known is None else known.by_id)
        self._words = np.array(words, np.int64)
        self.address = self._words.ctypes.data
        self.kind = reference_type(content, tuple(layout))


class Layouts:
    """Remembers how tuples lie in memory that are parts of one shared tuple after the other.

    Laying out a hundred arrays takes half a millisecond: as long as growing a small tree.

    Parameters
    ----------
    *contents : named tuple
        Tuples whose arrays stay where they are.
    """

    def __init__(self, *contents: Any) -> None:
        self._contents = contents  # so that no other tuple gets one of their identities
        self.by_id: dict[int, tuple[list[int], list[Any]]] = {}
        for content in contents:
            words: list[int] = []
            layout: list[Any] = []
            _lay_out(content, words, layout, {})
            self.by_id[id(content)] = words, layout


_KINDS: dict[tuple[Any, ...], Reference] = {}


def reference_type(content: Any, layout: tuple[Any, ...]) -> Reference:
    """Return the type of a reference to a tuple; `layout` tells unlike tuples apart."""
    key = type(content), layout
    if key not in _KINDS:
        _KINDS[key] = Reference(_content_type(content))
    return _KINDS[key]


def _content_type(value: Any) -> Any:
    """Return Numba's type of a value; all arrays are contiguous and may be written to."""
    if isinstance(value, tuple):
        return types.NamedTuple([_content_type(field) for field in value], type(value))
    if isinstance(value, np.ndarray):
        return types.Array(numba.from_dtype(value.dtype), value.ndim, "C")
    if isinstance(value, np.void):
        return numba.from_dtype(value.dtype)
    return types.int64


def _lay_out(
    value: Any,
    words: list[int],
    layout: list[Any],
    known: dict[int, tuple[list[int], list[Any]]],
) -> None:
    """Append the words of a value as Numba's data models have them."""
    if id(value) in known:
        known_words, known_layout = known[id(value)]
        words += known_words
        layout += known_layout
    elif isinstance(value, tuple):
        for field in value:
            _lay_out(field, words, layout, known)
    elif isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise ValueError("A shared array must be C-contiguous.")
        nothing = (0, 0)  # neither a counted owner nor a parent object
        words += [*nothing, value.size, value.itemsize, value.ctypes.data]
        words += [*value.shape, *value.strides]
        layout += [value.dtype, value.ndim]
    elif isinstance(value, np.void):
        words.append(np.frombuffer(value, np.uint8).ctypes.data)
        layout.append(value.dtype)
    else:
        words.append(int(value))
        layout.append(int)


@unbox(Reference)
def read_address(kind: Any, shared_object: Any, c: Any) -> Any:
    """Take the address of a shared tuple."""
    address = c.pyapi.object_getattr_string(shared_object, "address")
    number = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(c.builder.inttoptr(number, cgutils.voidptr_t))


@infer_getattr
class ReferenceAttribute(AttributeTemplate):
    """What a field of a shared tuple is read as: itself, or a reference to a tuple inside."""

    key = Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:
        """Return the type of a field."""
        return _field_type(reference.content, name)


@lower_getattr_generic(Reference)
def read_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """Read a field where the tuple lies, word by word; the rest is not looked at."""
    whole = context.get_value_type(kind.content)
    number = kind.content.fields.index(name)
    place = _address_of(builder, builder.bitcast(value, whole.as_pointer()), [number])
    if isinstance(_field_type(kind.content, name), Reference):
        return builder.bitcast(place, cgutils.voidptr_t)
    field = ir.Constant(whole.elements[number], ir.Undefined)
    for path in _paths_to_words(field.type):
        word = builder.load(_address_of(builder, place, path))
        # The tuple does not change while kernels run, so loads may leave loops that store.
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
        field = builder.insert_value(field, word, path) if path else word
    return field


def _field_type(content: Any, name: str) -> Any:
    """Return the type that a field of a shared tuple is read as."""
    field = content.types[content.fields.index(name)]
    return Reference(field) if isinstance(field, types.BaseTuple) else field


def _paths_to_words(kind: Any) -> list[list[int]]:
    """List the indices that lead to the words of nested structures and arrays."""
    if isinstance(kind, ir.ArrayType):
        elements = [kind.element] * kind.count
    elif isinstance(kind, ir.LiteralStructType):
        elements = list(kind.elements)
    else:
        return [[]]
    return [
        [place, *path]
        for place, element in enumerate(elements)
        for path in _paths_to_words(element)
    ]


def _address_of(builder: Any, place: Any, path: list[int]) -> Any:
    """Return the address of a word."""
    steps = [ir.Constant(ir.IntType(32), step) for step in path]
    return builder.gep(place, [_FIRST, *steps], inbounds=True)
