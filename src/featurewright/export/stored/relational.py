"""Whether what a loaded `RelationalFeatures` holds agrees with itself.

Compiled code looks rows up by key and time without any test for bounds, so these are checked here.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from featurewright.export.stored.checks import all_finite, check_schema, demand
from featurewright.expressions import Column, Domain

if TYPE_CHECKING:
    from featurewright.relations.aggregates import Condition, Level, LinkFeature, Window
    from featurewright.relations.keys import KeyIndex, KeyTable
    from featurewright.relations.linked import LinkedRows, TableLayout
    from featurewright.relations.links import Link
    from featurewright.relations.sources import LinkLayout, Source
    from featurewright.relations.targets import EarlierMeans, TargetColumns
    from featurewright.tables import Schema


def build_link(**fields: Any) -> Link:
    """Make a link without its table, which no file holds."""
    from featurewright.relations.links import Link, check_links

    link = Link(None, **fields)
    check_links("links", [link])
    return link


def build_rows(**fields: Any) -> LinkedRows:
    """Make linked rows; where they stood in their table matters in `fit` only."""
    from featurewright.relations.linked import LinkedRows

    return LinkedRows(place=np.empty(0, np.int64), **fields)


# Keys and rows ----------------------------------------------------------------------------------


def check_index(index: KeyIndex) -> None:
    """Refuse keys that are not in order."""
    demand(
        len(index.levels) == len(index.kinds) > 0,
        "the columns of a key are not as many as their kinds",
    )
    for levels, kind in zip(index.levels, index.kinds, strict=True):
        if isinstance(levels, tuple):
            demand(kind == "text" and list(levels) == sorted(set(levels)), "keys are not in order")
            continue
        demand(
            kind in ("numbers", "times", "")
            and levels.ndim == 1
            and levels.dtype.kind in "if"
            and bool(np.all(levels[1:] > levels[:-1]))
            and not (len(levels) and np.isnan(levels[-1])),
            "keys are not in order",
        )
    most = prod(max(1, len(levels)) for levels in index.levels)
    combined = index.combined
    demand(
        most <= 2**62
        and combined.ndim == 1
        and bool(np.all(combined[1:] > combined[:-1]))
        and (not len(combined) or (combined[0] >= 0 and int(combined[-1]) < most)),
        "the combinations of keys are not in order",
    )


def check_key_table(table: KeyTable) -> None:
    """Refuse statistics that are not one row for each key."""
    demand(
        len(table.names) == len(table.index.levels)
        and table.values.ndim == 2
        and table.values.shape == (table.index.n_keys, len(table.other))
        and table.other.ndim == 1,
        "the statistics of groups are not as many as the groups",
    )


def _check_sorted(index: KeyIndex, offsets: Any, times: Any, n_rows: int) -> None:
    """Refuse rows that do not stand by key and time."""
    demand(
        offsets.shape == (index.n_keys + 1,)
        and offsets[0] == 0
        and offsets[-1] == n_rows
        and bool(np.all(np.diff(offsets) >= 0)),
        "linked rows do not stand by their keys",
    )
    if times is None:
        return
    demand(times.shape == (n_rows,) and all_finite(times), "linked rows lack a time")
    falls = np.flatnonzero(np.diff(times) < 0) + 1
    demand(np.isin(falls, offsets).all(), "linked rows are not in order of their times")


def check_rows(rows: LinkedRows) -> None:
    """Refuse linked rows that are not in order, or hold codes of levels that there are not."""
    demand(
        rows.matrix.ndim == 2 and rows.matrix.shape[1] == rows.schema.n_columns,
        "linked rows do not have the columns that they say",
    )
    _check_sorted(rows.index, rows.offsets, rows.times, len(rows.matrix))
    for column, domain, levels in zip(
        rows.matrix.T, rows.schema.domains, rows.schema.levels, strict=True
    ):
        known = column[~np.isnan(column)]
        demand(all_finite(known), "a linked row holds infinity")
        if domain == Domain.CATEGORY and len(known):
            demand(
                np.all(known == np.floor(known))
                and 0 <= known.min() <= known.max() < len(levels or ()),
                "a linked row has a level that there is not",
            )


def check_layout(layout: TableLayout) -> None:
    """Refuse dates that are no columns."""
    real = {
        name
        for name, domain in zip(layout.schema.names, layout.schema.domains, strict=True)
        if domain == Domain.REAL
    }
    demand(
        layout.dates.keys() <= real and all(kind.is_date for kind in layout.dates.values()),
        "a column of dates is none",
    )


def check_target(columns: TargetColumns) -> None:
    """Refuse targets without names."""
    n_classes = None if columns.classes is None else len(columns.classes)
    demand(
        columns.names
        and columns.labels
        and (
            len(columns.labels) == len(columns.names)
            if n_classes is None
            else len(columns.names) == 1 and 1 <= len(columns.labels) <= n_classes
        ),
        "the columns of a target are not as many as their names",
    )


def check_earlier_means(means: EarlierMeans) -> None:
    """Refuse totals that are not in order."""
    _check_sorted(means.index, means.offsets, means.times, len(means.totals))
    n_all = len(means.all_times)
    demand(
        means.totals.ndim == 2
        and len(means.names) == len(means.index.levels)
        and means.all_times.ndim == 1
        and means.all_totals.shape == (n_all, means.totals.shape[1])
        and all_finite(means.all_times)
        and bool(np.all(np.diff(means.all_times) >= 0)),
        "the totals of targets are not in order",
    )


# Features ---------------------------------------------------------------------------------------


def check_window(window: Window) -> None:
    """Refuse windows that are neither an amount of time nor a number of rows."""
    demand(
        (window.span is None) != (window.rows is None)
        and (window.span is None or (np.isfinite(window.span) and window.span > 0))
        and (window.rows is None or 0 < window.rows < 2**31),
        "a window is neither a time nor a number of rows",
    )


def check_condition(condition: Condition) -> None:
    """Refuse conditions without a bound."""
    demand(
        condition.column >= 0 and np.isfinite(condition.bound),
        "a condition has no column or no bound",
    )


def check_level(level: Level) -> None:
    """Refuse levels without a code."""
    demand(0 <= level.code < 2**53 and level.code == int(level.code), "a level has no code")


def check_link_feature(feature: LinkFeature) -> None:
    """Refuse unknown aggregates, and those of nothing."""
    from featurewright.relations.aggregates import AGGREGATES

    demand(feature.aggregate in AGGREGATES, "a feature has an unknown aggregate")
    aggregate = AGGREGATES[feature.aggregate]
    demand(
        (feature.value is None) == (aggregate.of == "rows")
        and (feature.condition is not None or not aggregate.needs_condition),
        "an aggregate is computed of nothing",
    )
    must = aggregate.of == "category" and aggregate.gives_level
    is_label = feature.domain is Domain.CATEGORY
    demand(
        aggregate.gives_level if feature.level is not None else is_label or not must,
        "an aggregate is not compared with what it is",
    )


def _check_feature(feature: LinkFeature, link: Link, schema: Schema) -> None:
    """Refuse a feature of columns that its link does not have."""
    from featurewright.relations.aggregates import AGGREGATES

    aggregate = AGGREGATES[feature.aggregate]
    timed = link.time is not None
    demand(
        feature.link == link.title
        and (timed or not aggregate.needs_time)
        and (timed or feature.window is None)
        and (timed or link.kind.value != "group" or aggregate.for_groups),
        "a feature is not one of its link",
    )
    if feature.value is not None:
        of = aggregate.of if feature.domain is Domain.REAL else "category"
        _check_value(feature.value, of, schema)
    if feature.level is not None and isinstance(feature.value, Column):
        demand(
            feature.level.code < len(schema.levels[feature.value.index] or ()),
            "a feature asks for a level that there is not",
        )
    condition = feature.condition
    if condition is None:
        return
    demand(condition.column < schema.n_columns, "a condition names a column that there is not")
    levels = schema.levels[condition.column]
    if condition.is_level and levels:
        demand(
            condition.bound == int(condition.bound) and 0 <= condition.bound < len(levels),
            "a condition asks for a level that there is not",
        )


def _check_value(value: Any, of: str, schema: Schema) -> None:
    """Refuse values of columns that there are not, or of another kind."""
    wanted = of == "category"
    demand(isinstance(value, Column) or not wanted, "an aggregate is of another kind of value")

    def column(node: Column) -> None:
        demand(
            node.index < schema.n_columns
            and node.name == schema.names[node.index]
            and (schema.domains[node.index] == Domain.CATEGORY) == wanted,
            "a feature names a column that its link does not have",
        )

    def call(node: Any, _: Any) -> None:
        demand(
            node.operator.opcode is not None and not node.operator.has_level,
            "a feature applies an operator that links do not have",
        )

    value.fold(column, call)


# The estimator ----------------------------------------------------------------------------------


def check_source(source: Source) -> None:
    """Refuse linked rows that are not those of their link."""
    _check_link_layout(source.link, source.layout)
    if source.linked is None:
        return
    rows, schema = source.linked, source.layout.schema
    demand(
        rows.schema.names == schema.names
        and np.array_equal(rows.schema.domains, schema.domains)
        and rows.schema.levels == schema.levels
        and (rows.times is None) == (source.link.time is None)
        and len(rows.index.levels) == len(source.link.keys),
        "linked rows are not those of their link",
    )


def _check_link_layout(link: Link, layout: LinkLayout) -> None:
    """Refuse columns that do not come from the table or from nested links."""
    from featurewright.relations.sources import join_schemas

    demand(len(layout.nested) in (0, len(link.links)), "nested links are not as many as they say")
    links = link.links[: len(layout.nested)]
    for nested, learned in zip(links, layout.nested, strict=True):
        _check_link_layout(nested, learned.rows)
        for feature in learned.features or ():
            _check_feature(feature, nested, learned.rows.schema)
        demand(
            nested.time is None or (link.time is not None and learned.features is not None),
            "a nested link has times, but the link above it has none",
        )
    joined = join_schemas(layout.table.schema, links, layout.nested)
    demand(
        joined.names == layout.schema.names
        and np.array_equal(joined.domains, layout.schema.domains)
        and joined.levels == layout.schema.levels,
        "the columns of linked rows are not those of their tables",
    )


def check_relational(model: Any) -> None:
    """Check features over links."""
    from featurewright.relations import RelationalFeatures

    RelationalFeatures._check_parameters(model)
    schema = model._layout.schema
    check_schema(schema)
    given = getattr(model, "feature_names_in_", schema.names)
    demand(
        model.n_features_in_ == schema.n_columns > 0 and list(given) == list(schema.names),
        "the columns of RelationalFeatures are not those of its table",
    )
    n_features = len(model.features_)
    places = model._feature_sources
    demand(
        places.shape == model.worth_.shape == (n_features,)
        and np.all((places >= 0) & (places < len(model._sources))),
        "a feature is of a link that there is not",
    )
    for feature, at in zip(model.features_, places.tolist(), strict=True):
        source = model._sources[at]
        _check_feature(feature, source.link, source.layout.schema)
    for at in set(places.tolist()):
        _check_used(model, at, int(np.count_nonzero(places == at)))
    n_means = 0
    for means in model._groups:
        width = means.values.shape[1] if hasattr(means, "values") else means.totals.shape[1]
        n_means += width
        _check_keys(model, means.names, means.index)
        if hasattr(means, "time"):
            _check_time(model, means.time, means.has_dates)
    demand(
        len(model._group_names) == n_means and model._n_columns == n_features + n_means,
        "the means of targets are not as many as their names",
    )
    own = getattr(model, "_own_columns", np.arange(schema.n_columns))
    demand(
        own.ndim == 1
        and np.all((own >= 0) & (own < schema.n_columns))
        and np.all(np.diff(own) > 0),
        "a column is shown that there is not",
    )
    demand(
        model._fill.shape == (len(model._shown) + model._n_columns,) and all_finite(model._fill),
        "the columns are not as many as the values that stand in for them",
    )
    demand(
        hasattr(model, "feature_names_in_") or not model._sources,
        "links have columns without names",
    )


def _check_used(model: Any, at: int, n_features: int) -> None:
    """Check a link that some feature is of."""
    source = model._sources[at]
    table = model._statistics.get(at)
    names = tuple(name for name, _ in source.link.keys)
    if table is not None:
        demand(
            source.is_group and table.names == names and len(table.other) == n_features,
            "the statistics of groups are not as many as the features",
        )
        _check_keys(model, names, table.index)
        return
    demand(not source.is_group, "the statistics of a group are missing")
    demand(source.linked is not None or not model.store_links, "the rows of a link are missing")
    if source.linked is None:
        return
    _check_keys(model, names, source.linked.index)
    if source.linked.times is not None:
        time = model.as_of if source.link.kind.value == "table" else source.link.time
        _check_time(model, time, source.linked.has_dates)


def _check_keys(model: Any, names: tuple[str, ...], index: KeyIndex) -> None:
    """Refuse keys that the table does not have, or of another kind."""
    schema = model._layout.schema
    for name, kind in zip(names, index.kinds, strict=True):
        demand(name in schema.names, "a key is no column of the table")
        at = schema.names.index(name)
        found = "times" if name in model._layout.dates else "numbers"
        if schema.domains[at] == Domain.CATEGORY:
            found = "text"
            demand(
                all(isinstance(level, str) for level in schema.levels[at] or ()),
                "a key has levels of several kinds",
            )
        demand(kind in (found, ""), "a key is of another kind than its column")


def _check_time(model: Any, name: Any, has_dates: bool) -> None:
    """Refuse times that the table does not have."""
    schema = model._layout.schema
    demand(
        name in schema.names
        and schema.domains[schema.names.index(name)] == Domain.REAL
        and (name in model._layout.dates) == has_dates,
        "the time is no column of the table",
    )
