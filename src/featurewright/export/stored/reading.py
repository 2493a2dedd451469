"""Turn a document back into a model; nothing in it is believed before it is checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from featurewright.export.stored import arrays
from featurewright.export.stored.archive import (
    Archive,
    ModelFileError,
    array_name,
    broken,
    foreign_name,
    reason,
)
from featurewright.export.stored.foreign import Unread, load_foreign
from featurewright.export.stored.models import (
    ESTIMATORS,
    estimator_name,
    get_estimator,
    learned_kinds,
    set_requests,
    settle,
)
from featurewright.export.stored.registry import (
    CHOICES,
    RECORDS,
    check_fields,
    get_choices,
    get_record,
)
from featurewright.expressions import Domain, Operator, get_operator

# An object that is used in many places counts as often: ten levels of ten are many billions.
_MAX_SIZE = 10**8
_MAX_EXPRESSION = 400  # objects of an expression: one of 31 symbols, the longest, has about 120
_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_KEYS = (str, int, float, bool, bytes, np.generic, type(None))
_PLAIN = (type(None), bool, int, float, str)
# Parameters that some estimators had in earlier versions, where only None was allowed.
_RETIRED_PARAMETERS = ("class_weight",)
# What checks may raise on values that no model has.
_ODD = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
_TWISTER = 624  # words of the state of the Mersenne twister


def parse_document(data: bytes) -> dict[str, Any]:
    """Read JSON strictly: no key twice, no NaN, nothing nested deeply."""
    try:
        document = json.loads(
            data.decode("ascii"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        raise broken(f"its document is not valid JSON ({reason(error)})") from error
    if not isinstance(document, dict):
        raise broken("its document is not a JSON object")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that comes twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _no_constant(text: str) -> Any:
    """Refuse NaN and infinity, which are no JSON."""
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    """Refuse numbers that are too large."""
    number = float(text)
    if not np.isfinite(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def predicting_nodes(nodes: Any, model: Any) -> set[int]:
    """Return the nodes of foreign estimators that an AutoFeatures needs to predict only.

    The document has not been checked yet; what is odd is left to the reader.
    """
    try:
        root = nodes[model[0]]
        if root["class"] != "AutoFeatures":
            return set()
        only = (root["parameters"].get("estimator"), root["attributes"].get("model_"))
        rest = [node for node in nodes if node is not root]
        rest += [value for value in root["parameters"].values() if value not in only]
        rest += [value for value in root["attributes"].values() if value not in only]
        elsewhere = json.dumps(rest, separators=(",", ":"))
        places = {value[0] for value in only if isinstance(value, list)}
        return {
            place
            for place in places
            if nodes[place]["kind"] == "foreign" and f"[{place}]" not in elsewhere
        }
    except (LookupError, TypeError, AttributeError, ValueError):
        return set()


class Reader:
    """Builds the nodes of a document one after the other; see `writing` for what they are."""

    def __init__(
        self,
        archive: Archive,
        trusted: Sequence[str],
        max_bytes: int,
        unread: Collection[int] = (),
    ) -> None:
        self._archive, self._trusted, self._max_bytes = archive, trusted, max_bytes
        self._unread = unread  # nodes of foreign estimators that are left out
        self._values: list[Any] = []
        self._sizes: list[int] = []
        self._size = 0
        self._n_arrays = 0
        self._n_foreign = 0
        self._builders: dict[str, tuple[set[str], Callable[[Mapping[str, Any]], Any]]] = {
            "float": ({"text"}, self._float),
            "bytes": ({"hex"}, lambda node: _unhex(node["hex"])),
            "list": ({"items"}, lambda node: self._items(node["items"])),
            "tuple": ({"items"}, lambda node: tuple(self._items(node["items"]))),
            "dict": ({"items"}, self._dict),
            "array": ({"number"}, self._array),
            "objects": ({"shape", "items"}, self._objects),
            "scalar": ({"dtype", "hex"}, self._scalar),
            "choice": ({"class", "value"}, self._choice),
            "operator": ({"name", "inputs", "output", "commutative"}, self._operator),
            "random": ({"key", "place", "has_gauss", "gauss"}, self._random),
            "record": ({"class", "fields"}, self._record),
            "estimator": ({"class", "parameters", "attributes", "requests"}, self._estimator),
            "foreign": ({"number"}, self._foreign),
        }

    def read(self, nodes: Any, model: Any) -> Any:
        """Build all nodes and return the model; every member must have been used."""
        for node in _expect(nodes, list, "its nodes"):
            self._size = 1
            kind = _expect(node, dict, "a node").get("kind")
            if not isinstance(kind, str) or kind not in self._builders:
                raise broken(f"it has a node of the unknown kind {str(kind)[:80]!r}")
            keys, build = self._builders[kind]
            if set(node) != {"kind", *keys}:
                raise broken(f"a node of the kind {kind!r} has other fields than it should")
            self._values.append(build(node))
            if self._size > _MAX_SIZE:
                raise broken("it holds too many objects inside each other")
            self._sizes.append(self._size)
        expected = {array_name(k) for k in range(self._n_arrays)}
        expected |= {foreign_name(k) for k in range(self._n_foreign)}
        if self._archive.names - expected != {"model.json"}:
            raise broken("it has members that its document does not name")
        found = self._value(model)
        if estimator_name(found) is None:
            raise broken("it does not hold one of featurewright's estimators")
        return found

    def _value(self, value: Any) -> Any:
        """Return what a JSON value stands for."""
        if type(value) in _PLAIN:
            return value
        number = value[0] if type(value) is list and len(value) == 1 else None
        if type(number) is not int or not 0 <= number < len(self._values):
            raise broken("a value is neither plain nor an earlier node")
        self._size += self._sizes[number]
        return self._values[number]

    def _items(self, items: Any) -> list[Any]:
        return [self._value(item) for item in _expect(items, list, "the items of a node")]

    def _fields(self, named: Any) -> dict[str, Any]:
        pairs = _expect(named, dict, "the fields of a node").items()
        return {name: self._value(value) for name, value in pairs}

    def _float(self, node: Mapping[str, Any]) -> float:
        text = node["text"]
        if not isinstance(text, str) or text not in _FLOATS:
            raise broken("a number is not one")
        return _FLOATS[text]

    def _dict(self, node: Mapping[str, Any]) -> dict[Any, Any]:
        pairs = [_expect(pair, list, "an entry") for pair in _expect(node["items"], list, "a dict")]
        if any(len(pair) != 2 for pair in pairs):
            raise broken("an entry of a dict is not a key and a value")
        found = {}
        for key, value in pairs:
            name = self._value(key)
            if not isinstance(name, _KEYS):
                raise broken("a key of a dict is neither a text nor a number")
            found[name] = self._value(value)
        if len(found) != len(pairs):
            raise broken("a dict has a key twice")
        return found

    def _array(self, node: Mapping[str, Any]) -> Any:
        if node["number"] != self._n_arrays or type(node["number"]) is not int:
            raise broken("its arrays are not in order")
        name = array_name(self._n_arrays)
        self._n_arrays += 1
        return arrays.read_array(self._archive.read(name), name)

    def _objects(self, node: Mapping[str, Any]) -> Any:
        shape, items = _expect(node["shape"], list, "a shape"), self._items(node["items"])
        if not all(type(n) is int and 0 <= n <= len(items) for n in shape) or len(shape) > 8:
            raise broken("an array of objects has an impossible shape")
        if int(np.prod(shape, dtype=object)) != len(items):
            raise broken("an array of objects does not have as many items as it says")
        array = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            array[place] = item
        return array.reshape(shape)

    def _scalar(self, node: Mapping[str, Any]) -> Any:
        try:
            dtype = np.dtype(_expect(node["dtype"], str, "a dtype"))
        except (TypeError, ValueError, SyntaxError) as error:
            raise broken("a number has an unknown dtype") from error
        arrays.check_dtype(dtype, "a number")
        data = _unhex(node["hex"])
        if len(data) != dtype.itemsize:
            raise broken("a number does not have as many bytes as it says")
        return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))[0]

    def _choice(self, node: Mapping[str, Any]) -> Any:
        name, value = node["class"], node["value"]
        choices = get_choices(name) if isinstance(name, str) and name in CHOICES else ()
        for choice in choices:
            if type(value) in (int, str) and choice.value == value:
                return choice
        raise broken("one of several choices is unknown")

    def _operator(self, node: Mapping[str, Any]) -> Operator:
        name = _expect(node["name"], str, "the name of an operator")
        inputs = tuple(map(_domain, _expect(node["inputs"], list, "the inputs of an operator")))
        try:
            operator = get_operator(name)
        except ValueError as error:
            raise ModelFileError(
                f"it uses the operator {name[:80]!r}, which is not registered in this process; "
                "call register_operator with it before loading"
            ) from error
        told = (inputs, _domain(node["output"]), node["commutative"])
        if told != (operator.inputs, operator.output, operator.commutative):
            raise ModelFileError(
                f"it uses an operator {name[:80]!r} with other inputs, another output or other "
                "rules than the one registered in this process; register the one it was fitted "
                "with"
            )
        return operator

    def _random(self, node: Mapping[str, Any]) -> np.random.RandomState:
        key, place = self._value(node["key"]), node["place"]
        if (
            not isinstance(key, np.ndarray)
            or key.dtype != np.uint32
            or key.shape != (_TWISTER,)
            or type(place) is not int
            or not 0 <= place <= _TWISTER
            or type(node["has_gauss"]) is not int
            or node["has_gauss"] not in (0, 1)
            or type(node["gauss"]) is not float
        ):
            raise broken("the state of a random number generator is not one")
        random = np.random.RandomState()
        random.set_state(("MT19937", key, place, node["has_gauss"], node["gauss"]))
        return random

    def _record(self, node: Mapping[str, Any]) -> Any:
        name = node["class"]
        if not isinstance(name, str) or name not in RECORDS:
            raise broken(f"it names the unknown class {str(name)[:80]!r}")
        record, fields = get_record(name), self._fields(node["fields"])
        if not record.kinds.keys() - record.newer <= fields.keys() <= record.kinds.keys():
            raise broken(f"a {name} has other fields than it should")
        check_fields(name, fields, record.kinds)
        if name == "Call" and self._size > _MAX_EXPRESSION:
            raise broken("an expression is too long")
        try:
            made = record.build(**fields)
            record.check(made)
        except ModelFileError:
            raise
        except _ODD as error:
            raise broken(f"a {name} cannot be what it says ({reason(error)})") from error
        return made

    def _estimator(self, node: Mapping[str, Any]) -> Any:
        name = node["class"]
        if not isinstance(name, str) or name not in ESTIMATORS:
            raise broken(f"it names the unknown estimator {str(name)[:80]!r}")
        parameters, learned = self._fields(node["parameters"]), self._fields(node["attributes"])
        made, (always, sometimes) = get_estimator(name), learned_kinds(name)
        kinds = {**always, **sometimes}
        known = made().get_params(deep=False)
        for retired in _RETIRED_PARAMETERS:
            if retired not in known and parameters.get(retired, retired) is None:
                del parameters[retired]
        if set(parameters) - set(known) or set(learned) - set(kinds):
            raise broken(f"a {name} has other parameters or attributes than it should")
        check_fields(name, learned, kinds)
        # What a file of an earlier version does not say is what that version did.
        before = getattr(made, "_absent_parameters", {})
        parameters = {key: before[key] for key in before if key in known} | parameters
        model = made(**parameters)
        vars(model).update(learned)
        set_requests(model, _expect(node["requests"], dict, "what an estimator asks for"))
        try:
            settle(model, name)
        except ModelFileError:
            raise
        except _ODD as error:
            raise broken(f"the parts of a {name} do not agree ({reason(error)})") from error
        return model

    def _foreign(self, node: Mapping[str, Any]) -> Any:
        if node["number"] != self._n_foreign or type(node["number"]) is not int:
            raise broken("its foreign estimators are not in order")
        name = foreign_name(self._n_foreign)
        self._n_foreign += 1
        if len(self._values) in self._unread:
            return Unread()
        return load_foreign(self._archive.read(name), name, self._trusted, self._max_bytes)


def _expect(value: Any, kind: type, what: str) -> Any:
    """Refuse JSON of another type."""
    if type(value) is not kind:
        raise broken(f"{what} is not a {kind.__name__}")
    return value


def _domain(value: Any) -> Domain:
    """Read a domain."""
    if type(value) is not int or value not in list(Domain):
        raise broken("a domain is unknown")
    return Domain(value)


def _unhex(text: Any) -> bytes:
    """Read bytes."""
    try:
        return bytes.fromhex(_expect(text, str, "a text of bytes"))
    except ValueError as error:
        raise broken("a text of bytes is not one") from error
