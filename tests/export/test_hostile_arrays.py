"""Arrays and trees that are none: compiled code tests no bounds, so loading must."""

from __future__ import annotations

import io
import struct

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.export.cases import npy, pack, refuse, refused_or_sound, saved, unpack

TREE = "ConstructiveTreeClassifier"


def _header(text):
    raw = text.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(raw)) + raw


@loop_over(
    "data",
    [
        b"",
        b"\x93NUMPY\x09\x00",
        npy(np.array([None, print], dtype=object), allow_pickle=True),
        npy(np.zeros(2, [("a", "f8")])),
        _header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}\n"),
        _header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}\n"),
        _header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n") + b"cos\nsystem\n",
        _header("{'descr': '<U0', 'fortran_order': False, 'shape': (9999999999999,)}\n"),
        _header("{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 3000 + "}\n"),
        _header("__import__('os').system('true')\n"),
        _header("{'descr': '<f8', 'fortran_order': 3, 'shape': (1,)}\n") + b"\0" * 8,
    ],
)
def test_arrays_that_are_none(data):
    document, members = unpack(saved(TREE))
    for name in members:
        refuse(pack(document, {**members, name: data}))


def _forest_fields(name, kind="numbers"):
    """Return which member holds which array of the trees."""
    document, members = unpack(saved(name, kind))
    nodes = document["nodes"]
    (forest,) = [node for node in nodes if node.get("class") == "Forest"]
    arrays = {field: nodes[place[0]]["number"] for field, place in forest["fields"].items()}
    return document, members, arrays


def _change(field, change, name=TREE, kind="numbers"):
    document, members, arrays = _forest_fields(name, kind)
    member = f"arrays/{arrays[field]}.npy"
    array = np.load(io.BytesIO(members[member]))
    return pack(document, {**members, member: npy(change(array))})


def _put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@loop_over(
    ("field", "change"),
    [
        ("left", _put(0, 10**9)),
        ("left", _put(0, 0)),
        ("left", _put(1, 1)),
        ("left", _put(0, -1)),
        ("left", _put(-1, -(2**31))),
        ("left", lambda array: array[:-1]),
        ("left", lambda array: array.astype(np.int64)),
        ("left", lambda array: array.astype(">i4").view("<i4")),
        ("left", lambda array: array[:, None]),
        ("roots", _put(0, 1)),
        ("roots", lambda array: np.array([0, 0])),
        ("roots", lambda array: np.array([0, 10**12])),
        ("roots", lambda array: array[:0]),
        ("depth", _put(1, 7)),
        ("programs", _put((0, 0), 99)),
        ("programs", _put((0, 0), -1)),
        ("programs", _put((0, 0), 2**31 - 1)),
        ("programs", _put((0, slice(None)), 0)),
        ("programs", _put((0, slice(None)), [-(2**31)] * 5)),
        ("programs", _put((0, slice(None)), [0, -1 - 200, 2**31 - 1, 2**31 - 1, 2**31 - 1])),
        ("programs", _put((0, slice(None)), [0, -1 - 64, 2**31 - 1, 2**31 - 1, 2**31 - 1])),
        ("programs", _put((0, slice(None)), [0, -1 - 23, 2**31 - 1, 2**31 - 1, 2**31 - 1])),
        ("programs", lambda array: array[:, :0]),
        ("programs", np.asfortranarray),
        ("values", lambda array: array[:-1]),
        ("values", lambda array: array[:, :-1]),
        ("values", lambda array: array.astype(np.int32)),
        ("values", lambda array: array[0]),
        ("threshold", lambda array: array.astype(np.float64)),
        ("is_level", np.ones_like),
        ("operator_weights", lambda array: np.zeros((1, 3))),
    ],
)
def test_trees_that_are_none(field, change):
    refuse(_change(field, change))


def test_trees_whose_leaves_are_shared_out_wrongly():
    name = "ConstructiveForestClassifier"

    def swap(left):
        first, last = np.flatnonzero(left < 0)[[0, -1]]
        left[[first, last]] = left[[last, first]]
        return left

    refuse(_change("left", swap, name), "follow each other")


def test_levels_that_there_are_not():
    name, kind = "ForestPathEncoder", "pandas"
    refuse(_change("threshold", lambda array: array + 1e6, name, kind), "level that there is not")


@settings(max_examples=60)
@given(st.data())
def test_trees_with_changed_values(data):
    name = data.draw(st.sampled_from([TREE, "ForestPathEncoder", "ConstructiveBoostingRegressor"]))
    field = data.draw(st.sampled_from(["left", "programs", "roots", "depth", "values", "is_level"]))

    def change(array):
        if not array.size:
            return array[:-1]
        place = data.draw(st.integers(0, array.size - 1))
        info = np.iinfo(np.int32 if array.dtype.kind != "u" else np.uint8)
        values = st.one_of(st.integers(-70, 70), st.integers(int(info.min), int(info.max)))
        array.flat[place] = abs(data.draw(values)) if info.min == 0 else data.draw(values)
        return array

    refused_or_sound(_change(field, change, name))
