"""Features over links as one SQL query: linked rows joined by key and time, then aggregated.

A table is first read under names of our own: ``k0``, ``k1``, ... are its keys, ``t`` its time,
``v0``, ... its columns as numbers, ``h0_0``, ... the keys by which it looks for linked rows. For
each link the different keys and times are joined with the linked rows that they see, and what is
found is joined to the table again. So rows need no number, and equal ones are computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from featurewright.export.layers import read_column
from featurewright.export.moments import read_moment
from featurewright.expressions import Column, Domain
from featurewright.expressions.dialects import Dialect
from featurewright.expressions.sql_form import Rules
from featurewright.expressions.sql_pieces import (
    Sql,
    case,
    kind,
    number,
    quoted,
    sqlglot,
    text,
)
from featurewright.relations.aggregates import AGGREGATES, Condition, LinkFeature
from featurewright.relations.keys import KeyTable
from featurewright.relations.linked import TableLayout
from featurewright.relations.links import Link, LinkKind
from featurewright.relations.sources import LinkLayout, Source
from featurewright.relations.targets import TargetColumns
from featurewright.tables import Schema
from featurewright.tables.dates import DAY, TimeKind

_MAX_KEYS = 20_000  # of a group, whose statistics are written out
_LARGEST = 1.7976931348623157e308


class LinkedQuery:
    """Writes the query of a fitted `RelationalFeatures`.

    Parameters
    ----------
    model : RelationalFeatures
        The fitted features.
    dialect : Dialect
        Whose SQL.
    tables : dict of str to SQL
        The tables of links, by the names of the links.
    prefix : str
        How names of our own begin; no table's name does.
    """

    def __init__(
        self, model: Any, dialect: Dialect, tables: Mapping[str, Sql], prefix: str
    ) -> None:
        self.model, self.dialect, self.tables = model, dialect, tables
        self.prefix = prefix
        self.rules = Rules(dialect.name)
        self._steps: list[tuple[str, Sql]] = []
        self._labels: dict[int, tuple[Any, ...]] = {}  # of the link that is written
        self._check()

    def _check(self) -> None:
        """Refuse what has no SQL form, and links without a table."""
        model = self.model
        for means in model._groups:
            if not isinstance(means, KeyTable):
                raise ValueError(
                    "Mean targets of earlier rows change with every row, and have no SQL form: fit "
                    "without Link.group where as_of is given, or use Link.history(target_delay=…)."
                )
        needed: dict[str, None] = {}
        for source, _ in self._used():
            needed.update(dict.fromkeys(_titles(source.link, source.layout)))
        for title in self.tables:
            if title not in needed:
                listed = ", ".join(map(repr, needed)) or "none"
                raise ValueError(
                    f"links has a table for {title!r}, but features are of the links: {listed}."
                )
        missing = [title for title in needed if title not in self.tables]
        if missing:
            raise ValueError(
                f"The query needs the tables of the links {', '.join(map(repr, missing))}: pass "
                f"their names in the database, links={{{missing[0]!r}: 'name', …}}."
            )

    def _used(self) -> list[tuple[Source, list[int]]]:
        """Return the links that are joined, each with its features."""
        model = self.model
        return [
            (model._sources[at], np.flatnonzero(model._feature_sources == at).tolist())
            for at in model._sources_used()
            if at not in model._statistics
        ]

    # The query ----------------------------------------------------------------------------------

    def query(self, table: Sql, keys: Sequence[str], names: Sequence[str]) -> Sql:
        """Write the query; `keys` are columns to carry along, `names` those of the outputs."""
        exp, model, rows = sqlglot(), self.model, f"{self.prefix}_rows"
        self._add(rows, self._read(table, keys))
        query = exp.Select().from_(rows, copy=False)
        found: dict[int, Sql] = {}
        for place, (source, mine) in enumerate(self._used()):
            features = [model.features_[at] for at in mine]
            name, where = self._join(rows, source, place, features)
            join = _parse(f"SELECT * FROM x LEFT JOIN {name} ON {where}").args["joins"][0]
            query = query.join(join, copy=False)
            for k, (at, feature) in enumerate(zip(mine, features, strict=True)):
                found[at] = _parse(_empty_is(feature, f"{name}.f{k}"))
        for at, means in model._statistics.items():
            for k, feature in enumerate(np.flatnonzero(model._feature_sources == at).tolist()):
                found[feature] = self._group_value(f"{rows}.g{at}", means, k)
        outputs = [_parse(f"{rows}.v{at}") for at in model._shown]
        outputs += [found[at] for at in range(len(model.features_))]
        for at, means in enumerate(model._groups, start=len(model._sources)):
            width = len(means.other)
            outputs += [self._group_value(f"{rows}.g{at}", means, k) for k in range(width)]
        if not model.keep_missing:
            outputs = [
                exp.Coalesce(this=value, expressions=[number(float(fill))])
                for value, fill in zip(outputs, model._fill, strict=True)
            ]
        carried = [_parse(f"{rows}.c{k}") for k in range(len(keys))]
        listed = [
            exp.Alias(this=value, alias=quoted(name))
            for name, value in zip([*keys, *names], [*carried, *outputs], strict=True)
        ]
        query.set("expressions", listed)
        for name, step in self._steps:
            kept = True if self.dialect.materializes_layers else None
            query = query.with_(name, as_=step, materialized=kept, copy=False)
        return query

    def _read(self, table: Sql, keys: Sequence[str]) -> Sql:
        """Write the table itself: columns, and keys, times and groups that links need."""
        model = self.model
        columns = [_named(quoted(key, column=True), f"c{k}") for k, key in enumerate(keys)]
        columns += [_named(self._value(model._layout, int(at)), f"v{at}") for at in model._shown]
        for place, (source, _) in enumerate(self._used()):
            columns += self._here(source.link, place, source.layout.kinds)
            if source.link.time is not None:
                when = model.as_of if source.link.kind is LinkKind.TABLE else source.link.time
                moment = self._time(when, source.layout)
                if source.layout.are_days:
                    moment = sqlglot().Floor(this=moment)
                columns.append(_named(moment, f"t{place}"))
        groups = [*model._statistics.items(), *enumerate(model._groups, start=len(model._sources))]
        columns += [_named(self._group_code(means), f"g{place}") for place, means in groups]
        return sqlglot().Select(expressions=columns).from_(table, copy=False)

    def _add(self, name: str, step: Sql) -> None:
        """Add a step of the query, which later ones read by its name."""
        most = self.dialect.max_columns
        if most is not None and len(step.expressions) > most:
            raise ValueError(
                f"The query needs {len(step.expressions)} columns side by side, but "
                f"{self.dialect.name} allows {most}; fit with fewer features."
            )
        self._steps.append((name, step))

    # Reading tables -----------------------------------------------------------------------------

    def _value(self, layout: TableLayout, at: int) -> Sql:
        """Write a column of a table as a number: dates are days, labels are codes."""
        name = layout.schema.names[at]
        if name in layout.dates:
            return self._days(name, layout.dates[name])
        return read_column(layout.schema, at, self.rules, self.dialect)

    def _days(self, name: str, what: TimeKind) -> Sql:
        """Write a date as days."""
        exp = sqlglot()
        seconds = exp.Paren(this=read_moment(name, what.value, self.dialect))
        return exp.Div(this=seconds, expression=number(DAY), typed=True)

    def _time(self, name: str, layout: LinkLayout) -> Sql:
        """Write a column of times as days, or as the numbers that it holds."""
        if not layout.has_dates:
            schema = Schema((name,), True, np.array([Domain.REAL], np.int8), (None,))
            return read_column(schema, 0, self.rules, self.dialect)
        if not layout.zoned:
            return self._days(name, TimeKind.DATE)
        exp = sqlglot()
        instant = exp.Paren(this=self.dialect.seconds["instant"](name))
        return exp.Div(this=instant, expression=number(DAY), typed=True)

    def _key(self, name: str, what: str) -> Sql:
        """Write a key column so that it can be compared: missing where it is no key."""
        exp = sqlglot()
        self.dialect.check_names([name])
        if what == "times":
            return read_moment(name, TimeKind.DATE.value, self.dialect)
        column = quoted(name, column=True)
        if what != "text":
            size = exp.Abs(this=exp.Cast(this=quoted(name, column=True), to=kind("DOUBLE")))
            return case((exp.LTE(this=size, expression=number(_LARGEST)), column))
        return self.dialect.label(column)

    def _label(self, schema: Schema, at: int) -> Sql:
        """Write a column of labels as it is."""
        numbers = all(isinstance(level, int) for level in schema.levels[at] or ())
        return self._key(schema.names[at], "numbers" if numbers else "text")

    def _here(self, link: Link, place: int, kinds: Sequence[str]) -> list[Sql]:
        """Write the keys by which a table looks for the rows of a link."""
        return [
            _named(self._key(name, what), f"h{place}_{k}")
            for k, ((name, _), what) in enumerate(zip(link.keys, kinds, strict=True))
        ]

    # Links --------------------------------------------------------------------------------------

    def _join(
        self, above: str, source: Source, place: int, features: Sequence[LinkFeature]
    ) -> tuple[str, str]:
        """Write the features of a link of the table."""
        link, layout = source.link, source.layout
        kinds = source.layout.kinds
        name = f"{self.prefix}{place}"
        used = _columns_of(features)
        # Labels that the fit did not see count too, so labels are compared themselves.
        self._labels = _counted_labels(features, layout.schema)
        rows = self._rows(
            name, link, layout, kinds, used=used, target=source.target, labels=self._labels
        )
        seen = "<" if source.target is None else "<="
        return self._aggregate(
            name,
            above,
            rows,
            features,
            n_keys=len(kinds),
            place=place,
            timed=link.time is not None,
            seen=seen,
        )

    def _rows(
        self,
        name: str,
        link: Link,
        layout: LinkLayout,
        kinds: Sequence[str],
        *,
        used: Iterable[int],
        target: TargetColumns | None = None,
        labels: Collection[int] = (),
    ) -> str:
        """Write the linked rows, with those of their columns that are used."""
        exp = sqlglot()
        wanted = sorted(used)
        columns = [
            _named(self._key(there, what), f"k{k}")
            for k, ((_, there), what) in enumerate(zip(link.keys, kinds, strict=True))
        ]
        if link.time is not None:
            when = self._time(link.time, layout)
            if target is not None:
                # Known after the delay, and later than the row itself in any case.
                columns.append(_named(when.copy(), "own_t"))
                when = exp.Add(this=when, expression=number(float(link.target_delay or 0.0)))
            columns.append(_named(when, "t"))
        n_own = layout.table.schema.n_columns
        for at in wanted:
            if target is not None:
                columns.append(_named(self._target(target, at), f"v{at}"))
            elif at in labels and at < n_own:
                columns.append(_named(self._label(layout.table.schema, at), f"v{at}"))
            elif at < n_own:
                columns.append(_named(self._value(layout.table, at), f"v{at}"))
        nested = _nested_columns(link, layout)
        below = sorted({nested[at][0] for at in wanted if at >= n_own})
        for k in below:
            columns += self._here(link.links[k], k, layout.nested[k].rows.kinds)
        table = f"{name}_read"
        self._add(table, exp.Select(expressions=columns).from_(self.tables[link.title], copy=False))
        if not below:
            return table
        listed = [f"{table}.k{k}" for k in range(len(link.keys))]
        listed += [f"{table}.t"] if link.time is not None else []
        joins = ""
        parts: dict[int, str] = {}
        for k in below:
            inner, learned = link.links[k], layout.nested[k]
            mine = [nested[at][1] for at in wanted if at >= n_own and nested[at][0] == k]
            if learned.features is None:
                counted = [nested[at][1] for at in labels if at >= n_own and nested[at][0] == k]
                rows = self._rows(
                    f"{name}_{k}",
                    inner,
                    learned.rows,
                    learned.rows.kinds,
                    used=mine,
                    labels=counted,
                )
                where = _equal(rows, "k{}", table, f"h{k}_{{}}", len(inner.keys))
                parts |= {
                    at: f"{rows}.v{nested[at][1]}"
                    for at in wanted
                    if at >= n_own and nested[at][0] == k
                }
            else:
                features = [learned.features[j] for j in mine]
                used_below = _columns_of(features)
                rows = self._rows(
                    f"{name}_{k}", inner, learned.rows, learned.rows.kinds, used=used_below
                )
                rows, where = self._aggregate(
                    f"{name}_{k}",
                    table,
                    rows,
                    features,
                    n_keys=len(inner.keys),
                    place=k,
                    timed=inner.time is not None,
                    seen="<=",
                    time="t",
                )
                at_k = [at for at in wanted if at >= n_own and nested[at][0] == k]
                parts |= {
                    at: _empty_is(feature, f"{rows}.f{j}")
                    for j, (at, feature) in enumerate(zip(at_k, features, strict=True))
                }
            joins += f" LEFT JOIN {rows} ON {where}"
        listed += [f"{table}.v{at}" for at in wanted if at < n_own]
        listed += [f"{parts[at]} AS v{at}" for at in wanted if at >= n_own]
        self._add(f"{name}_all", _parse(f"SELECT {', '.join(listed)} FROM {table}{joins}"))
        return f"{name}_all"

    def _target(self, target: TargetColumns, at: int) -> Sql:
        """Write a column of the targets of earlier rows."""
        exp = sqlglot()
        name = target.names[at if target.classes is None else 0]
        self.dialect.check_names([name])
        if target.classes is None:
            schema = Schema((name,), True, np.array([Domain.REAL], np.int8), (None,))
            return read_column(schema, 0, self.rules, self.dialect)
        label = target.classes.tolist()[len(target.classes) - len(target.labels) + at]
        if isinstance(label, bool | np.bool_):
            label = int(label)
            column = exp.Cast(this=quoted(name, column=True), to=kind("INT"))
        else:
            column = quoted(name, column=True)
        written = text(label) if isinstance(label, str) else number(float(label))
        known = exp.Not(this=exp.Is(this=column.copy(), expression=exp.null()))
        hit = exp.EQ(this=column, expression=written)
        return case((hit, number(1.0)), (known, number(0.0)))

    def _aggregate(
        self,
        name: str,
        above: str,
        rows: str,
        features: Sequence[LinkFeature],
        *,
        n_keys: int,
        place: int,
        timed: bool,
        seen: str,
        time: str | None = None,
    ) -> tuple[str, str]:
        """Write aggregates for each key and time above; return their step, and how it is joined."""
        time = time or f"t{place}"
        keys = [f"h{place}_{k}" for k in range(n_keys)]
        moment = [time] if timed else []
        known = " AND ".join(f"{column} IS NOT NULL" for column in [*keys, *moment])
        self._add(
            f"{name}_asked",
            _parse(f"SELECT DISTINCT {', '.join([*keys, *moment])} FROM {above} WHERE {known}"),
        )
        part = ", ".join([*(f"q.{key}" for key in keys), *(f"q.{one}" for one in moment)])
        where = [f"l.k{k} = q.{key}" for k, key in enumerate(keys)]
        listed = [f"q.{key} AS {key}" for key in keys]
        if timed:
            where.append(f"l.t {seen} q.{time}")
            if seen == "<=" and rows.endswith("_read") and self._has(rows, "own_t"):
                where.append(f"l.own_t < q.{time}")
            listed += [f"q.{time} AS until", "l.t AS t"]
            ranked = any(f.window is not None and f.window.rows is not None for f in features)
            if ranked:
                listed.append(f"RANK() OVER (PARTITION BY {part} ORDER BY l.t DESC) AS place")
        listed += [f"l.v{at} AS v{at}" for at in sorted(_columns_of(features))]
        on = " AND ".join(where)
        asked = f"{name}_asked"
        self._add(
            f"{name}_seen",
            _parse(f"SELECT {', '.join(listed)} FROM {asked} AS q JOIN {rows} AS l ON {on}"),
        )
        group = [*keys, *(["until"] if timed else [])]
        values, extra, results = self._written(features, group)
        exp = sqlglot()
        carried = [*group, *(["t"] if timed else [])]
        columns = [exp.column(one) for one in carried] + values
        self._add(
            f"{name}_values", exp.Select(expressions=columns).from_(f"{name}_seen", copy=False)
        )
        last = f"{name}_values"
        if extra:
            self._add(f"{name}_more", _parse(f"SELECT *, {', '.join(extra)} FROM {last}"))
            last = f"{name}_more"
        columns = [exp.column(one) for one in group]
        made = [_named(value, f"f{k}") for k, value in enumerate(results)]
        query = exp.Select(expressions=[*columns, *made]).from_(last, copy=False)
        self._add(name, query.group_by(*group, copy=False))
        joined = [f"{name}.{key} = {above}.{key}" for key in keys]
        joined += [f"{name}.until = {above}.{time}"] if timed else []
        return name, " AND ".join(joined)

    def _has(self, step: str, column: str) -> bool:
        """Whether a step that was added has a column."""
        made = dict(self._steps)[step]
        return any(one.alias == column for one in made.expressions)

    def _written(
        self, features: Sequence[LinkFeature], group: Sequence[str]
    ) -> tuple[list[Sql], list[str], list[Sql]]:
        """Write the values of features, what is computed beside them, and their aggregates."""
        values: list[Sql] = []
        extra: list[str] = []
        results: list[Sql] = []
        part = f"PARTITION BY {', '.join(group)}"
        for k, feature in enumerate(features):
            values += self._counted(feature, k)
            u = f"u{k}"
            if feature.aggregate in ("std", "trend"):
                extra.append(f"AVG({u}) OVER ({part}) AS m{k}")
            if feature.aggregate == "trend":
                extra.append(f"AVG(CASE WHEN NOT {u} IS NULL THEN t END) OVER ({part}) AS s{k}")
                extra.append(f"MIN(t) OVER ({part}) AS z{k}")
            if feature.aggregate in ("first", "last"):
                ends = {"first": "MIN", "last": "MAX"}[feature.aggregate]
                extra.append(f"{ends}(CASE WHEN NOT {u} IS NULL THEN t END) OVER ({part}) AS e{k}")
            if feature.aggregate == "mode":
                extra.append(f"COUNT({u}) OVER ({part}, {u}) AS n{k}")
            if AGGREGATES[feature.aggregate].share is not None:
                none = f"CASE WHEN {u} IS NULL THEN 1 ELSE 0 END"
                extra.append(f"ROW_NUMBER() OVER ({part}, {none} ORDER BY {u}) AS r{k}")
                extra.append(f"COUNT({u}) OVER ({part}) AS n{k}")
            if feature.domain is Domain.REAL:
                results.append(_parse(_aggregated(feature, k)))
                continue
            assert isinstance(feature.value, Column)
            write = _label_code if feature.domain is Domain.CATEGORY else _is_level
            results.append(write(feature, k, self._labels[feature.value.index]))
        return values, extra, results

    def _counted(self, feature: LinkFeature, k: int) -> list[Sql]:
        """Write the value of a feature, NULL for linked rows that do not count."""
        exp = sqlglot()

        def value() -> Sql:
            if feature.value is None:
                return number(1.0)
            made = feature.value.fold(
                lambda node: lambda: exp.column(f"v{node.index}"),
                lambda node, parts: lambda: self.rules.value(node.operator.name, parts),
            )
            return made()

        tests = []
        window = feature.window
        if window is not None and window.rows is not None:
            tests.append(exp.LTE(this=exp.column("place"), expression=number(float(window.rows))))
        elif window is not None:
            start = exp.Sub(this=exp.column("until"), expression=number(float(window.span or 0.0)))
            tests.append(exp.GTE(this=exp.column("t"), expression=start))
        within = exp.and_(*(test.copy() for test in tests)) if tests else None
        if feature.condition is not None:
            tests.append(_condition(feature.condition, self._labels))
        holds = exp.and_(*tests) if tests else None
        made = value() if holds is None else case((holds, value()))
        found = [_named(made, f"u{k}")]
        if feature.aggregate == "share":
            among = number(1.0) if within is None else case((within, number(1.0)))
            found.append(_named(among, f"w{k}"))
        return found

    # Groups -------------------------------------------------------------------------------------

    def _group_code(self, means: KeyTable) -> Sql:
        """Write the number of a row's group; NULL for one that the fit did not see."""
        exp = sqlglot()
        index = means.index
        if index.n_keys > _MAX_KEYS:
            raise ValueError(
                f"The key {', '.join(map(repr, means.names))} has {index.n_keys:,} groups, more "
                f"than the {_MAX_KEYS:,} whose statistics can be written in a query: leave the "
                "group out."
            )
        written = [
            [_literal(value, what) for value in column]
            for column, what in zip(index.values(), index.kinds, strict=True)
        ]
        keys = [self._key(name, what) for name, what in zip(means.names, index.kinds, strict=True)]
        if not index.n_keys:
            return exp.Cast(this=exp.null(), to=kind("DOUBLE"))
        if len(keys) == 1:
            ifs = [
                exp.If(this=value, true=number(float(code)))
                for code, value in enumerate(written[0])
            ]
            return exp.Case(this=keys[0], ifs=ifs)
        branches = []
        for code in range(index.n_keys):
            tests = [
                exp.EQ(this=key.copy(), expression=column[code])
                for key, column in zip(keys, written, strict=True)
            ]
            branches.append((exp.and_(*tests), number(float(code))))
        return case(*branches)

    def _group_value(self, code: str, means: KeyTable, k: int) -> Sql:
        """Write a statistic of a row's group."""
        exp = sqlglot()
        other = float(means.other[k])
        default = exp.null() if np.isnan(other) else number(other)
        ifs = [
            exp.If(this=number(float(at)), true=number(float(value)))
            for at, value in enumerate(means.values[:, k])
            if not np.isnan(value)
        ]
        # A group whose statistic is undefined is not one that was never seen.
        ifs += [
            exp.If(this=number(float(at)), true=exp.null())
            for at, value in enumerate(means.values[:, k])
            if np.isnan(value)
        ]
        made = exp.Case(this=_parse(code), ifs=ifs, default=default) if ifs else default
        return exp.Cast(this=made, to=kind("DOUBLE"))


