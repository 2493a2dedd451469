"""Turn a model into a document of plain JSON values, arrays, and bytes of other libraries.

A document lists nodes. A value is null, a truth value, a number, a text, or ``[k]``: node k, which
stands earlier in the list. So nothing nests deeply, nothing can contain itself, and what two
objects share in memory they share in the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from featurewright.export.stored import arrays
from featurewright.export.stored.foreign import dump_foreign, is_foreign
from featurewright.export.stored.models import (
    DERIVED,
    ROUTING,
    estimator_name,
    get_requests,
    learned_kinds,
)
from featurewright.export.stored.registry import choices_name, get_record, record_name
from featurewright.expressions import Operator

_PLAIN = (type(None), bool, int, str)


class Writer:
    """Collects the nodes, arrays and foreign estimators of one model."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.arrays: list[bytes] = []
        self.foreign: list[bytes] = []
        # By identity, or by the text of NaN and infinity. The objects are kept alive, so that no
        # other object gets their identity.
        self._known: dict[int | str, tuple[Any, int]] = {}
        self._open: set[int | str] = set()

    def value(self, value: Any, where: str) -> Any:
        """Return the JSON value that stands for an object."""
        if type(value) in _PLAIN:
            return value
        if type(value) is float and np.isfinite(value):
            return value
        key = repr(value) if type(value) is float else id(value)
        if key in self._known:
            return [self._known[key][1]]
        if key in self._open:
            raise ValueError(f"{where} contains itself, which a model file cannot hold.")
        self._open.add(key)
        node = self._node(value, where)
        self._open.remove(key)
        self.nodes.append(node)
        self._known[key] = value, len(self.nodes) - 1
        return [len(self.nodes) - 1]

    def _node(self, value: Any, where: str) -> dict[str, Any]:
        """Describe an object that is not a plain value."""
        made = type(value)
        if made is float:
            return {"kind": "float", "text": repr(value)}
        if made is bytes:
            return {"kind": "bytes", "hex": value.hex()}
        if made in (list, tuple):
            items = [self.value(item, f"{where}[{k}]") for k, item in enumerate(value)]
            return {"kind": made.__name__, "items": items}
        if made is dict:
            pairs = [
                [self.value(key, f"a key of {where}"), self.value(item, f"{where}[{key!r}]")]
                for key, item in value.items()
            ]
            return {"kind": "dict", "items": pairs}
        if made is np.ndarray:
            return self._array(value, where)
        if isinstance(value, np.generic) and value.dtype.kind in arrays.KINDS:
            return {"kind": "scalar", "dtype": value.dtype.str, "hex": value.tobytes().hex()}
        if (name := choices_name(made)) is not None:
            return {"kind": "choice", "class": name, "value": value.value}
        if isinstance(value, Operator):
            return {
                "kind": "operator",
                "name": value.name,
                "inputs": [int(domain) for domain in value.inputs],
                "output": int(value.output),
                "commutative": bool(value.commutative),
            }
        if made is np.random.RandomState:
            return self._random(value, where)
        if (name := record_name(made)) is not None:
            return self._record(value, name, where)
        if (name := estimator_name(value)) is not None:
            return self._estimator(value, name, where)
        if is_foreign(value):
            self.foreign.append(dump_foreign(value, where))
            return {"kind": "foreign", "number": len(self.foreign) - 1}
        raise TypeError(
            f"{where} is a {made.__module__}.{made.__qualname__}, which a model file cannot hold: "
            "use plain values, names instead of functions, and the estimators of this library or "
            "of scikit-learn."
        )

    def _array(self, array: Any, where: str) -> dict[str, Any]:
        """Describe an array; one of objects by its items."""
        if array.dtype.kind == "O":
            items = [self.value(item, f"{where}[{k}]") for k, item in enumerate(array.ravel())]
            return {"kind": "objects", "shape": list(array.shape), "items": items}
        if array.dtype.kind not in arrays.KINDS:
            raise TypeError(
                f"{where} is an array of the dtype {array.dtype}, which a model file cannot hold."
            )
        self.arrays.append(arrays.write_array(array))
        return {"kind": "array", "number": len(self.arrays) - 1}

    def _random(self, random: np.random.RandomState, where: str) -> dict[str, Any]:
        """Describe the state of a random number generator."""
        state: Any = random.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise TypeError(
                f"{where} draws from {state['bit_generator']}, but a model file holds MT19937 "
                "alone; pass a whole number as the seed."
            )
        return {
            "kind": "random",
            "key": self.value(state["state"]["key"], where),
            "place": int(state["state"]["pos"]),
            "has_gauss": int(state["has_gauss"]),
            "gauss": float(state["gauss"]),
        }

    def _record(self, value: Any, name: str, where: str) -> dict[str, Any]:
        """Describe an object by its fields."""
        written = {
            field: self.value(getattr(value, field), f"{where}.{field}")
            for field in get_record(name).kinds
        }
        return {"kind": "record", "class": name, "fields": written}

    def _estimator(self, value: Any, name: str, where: str) -> dict[str, Any]:
        """Describe one of our estimators by its parameters and by what it learned."""
        parameters = value.get_params(deep=False)
        # An estimator may leave out what is not to be stored, such as rows of other tables.
        whole = vars(value) if name != "RelationalFeatures" else value._stored_attributes()
        learned = {
            field: item
            for field, item in whole.items()
            if field not in parameters and field not in DERIVED and field != ROUTING
        }
        always, sometimes = learned_kinds(name)
        for field in learned:
            if field not in always and field not in sometimes:
                raise TypeError(
                    f"{where}.{field} is not an attribute that {name} has by itself; delete it "
                    "before saving the model."
                )
        return {
            "kind": "estimator",
            "class": name,
            "parameters": {k: self.value(v, f"{where}.{k}") for k, v in parameters.items()},
            "attributes": {k: self.value(v, f"{where}.{k}") for k, v in learned.items()},
            "requests": get_requests(value),
        }
