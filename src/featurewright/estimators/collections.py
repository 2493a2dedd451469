"""Tables that are not in memory: recognised by their type, without importing their library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from importlib import import_module
from inspect import isfunction, signature
from typing import Any

# The module that computes methods on the collections of a library, by the library's name.
_HANDLERS = {
    "dask": "featurewright.distributed.collections",
    "polars": "featurewright.distributed.lazy_frames",
    "duckdb": "featurewright.distributed.relations",
    "_duckdb": "featurewright.distributed.relations",
}
# Of these libraries, the types that are not in memory.
_LAZY = {"polars": "LazyFrame", "duckdb": "DuckDBPyRelation", "_duckdb": "DuckDBPyRelation"}
_LINKED = "featurewright.distributed.linked"
_ROW_BY_ROW = ("transform", "predict", "predict_proba", "decision_function", "apply")


class TakesCollections:
    """An estimator whose methods take the collections of Dask, and lazy frames and relations.

    Results are collections where each row depends on that row alone; nothing is computed before it
    is asked for.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # After scikit-learn has wrapped `transform`, so that it sees tables in memory alone.
        for name in (*_ROW_BY_ROW, "fit", "fit_transform"):
            if isfunction(vars(cls).get(name)):
                setattr(cls, name, takes_collections(vars(cls)[name]))


def is_collection(table: Any) -> bool:
    """Whether a table is a collection of Dask."""
    return type(table).__module__.partition(".")[0] == "dask"


def bring_linked(links: Any, flat: Iterable[Any], X: Any, tables: Mapping[str, Any]) -> Any:
    """Return linked tables by name; of collections the rows that a table in memory sees.

    Parameters
    ----------
    links : sequence of Link
        The links.
    flat : iterable of Link
        The same, nested ones too.
    X : data frame
        The table.
    tables : dict of str to data frame
        Newer linked tables.
    """
    if not any(is_collection(tables.get(link.title, link.table)) for link in flat):
        return tables
    module: Any = import_module(_LINKED)
    return module.bring(links, X, tables)


def takes_collections(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of an estimator so that collections go to the module that computes on them."""

    @wraps(method)
    def call(self: Any, X: Any, *others: Any, **named: Any) -> Any:
        library = type(X).__module__.partition(".")[0]
        if library not in _HANDLERS or type(X).__name__ != _LAZY.get(library, type(X).__name__):
            return method(self, X, *others, **named)
        handler: Any = import_module(_HANDLERS[library])
        if others and method.__name__ in _ROW_BY_ROW:  # such as links
            given = signature(method).bind(self, X, *others, **named).arguments
            named = {name: given[name] for name in list(given)[2:]}
            others = ()
        if method.__name__ == "fit":
            return handler.fit(self, X, *others, **named)
        if method.__name__ == "fit_transform":
            # Where fits are refused there is no other.
            return getattr(handler, method.__name__, handler.fit)(self, X, *others, **named)
        return handler.apply(self, method.__name__, X, *others, **named)

    return call