# Pieces -----------------------------------------------------------------------------------------


def _parse(query: str) -> Sql:
    """Read a piece of SQL over names of our own."""
    return import_module("sqlglot").parse_one(query)


def _named(value: Sql, name: str) -> Sql:
    """Write a value under a name of our own."""
    exp = sqlglot()
    return exp.Alias(this=value, alias=exp.Identifier(this=name, quoted=False))


def _literal(value: Any, what: str) -> Sql:
    """Write the value of a key."""
    if what == "text":
        return text(value)
    # Whole numbers beyond 2**53 are no floats.
    return sqlglot().Literal.number(value) if isinstance(value, int) else number(float(value))


def _titles(link: Link, layout: LinkLayout) -> list[str]:
    """Return the names of a link and of those below it."""
    found = [link.title]
    for nested, learned in zip(link.links, layout.nested, strict=False):
        found += _titles(nested, learned.rows)
    return found


def _nested_columns(link: Link, layout: LinkLayout) -> dict[int, tuple[int, int]]:
    """Return for each column of nested links which link it is of, and its place there."""
    found: dict[int, tuple[int, int]] = {}
    at = layout.table.schema.n_columns
    for k, learned in enumerate(layout.nested):
        n_columns = (
            learned.rows.schema.n_columns if learned.features is None else len(learned.features)
        )
        found |= {at + j: (k, j) for j in range(n_columns)}
        at += n_columns
    return found


