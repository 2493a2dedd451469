"""Estimators of other libraries inside ours, and ours inside theirs, through skops.

skops executes nothing when it loads what is trusted.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from featurewright.export.stored.archive import ModelFileError, broken, check_sizes, reason
from featurewright.export.stored.checks import demand

# skops asks before it loads these; what can go wrong with them is looked at here.
CHECKED = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.tree._tree.Tree",
)
# Plain Python classes that skops does not know: they do nothing when loaded, and have no kernels.
_HARMLESS = {
    "featurewright.auto.estimators.EvenScaler",
    # Boosting with categories has a partial of this function; others are found by their own names.
    "functools.partial",
    "sklearn.utils.validation.check_array",
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    *(
        f"sklearn.model_selection._split.{name}"
        for name in (
            *("KFold", "GroupKFold", "StratifiedKFold", "StratifiedGroupKFold"),
            *("RepeatedKFold", "RepeatedStratifiedKFold", "TimeSeriesSplit", "PredefinedSplit"),
            *("ShuffleSplit", "GroupShuffleSplit", "StratifiedShuffleSplit"),
            *("LeaveOneOut", "LeavePOut", "LeaveOneGroupOut", "LeavePGroupsOut"),
        )
    ),
}
_LEAF = -1
_MAX_JOBS = 1024
_MAX_NAME = 200  # characters of the name of a type
_INSTALL = "install it with: pip install 'featurewright[files]'"


class Unread:
    """Stands for an estimator that was not read, since only columns are computed."""


def is_foreign(value: Any) -> bool:
    """Whether a value is an estimator, or a part of one, that is not ours."""
    package = type(value).__module__.split(".")[0]
    ours = package in ("featurewright", "builtins", "numpy")
    return not ours and not isinstance(value, type) and (_fits(value) or package == "sklearn")


def _fits(value: Any) -> bool:
    return hasattr(value, "fit") and hasattr(value, "get_params")


def dump_foreign(value: Any, where: str) -> bytes:
    """Return the skops bytes of an estimator."""
    name = type(value).__name__
    skops = import_skops(f"{where} is a {name}, which is saved with skops", ImportError)
    from skops.io.exceptions import UnsupportedTypeException

    try:
        return bytes(skops.dumps(value))
    except (UnsupportedTypeException, RecursionError, TypeError, ValueError) as error:
        raise TypeError(
            f"{where} is a {name} that skops cannot save ({str(error)[:80]}); "
            "replace it, or pickle the model."
        ) from error


def load_foreign(data: bytes, where: str, trusted: Sequence[str], max_bytes: int) -> Any:
    """Load an estimator all of whose types are trusted: those of scikit-learn, and those named."""
    skops = import_skops(f"{where} was saved with skops", ModelFileError)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_sizes(archive.infolist(), len(data), max_bytes)
        found = skops.get_untrusted_types(data=data)
    except ModelFileError:
        raise
    except Exception as error:  # of a parser of another library, on bytes that may be anything
        raise broken(f"{where} is damaged ({reason(error)})") from error
    unknown = sorted(set(found) - _HARMLESS - set(CHECKED) - set(trusted))
    if not all(name.isprintable() and len(name) <= _MAX_NAME for name in unknown):
        raise broken(f"{where} names types that cannot be")
    if unknown:
        # With the names given already: the whole list can be pasted.
        needed = [*trusted, *unknown]
        raise ModelFileError(
            f"{where} holds objects of the types {', '.join(unknown)}; pass trusted={needed!r} "
            "if you trust whoever made the file"
        )
    try:
        value = skops.loads(data, trusted=found)
        check_compiled(value)
    except ModelFileError:
        raise
    except Exception as error:  # of a parser of another library, on bytes that may be anything
        raise broken(f"{where} is damaged ({reason(error)})") from error
    if not is_foreign(value):
        raise broken(f"{where} holds no estimator")
    return value


def import_skops(why: str, error: type[Exception]) -> Any:
    """Import skops, or say what it is needed for."""
    try:
        import skops.io
    except ImportError as missing:
        raise error(f"{why}, which is not installed; {_INSTALL}") from missing
    return skops.io


def skops_types(file: str | os.PathLike[str] | bytes) -> list[str]:
    """List featurewright's own types in a file of skops, for its argument `trusted`.

    Types of others, such as functions of your own operators, are not listed: name them yourself.

    Parameters
    ----------
    file : str, path or bytes
        What `skops.io.dump` or `skops.io.dumps` has written.

    Returns
    -------
    list of str
        Names of types and functions of featurewright, and of the compiled trees of scikit-learn.

    Examples
    --------
    >>> import skops.io
    >>> from featurewright import BatchConstructor
    >>> from featurewright.export import skops_types
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(BatchConstructor(), LogisticRegression(max_iter=5000)).fit(X, y)
    >>> data = skops.io.dumps(pipeline)
    >>> same = skops.io.loads(data, trusted=skops_types(data))
    >>> bool((same.predict_proba(X) == pipeline.predict_proba(X)).all())
    True
    """
    skops = import_skops("skops_types reads files of skops", ImportError)
    where = {"data": file} if isinstance(file, bytes) else {"file": os.fspath(file)}
    found = skops.get_untrusted_types(**where)
    return [name for name in found if name.startswith("featurewright.") or name in CHECKED]


# Compiled structures of scikit-learn, which look at no bounds ------------------------------------


def check_compiled(value: Any) -> None:
    """Refuse trees, inside an estimator of scikit-learn, whose nodes lead out of them."""
    for part, owners in _parts(value):
        if hasattr(part, "get_params") and not isinstance(part, type):
            part.get_params(deep=False)  # fails where a parameter is lacking
        _check_jobs(part)
        _check_labels(part)
        kind = f"{type(part).__module__}.{type(part).__qualname__}"
        if kind not in CHECKED:
            continue
        if kind.endswith(".Tree"):
            _check_tree(part, owners)
        elif kind.endswith(".TreePredictor"):
            _check_predictor(part, owners)
        elif kind.endswith(".KDTree"):
            _check_neighbours(part)


def _parts(value: Any) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield all objects inside another, each with the ensembles of trees around it."""
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(value, ())]
    seen = set()
    while waiting:
        part, owners = waiting.pop()
        # An object may be right in one ensemble and wrong in another one.
        key = (id(part), tuple(map(id, owners)))
        if key in seen:
            continue
        seen.add(key)
        yield part, owners
        inside = owners
        if hasattr(part, "fit"):
            # What other estimators hand on has other columns than they have.
            trees = type(part).__module__.startswith(("sklearn.ensemble", "sklearn.tree"))
            inside = (*owners, part) if trees else ()
        waiting += [(item, inside) for item in _contents(part)]


