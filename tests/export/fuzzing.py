"""Mutations of model files: the same label and number always give the same file."""

from __future__ import annotations

import copy
import io
import json
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.export.cases import (
    ESTIMATORS,
    N_ROWS,
    as_bytes,
    make,
    pack,
    saved,
    table,
    target,
    unpack,
)

from featurewright import Link, RelationalFeatures
from featurewright.auto.parts import learn_part

Random = np.random.Generator
_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 10**6, 10**20, -(2**63), 2**31, 0.5, -1.5, 1e300),
    *("", "x", "x0", "nan", "auto", "\ud800", "a" * 3000, [], {}, [0], [[0]], {"kind": "list"}),
)
_DTYPES = ("<f8", ">f8", "<f4", "<i8", "<i4", "|b1", "|i1", "<u8", "<U3", "|S2", "|O", "<M8[D]")
_HEADERS = (
    *("(", "'", "{", "\\x00", "\n", "__import__('os')", "'descr': '<f8'", "'<f8", "0x", "1e5"),
    *("(-1,)", "(3)", "(99999999999999999999,)", "()", "(0, 99999999999)", "('a',)", "(True,)"),
    *("'<U99999999999'", "[('a', '<f8')]", "'<M8[9999999Y]'", "'f8,f8'", "None", "True", "9" * 50),
)


# Mutations --------------------------------------------------------------------------------------


def flip_bits(data: bytes, random: Random) -> bytes:
    """Flip a few bits anywhere."""
    changed = bytearray(data)
    for place in random.integers(len(changed), size=int(random.integers(1, 4))):
        changed[place] ^= 1 << int(random.integers(8))
    return bytes(changed)


def truncate(data: bytes, random: Random) -> bytes:
    """Cut off an end, cut out a piece, or repeat one."""
    first, last = sorted(random.integers(len(data), size=2).tolist())
    return [data[:last], data[:first] + data[last:], data[:last] + data[first:]][random.integers(3)]


def change_zip(data: bytes, random: Random) -> bytes:
    """Overwrite a field of a local header, of the directory or of its end."""
    signature = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06")[int(random.integers(3))]
    places = [k for k in range(len(data)) if data.startswith(signature, k)]
    place = int(random.choice(places)) + 4 + 2 * int(random.integers(20))
    value = int(random.choice([0, 1, 8, 12, 0xFFFF, 0x7FFF, int(random.integers(0x10000))]))
    return data[:place] + struct.pack("<H", value) + data[place + 2 :]


def change_json(data: bytes, random: Random) -> bytes:
    """Change a value, a type, a key or a reference of the document."""
    document, members = unpack(data)
    return pack(_change_tree(document, random), members)


def change_fields(data: bytes, random: Random) -> bytes:
    """Change, remove or exchange fields, parameters and attributes."""
    document, members = unpack(data)
    nodes = document["nodes"]
    places = [
        (node[part], field)
        for node in nodes
        for part in ("fields", "attributes", "parameters", "requests")
        for field in node.get(part, ())
    ]
    holder, field = places[random.integers(len(places))]
    other, another = places[random.integers(len(places))]
    change = random.integers(4)
    if change == 0:
        del holder[field]
    elif change == 1:
        holder[field], other[another] = other[another], holder[field]
    elif change == 2:
        holder[field] = [int(random.integers(len(nodes)))]
    else:
        holder[field] = _odd(random)
    return pack(document, members)


def change_header(data: bytes, random: Random) -> bytes:
    """Change the header of an array."""
    document, members = unpack(data)
    name = _pick(members, ".npy", random)
    if name is None:
        return flip_bits(data, random)
    array = bytearray(members[name])
    end = 10 + int.from_bytes(array[8:10], "little")
    header = bytes(array[10:end])
    change = random.integers(4)
    if change == 0:  # other text of the same length
        piece = _HEADERS[random.integers(len(_HEADERS))].encode()
        place = int(random.integers(len(header)))
        header = (header[:place] + piece + header[place + len(piece) :])[: len(header)]
    elif change == 1:  # another length
        piece = _HEADERS[random.integers(len(_HEADERS))].encode()
        keys = (b"'<f8'", b"(", b"False", b"'shape'", b"descr", b")", b"}")
        header = header.replace(keys[random.integers(len(keys))], piece, 1)
    elif change == 2:  # the magic, the version and the length
        array[random.integers(10)] = int(random.integers(256))
        return pack(document, {**members, name: bytes(array)})
    else:
        place = int(random.integers(len(header)))
        header = header[:place] + bytes([int(random.integers(256))]) + header[place + 1 :]
    whole = bytes(array[:8]) + struct.pack("<H", len(header)) + header + bytes(array[end:])
    return pack(document, {**members, name: whole})