def _columns_of(features: Iterable[LinkFeature]) -> set[int]:
    """Return the columns that features are computed from."""
    used: set[int] = set()
    for feature in features:
        if feature.value is not None:
            used.update(feature.value.columns())
        if feature.condition is not None:
            used.add(feature.condition.column)
    return used


def _equal(one: str, of_one: str, other: str, of_other: str, n_keys: int) -> str:
    """Write that the keys of two steps are equal."""
    return " AND ".join(
        f"{one}.{of_one.format(k)} = {other}.{of_other.format(k)}" for k in range(n_keys)
    )


def _counted_labels(features: Iterable[LinkFeature], schema: Schema) -> dict[int, tuple[Any, ...]]:
    """Return the levels of the columns whose labels are counted or compared."""
    found = {}
    for feature in features:
        labels = feature.aggregate == "distinct" or feature.domain is not Domain.REAL
        if labels and isinstance(feature.value, Column):
            at = feature.value.index
            if schema.levels[at] is not None:
                found[at] = tuple(schema.levels[at] or ())
    return found


def _condition(condition: Condition, labels: Mapping[int, tuple[Any, ...]]) -> Sql:
    """Write which linked rows count."""
    exp = sqlglot()
    ask = exp.EQ if condition.is_level else exp.GT
    column = exp.column(f"v{condition.column}")
    if condition.column in labels:
        label = labels[condition.column][int(condition.bound)]
        return ask(this=column, expression=_label_text(label))
    return ask(this=column, expression=number(condition.bound))


