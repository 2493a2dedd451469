"""Columns over links: found in training rows alone, and put beside those of the table."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from featurewright.auto.estimators import FEW_ROWS, takes_categories
from featurewright.auto.methods import LABELS, METHODS
from featurewright.auto.parts import KINDS, Part
from featurewright.auto.plan import EFFORTS, Effort
from featurewright.auto.workspace import Problem
from featurewright.estimators.collections import is_collection
from featurewright.expressions import Domain
from featurewright.relations import Link, RelationalFeatures
from featurewright.relations.copies import link_names, take_features, told, with_tables
from featurewright.relations.links import (
    LinkKind,
    all_links,
    links_in_memory,
    links_with_tables,
    tables_in_memory,
)
from featurewright.relations.sources import (
    Source,
    learn_source,
    newer_tables,
    read_links,
    refuse_array,
    wrap_frame,
)
from featurewright.tables import EncodedTable, Schema

_logger = logging.getLogger("featurewright")

Matrix = NDArray[np.float64]
Levels = tuple[Any, ...]
Rows = NDArray[np.intp]

_MAX_ORDER = 2  # aggregates of aggregates, where links are nested
LAST_SEED = 1000
"""Seed of the fit on all rows: none of the folds', and the same for every `random_state`."""


@dataclass(frozen=True, eq=False)
class LinkedColumns:
    """The columns over links of a fitted search.

    Parameters
    ----------
    relational : RelationalFeatures
        What computes those that formulas may use.
    places : ndarray of int
        Which of `names` these are.
    names : tuple of str
        All columns over links of the table that features are made from; they follow its others.
    """

    relational: RelationalFeatures
    places: Rows
    names: tuple[str, ...]

    def take(self, used: Iterable[int]) -> LinkedColumns | None:
        """Return what computes some of the columns, by their places; None for none."""
        wanted = set(used)
        chosen = [k for k, place in enumerate(self.places) if int(place) in wanted]
        if not chosen:
            return None
        n_features = len(self.relational.features_)
        kept = [*(k for k in chosen if k < n_features), *range(n_features, len(self.places))]
        features = [k for k in kept if k < n_features]
        return LinkedColumns(
            take_features(self.relational, features), self.places[kept], self.names
        )

    def compute(self, X: Any, links: Mapping[str, Any] | None) -> Matrix:
        """Return the columns of some rows; those that nothing computes are missing."""
        out = np.full((len(X), len(self.names)), np.nan)
        out[:, self.places] = self.relational.transform(X, links)
        return out

    def extend(self, schema: Schema) -> Schema:
        """Return the schema of a table with all columns over links after its own."""
        levels: list[Levels | None] = [None] * len(self.names)
        for place, own in zip(self.places, column_levels(self.relational), strict=True):
            levels[place] = own
        return wider(schema, self.names, levels)

    def with_tables(self, links: Mapping[str, Any]) -> LinkedColumns:
        """Return the same with newer linked tables, read once."""
        return replace(self, relational=with_tables(self.relational, links))


def column_levels(relational: RelationalFeatures) -> list[Levels | None]:
    """Return the levels of each column over links; None for numbers."""
    n_means = len(link_names(relational)) - len(relational.features_)
    return [*relational.levels_, *[None] * n_means]


def beside(table: EncodedTable, columns: Matrix, schema: Schema) -> EncodedTable:
    """Return a table with columns after its own; `schema` has all of them."""
    return EncodedTable(np.hstack([np.asarray(table.matrix, np.float64), columns]), schema)


def wider(
    schema: Schema, names: Sequence[str], levels: Sequence[Levels | None] | None = None
) -> Schema:
    """Return a schema with further columns after its own; names that are taken get a prime.

    They are numbers, but for those with levels.
    """
    given = [None] * len(names) if levels is None else levels
    own: list[str] = []
    for name in names:
        free = name
        while free in schema.names or free in own:
            free += "'"
        own.append(free)
    return Schema(
        (*schema.names, *own),
        schema.given_names,
        np.concatenate(
            [
                schema.domains,
                np.array([Domain.CATEGORY if one else Domain.REAL for one in given], np.int8),
            ]
        ),
        (*schema.levels, *given),
    )


def used_columns(parts: Iterable[Part], n_columns: int) -> set[int]:
    """Return the columns of a table that parts need: all of them where one has no formulas."""
    used: set[int] = set()
    for part in parts:
        if not KINDS[part.kind].is_formula:
            return set(range(n_columns))
        used.update(int(at) for feature in part.features for at in feature.expression.columns())
    return used