def change_array(data: bytes, random: Random) -> bytes:
    """Return an array with other values, another shape or another dtype."""
    document, members = unpack(data)
    name = _pick(members, ".npy", random)
    if name is None:
        return flip_bits(data, random)
    array = np.load(io.BytesIO(members[name]))
    change = random.integers(5)
    if change == 0 and array.size:
        odd = (0, -1, 1, 255, 1e9, -1e9, np.nan, np.inf, float(random.integers(-100, 100)))
        place = random.integers(array.size)
        with np.errstate(all="ignore"):
            array.flat[place] = np.array(odd[random.integers(len(odd))]).astype(array.dtype)
    elif change == 1 and len(array.shape):
        array = (array[:-1], array[:0], array[::-1].copy(), np.concatenate([array, array]))[
            random.integers(4)
        ]
    elif change == 2:
        array = (array.reshape(-1), array[None], array.reshape(-1, 1), array.T)[random.integers(4)]
    elif change == 3:
        dtype = np.dtype(_DTYPES[random.integers(len(_DTYPES))])
        array = np.zeros(array.shape, dtype)
    else:
        array = random.permutation(array.reshape(-1)).reshape(array.shape)
    file = io.BytesIO()
    np.save(file, array)
    return pack(document, {**members, name: file.getvalue()})


def change_foreign(data: bytes, random: Random) -> bytes:
    """Mutate what skops wrote: its bytes, its document or one of its arrays."""
    document, members = unpack(data)
    name = _pick(members, ".skops", random)
    if name is None:
        return change_json(data, random)
    if random.integers(4) == 0:
        kinds: list[Callable[[bytes, Random], bytes]] = [flip_bits, truncate, change_zip]
        inside = kinds[random.integers(3)](members[name], random)
        return pack(document, {**members, name: inside})
    with zipfile.ZipFile(io.BytesIO(members[name])) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    others = sorted(part for part in parts if part != "schema.json")
    if others and random.integers(3) == 0:
        part = others[random.integers(len(others))]
        parts[part] = [flip_bits, truncate][random.integers(2)](parts[part], random)
    else:
        schema = _change_tree(json.loads(parts["schema.json"]), random)
        parts["schema.json"] = json.dumps(schema).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return pack(document, {**members, name: file.getvalue()})


def _pick(members: dict[str, bytes], ending: str, random: Random) -> str | None:
    """Choose a member of a kind; None where there is none."""
    names = sorted(name for name in members if name.endswith(ending))
    return names[random.integers(len(names))] if names else None


def _change_tree(tree: Any, random: Random) -> Any:
    """Change one place of a JSON document."""
    tree = copy.deepcopy(tree)
    places: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder))
        places += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys if isinstance(holder[key], (dict, list))]
    holder, key = places[random.integers(len(places))]
    other, another = places[random.integers(len(places))]
    change = random.integers(6)
    if change == 0:
        del holder[key]
    elif change == 1:
        holder[key] = copy.deepcopy(other[another])
    elif change == 2 and isinstance(holder, dict):
        holder[str(_odd(random))[:50]] = holder.pop(key)
    elif change == 3 and type(holder[key]) in (int, float):
        holder[key] = int(holder[key]) + int(random.choice([-2, -1, 1, 2]))
    else:
        holder[key] = _odd(random)
    return tree


def _odd(random: Random) -> Any:
    """Choose a value that is seldom right."""
    return copy.deepcopy(_ODD_VALUES[random.integers(len(_ODD_VALUES))])


MUTATIONS: tuple[Callable[[bytes, Random], bytes], ...] = (
    flip_bits,
    truncate,
    change_zip,
    change_json,
    change_fields,
    change_fields,
    change_header,
    change_array,
    change_foreign,
)


def mutate(label: str, number: int) -> bytes:
    """Return one mutation of one of the files."""
    random = np.random.default_rng([number, *label.encode()])
    return MUTATIONS[random.integers(len(MUTATIONS))](model_files()[label], random)


# Files ------------------------------------------------------------------------------------------


@cache
def model_files() -> dict[str, bytes]:
    """Return files of every public estimator, and of estimators with others inside them."""
    found = {}
    for number, name in enumerate(sorted(ESTIMATORS)):
        if name != "AutoFeatures":  # it has a richer one below
            found[name] = saved(name, ("numbers", "pandas")[number % 2])
    classes, numbers = target("Classifier"), table("numbers")
    several = np.column_stack([classes > 0, classes])
    found["several outputs"] = as_bytes(make("ConstructiveForestClassifier").fit(numbers, several))
    members = {
        "linear": make_pipeline(StandardScaler(), LogisticRegression()),
        "forest": RandomForestClassifier(2, max_depth=3, random_state=0),
        "histogram": HistGradientBoostingClassifier(max_iter=2, max_depth=3, random_state=0),
        "neighbours": KNeighborsClassifier(3),
    }
    for name, member in members.items():
        model = make("KernelFeatureEnsembleClassifier", estimator=member, n_runs=2)
        found[f"members: {name}"] = as_bytes(model.fit(numbers, classes))
    found["AutoFeatures"] = as_bytes(auto_features())
    found["links"] = as_bytes(relational_features())
    found["links with times"] = as_bytes(relational_features("when"))
    found["groups"] = as_bytes(group_features())
    found["AutoFeatures with links"] = as_bytes(auto_links())
    return found


