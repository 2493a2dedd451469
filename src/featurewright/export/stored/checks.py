"""Whether the parts of a loaded model agree with each other.

Compiled code tests no bounds, so whatever it will be given is checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from featurewright.export.stored.archive import broken
from featurewright.expressions import OPERATORS, Domain, Operator, operator_opcode
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, MAX_OPCODE, symbol_opcode, symbol_parameter
from featurewright.expressions.operators import MAX_ARITY
from featurewright.tables.free_text import N_BUCKETS

if TYPE_CHECKING:
    from featurewright.auto.links import LinkedColumns
    from featurewright.auto.originals import Originals
    from featurewright.auto.parts import Part
    from featurewright.auto.reading import TableReader
    from featurewright.engine.forest import Forest
    from featurewright.estimators.points import Points
    from featurewright.landmarks.runs import One, Several
    from featurewright.landmarks.similarity import LandmarkMap, Similarity
    from featurewright.recursive.inputs import Inputs
    from featurewright.tables import MultiTarget, Schema
    from featurewright.tables.free_text import TextReader

Integers = npt.NDArray[np.int64]
_Stacks = tuple[Integers, Integers, Integers]  # domains, columns, and how many there are
_LABELS = (str, bytes, bool, int, float)
_PARTS = (
    *("year", "month", "day", "weekday", "hour", "minute", "days"),
    *("seconds", "difference"),
)
_BY_NODE = ("left", "threshold", "is_level", "missing_left", "gain", "n_rows", "depth")
_BY_NODE_WIDE = ("programs", "operator_weights", "operator_counts")


def demand(condition: Any, what: str) -> None:
    """Refuse a file in which something does not hold."""
    if not condition:
        raise broken(what)


def all_finite(*arrays: Any) -> bool:
    """Whether arrays of numbers hold neither NaN nor infinity."""
    return all(bool(np.isfinite(array).all()) for array in arrays)


def check_schema(schema: Schema) -> None:
    """Refuse columns without names or domains, and categories without levels."""
    n_columns = len(schema.names)
    demand(
        schema.domains.shape == (n_columns,) and len(schema.levels) == n_columns,
        "a table's names, domains and levels are not as many",
    )
    demand(np.isin(schema.domains, list(Domain)).all(), "a column has an unknown domain")
    for domain, levels in zip(schema.domains, schema.levels, strict=True):
        demand(
            bool(levels) == (domain == Domain.CATEGORY)
            and all(isinstance(level, _LABELS) for level in levels or ()),
            "a column's levels do not fit its domain",
        )


def check_trees(forest: Forest) -> None:
    """Refuse arrays that are not trees: rows descend them without any test for bounds."""
    n_nodes = len(forest.left) if forest.left.ndim == 1 else 0
    demand(
        all(getattr(forest, name).shape == (n_nodes,) for name in _BY_NODE)
        and forest.programs.shape == (n_nodes, *forest.programs.shape[1:2])
        and all(
            getattr(forest, name).ndim == 2 for name in (*_BY_NODE_WIDE, "values", "level_sets")
        )
        and all(len(getattr(forest, name)) in (0, n_nodes) for name in _BY_NODE_WIDE)
        and forest.programs.shape[1] > 0
        and forest.roots.ndim == 1
        and len(forest.roots) > 0,
        "a forest's arrays are not of one length",
    )
    demand(
        all(getattr(forest, field.name).flags.c_contiguous for field in fields(forest)),
        "a forest's arrays are not in the order of rows",
    )
    roots = forest.roots
    demand(
        roots[0] == 0 and np.all(np.diff(roots) > 0) and roots[-1] < n_nodes,
        "a forest's roots are not in order",
    )
    ends = np.append(roots[1:], n_nodes)
    tree = np.repeat(np.arange(len(roots)), ends - roots)
    inner = np.flatnonzero(forest.left >= 0)
    below = forest.left[inner].astype(np.int64)
    demand(
        np.all(below > inner) and np.all(below + 1 < ends[tree[inner]]),
        "a node's children are not in its tree",
    )
    # Every node but the roots is a child once; a child comes after its parent: these are trees.
    seen = np.bincount(np.concatenate([below, below + 1, roots]), minlength=n_nodes)
    demand(np.all(seen == 1), "a node does not have one parent")
    demand(
        np.all(forest.depth[roots] == 0)
        and np.all(forest.depth[below] == forest.depth[inner] + 1)
        and np.all(forest.depth[below + 1] == forest.depth[inner] + 1),
        "a node's depth is not that of its parent and one more",
    )
    leaves = np.flatnonzero(forest.left < 0)
    numbers = -1 - forest.left[leaves].astype(np.int64)
    n_leaves = len(forest.values)
    demand(
        len(leaves) == n_leaves and np.array_equal(np.sort(numbers), np.arange(n_leaves)),
        "the leaves are not as many as their values",
    )
    by_number = np.empty(n_leaves, np.int64)
    by_number[numbers] = tree[leaves]
    demand(np.all(np.diff(by_number) >= 0), "the leaves of a tree do not follow each other")


def check_outputs(target: MultiTarget) -> None:
    """Refuse several targets whose classes are not one array each."""
    demand(
        all(isinstance(classes, np.ndarray) and classes.ndim == 1 for classes in target.classes)
        and len(target.classes) > 0,
        "the classes of several targets are not one column each",
    )


def check_points(points: Points) -> None:
    """Refuse coordinates that do not come from columns."""
    n_columns, numbers = len(points.fill), points.numbers
    demand(
        points.fill.ndim == 1
        and numbers.ndim == 1
        and np.all((numbers >= 0) & (numbers < n_columns))
        and all(0 <= column < n_columns and levels >= 0 for column, levels in points.labels)
        and len(points.names) == len(numbers) + sum(levels for _, levels in points.labels),
        "the coordinates of points do not fit their columns",
    )
    scale = getattr(points, "scale", np.ones(len(points.names)))
    demand(
        scale.shape == (len(points.names),),
        "the coordinates of points do not fit their scale",
    )
    demand(
        all_finite(points.fill, scale) and np.all(scale != 0),
        "the fills or the scale of points are not finite numbers",
    )


def check_inputs(inputs: Inputs) -> None:
    """Refuse a scale for other columns than there are."""
    check_points(inputs)
    shape = (len(inputs.names),)
    demand(
        inputs.shift.shape == shape
        and inputs.factor.shape == shape
        and all_finite(inputs.shift, inputs.factor),
        "the scale of columns does not fit the columns",
    )


def check_similarity(similarity: Similarity) -> None:
    """Refuse kernels that are not known by name, and parameters that they do not have."""
    from sklearn.metrics.pairwise import kernel_metrics

    numbers = similarity.params.values()
    demand(
        similarity.metric in (*kernel_metrics(), "precomputed")
        and not similarity.batched
        and set(similarity.params) <= {"gamma", "degree", "coef0"}
        and all(number is None or isinstance(number, (int, float)) for number in numbers),
        "a kernel is unknown, or has parameters that it never has",
    )


def check_landmarks(features: LandmarkMap) -> None:
    """Refuse landmarks that are not points, or with given similarities not numbers of columns."""
    demand(
        (features.places is None) == (features.similarity.metric == "precomputed"),
        "a kernel and its points do not fit each other",
    )
    if features.places is None:
        numbers = features.landmarks
        demand(
            numbers.shape == (len(numbers), 1)
            and all_finite(numbers)
            and np.all((numbers >= 0) & (numbers == np.round(numbers))),
            "the landmarks are not numbers of columns",
        )
        return
    shape = (len(features.landmarks), features.places.n_coordinates)
    origin = features.similarity.origin
    demand(
        features.landmarks.ndim == 2
        and features.landmarks.shape == shape
        and (origin is None or origin.shape == shape[1:]),
        "the landmarks do not fit the coordinates of points",
    )
    demand(
        all_finite(features.landmarks, 0.0 if origin is None else origin),
        "the landmarks are not finite numbers",
    )
    # A kernel that has other parameters than it takes fails here.
    features.similarity.block(features.landmarks[:1], features.landmarks[:1])


def check_member(member: One) -> None:
    """Refuse a member that predicts nothing."""
    demand(hasattr(member.learner, "predict"), "a member of an ensemble is no estimator")
    demand(
        np.all(np.asarray(member.n_classes) >= 0),
        "a member of an ensemble has a negative number of classes",
    )


def check_members(members: Several) -> None:
    """Refuse an empty ensemble, and votes that are not as many as members."""
    votes = getattr(members, "weights", members.members)
    demand(
        members.members and len(votes) == len(members.members),
        "the members of an ensemble are not as many as their votes",
    )
    weights = getattr(members, "weights", (1.0,))
    demand(
        all_finite(weights) and min(weights) >= 0 and sum(weights) > 0,
        "the votes of an ensemble are not positive numbers",
    )


def check_linked(linked: LinkedColumns) -> None:
    """Check that columns over links are as many as their places, and that these exist."""
    from featurewright.relations.copies import link_names

    places = linked.places
    demand(
        places.ndim == 1
        and len(set(places.tolist())) == len(places) == len(link_names(linked.relational))
        and np.all((places >= 0) & (places < len(linked.names)))
        and len(set(linked.names)) == len(linked.names),
        "the columns over links are not those of their table",
    )


def check_text(reader: TextReader) -> None:
    """Refuse weights of other buckets than words are hashed to."""
    weights = reader.weights
    demand(
        weights.ndim == 2
        and weights.dtype == np.float64
        and len(weights) == N_BUCKETS
        and all_finite(weights.ravel()),
        "the weights of words are not those of free text",
    )


def check_reader(reader: TableReader) -> None:
    """Refuse a reader whose result would not have the columns that it says."""
    n_columns, n_plain = len(reader.names_in), len(reader.places)
    times = {name for name, _, _ in reader.times}
    texts = {name: text.parts for name, _, text in reader.texts}
    places = [*reader.places, *(place for _, place, _ in (*reader.times, *reader.texts))]
    derived = reader.columns[n_plain:]
    demand(
        all(0 <= place < n_columns for place in places)
        and reader.plain.n_columns == n_plain
        and set(reader.numbers) <= set(reader.plain.names)
        and len(reader.columns) == reader.schema.n_columns >= max(1, n_plain)
        and all(
            column.part in texts[column.source]
            if column.source in texts
            else column.source in times
            and column.part in _PARTS
            and (column.other in times) == (column.part == "difference")
            for column in derived
        ),
        "the columns of a table are not those that are read",
    )
    whole = reader.whole
    demand(
        whole is None or (whole.n_columns == n_columns and not reader.times and not reader.texts),
        "the columns of an array are not those that are read",
    )


def check_originals(originals: Originals) -> None:
    """Refuse columns of another kind, or without what they are computed with."""
    demand(
        len(originals.columns) == len(originals.steps)
        and all(
            kind in ("number", "missing", "level", "code")
            or (kind == "frequency" and at in originals.frequencies)
            for kind, at, _ in originals.steps
        ),
        "the original columns are not computed in a known way",
    )
    numbers = [number for _, _, number in originals.steps]
    demand(
        all_finite(numbers, *originals.frequencies.values()),
        "an original column is filled with a number that is not finite",
    )
    ranges = originals.ranges.values()
    demand(
        all_finite([end for ends in ranges for end in ends])
        and all(low <= high for low, high in ranges),
        "an original column has no range",
    )


def check_part(part: Part) -> None:
    """Refuse columns of an unknown kind, and those that are not as many as their names."""
    from featurewright.auto.parts import KINDS

    kind = KINDS.get(part.kind)
    demand(
        kind is not None and kind.is_formula == (part.transformer is None),
        "a part is of an unknown kind",
    )
    shape = (len(part.names),)
    demand(
        all(array.shape == shape for array in (part.keep, part.fill, part.low, part.high))
        and all_finite(part.fill, part.low, part.high)
        and (
            len(part.features) == len(part.names)
            if part.transformer is None
            else hasattr(part.transformer, "transform")
        ),
        "the columns of a part are not as many as their names",
    )


# Programs ---------------------------------------------------------------------------------------


class _Table:
    """Inputs and output of each opcode; an arity of 0 marks opcodes that do not exist."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        from featurewright.engine.grammar import user_operators

        users = user_operators(operators)
        self.arity = np.zeros(MAX_OPCODE + 1, np.int64)
        self.inputs = np.full((MAX_OPCODE + 1, MAX_ARITY), -1, np.int64)
        self.output = np.full(MAX_OPCODE + 1, -1, np.int64)
        for operator in (*OPERATORS.values(), *users):
            opcode = operator_opcode(operator, users)
            self.arity[opcode] = operator.arity
            self.inputs[opcode, : operator.arity] = operator.inputs
            self.output[opcode] = operator.output