class LinkSearch:
    """Finds columns over links for choices of the training rows.

    Linked tables are read once. Which columns over them are found, and the statistics of groups and
    targets, follow from the rows that are asked for alone.

    Parameters
    ----------
    links : sequence of Link
        The links.
    as_of : str or None
        The column with the times of the rows.
    X : data frame
        All training rows, as they came.
    y : ndarray
        Their targets, as estimators see them.
    task : {"classification", "regression", "multilabel"}
        What the target is.
    groups : ndarray or None
        Rows of one group are not used for each other's mean targets.
    effort : Effort
        How many candidates are compared, and how many columns are found.
    n_jobs : int or None
        Threads.
    store_links : bool
        Whether a model file will hold the linked rows.
    sampled : bool, default=False
        Whether the rows are a sample, so that counts and sums of groups say nothing of the table.
    """

    def __init__(
        self,
        links: Sequence[Link],
        as_of: str | None,
        X: Any,
        y: NDArray[Any],
        *,
        task: str,
        groups: NDArray[Any] | None,
        effort: Effort,
        n_jobs: int | None,
        store_links: bool,
        sampled: bool = False,
    ) -> None:
        if not nw.dependencies.is_into_dataframe(X):
            refuse_array(links)
        self._frame = wrap_frame(X, "X", named=True)
        self._as_of, self._y, self._groups = as_of, y, groups
        self._task = "regression" if task == "regression" else "classification"
        self._effort, self._n_jobs, self._stores = effort, n_jobs, store_links
        self._given, self._sampled = links, sampled
        links = links_in_memory(links, X)
        self._links = read_links(links, self._frame, as_of=as_of, max_order=_MAX_ORDER)
        for link in self._links:
            # Keys and times that cannot be compared are refused before any work.
            table = link.table
            known = table if isinstance(table, Source) else learn_source(link, self._frame, 1)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                known.see(self._frame, as_of, training=True)
            for warning in caught:
                _logger.warning("%s", warning.message)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self._y)

    def learn(self, rows: Rows | None, seed: int) -> tuple[RelationalFeatures, Matrix]:
        """Find columns from some training rows, or all; return what finds them, and theirs."""
        whole = rows is None
        frame = self._frame if rows is None else self._frame[rows]
        groups = self._groups if whole or self._groups is None else self._groups[rows]
        relational = RelationalFeatures(
            self._links,
            as_of=self._as_of,
            n_features_out=self._effort.n_link_columns,
            include_original=False,
            keep_missing=True,
            categories=True,
            budget=self._effort.link_budget,
            max_order=_MAX_ORDER,
            task=self._task,
            store_links=self._stores,
            random_state=seed,
            n_jobs=self._n_jobs,
        )
        if self._sampled:
            relational._of_sample = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rows without matches are told of once
            found = relational.fit_transform(
                frame.to_native(), self._y if whole else self._y[rows], groups=groups
            )
        if self._sampled:
            del relational._of_sample
        return relational, _without_originals(relational, np.asarray(found))

    def split(
        self, problem: Problem, learning: Rows, train: Rows, test: Rows, seed: int
    ) -> tuple[Problem, Problem]:
        """Return training and held-out rows of a fold with columns over links.

        Parameters
        ----------
        problem : Problem
            All rows.
        learning : ndarray of int
            The training rows of the fold, from which columns are found.
        train, test : ndarray of int
            Those of them, and of the held-out rows, that are returned.
        seed : int
            Seed.
        """
        learning = np.sort(learning)
        relational, columns = self.learn(learning, seed)
        held_out = np.empty((len(test), 0))
        if link_names(relational):
            held_out = np.asarray(relational.transform(self._frame[test].to_native()))
        return (
            _extended(problem.take(train), columns[np.searchsorted(learning, train)], relational),
            _extended(problem.take(test), held_out, relational),
        )

    def whole(self, problem: Problem, seed: int) -> tuple[Problem, LinkedColumns | None]:
        """Return all training rows with columns over links, and what computes these later."""
        relational, columns = self.learn(None, seed)
        names = link_names(relational)
        extended = _extended(problem, columns, relational)
        if not names:
            return extended, None
        own = extended.table.schema.names[-len(names) :]
        if any(is_collection(link.table) for link in all_links(self._given)):
            relational = told(relational, self._given)
        return extended, LinkedColumns(relational, np.arange(len(names)), own)


def _without_originals(relational: RelationalFeatures, columns: Matrix) -> Matrix:
    """Return columns over links; where none was found, the original ones came instead."""
    return columns if link_names(relational) else columns[:, :0]


