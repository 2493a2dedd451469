"""Damaged and hostile files give one clear error, execute nothing and crash nothing."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import loop_over
from tests.export.cases import (
    ESTIMATORS,
    fitted,
    npy,
    pack,
    refuse,
    refused_or_sound,
    same,
    saved,
    unpack,
)
from tests.export.fuzzing import model_files, mutate

import featurewright
from featurewright.export import ModelFileError, load
from featurewright.export.stored.models import learned_kinds

TREE = "ConstructiveTreeClassifier"


@pytest.mark.parametrize("name", [TREE, "RecursiveSelectiveClassifier"])
def test_truncated_at_any_byte(name):
    data = saved(name)
    for length in [*range(0, len(data), max(1, len(data) // 150)), len(data) - 1]:
        refuse(data[:length])


@pytest.mark.parametrize("name", [TREE, "LandmarkKernelFeatures"])
def test_flipped_bits(name):
    data, expected = bytearray(saved(name)), refused_or_sound(saved(name))
    random = np.random.default_rng(0)
    for place in random.permutation(len(data))[:150]:
        bit = 1 << int(random.integers(8))
        data[place] ^= bit
        found = refused_or_sound(bytes(data))
        assert found is None or same(found, expected)
        data[place] ^= bit


@given(st.binary(max_size=300))
def test_any_bytes(data):
    refuse(data)
    refuse(b"PK\x03\x04" + data)


@pytest.mark.parametrize("protocol", [0, 4])
def test_pickles(protocol):
    refuse(pickle.dumps(fitted(TREE), protocol), "not a complete model file")


@pytest.mark.parametrize(
    "member",
    ["../../evil", "/etc/evil", "arrays/../0.npy", "arrays/0.npy/x", "x" * 5000, "C:\\a", "a\n"],
)
def test_names_of_members(member, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document, members = unpack(saved(TREE))
    refuse(pack(document, {**members, member: b"x"}))
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name():
    file = io.BytesIO(saved(TREE))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("arrays/0.npy", b"x")
    refuse(file.getvalue(), "two members of one name")


def test_missing_and_unused_members():
    document, members = unpack(saved(TREE))
    refuse(pack(document, {**members, "arrays/999.npy": b"x"}), "does not name")
    members.pop("arrays/0.npy")
    refuse(pack(document, members), "no member")
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("arrays/0.npy", b"x")
        refuse(file.getvalue(), r"no member 'model\.json'")


def test_zip_bombs():
    document, members = unpack(saved(TREE))
    bomb = npy(np.zeros(2**24))
    data = pack(document, {**members, "arrays/0.npy": bomb})
    refuse(data, "claim to unpack")
    with pytest.raises(ModelFileError, match="max_bytes=1,000"):
        load(io.BytesIO(saved(TREE)), max_bytes=1000)
    # A member that says it is small and is not.
    lying = data.replace(struct.pack("<I", len(bomb)), struct.pack("<I", 100))
    refuse(lying)


def test_members_that_overlap():
    data = saved(TREE)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        offset = archive.infolist()[2].header_offset
    directory = data.rindex(b"PK\x01\x02")
    moved = data[: directory + 42] + struct.pack("<I", offset) + data[directory + 46 :]
    refuse(moved)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression(method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("model.json", b"{}" * 50)
    refuse(file.getvalue(), "compressed in another way")


@loop_over(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"format": NaN}',
        b'{"format": 1, "format": 2}',
        b'{"a": 1e999}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"9" * 10_000,
        b"\xff\xfe{}",
        '{"ä": 1}'.encode(),
    ],
)
def test_documents_that_are_no_json(text):
    refuse(pack(text, {}))


@loop_over(
    "changes",
    [
        {"format": "other"},
        {"version": 0},
        {"version": True},
        {"version": "1"},
        {"version": None},
        {"extra": 1},
        {"nodes": {}},
        {"nodes": []},
        {"model": None},
        {"model": 0},
        {"model": [0]},
        {"model": [10**9]},
        {"model": [-1]},
        {"model": [True]},
    ],
)
def test_documents_of_another_kind(changes):
    document, members = unpack(saved(TREE))
    refuse(pack({**document, **changes}, members))


def test_versions_of_a_later_day():
    document, members = unpack(saved(TREE))
    later = {**document, "version": 2, "featurewright": "9.0", "shape": "of things to come"}
    refuse(pack(later, members), r"featurewright 9\.0 wrote it in format 2.*install a newer")


def test_parameters_added_later_have_their_defaults():
    document, members = unpack(saved(TREE))
    (node,) = [node for node in document["nodes"] if node["kind"] == "estimator"]
    del node["parameters"]["max_depth"]
    assert load(io.BytesIO(pack(document, members))).max_depth is None


# Values ----------------------------------------------------------------------------------------

_NODES = [
    {},
    {"kind": "module"},
    {"kind": ["list"]},
    {"kind": "list"},
    {"kind": "list", "items": None},
    {"kind": "list", "items": [[0]]},
    {"kind": "list", "items": [{}]},
    {"kind": "list", "items": [], "more": 1},
    {"kind": "dict", "items": [[1]]},
    {"kind": "dict", "items": [["a", 1], ["a", 2]]},
    {"kind": "float", "text": "1.0"},
    {"kind": "float", "text": None},
    {"kind": "bytes", "hex": "xyz"},
    {"kind": "scalar", "dtype": "O", "hex": "00" * 8},
    {"kind": "scalar", "dtype": "<f8", "hex": "00"},
    {"kind": "scalar", "dtype": "f8,O", "hex": "00" * 16},
    {"kind": "scalar", "dtype": "__import__('os')", "hex": ""},
    {"kind": "scalar", "dtype": "<U0", "hex": ""},
    {"kind": "objects", "shape": [10**12], "items": []},
    {"kind": "objects", "shape": [-1], "items": []},
    {"kind": "objects", "shape": [0] * 99, "items": []},
    {"kind": "array", "number": 0.0},
    {"kind": "array", "number": True},
    {"kind": "array", "number": 7},
    {"kind": "foreign", "number": 0},
    {"kind": "choice", "class": "Domain", "value": 3},
    {"kind": "choice", "class": "Domain", "value": True},
    {"kind": "choice", "class": "Enum", "value": 0},
    {"kind": "choice", "class": [], "value": []},
    {"kind": "operator", "name": "os.system", "inputs": [], "output": 0, "commutative": False},
    {"kind": "operator", "name": "add", "inputs": [0], "output": 0, "commutative": True},
    {"kind": "operator", "name": 1, "inputs": [0], "output": 0, "commutative": True},
    {"kind": "random", "key": None, "place": 0, "has_gauss": 0, "gauss": 0.0},
    {"kind": "record", "class": "os.system", "fields": {}},
    {"kind": "record", "class": "Forest", "fields": {}},
    {"kind": "record", "class": ["Forest"], "fields": {}},
    {"kind": "record", "class": "Column", "fields": {"index": -1, "name": "a", "domain": 0}},
    {"kind": "estimator", "class": "SVC", "parameters": {}, "attributes": {}, "requests": {}},
    {"kind": "estimator", "class": TREE, "parameters": {}, "attributes": {}, "requests": []},
    {
        "kind": "estimator",
        "class": TREE,
        "parameters": {},
        "attributes": {},
        "requests": {"__class__": {"x": True}},
    },
    {
        "kind": "estimator",
        "class": TREE,
        "parameters": {"__class__": None},
        "attributes": {},
        "requests": {},
    },
    {
        "kind": "estimator",
        "class": TREE,
        "parameters": {},
        "attributes": {"predict": None},
        "requests": {},
    },
]


@loop_over("node", _NODES)
def test_nodes_that_are_none(node):
    document, members = unpack(saved(TREE))
    refuse(pack({**document, "nodes": [node, *document["nodes"]]}, members))


def test_objects_inside_each_other_without_end():
    nodes = [{"kind": "tuple", "items": [1] * 10}]
    nodes += [{"kind": "tuple", "items": [[k]] * 10} for k in range(40)]
    document, members = unpack(saved(TREE))
    refuse(pack({**document, "nodes": nodes}, members), "too many objects")


def test_expressions_without_end():
    document, members = unpack(saved(TREE))
    nodes = [
        {"kind": "choice", "class": "Domain", "value": 0},
        {"kind": "record", "class": "Column", "fields": {"index": 0, "name": "x0", "domain": [0]}},
        {"kind": "operator", "name": "add", "inputs": [0, 0], "output": 0, "commutative": True},
    ]
    last = 1
    for _ in range(40):
        nodes.append({"kind": "tuple", "items": [[last], [last]]})
        fields = {"operator": [2], "arguments": [len(nodes) - 1], "parameter": None}
        nodes.append({"kind": "record", "class": "Call", "fields": fields})
        last = len(nodes) - 1
    refuse(pack({**document, "nodes": nodes}, members), "too long")


def test_expressions_deeper_than_the_stack():
    document, members = unpack(saved(TREE))
    nodes = [
        {"kind": "choice", "class": "Domain", "value": 0},
        {"kind": "record", "class": "Column", "fields": {"index": 0, "name": "x0", "domain": [0]}},
        {"kind": "operator", "name": "neg", "inputs": [0], "output": 0, "commutative": False},
    ]
    for _ in range(5000):
        nodes.append({"kind": "tuple", "items": [[max(1, len(nodes) - 1)]]})
        fields = {"operator": [2], "arguments": [len(nodes) - 1], "parameter": None}
        nodes.append({"kind": "record", "class": "Call", "fields": fields})
    nodes[3]["items"] = [[1]]
    refuse(pack({**document, "nodes": nodes}, members), "too long")


def test_every_attribute_left_out():
    for name in ESTIMATORS:
        document, members = unpack(saved(name))
        learned = document["nodes"][document["model"][0]]["attributes"]
        for field, value in list(learned.items()):
            del learned[field]
            found = refused_or_sound(pack(document, members))
            assert found is None or field in learned_kinds(name).sometimes
            learned[field] = value


def test_a_kernel_is_a_name():
    document, members = unpack(saved("KernelFeatureEnsembleClassifier"))
    model = document["nodes"][document["model"][0]]
    model["parameters"]["kernel"] = model["attributes"]["n_features_in_"]
    refuse(pack(document, members), "a kernel is neither a name nor a function")


def test_mutated_files():
    for label, data in model_files().items():
        assert refused_or_sound(data)
        for number in range(6):
            refused_or_sound(mutate(label, number))


@pytest.mark.slow
def test_many_mutated_files():
    for label in model_files():
        for number in range(6, 220):
            refused_or_sound(mutate(label, number))


@settings(max_examples=60)
@given(st.data())
def test_any_json(data):
    values = st.recursive(
        st.none() | st.booleans() | st.integers(-5, 400) | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["kind", "class", "items", "fields"]), inner, max_size=4
            )
        ),
        max_leaves=10,
    )
    document, members = unpack(saved(TREE))
    key = data.draw(st.sampled_from(sorted(document)))
    if key == "nodes":
        place = data.draw(st.integers(0, len(document["nodes"]) - 1))
        document["nodes"][place] = data.draw(values)
    else:
        document[key] = data.draw(values)
    refused_or_sound(pack(document, members))


def test_checksums_are_those_of_zip():
    with zipfile.ZipFile(io.BytesIO(saved(TREE))) as archive:
        for info in archive.infolist():
            assert zlib.crc32(archive.read(info)) == info.CRC


def test_trusted_is_a_list():
    with pytest.raises(TypeError, match="put it in a list"):
        featurewright.load(io.BytesIO(saved(TREE)), trusted="sklearn.svm.SVC")