def _label_text(label: Any) -> Sql:
    """Write a label."""
    return number(float(label)) if isinstance(label, int) else text(str(label))


def _is_level(feature: LinkFeature, k: int, levels: Sequence[Any]) -> Sql:
    """Write whether the level that an aggregate gives is the one asked for.

    Labels are 0, 1 or 2: before the level in the order of levels, the level, and behind it, as
    those are that the fit did not see.
    """
    exp = sqlglot()
    assert feature.level is not None
    code = int(feature.level.code)
    label = exp.column(f"u{k}")
    before = exp.In(this=label.copy(), expressions=[_label_text(one) for one in levels[:code]])
    branches = [(before, number(0.0))] if code else []
    branches.append((exp.EQ(this=label.copy(), expression=_label_text(levels[code])), number(1.0)))
    known = exp.Not(this=exp.Is(this=label, expression=exp.null()))
    found = _picked(feature, k, case(*branches, (known, number(2.0))), 3)
    is_one = exp.EQ(this=found.copy(), expression=number(1.0))
    defined = exp.Not(this=exp.Is(this=exp.Paren(this=found), expression=exp.null()))
    return case((is_one, number(1.0)), (defined, number(0.0)))


def _label_code(feature: LinkFeature, k: int, levels: Sequence[Any]) -> Sql:
    """Write the code of the level that an aggregate gives; NULL if the fit did not see it."""
    exp = sqlglot()
    label = exp.column(f"u{k}")
    branches = [
        (exp.EQ(this=label.copy(), expression=_label_text(level)), number(float(code)))
        for code, level in enumerate(levels)
    ]
    known = exp.Not(this=exp.Is(this=label, expression=exp.null()))
    unseen = float(len(levels))
    found = _picked(feature, k, case(*branches, (known, number(unseen))), len(levels) + 1)
    return case((exp.LT(this=found.copy(), expression=number(unseen)), found))