def _extended(problem: Problem, columns: Matrix, relational: RelationalFeatures) -> Problem:
    """Return a problem with columns over links after those of its table."""
    names = link_names(relational)
    schema = wider(problem.table.schema, names, column_levels(relational))
    table = beside(problem.table, columns, schema)
    return replace(problem, table=table, n_linked=len(names))


def read_table(model: Any, X: Any, links: Mapping[str, Any] | None) -> EncodedTable:
    """Return the table that the columns of a fitted search are made from.

    Parameters
    ----------
    model : AutoFeatures
        A fitted search.
    X : data frame or array
        Rows.
    links : dict of str to data frame, optional
        Newer linked tables.
    """
    links = newer_tables(links)
    if links and not model.links:
        raise ValueError(
            f"links has tables for {', '.join(map(repr, links))}, but the model was fitted without "
            "links: leave them out."
        )
    table = model.reader_.read(model, X)
    needed = needed_columns(model)
    if needed is None:
        return table
    return beside(table, needed.compute(X, links), needed.extend(table.schema))


def needed_columns(model: Any) -> LinkedColumns | None:
    """Return what computes the columns over links that the output of a search is made from."""
    linked: LinkedColumns | None = getattr(model, "linked_", None)
    if linked is None:
        return None
    return keep_used(linked, model.parts_, model.reader_.schema.n_columns)


def with_links(model: Any, links: Mapping[str, Any]) -> Any:
    """Return a copy of a fitted search that has read newer linked tables once, to apply it often.

    Parameters
    ----------
    model : AutoFeatures
        A fitted search.
    links : dict of str to data frame
        Linked tables, by the names of their links.
    """
    needed = needed_columns(model)
    made = copy(model)
    if needed is not None:
        made.linked_ = needed.with_tables(links)
    return made


def used_links(model: Any) -> list[str]:
    """Return the names of the links whose rows a fitted search needs; groups are statistics."""
    needed = needed_columns(model)
    if needed is None:
        return []
    groups = {link.title for link in model.links if link.kind is LinkKind.GROUP}
    named = dict.fromkeys(feature.link for feature in needed.relational.features_)
    return [title for title in named if title not in groups]


def training_rows(model: Any, problem: Problem, X: Any, links: Mapping[str, Any] | None) -> Problem:
    """Return the training rows of a fitted search with their columns over links, found again.

    Parameters
    ----------
    model : AutoFeatures
        A fitted search.
    problem : Problem
        Its training rows without columns over links.
    X : data frame
        The same rows as they came.
    links : dict of str to data frame, optional
        Linked tables, where the model was loaded without them.
    """
    if getattr(model, "linked_", None) is None:
        return problem
    tables = tables_in_memory(model.links, X, links or {})
    search = LinkSearch(
        links_with_tables(model.links, tables),
        model.as_of,
        X,
        problem.y,
        task=problem.task.kind,
        groups=None,
        effort=EFFORTS[model.effort],
        n_jobs=model.n_jobs,
        store_links=model.store_links,
    )
    extended, found = search.whole(problem, LAST_SEED)
    if found is None or found.names != model.linked_.names:
        raise ValueError(
            "X, y and the linked tables have other features over links than those of the fit: pass "
            "the tables that the model was fitted on."
        )
    return extended


def keep_used(
    linked: LinkedColumns | None, parts: Iterable[Part], n_own: int
) -> LinkedColumns | None:
    """Return what computes the columns over links that parts use; None where they use none."""
    if linked is None:
        return None
    used = used_columns(parts, n_own + len(linked.names))
    return linked.take(at - n_own for at in used)


def with_and_without(
    make: Callable[..., Any],
    methods: Sequence[str],
    links: LinkSearch | None,
    estimator: Any,
    hear: Callable[..., None],
) -> list[Any]:
    """Return the searches of a table: with its links where it has some, and without.

    An estimator that takes categories is given labels over links too. What the second search says
    of its progress says which it is. A choice over links is the best of two searches, and columns
    over links vary with the rows that they are found in: it needs further folds even where rows are
    many, and the search without links does not.
    """
    linked = [*methods, LABELS] if takes_categories(estimator) else methods
    found = []
    if links is not None:
        found = [make(methods=list(dict.fromkeys(linked)), links=links, listen=hear)]
    flat = [method for method in methods if not METHODS[method].needs_links]
    usual: dict[str, Any] = {"listen": hear}
    if links is not None:
        usual["listen"] = partial(hear, where=", without links")
        if links.n_rows > FEW_ROWS:
            usual["further"] = ()
    return [*found, make(methods=flat, **usual)] if flat else found
