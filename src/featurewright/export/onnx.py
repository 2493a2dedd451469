"""Fitted models as ONNX graphs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto import AutoFeatures
from featurewright.auto.links import needed_columns
from featurewright.export.graph import Ensemble, Graph
from featurewright.export.predictions import graph_of
from featurewright.export.tensors import Matrix, Sheet
from featurewright.expressions import Domain
from featurewright.relations import RelationalFeatures

_OPSET, _TREES, _IR = 18, 5, 10  # versions that readers of the last years know

_UP_TO, _EQUAL, _MEMBER = 0, 4, 6  # modes of a node: value <= split, == split, in a set
_MODES = (_UP_TO, _EQUAL, _MEMBER)  # by `Forest.is_level`
_SUM, _NONE = 1, 0


def to_onnx(model: Any, *, output: str = "transform") -> Any:
    """Write what a fitted model computes as an ONNX model.

    Parameters
    ----------
    model : estimator
        A fitted `AutoFeatures`, constructive learner, feature construction tree,
        `BatchConstructor`, `LandmarkKernelFeatures` or `RecursiveSelectiveTransformer`, fitted on
        numbers, booleans and labels that are text.
    output : {"transform", "predict", "predict_proba"}, default="transform"
        What to compute.

    Returns
    -------
    onnx.ModelProto
        It takes a matrix of float64, "X", NaN where a value is missing, and where there are columns
        of labels a matrix of text, "labels", in which any text that the fit did not see stands for
        a missing label. It gives "features", "prediction" ("prediction_0", ... for several columns
        of classes) or "probabilities". The names of the columns are in its metadata,
        "input_names", "label_names" and "output_names", as JSON; for `AutoFeatures` these are the
        columns that it uses. Operators of version 18 and trees of
        version 5 (ai.onnx.ml) are used, which onnxruntime knows from 1.20 on.

    Raises
    ------
    ValueError, TypeError
        Where something has no ONNX form: labels that are not text, dates, operators and kernels
        that are functions of your own, paths of trees, models of other libraries but linear ones.

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import ConstructiveForestRegressor
    >>> from featurewright.export import to_onnx
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(100, 3))
    >>> forest = ConstructiveForestRegressor(5, random_state=0).fit(X, X[:, 0] / X[:, 2])
    >>> made = to_onnx(forest, output="predict")
    >>> [result.name for result in made.graph.output]
    ['prediction']
    """
    over_links = isinstance(model, AutoFeatures) and needed_columns(model) is not None
    if isinstance(model, RelationalFeatures) or over_links:
        raise ValueError(
            f"{type(model).__name__} reads other tables, and ONNX has no joins: use to_sql, or "
            "save the model and compute its columns before the ONNX model of what follows."
        )
    graph = graph_of(model, output)
    _check_columns(graph)
    sheet = Sheet()
    onnx = sheet.onnx
    matrix = _inputs(sheet, graph)
    if graph.ensembles:
        matrix = _scores(sheet, graph, matrix)
    results = _outputs(sheet, graph, matrix, output)
    is_label = graph.schema.domains == Domain.CATEGORY
    n_labels = int(np.count_nonzero(is_label))
    describe, kinds = onnx.helper.make_tensor_value_info, onnx.TensorProto
    inputs = [describe("X", kinds.DOUBLE, [None, graph.schema.n_columns - n_labels])]
    if n_labels:
        inputs.append(describe("labels", kinds.STRING, [None, n_labels]))
    body = onnx.helper.make_graph(
        sheet.nodes, type(model).__name__, inputs, results, sheet.constants
    )
    made = onnx.helper.make_model(
        body,
        producer_name="featurewright",
        ir_version=_IR,
        opset_imports=[
            onnx.helper.make_opsetid("", _OPSET),
            onnx.helper.make_opsetid("ai.onnx.ml", _TREES),
        ],
    )
    names = {
        "input_names": _chosen(graph.schema.names, ~is_label),
        "label_names": _chosen(graph.schema.names, is_label),
        "output_names": [name for name, _ in graph.outputs],
    }
    onnx.helper.set_model_props(made, {key: json.dumps(value) for key, value in names.items()})
    onnx.checker.check_model(made)
    return made


def _chosen(names: Sequence[str], which: NDArray[np.bool_]) -> list[str]:
    """Return some of the names."""
    return [name for name, chosen in zip(names, which, strict=True) if chosen]


def _check_columns(graph: Graph) -> None:
    """Refuse dates and labels that are no text, and columns of trees."""
    schema = graph.schema
    if any(step.op == "place" for step in graph.steps):
        raise ValueError(
            "Paths of trees have no ONNX form here; use to_sql, or AutoFeatures without the method "
            "'paths'."
        )
    if graph.ensembles and not graph.narrow:  # trees test float32, other columns are float64
        raise ValueError(
            "Scores and votes of trees beside other columns have no ONNX form here; use to_sql, or "
            "AutoFeatures without such methods."
        )
    for column in graph.derived:
        if column.part != "value":
            raise ValueError(
                f"Column {column.source!r} holds dates or times, but an ONNX model reads numbers "
                "and text; fit on numbers, booleans and labels, or use to_sql."
            )
    for name, levels in zip(schema.names, schema.levels, strict=True):
        odd = [level for level in levels or () if not isinstance(level, str)]
        if odd:
            raise ValueError(
                f"Column {name!r} holds the label {odd[0]!r}, but labels of an ONNX model are "
                "text; convert the column to strings, or use to_sql."
            )


def _inputs(sheet: Sheet, graph: Graph) -> Matrix:
    """Read the table: float32 where trees test values, missing what is too large."""
    # Trees test float32 values.
    dtype = np.float32 if graph.narrow else np.float64
    name = _with_codes(sheet, graph)
    name = sheet.cast(name, dtype) if graph.narrow else name
    places = {k: int(step.data) for k, step in enumerate(graph.steps) if step.op == "column"}
    matrix = Matrix(sheet, graph, name, {}, dtype)
    matrix.name = matrix.settle(name)
    matrix.columns, matrix.width = places, graph.schema.n_columns
    return matrix


def _with_codes(sheet: Sheet, graph: Graph) -> str:
    """Return the whole table: numbers, and labels as the codes of their levels."""
    labels = np.flatnonzero(graph.schema.domains == Domain.CATEGORY)
    if not len(labels):
        return "X"
    codes = []
    for place, column in enumerate(labels):
        levels = graph.schema.levels[column] or ()
        code = sheet.add(
            "LabelEncoder",
            sheet.gather("labels", [place]),
            domain="ai.onnx.ml",
            keys_strings=list(levels),
            values_floats=[float(code) for code in range(len(levels))],
            default_float=float("nan"),
        )
        codes.append(sheet.cast(code, np.float64))
    joined = sheet.add("Concat", "X", *codes, axis=1)
    numbers = np.flatnonzero(graph.schema.domains != Domain.CATEGORY)
    return sheet.gather(joined, np.argsort([*numbers, *labels]).tolist())


def _scores(sheet: Sheet, graph: Graph, matrix: Matrix) -> Matrix:
    """Compute the scores of the ensemble, of which predictions are made."""
    (ensemble,) = graph.ensembles
    columns = {k: int(step.data[1]) for k, step in enumerate(graph.steps) if step.op == "score"}
    return Matrix(sheet, graph, _sums(sheet, matrix, ensemble), columns, np.float64)


def _sums(sheet: Sheet, matrix: Matrix, ensemble: Ensemble) -> str:
    """Compute what nodes test, let rows descend the trees, and add up what leaves say."""
    tests = sorted({test for test in ensemble.tests if test >= 0})
    matrix.compute(tests)
    values = (
        sheet.cast(matrix.take(tests), np.float64) if tests else sheet.cast(matrix.name, np.float64)
    )
    place = {test: k for k, test in enumerate(tests)}
    forest = ensemble.forest
    n_values = forest.values.shape[1]
    if n_values == 1:
        groups = np.arange(forest.n_trees) % ensemble.groups
        trees = _TreeNodes(ensemble, place, forest.values[:, 0], groups)
        return trees.write(sheet, values)
    # Each tree gives the number of a leaf, with which its values are looked up.
    trees = _TreeNodes(ensemble, place, np.arange(forest.n_leaves), np.arange(forest.n_trees))
    leaves = trees.write(sheet, values)
    found = sheet.add(
        "Gather", sheet.constant(forest.values, np.float64), sheet.cast(leaves, np.int64)
    )
    return sheet.add("ReduceSum", found, sheet.constant([1], np.int64), keepdims=0)


def _outputs(sheet: Sheet, graph: Graph, matrix: Matrix, output: str) -> list[Any]:
    """Name the results: labels one by one, numbers side by side."""
    onnx = sheet.onnx
    info = onnx.helper.make_tensor_value_info
    steps = [step for _, step in graph.outputs]
    if graph.steps[steps[0]].op != "pick":
        matrix.compute(steps)
        made = matrix.take(steps)
        name = {"transform": "features", "predict": "prediction"}.get(output, "probabilities")
        shape: list[Any] = [None, len(steps)]
        if output == "predict" and len(steps) == 1:
            made, shape = sheet.add("Squeeze", made, sheet.constant([1], np.int64)), [None]
        sheet.nodes.append(onnx.helper.make_node("Identity", [made], [name]))
        return [info(name, onnx.TensorProto.DOUBLE, shape)]
    results = []
    for name, step in graph.outputs:
        *shares, _ = graph.steps[step].args
        matrix.compute(shares)
        best = sheet.add("ArgMax", matrix.take(shares), axis=1, keepdims=0)
        labels, kind = _label_tensor(sheet, graph.steps[step].data)
        sheet.nodes.append(onnx.helper.make_node("Gather", [labels, best], [name]))
        results.append(info(name, kind, [None]))
    return results


def _label_tensor(sheet: Sheet, labels: tuple[Any, ...]) -> tuple[str, int]:
    """Return the labels of classes, and their type."""
    kinds = sheet.onnx.TensorProto
    if all(isinstance(label, str) for label in labels):
        return sheet.constant(np.array(labels, dtype=object), object), kinds.STRING
    if all(isinstance(label, bool) for label in labels):
        return sheet.constant(labels, np.bool_), kinds.BOOL
    if all(isinstance(label, int) for label in labels):
        return sheet.constant(labels, np.int64), kinds.INT64
    if all(isinstance(label, (int, float)) for label in labels):
        return sheet.constant(labels, np.float64), kinds.DOUBLE
    raise ValueError(
        f"The classes {list(labels)[:3]!r} are not all text or all numbers, as ONNX needs them to "
        "be; fit on such labels."
    )


# Trees as lists of nodes and of leaves ------------------------------------------------------------


class _TreeNodes:
    """The nodes and leaves of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        The trees.
    place : mapping
        For each step that is tested its column in the matrix of values.
    weights : array of shape (n_leaves,)
        What each leaf adds.
    targets : array of shape (n_trees,)
        To which sum each tree adds.
    """

    def __init__(
        self, ensemble: Ensemble, place: Mapping[int, int], weights: Any, targets: Any
    ) -> None:
        self.forest, self.weights, self.targets = ensemble.forest, weights, targets
        forest = ensemble.forest
        self.features: list[int] = []
        self.splits: list[float] = []
        self.modes: list[int] = []
        self.members: list[float] = []  # of level sets, each followed by NaN
        self.missing: list[int] = []
        self.below: tuple[list[int], list[int]] = ([], [])  # number of the child on each side
        self.are_leaves: tuple[list[int], list[int]] = ([], [])
        self.leaves: list[tuple[int, float]] = []
        every = np.arange(len(forest.left))
        self.tree = np.searchsorted(forest.roots, every, side="right") - 1
        inner = np.flatnonzero(forest.left >= 0)
        self.number = np.full(len(forest.left), -1)
        self.number[inner] = np.arange(len(inner))
        for node in inner.tolist():
            left = int(forest.left[node])
            self.features.append(place[ensemble.tests[node]])
            self.splits.append(float(forest.threshold[node]))
            self.modes.append(_MODES[int(forest.is_level[node])])
            if forest.tests_set[node]:
                self.members += [*forest.levels_in_set(node).tolist(), np.nan]
            self.missing.append(int(forest.missing_left[node]))
            self._add_children(left, left + 1)
        self.roots = [self._root(root) for root in forest.roots.tolist()]

    def _root(self, node: int) -> int:
        """Return the number of a root; a leaf becomes a node both of whose sides are that leaf."""
        if self.forest.left[node] >= 0:
            return int(self.number[node])
        self.features.append(0)
        self.splits.append(0.0)
        self.modes.append(_UP_TO)
        self.missing.append(0)
        self._add_children(node, node)
        return len(self.features) - 1

    def _add_children(self, *children: int) -> None:
        """Note the children of a node: nodes, or leaves of their own."""
        for side, child in enumerate(children):
            left = int(self.forest.left[child])
            self.are_leaves[side].append(int(left < 0))
            if left >= 0:
                self.below[side].append(int(self.number[child]))
                continue
            self.below[side].append(len(self.leaves))
            target = int(self.targets[self.tree[child]])
            self.leaves.append((target, float(self.weights[-1 - left])))

    def write(self, sheet: Sheet, values: str) -> str:
        """Add the ensemble over a matrix of values; return the name of its sums."""
        tensor = sheet.onnx.numpy_helper.from_array
        members = {"membership_values": tensor(np.array(self.members))} if self.members else {}
        return sheet.add(
            "TreeEnsemble",
            values,
            domain="ai.onnx.ml",
            n_targets=int(max(self.targets)) + 1,
            aggregate_function=_SUM,
            post_transform=_NONE,
            tree_roots=self.roots,
            nodes_featureids=self.features,
            nodes_modes=tensor(np.array(self.modes, np.uint8)),
            nodes_splits=tensor(np.array(self.splits)),
            nodes_missing_value_tracks_true=self.missing,
            nodes_truenodeids=self.below[0],
            nodes_trueleafs=self.are_leaves[0],
            nodes_falsenodeids=self.below[1],
            nodes_falseleafs=self.are_leaves[1],
            leaf_targetids=[target for target, _ in self.leaves],
            leaf_weights=tensor(np.array([weight for _, weight in self.leaves])),
            **members,
        )