def _picked(feature: LinkFeature, k: int, rank: Sql, n_ranks: int) -> Sql:
    """Write the rank of the level that an aggregate gives; NULL where there is none."""
    exp = sqlglot()
    if feature.aggregate == "mode":
        # Of equally frequent labels that of the least rank has the most.
        times = exp.Mul(this=exp.column(f"n{k}"), expression=number(float(n_ranks)))
        among = exp.Sub(this=times.copy(), expression=rank)
        return exp.Paren(this=exp.Sub(this=exp.Max(this=times), expression=exp.Max(this=among)))
    at_end = exp.EQ(this=exp.column("t"), expression=exp.column(f"e{k}"))
    return exp.Max(this=case((at_end, rank)))


def _empty_is(feature: LinkFeature, value: str) -> str:
    """Write what a feature is where no linked row is seen at all."""
    if feature.aggregate in ("count", "sum", "distinct"):
        return f"COALESCE({value}, CAST(0 AS DOUBLE))"
    return value


def _aggregated(feature: LinkFeature, k: int) -> str:
    """Write the aggregate of a feature."""
    u = f"u{k}"
    n = f"CAST(COUNT({u}) AS DOUBLE)"
    simple = {"mean": "AVG", "min": "MIN", "max": "MAX"}
    name = feature.aggregate
    if name in simple:
        return f"{simple[name]}({u})"
    if name == "sum":
        return f"COALESCE(SUM({u}), CAST(0 AS DOUBLE))"
    if name == "count":
        return n
    if name == "distinct":
        return f"CAST(COUNT(DISTINCT {u}) AS DOUBLE)"
    if name == "share":
        return f"{n} / NULLIF(CAST(COUNT(w{k}) AS DOUBLE), CAST(0 AS DOUBLE))"
    if name == "std":
        squares = f"SUM(({u} - m{k}) * ({u} - m{k}))"
        return f"CASE WHEN COUNT({u}) > 1 THEN SQRT({squares} / ({n} - CAST(1 AS DOUBLE))) END"
    if name in ("first", "last"):
        return f"MAX(CASE WHEN t = e{k} THEN {u} END)"
    times = f"CASE WHEN NOT {u} IS NULL THEN t END"
    if name == "time since last":
        return f"MAX(until) - MAX({times})"
    if name == "mean gap":
        gaps = f"(MAX({times}) - MIN({times})) / ({n} - CAST(1 AS DOUBLE))"
        return f"CASE WHEN COUNT({u}) > 1 THEN {gaps} END"
    if name == "trend":
        away = f"(({times}) - s{k})"
        spread = f"SUM({away} * {away})"
        joint = f"SUM({away} * ({u} - m{k}))"
        # As much as rounding would leave of equal times is no spread.
        since = f"(({times}) - z{k})"
        total = f"SUM({since} * {since})"
        least = f"1e-9 * CASE WHEN {total} > 1e0 THEN {total} ELSE 1e0 END"
        return f"CASE WHEN COUNT({u}) > 1 AND {spread} > {least} THEN {joint} / {spread} END"
    share = AGGREGATES[name].share
    place = f"(CAST({share!r} AS DOUBLE) * CAST(n{k} - 1 AS DOUBLE))"
    rank = f"CAST(r{k} AS DOUBLE)"
    one = "CAST(1 AS DOUBLE)"

    def at(where: str, value: str) -> str:
        holds = f"NOT {u} IS NULL AND {rank} - {one} <= {where} AND {where} < {rank}"
        return f"MAX(CASE WHEN {holds} THEN {value} END)"

    low, high = at(place, u), at(f"({place} + {one})", u)
    rest = at(place, f"{place} - ({rank} - {one})")
    between = f"{low} + {rest} * ({high} - {low})"
    return f"CASE WHEN {rest} > CAST(0 AS DOUBLE) THEN {between} ELSE {low} END"
