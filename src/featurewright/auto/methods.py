"""The methods of the search: one entry each in `METHODS`, all that is known of it in one place.

Names that `AutoFeatures(methods=...)` takes, the list that the command line shows, and what the
search, the report and the exports need to know of a method are read from that table. A new method
is a function that fits something on training rows and returns a `Constructed`, and an entry.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featurewright.auto.originals import learn_originals
from featurewright.auto.outcomes import Reason
from featurewright.auto.parts import (
    Constructed,
    Part,
    evaluate_formulas,
    join_formulas,
    learn_values,
    raw_scores,
)
from featurewright.auto.tasks import Request, Task
from featurewright.auto.thresholded import select_thresholded
from featurewright.constructive import (
    ConstructiveBoostingClassifier,
    ConstructiveBoostingRegressor,
    ConstructiveExtraTreesClassifier,
    ConstructiveExtraTreesRegressor,
    ConstructiveForestClassifier,
    ConstructiveForestRegressor,
)
from featurewright.estimators.parameters import one_of
from featurewright.estimators.selection import by_residual, indicator_target, left_over
from featurewright.expressions import (
    Call,
    Column,
    Domain,
    Expression,
    Feature,
    Real,
    get_operator,
)
from featurewright.fctree import BatchConstructor, FCTreeClassifier, FCTreeRegressor
from featurewright.landmarks import LandmarkKernelFeatures
from featurewright.paths import ForestPathEncoder
from featurewright.recursive import RecursiveSelectiveTransformer
from featurewright.tables import EncodedTable, Schema, learn_schema

MAX_FORMULAS = 200  # of one method, that are selected from
FORMULAS = "formulas"  # no method: the best formulas of several, in one order
LINKS = "links"  # the method that gives columns over links as they are
LABELS = "labels"  # the method that gives labels over links to estimators that take categories
ADDITIVE = "additive"  # no method: the formulas of a short sum

_FORMULA_SIZES = (10, 50)
_MAX_SEED = 2**31 - 1
_MAX_TESTED_LABELS = 5  # levels that a label over links is tested for
_MAX_LABELS = 10  # labels over links that an estimator is given
_MAX_CLASSES = 100  # that a method makes columns for
_FOREST_TREES = 60
_FOREST_DEPTH = 3  # formulas near the roots are worth most to other models
_FC_TREES = 5
# Forests on residuals.
_N_ROUNDS = 4
_ROUND_TREES = 15
_MAX_LONE_COLUMNS = 50  # up to which each column by itself may have thresholds
_ROUND_STEPS = 8  # for numbers; classes are separated no better by steps
_ROUND_COLUMNS = 10  # formulas of each round that the next one's linear model has
_MAX_OUTPUTS = 10  # columns of a target that forests grow on
# Landmarks and components.
_MAX_LANDMARKS = 300
_MAX_COMPONENTS = 100
# Boosted trees: where a round takes next to no time, twice as many at half the rate err less.
_BOOSTED_ROUNDS, _PATIENT_ROUNDS, _PATIENT_RATE = 100, 200, 0.05
_PATIENT_CELLS = 3_000  # rows times scores up to which that is so
# Candidates of a node of boosted trees: fewer where every class has trees of its own.
_MIN_BOOSTED_BUDGET, _MAX_BOOSTED_BUDGET = 100, 300
# Voting trees. Where leaves have one row, votes for the classes of training rows are certain, and
# the estimator would learn that votes are never wrong. Trees of formulas overfit more easily. For
# numbers, leaves of one row score better.
_VOTING_TREES = 100
_VOTING_LEAF_ROWS, _FORMULA_VOTING_LEAF_ROWS = 2, 3
_ENSEMBLE_ROWS = 20_000  # rows that voting and boosted trees learn from at most
# Leaves of small trees.
_PATH_TREES = 60
_PATH_LEAVES = 24
_MIN_LEAF_ROWS = 4  # rows inside, and rows outside, that a leaf needs to become a column
_WARM_UP_ROWS = 24


@dataclass(frozen=True)
class Method:
    """One method of the search.

    Parameters
    ----------
    name : str
        How `methods` and ``--methods`` call it.
    gives : str
        What its columns are, in a word.
    idea : str
        What it does.
    when : str
        When it pays.
    python : str
        The estimators to use it with on its own.
    construct : callable
        Takes a `Request` and returns a `Constructed`: a `Part`, the best columns first, and its
        values. The kind of the part says how its columns are computed (`parts.KINDS`).
    sizes : tuple of int
        Numbers of columns that are tried; none for one column for each class.
    readable : bool
        Whether its columns are formulas.
    several_targets : bool
        Whether it takes a target of several columns.
    per_class : bool
        Whether it makes columns for each of the classes.
    from_trees : bool
        Whether its columns are computed by whole trees, which make a query or graph long: one
        such method is enough, but for those with one column for each class.
    tells_leaves : bool
        Whether its columns tell in which leaves of trees a row is, which boosting finds itself.
    max_rows : int
        Rows it learns from at most.
    keeps_all_rows : bool
        Whether rows that it does not learn from stay in the table, with a weight of 0.
    cost : float
        How slow it is, in rough proportion to the others; a quick search leaves out slow ones.
    needs_links : bool
        Whether it has nothing to give without links.
    gives_categories : bool
        Whether its columns are for estimators that take categories alone.
    """

    name: str
    gives: str
    idea: str
    when: str
    python: str
    construct: Callable[[Request], Constructed]
    sizes: tuple[int, ...] = _FORMULA_SIZES
    readable: bool = False
    several_targets: bool = True
    per_class: bool = False
    from_trees: bool = False
    tells_leaves: bool = False
    max_rows: int = 10_000
    keeps_all_rows: bool = False
    cost: float = 1.0
    needs_links: bool = False
    gives_categories: bool = False

    @property
    def one_per_class(self) -> bool:
        """Whether it gives one column for each class and no more."""
        return not self.sizes

    def refusal(self, task: Task, n_classes: int) -> Reason | None:
        """Return why the method cannot be used for a target; None where it can."""
        if self.gives_categories and not task.takes_categories:
            return Reason.NO_CATEGORIES
        if task.n_outputs > 1 and not self.several_targets:
            return Reason.ONE_TARGET_ONLY
        if self.per_class and n_classes > _MAX_CLASSES:
            return Reason.TOO_MANY_CLASSES
        return None


# Formulas ---------------------------------------------------------------------------------------


def _formulas(learner: Any, asked: Request) -> Constructed:
    """Fit a learner and take its formulas, without lone columns."""
    learner.fit(asked.table, asked.y, sample_weight=asked.weights)
    features = [f for f in learner.features_ if not isinstance(f.expression, Column)]
    return learn_values(asked.method, "formula", asked.table, features=features[:MAX_FORMULAS])


def _forest(asked: Request) -> Constructed:
    """Take the formulas of a constructive forest."""
    make = asked.task.pick(ConstructiveForestClassifier, ConstructiveForestRegressor)
    learner = make(
        asked.scaled(_FOREST_TREES),
        max_depth=_FOREST_DEPTH,
        budget=asked.node_budget,
        operators=asked.operators,
        max_size=asked.task.max_size,
        n_features_out=MAX_FORMULAS,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _formulas(learner, asked)


def _batch(asked: Request) -> Constructed:
    """Take the best of every operator on every column and pair."""
    learner = BatchConstructor(
        operators=asked.operators,
        criterion="squared_error" if asked.task.kind == "regression" else None,
        n_features_out=MAX_FORMULAS // 2,
        max_correlation=0.98,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _formulas(learner, asked)


def _fctree(asked: Request) -> Constructed:
    """Take the formulas of feature construction trees."""
    make = asked.task.pick(FCTreeClassifier, FCTreeRegressor)
    learner = make(
        asked.scaled(_FC_TREES),
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    return _formulas(learner, asked)


def _boosting(asked: Request) -> Constructed:
    """Take the formulas of small forests, each grown on the residuals of a linear model.

    The linear model has the original columns and the best formulas of the forests before. Formulas
    may have a threshold: hinges, and for numbers steps.
    """
    table = asked.table
    base = learn_originals(table.matrix, table.schema).compute(np.asarray(table.matrix, float))
    target = indicator_target(asked.y, asked.task.kind)
    if target.shape[1] > _MAX_OUTPUTS:
        mixing = np.random.default_rng(asked.seed).normal(size=(target.shape[1], _MAX_OUTPUTS))
        target = target @ mixing
    n_steps = _ROUND_STEPS if asked.task.kind == "regression" else 0
    n_formulas = MAX_FORMULAS // 8
    lone = _number_columns(table) if table.shape[1] <= _MAX_LONE_COLUMNS else []
    parts: list[Part] = []
    seen: set[Expression] = set()
    pool = np.empty((len(base), 0))
    known, n_rounds = base, asked.scaled(_N_ROUNDS)
    end = None if asked.seconds is None else time.monotonic() + asked.seconds
    for turn in range(n_rounds):
        forest = ConstructiveForestRegressor(
            asked.scaled(_ROUND_TREES),
            max_depth=_FOREST_DEPTH,
            budget=asked.node_budget,
            operators=asked.operators,
            max_size=asked.task.max_size,
            n_features_out=n_formulas,
            max_time=None if end is None else max(0.01, end - time.monotonic()),
            random_state=(asked.seed + turn) % _MAX_SEED,
            n_jobs=asked.task.n_jobs,
        )
        rest = left_over(known, target)
        forest.fit(table, rest if rest.shape[1] > 1 else rest[:, 0], sample_weight=asked.weights)
        grown = list(dict.fromkeys([*lone, *forest.features_[:n_formulas]]))
        values = evaluate_formulas(grown, table)
        found = select_thresholded(
            grown, values, known, target, n_hinges=n_formulas, n_steps=n_steps
        )
        new = [feature for feature in found if feature.expression not in seen]
        seen.update(feature.expression for feature in new)
        part, known_values = learn_values(asked.method, "formula", table, features=new)
        parts.append(part)
        pool = np.hstack([pool, part.compute(table) if known_values is None else known_values])
        if turn + 1 == n_rounds or (end is not None and time.monotonic() > end):
            break
        best = by_residual(base, pool, target, _ROUND_COLUMNS * (turn + 1))
        known = np.hstack([base, pool[:, best]])
    return Constructed(join_formulas(parts), pool)


def _links(asked: Request) -> Constructed:
    """Take the columns over links as they are; the other methods make formulas of them.

    Labels are tested for the frequent ones.
    """
    schema = asked.table.schema
    features = []
    for at in range(schema.n_columns - asked.n_linked, schema.n_columns):
        column, levels = _column(schema, at), schema.levels[at]
        if levels is None:
            features.append(Feature.of(column))
            continue
        codes = asked.table.matrix[:, at]
        counts = np.bincount(codes[~np.isnan(codes)].astype(np.intp), minlength=len(levels))
        common = np.argsort(-counts, kind="stable")[:_MAX_TESTED_LABELS]
        tests = (
            Call(get_operator("is"), (column,), (int(code), str(levels[code])))
            for code in common
            if counts[code]
        )
        features += [Feature.of(test) for test in tests]
    return learn_values(asked.method, "formula", asked.table, features=features)


def _labels(asked: Request) -> Constructed:
    """Take the labels over links, for an estimator that takes categories."""
    schema = asked.table.schema
    first = schema.n_columns - asked.n_linked
    features = [
        Feature.of(_column(schema, at))
        for at in range(first, schema.n_columns)
        if schema.domains[at] == Domain.CATEGORY
    ]
    return learn_values(asked.method, "label", asked.table, features=features)


def _column(schema: Schema, at: int) -> Column:
    """Return a column of a table as an expression."""
    return Column(at, schema.names[at], Domain(schema.domains[at]))


def _number_columns(table: EncodedTable) -> list[Feature]:
    """Return the columns of numbers as formulas."""
    schema = table.schema
    return [
        Feature.of(Column(int(k), schema.names[k], Real))
        for k in np.flatnonzero(schema.domains == Real)
    ]


# Similarities and components --------------------------------------------------------------------


def _landmarks(asked: Request) -> Constructed:
    """Take similarities to training rows."""
    learner = LandmarkKernelFeatures(
        min(_MAX_LANDMARKS, max(1, len(asked.table.matrix) // 3)),
        append=False,
        scale=True,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    learner.fit(asked.table, sample_weight=asked.weights)
    names = learner.get_feature_names_out()
    return learn_values(asked.method, "landmark", asked.table, transformer=learner, names=names)


def _recursive(asked: Request) -> Constructed:
    """Take the components of one recursive selective transformation."""
    learner = RecursiveSelectiveTransformer(
        1, task=asked.task.kind, random_state=asked.seed, n_jobs=asked.task.n_jobs
    )
    learner.fit(asked.table, asked.y, sample_weight=asked.weights)
    names = learner.get_feature_names_out()
    keep = np.arange(min(len(names), _MAX_COMPONENTS))
    return learn_values(
        asked.method, "component", asked.table, transformer=learner, names=names, keep=keep
    )


# Scores, votes and leaves of trees --------------------------------------------------------------


def _scores(asked: Request) -> Constructed:
    """Take the scores of boosted trees that test formulas, a column for each class."""
    make = asked.task.pick(ConstructiveBoostingClassifier, ConstructiveBoostingRegressor)
    n_classes = len(np.unique(asked.y)) if asked.task.kind == "classification" else 1
    n_scores = n_classes if n_classes > 2 else 1
    budget = min(max(10 * asked.table.shape[1], _MIN_BOOSTED_BUDGET), _MAX_BOOSTED_BUDGET)
    patient = len(asked.y) * n_scores <= _PATIENT_CELLS
    learner = make(
        asked.scaled(_PATIENT_ROUNDS if patient else _BOOSTED_ROUNDS),
        learning_rate=_PATIENT_RATE if patient else None,
        budget=asked.scaled(int(budget / np.sqrt(n_scores))),
        max_size=asked.task.max_size,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    names, _ = _fit_ensemble(learner, asked, "score")
    return learn_values(asked.method, "score", asked.table, transformer=learner, names=names)


def _votes(asked: Request, *, search: str | None, name: str, leaf_rows: int) -> Constructed:
    """Grow Extra-Trees and take their mean votes, a column for each class.

    Of more than two classes, the logarithms: these are what a linear model of classes adds up.
    """
    make = asked.task.pick(ConstructiveExtraTreesClassifier, ConstructiveExtraTreesRegressor)
    learner = make(
        asked.scaled(_VOTING_TREES),
        search=search,
        budget=asked.node_budget,
        max_size=asked.task.max_size,
        min_samples_leaf=1 if asked.task.kind == "regression" else leaf_rows,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    names, several = _fit_ensemble(learner, asked, name)
    kind = "vote" if several else "score"
    names = [f"log {name}" for name in names] if several else names
    return learn_values(asked.method, kind, asked.table, transformer=learner, names=names)


def _fit_ensemble(learner: Any, asked: Request, name: str) -> tuple[list[str], bool]:
    """Fit trees; return names of their scores, and whether there are several."""
    learner.fit(asked.table, asked.y, sample_weight=asked.weights)
    one_row = EncodedTable(asked.table.matrix[:1], asked.table.schema)
    n_scores = raw_scores(learner, one_row).shape[1]
    if n_scores == 1:
        return [name], False
    return [f"{name} {k}" for k in range(n_scores)], True


def _leaves(asked: Request, *, search: str | None) -> Constructed:
    """Grow small trees and take the leaves that hold some rows, tree after tree."""
    learner = ForestPathEncoder(
        asked.scaled(_PATH_TREES),
        encode="leaf",
        search=search,
        budget=asked.node_budget,
        max_size=asked.task.max_size,
        max_leaf_nodes=_PATH_LEAVES,
        criterion="squared_error" if asked.task.kind == "regression" else None,
        max_time=asked.seconds,
        random_state=asked.seed,
        n_jobs=asked.task.n_jobs,
    )
    learner.fit(asked.table, asked.y, sample_weight=asked.weights)
    encoded = learner.transform(asked.table)
    counts = np.asarray(encoded.sum(axis=0)).ravel()
    n_rows = len(asked.table.matrix)
    keep = np.flatnonzero((counts >= _MIN_LEAF_ROWS) & (counts <= n_rows - _MIN_LEAF_ROWS))
    names = learner.get_feature_names_out() if asked.named else np.arange(len(counts))
    return learn_values(
        asked.method,
        "path",
        asked.table,
        transformer=learner,
        names=names,
        keep=keep,
        raw=np.ascontiguousarray(encoded[:, keep].toarray(), dtype=np.float64),
    )


# The table --------------------------------------------------------------------------------------

METHODS = {
    method.name: method
    for method in (
        Method(
            name="forest",
            gives="formulas",
            idea="a random forest whose nodes search small formulas to split on",
            when="first choice: interactions of numbers, many rows, noise",
            python="ConstructiveForest…, ConstructiveExtraTrees…, ConstructiveTree…",
            construct=_forest,
            readable=True,
            cost=0.5,
        ),
        Method(
            name="scores",
            gives="scores",
            idea="what boosted trees that test formulas add up to, one column for each class",
            when="a simple model that should be as good as a boosting machine",
            python="ConstructiveBoosting…",
            construct=_scores,
            sizes=(),
            several_targets=False,
            per_class=True,
            from_trees=True,
            max_rows=_ENSEMBLE_ROWS,
            cost=1.5,
        ),
        Method(
            name="votes",
            gives="votes",
            idea="the share of Extra-Trees that vote for a class, or the mean of their predictions",
            when="a simple model that should be as good as a forest, small tables too",
            python="ConstructiveExtraTrees…(search=None)",
            construct=partial(_votes, search=None, name="vote", leaf_rows=_VOTING_LEAF_ROWS),
            sizes=(),
            several_targets=False,
            per_class=True,
            from_trees=True,
            max_rows=_ENSEMBLE_ROWS,
            cost=0.3,
        ),
        Method(
            name="formula votes",
            gives="votes",
            idea="the same, of trees whose nodes search formulas to split on",
            when="where formulas help a forest, and a simple model should have all of it",
            python="ConstructiveExtraTrees…",
            construct=partial(
                _votes,
                search="random",
                name="formula vote",
                leaf_rows=_FORMULA_VOTING_LEAF_ROWS,
            ),
            sizes=(),
            several_targets=False,
            per_class=True,
            from_trees=True,
            max_rows=_ENSEMBLE_ROWS,
            cost=3.0,
        ),
        Method(
            name="batch",
            gives="formulas",
            idea="every operator on every column and pair, the best by their worth on the whole "
            "table",
            when="few columns, few rows, simple relations such as one ratio",
            python="BatchConstructor",
            construct=_batch,
            readable=True,
            cost=0.5,
        ),
        Method(
            name="fctree",
            gives="formulas",
            idea="trees that learn on their way down which operators pay",
            when="few formulas, fast; relations that hold in parts of the table",
            python="FCTree…",
            construct=_fctree,
            readable=True,
            cost=3.5,
        ),
        Method(
            name="boosting",
            gives="formulas",
            idea="shallow trees on the residuals of a linear model; formulas with bends and steps",
            when="many weak relations that add up, regression",
            python="ConstructiveBoosting…",
            construct=_boosting,
            readable=True,
            cost=1.0,
        ),
        Method(
            name=LINKS,
            gives="formulas",
            idea="counts, means, trends and more of the rows of other tables that belong to a row",
            when="several tables, histories, groups: rows that explain other rows (--link)",
            python="RelationalFeatures",
            construct=_links,
            readable=True,
            cost=0.1,
            needs_links=True,
        ),
        Method(
            name=LABELS,
            gives="categories",
            idea="labels of the rows of other tables, such as the most frequent one, as categories",
            when="an estimator that takes categories: gradient boosting",
            python="RelationalFeatures(categories=True)",
            construct=_labels,
            sizes=(_MAX_LABELS,),
            cost=0.1,
            needs_links=True,
            gives_categories=True,
        ),
        Method(
            name="landmarks",
            gives="similarities",
            idea="similarities to some of the training rows",
            when="smooth or round boundaries that no small formula describes",
            python="LandmarkKernelFeatures, KernelFeatureEnsemble…",
            construct=_landmarks,
            sizes=(30, 100, _MAX_LANDMARKS),
            keeps_all_rows=True,  # landmarks are named by their row
            cost=0.5,
        ),
        Method(
            name="paths",
            gives="indicators",
            idea="nodes of a forest that a row passes",
            when="a linear model that should see what a forest sees",
            python="ForestPathEncoder",
            construct=partial(_leaves, search=None),
            sizes=(200, 1000),
            from_trees=True,
            tells_leaves=True,
            cost=0.7,
        ),
        Method(
            name="formula paths",
            gives="indicators",
            idea="the same, in a forest whose nodes search formulas to split on",
            when="where formulas help a forest, and a linear model should have all of it",
            python="ForestPathEncoder(search=…)",
            construct=partial(_leaves, search="random"),
            sizes=(200, 1000),
            from_trees=True,
            tells_leaves=True,
            cost=1.5,
        ),
        Method(
            name="recursive",
            gives="components",
            idea="linear combinations of chosen columns, one set for each class",
            when="many columns, few of which matter; text counts, gene expression",
            python="RecursiveSelective…",
            construct=_recursive,
            sizes=(_MAX_COMPONENTS,),
            several_targets=False,
            per_class=True,
            cost=0.3,
        ),
    )
}


def readable(methods: Iterable[str]) -> list[str]:
    """Return those of some methods whose columns are formulas."""
    return [name for name in methods if METHODS[name].readable]


def has_formulas(name: str) -> bool:
    """Whether the columns of a method, or of all those with formulas together, are formulas."""
    return name == FORMULAS or METHODS[name].readable


def order_name(methods: Sequence[str]) -> str:
    """Return how formulas of methods in one order are called: by the method, if it is only one."""
    return methods[0] if len(methods) == 1 else FORMULAS


def chosen_methods(methods: Any, links: Any = ()) -> list[str]:
    """Return the names that the parameter `methods` stands for: "all", "readable", or names.

    Links are a source by themselves: where there are any, they are tried with whatever methods.
    """
    names = _named_methods(methods)
    if not names and not len(links):
        raise ValueError('methods=[] names no method: use "all", "readable", or some names.')
    needing = [name for name in names if METHODS[name].needs_links]
    if not len(links) and needing:
        raise ValueError(
            f"methods has {needing[0]!r}, but there are no links: pass links=[Link(…)] too."
        )
    return names if not len(links) or LINKS in names else [*names, LINKS]


def _named_methods(methods: Any) -> list[str]:
    """Return the names that the parameter `methods` stands for."""
    usual = [name for name, method in METHODS.items() if not method.needs_links]
    if isinstance(methods, str):
        one_of("methods", methods, ("all", "readable", *METHODS))
        if methods == "all":
            return usual
        return readable(usual) if methods == "readable" else [methods]
    if not isinstance(methods, Iterable):
        raise ValueError(f"methods={methods!r} must be a name or a list of names.")
    named = dict.fromkeys(one_of("methods", name, tuple(METHODS)) for name in methods)
    if isinstance(methods, Set):  # whose order differs from process to process
        return [name for name in METHODS if name in named]
    return list(named)


def may_join(method: str, others: Sequence[str]) -> bool:
    """Whether the columns of a method may be put beside those of other methods."""
    if method in others:
        return False
    if has_formulas(method) or all(map(has_formulas, others)):
        return not (has_formulas(method) and any(map(has_formulas, others)))
    asked = METHODS[method]
    trees = [METHODS[o] for o in others if not has_formulas(o) and METHODS[o].from_trees]
    # Ensembles of two kinds err in different rows; with leaves there would be too many columns.
    return not asked.from_trees or not trees or all(m.one_per_class for m in [asked, *trees])


def warm_up(task: Task, methods: Iterable[str]) -> None:
    """Run methods on a tiny table, once in a process: compiled code is made or loaded.

    Compilation after installing takes a while, and a time budget does not count it.
    """
    for method in methods:
        if METHODS[method].needs_links:
            continue
        _warm_up(method, task.kind, min(task.n_outputs, 2))


@cache
def _warm_up(method: str, kind: str, n_outputs: int) -> None:
    """Run a method on a tiny table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_WARM_UP_ROWS, 2))
    table = EncodedTable(X, learn_schema(X))
    codes = np.tile([0, 1], _WARM_UP_ROWS // 2).astype(np.int32)
    y: NDArray[Any] = X[:, 0] * X[:, 1] if kind == "regression" else codes
    if n_outputs > 1:
        y = np.column_stack([y, y[::-1]])
    task = Task(kind, n_outputs, max_size=3, n_jobs=1)
    if METHODS[method].refusal(task, 2) is None:
        METHODS[method].construct(Request(method, table, y, None, task, seed=0))