def auto_links() -> Any:
    """Return a fitted AutoFeatures with formulas over links of every kind, with their rows."""
    random = np.random.default_rng(0)
    n, group = 300, np.arange(300) % 60
    orders = pd.DataFrame(
        {
            "id": random.integers(0, n, 1500),
            "on": random.random(1500),
            "amount": random.random(1500),
        }
    )
    rows = pd.DataFrame({"id": range(n), "when": random.random(n), "group": group})
    before = orders.merge(rows, on="id").query("on < `when`").groupby("id")["amount"].sum()
    y = before.reindex(range(n), fill_value=0.0).to_numpy() + random.normal(size=60)[group]
    links = [Link(orders, on="id", time="on", name="orders"), Link.group(on="group")]
    return make("AutoFeatures", links=links, as_of="when", store_links=True).fit(rows, y)


def group_features() -> Any:
    """Return fitted statistics of small groups, and of their targets."""
    random = np.random.default_rng(0)
    group = np.arange(1200) % 200
    means = random.normal(size=200)[group]
    rows = pd.DataFrame({"group": group, "size": means + random.normal(size=1200)})
    y = means + 2.0 * random.normal(size=1200)
    return RelationalFeatures([Link.group(on="group")], n_features_out=3, random_state=0).fit(
        rows, y
    )


def relational_features(as_of: str | None = None) -> Any:
    """Return fitted features over links of every kind, with the linked rows."""
    random = np.random.default_rng(0)
    n, m = 200, 600
    colours = ["red", "grün", "blue\n", None]
    products = pd.DataFrame({"product": range(5), "price": random.normal(size=5)})
    lines = pd.DataFrame({"order": random.integers(0, m, 400), "units": random.random(400)})
    orders = pd.DataFrame(
        {
            "place": random.integers(0, 12, m),
            "on": random.random(m) * 10,
            "order": range(m),
            "product": random.integers(0, 5, m),
            "amount": random.random(m),
            "colour": random.choice(colours, m),
        }
    )
    links = [
        Link(
            orders,
            on="place",
            time=None if as_of is None else "on",
            name="orders",
            links=[
                Link(products, on="product", name="product"),
                Link(lines, on="order", name="lines"),
            ],
        ),
        Link.group(on="colour"),
        Link.history(on="place", time="when", target_delay=1.0),
    ]
    rows = pd.DataFrame(
        {
            "place": range(n),
            "colour": random.choice(colours, n),
            "when": random.random(n) * 10,
            "size": random.random(n),
        }
    )
    rows["place"] %= 12
    rows["size"] += rows["colour"].map({"red": 1.0, "grün": 2.0}).fillna(0.0)
    y = random.normal(size=12)[rows["place"]] + rows["colour"].map({"red": 2.0}).fillna(0.0)
    return RelationalFeatures(
        links, as_of=as_of, store_links=True, n_features_out=12, random_state=0
    ).fit(rows[["place", "colour", "when", "size"]], y)


def auto_features() -> Any:
    """Return a fitted AutoFeatures with dates and with parts of every kind."""
    days = pd.date_range("2024-01-01", periods=N_ROWS, freq="31h")
    frame = table("pandas").assign(
        when=days, until=days + pd.Timedelta("3D"), took=pd.to_timedelta(range(N_ROWS), "min")
    )
    classes = target("Classifier")
    model = make("AutoFeatures").fit(frame, classes)
    read = model.reader_.read(model, frame)
    made = {
        "landmark": make("LandmarkKernelFeatures"),
        "component": make("RecursiveSelectiveTransformer"),
        "path": make("ForestPathEncoder"),
    }
    for kind, part in made.items():
        part.fit(read, classes)
        names = part.get_feature_names_out()
        added = learn_part(kind, kind, read, transformer=part, names=names, keep=[0, 2])
        model.parts_.append(added)
        model.columns_ += added.columns
    forest = make("ConstructiveForestClassifier").fit(read, classes)
    added = learn_part("votes", "vote", read, transformer=forest, names=["a", "b", "c"])
    model.parts_.append(added)
    model.columns_ += added.columns
    model.model_.fit(model.transform(frame), classes)
    return model