def _contents(part: Any) -> list[Any]:
    """Return what an object holds."""
    if isinstance(part, dict):
        return list(part.values())
    if isinstance(part, (list, tuple)):
        return list(part)
    if isinstance(part, np.ndarray):
        return part.ravel().tolist() if part.dtype.kind == "O" else []
    return list(getattr(part, "__dict__", {}).values())


def _check_jobs(part: Any) -> None:
    """Refuse a number of threads that no machine has: asking for them fails or hangs."""
    n_jobs = getattr(part, "__dict__", {}).get("n_jobs")
    demand(
        n_jobs is None or (type(n_jobs) is int and n_jobs != 0 and abs(n_jobs) <= _MAX_JOBS),
        "an estimator asks for a number of threads that makes no sense",
    )


def _check_labels(part: Any) -> None:
    """Refuse codes of classes, kept by models that look up training rows, that mean no class."""
    held = getattr(part, "__dict__", {})
    codes, classes = held.get("_y"), held.get("classes_")
    if type(part).__module__.startswith("sklearn.neighbors") and classes is not None:
        several = classes if isinstance(classes, list) else [classes]
        codes = np.asarray(codes)
        demand(
            codes.dtype.kind in "iu"
            and all(
                np.all((column >= 0) & (column < len(known)))
                for column, known in zip(np.atleast_2d(codes.T), several, strict=len(several) > 1)
            ),
            "a training row has a class that there is not",
        )


def _check_tree(tree: Any, owners: tuple[Any, ...]) -> None:
    """Check a tree of scikit-learn's forests and boosting."""
    state = tree.__getstate__()
    nodes, values = state["nodes"], state["values"]
    demand(len(nodes) == len(values) == state["node_count"] > 0, "a tree's nodes are not as many")
    inner = np.flatnonzero(nodes["left_child"] != _LEAF)
    _check_nodes(nodes[inner], inner, len(nodes), ("left_child", "right_child"))
    _check_columns(nodes["feature"][inner], owners)


def _check_predictor(predictor: Any, owners: tuple[Any, ...]) -> None:
    """Check a tree of histogram boosting."""
    nodes = predictor.nodes
    demand(
        isinstance(nodes, np.ndarray) and nodes.dtype.names and nodes.ndim == 1 and len(nodes),
        "a tree has no nodes",
    )
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    _check_nodes(nodes[inner], inner, len(nodes), ("left", "right"))
    _check_columns(nodes["feature_idx"][inner], owners)
    labels = nodes[inner][nodes["is_categorical"][inner] != 0]
    if len(labels):
        known = getattr(owners[-1], "is_categorical_", None)
        # Trees number the columns anew, categories first.
        known = np.zeros(0, bool) if known is None else np.sort(np.asarray(known, bool))[::-1]
        demand(
            np.all(labels["feature_idx"] < len(known))
            and np.all(known[labels["feature_idx"]])
            and np.all(labels["bitset_idx"] < len(predictor.raw_left_cat_bitsets)),
            "a node tests a category that there is not",
        )


def _check_nodes(nodes: Any, places: Any, n_nodes: int, sides: tuple[str, str]) -> None:
    """Check that children follow their parents, so that every path ends."""
    for side in sides:
        children = nodes[side].astype(np.int64)
        demand(
            np.all((children > places) & (children < n_nodes)),
            "a node's children are not in its tree",
        )


def _check_columns(columns: Any, owners: tuple[Any, ...]) -> None:
    """Check that nodes test columns of the tables that their ensembles let in."""
    widths: list[Any] = [getattr(owner, "n_features_in_", None) for owner in owners]
    demand(
        widths
        and all(type(width) is int for width in widths)
        and np.all((columns >= 0) & (columns < min(widths))),
        "a node tests a column that there is not",
    )


def _check_neighbours(tree: Any) -> None:
    """Check a tree of neighbours: that of the same points must be the same."""
    from sklearn.neighbors import KDTree

    state = tree.__getstate__()
    points = np.array(state[0])
    demand(
        points.ndim == 2 and points.size and isinstance(state[4], int) and state[4] > 0,
        "a tree of neighbours has no points",
    )
    weights = state[-1]
    again = KDTree(points, leaf_size=state[4], metric="euclidean", sample_weight=weights)
    demand(
        all(map(_same, state[:7], again.__getstate__()[:7])),
        "a tree of neighbours does not fit its points",
    )


def _same(one: Any, other: Any) -> bool:
    """Whether arrays or numbers are equal."""
    return np.array_equal(np.asarray(one), np.asarray(other))