def check_programs(
    programs: npt.NDArray[np.int32], schema: Schema, operators: Sequence[Operator]
) -> None:
    """Refuse programs that are not whole, well-typed expressions over the columns of a table.

    All programs are followed at once, symbol by symbol, on stacks of domains.
    """
    table = _Table(operators)
    n_programs, width = programs.shape
    # One column more, so that a program of operators alone has something to look at.
    stacks = np.full((n_programs, width + 1), -1, np.int64)
    sources = np.full((n_programs, width + 1), -1, np.int64)
    tops = np.zeros(n_programs, np.int64)
    going = np.ones(n_programs, bool)
    for symbols in programs.T.astype(np.int64):
        going &= symbols != END
        pushing = np.flatnonzero(going & (symbols >= 0))
        _refuse_if(symbols[pushing] >= schema.n_columns, "names a column that there is not")
        stacks[pushing, tops[pushing]] = schema.domains[symbols[pushing]]
        sources[pushing, tops[pushing]] = symbols[pushing]
        tops[pushing] += 1
        rows = np.flatnonzero(going & (symbols < 0))
        if len(rows):
            _apply(table, schema, symbols[rows], rows, (stacks, sources, tops))
    _refuse_if(tops != 1, "does not end with one value")


def _apply(
    table: _Table, schema: Schema, symbols: Integers, rows: Integers, stack: _Stacks
) -> None:
    """Apply one operator on each of some stacks."""
    stacks, sources, tops = stack
    opcodes, parameters = symbol_opcode(symbols), symbol_parameter(symbols)
    arity = table.arity[opcodes]
    _refuse_if(arity == 0, "applies an operator that there is not")
    first = tops[rows] - arity
    _refuse_if(first < 0, "applies an operator to too few values")
    for place in range(int(arity.max())):
        some = arity > place
        given = stacks[rows[some], first[some] + place]
        wanted = table.inputs[opcodes[some], place]
        as_number = (wanted == Domain.REAL) & (given == Domain.BOOLEAN)
        _refuse_if((given != wanted) & ~as_number, "applies an operator to values of another kind")
    tests = opcodes == IS
    n_levels = np.array([len(levels or ()) for levels in schema.levels], np.int64)
    tested = sources[rows[tests], first[tests]]
    _refuse_if(parameters[tests] >= n_levels[tested], "tests for a level that there is not")
    _refuse_if(parameters[~tests] != 0, "has a parameter for an operator without one")
    stacks[rows, first] = table.output[opcodes]
    tops[rows] = first + 1


def _refuse_if(wrong: Any, what: str) -> None:
    """Refuse a program if any has something wrong."""
    if np.any(wrong):
        raise broken(f"a node's program {what}")
