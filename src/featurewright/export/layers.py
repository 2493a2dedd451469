"""Steps as a query of layers: what is needed more than once is a column of a layer below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from featurewright.export.cases import Writer, look_up
from featurewright.export.graph import Graph
from featurewright.export.moments import read_moment
from featurewright.export.scalars import chain, is_operator, render
from featurewright.expressions import OPERATORS, Domain
from featurewright.expressions.dialects import Dialect
from featurewright.expressions.sql_form import TRUTHS, Rules
from featurewright.expressions.sql_pieces import (
    Make,
    Sql,
    case,
    double,
    kind,
    number,
    quoted,
    sqlglot,
    text,
)
from featurewright.tables import Schema

_SHORT = 12  # symbols up to which a piece is written again rather than named
_KEPT = ("column", "moment", "total")  # steps that are always columns
_LITERAL = (*TRUTHS, "lookup", "gap", "shares", "member", "number")
_SETTLED = ("add", "sub", "mul", "div", "square", "reciprocal", "round")
_ONCE = ("neg", "abs")
_TWICE = ("expit", "exponential", "clip", "power", "root", "member")
_ROUNDED = ("sqrt", "log", "exp", "gaussian", "bump")


class Layers:
    """The layers of a query: each step that is a column has one, and operands lie below it."""

    def __init__(self, graph: Graph, dialect: Dialect) -> None:
        self.graph, self.steps = graph, graph.steps
        self.dialect = dialect
        self.rules = {narrow: Rules(dialect.name, narrow) for narrow in (False, True)}
        self.named = self._choose()
        self.level = self._place()

    def query(self, table: Sql, keys: Sequence[str], names: Sequence[str], prefix: str) -> Sql:
        """Write the query; `names` are those of the outputs."""
        exp = sqlglot()
        query, source = exp.Select(), table
        for level in range(self.top):
            columns = [self._key(key, k, first=level == 0) for k, key in enumerate(keys)]
            for i in self.named:
                if self.level[i] == level:
                    columns.append(exp.Alias(this=self._own(i), alias=_internal(f"v{i}")))
                elif self.level[i] < level < self.last_use[i]:
                    columns.append(_column(f"v{i}"))
            self._check_width(len(columns))
            if not columns:  # constants alone
                columns = [exp.Alias(this=exp.Literal.number(1), alias=_internal("v"))]
            layer = exp.Select(expressions=columns).from_(source, copy=False)
            name = f"{prefix}{level}"
            kept = True if self.dialect.materializes_layers else None
            query = query.with_(_internal(name), as_=layer, materialized=kept, copy=False)
            source = exp.Table(this=_internal(name))
        columns = [
            exp.Alias(this=_column(f"k{k}"), alias=quoted(key)) for k, key in enumerate(keys)
        ]
        for name, (_, step) in zip(names, self.graph.outputs, strict=True):
            columns.append(exp.Alias(this=self._write(step), alias=quoted(name)))
        self._check_width(len(columns))
        query.set("expressions", columns)
        return query.from_(source, copy=False)

    def _check_width(self, n_columns: int) -> None:
        """Refuse what a database cannot hold side by side."""
        most = self.dialect.max_columns
        if most is not None and n_columns > most:
            raise ValueError(
                f"The query needs {n_columns} columns side by side, but {self.dialect.name} allows "
                f"{most}; give fewer features out, or another dialect."
            )

    # What becomes a column ----------------------------------------------------------------------

    def _choose(self) -> list[int]:
        """Return the steps that become columns: long ones that are written more than once."""
        used = self._reachable()
        uses = dict.fromkeys(used, 0)
        for i in used:
            for arg, times in self._counts(i):
                uses[arg] += times
        for _, output in self.graph.outputs:
            uses[output] += 1
        deepest = self.dialect.max_nesting
        size: dict[int, int] = {}
        depth: dict[int, int] = {}
        named = []
        for i in used:
            step = self.steps[i]
            size[i] = 2 + sum(times * size[arg] for arg, times in self._counts(i))
            # A CASE with a product or a sum in parentheses inside is ten symbols deep at most.
            nested = 10 if is_operator(step) else 5
            depth[i] = nested + max((depth[arg] for arg in step.args), default=0)
            too_deep = deepest is not None and depth[i] > deepest and step.op != "descend"
            if step.op in _KEPT or too_deep or (uses[i] > 1 and size[i] > _SHORT):
                named.append(i)
                size[i], depth[i] = 1, 0
        return named

    def _reachable(self) -> list[int]:
        """Return the steps that outputs need, operands first."""
        found: set[int] = set()
        open_steps = [step for _, step in self.graph.outputs]
        while open_steps:
            step = open_steps.pop()
            if step not in found:
                found.add(step)
                open_steps.extend(self.steps[step].args)
        return sorted(found)

    def _counts(self, i: int) -> list[tuple[int, int]]:
        """Return the operands of a step and how often its text names each."""
        step = self.steps[i]
        op = step.op
        times = 1
        casts = self.dialect.casts_round
        if op in _SETTLED:
            times = (2 if casts else 7) if step.narrow else 2
        elif op in _ROUNDED:
            times = 1 if casts or not step.narrow else 5
        elif op in _TWICE or (op in OPERATORS and op not in _ONCE):
            times = 2
        if op in ("square", "exp", "gaussian", "bump"):
            times *= 2
        counts = [(arg, times) for arg in step.args]
        if op == "pick":
            counts[-1] = (step.args[-1], len(step.args) - 1)
        if op == "descend":
            counts = step.data.counts(step.args)
        if op in ("gap", "shares", "floor"):
            counts = [(step.args[0], 1)]
        if op == "lookup":
            counts = [(step.args[0], len(step.data) - 1)]
        return counts

    def _place(self) -> dict[int, int]:
        """Return the layer of each column: as late as possible, so that few are carried along."""
        chosen = set(self.named)
        needs = {i: self._needs(i, chosen) for i in self.named}
        earliest: dict[int, int] = {}
        for i in self.named:
            earliest[i] = max((earliest[k] + 1 for k in needs[i]), default=0)
        self.top = max(earliest.values(), default=0) + 1
        level = dict.fromkeys(self.named, self.top - 1)
        self.last_use = dict.fromkeys(self.named, 0)
        for _, output in self.graph.outputs:
            for k in {output} if output in level else self._needs(output, chosen):
                self.last_use[k] = self.top
        for i in reversed(self.named):
            if self.steps[i].op in ("column", "moment"):  # only the first layer can read the table
                level[i] = 0
            for k in needs[i]:
                level[k] = min(level[k], level[i] - 1)
                self.last_use[k] = max(self.last_use[k], level[i])
        return level

    def _needs(self, i: int, chosen: set[int]) -> set[int]:
        """Return the columns that the text of a step names."""
        found: set[int] = set()
        open_steps = list(self.steps[i].args)
        while open_steps:
            arg = open_steps.pop()
            if arg in chosen:
                found.add(arg)
            else:
                open_steps.extend(self.steps[arg].args)
        return found

    # Writing ------------------------------------------------------------------------------------

    def _key(self, key: str, k: int, *, first: bool) -> Sql:
        """Write a key column, which all layers pass on under a name of our own."""
        if not first:
            return _column(f"k{k}")
        return sqlglot().Alias(this=quoted(key, column=True), alias=_internal(f"k{k}"))

    def _write(self, i: int, *, raw: bool = False) -> Sql:
        """Write a step: the name of its column, or its own text."""
        return _column(f"v{i}") if i in self.level else self._own(i, raw=raw)

    def _own(self, i: int, *, raw: bool = False) -> Sql:
        """Write what a step computes, as a float where its text is made of literals alone."""
        made = self._text(i, raw=raw)
        step = self.steps[i]
        literal = step.op in _LITERAL or (step.op == "descend" and step.data.values)
        if literal and self.dialect.decimal_literals:
            return sqlglot().Cast(this=made, to=kind("DOUBLE"))
        return made

    def _text(self, i: int, *, raw: bool) -> Sql:
        """Write what a step computes."""
        step = self.steps[i]
        rules = self.rules[step.narrow]
        if step.op == "column":
            return read_column(self.graph.schema, step.data, rules, self.dialect)
        if step.op == "moment":
            name, what = step.data
            return read_moment(name, what, self.dialect)
        parts: list[Make] = [partial(self._write, arg) for arg in step.args]
        if step.op == "total":
            return chain([part() for part in parts])
        if step.op == "descend":
            return Writer(self._write, self._is_settled).descend(step)
        if step.op == "lookup":
            return look_up(step.data, parts[0])
        return render(step, parts, rules, raw=raw)

    def _is_settled(self, i: int) -> bool:
        """Whether the text of a step is rounded already."""
        return i in self.level or not is_operator(self.steps[i])


def _internal(name: str) -> Any:
    """Write a name of our own."""
    return sqlglot().Identifier(this=name, quoted=False)


def _column(name: str) -> Any:
    """Write a column of the layer below."""
    return sqlglot().Column(this=_internal(name))


# Columns of a database table as the model reads them ---------------------------------------------


def read_column(schema: Schema, index: int, rules: Rules, dialect: Dialect) -> Sql:
    """Write a column of the table: NULL is missing, and so is what the model cannot read."""
    name, domain, levels = schema.names[index], schema.domains[index], schema.levels[index]
    if levels == ():  # text of which nothing was present in the fit
        return sqlglot().Cast(this=sqlglot().null(), to=kind("DOUBLE"))

    def column() -> Sql:
        return quoted(name, column=True)

    if domain == Domain.CATEGORY:
        return _code_of(name, column, levels or (), dialect)
    if domain == Domain.BOOLEAN:
        return _zero_or_one(column, dialect)
    return _number(column, rules, dialect)


def _code_of(name: str, column: Make, levels: Sequence[Any], dialect: Dialect) -> Sql:
    """Write the code of a label; labels the fit did not see are missing."""
    exp = sqlglot()
    if levels and all(isinstance(level, (int, float)) for level in levels):
        value, labels = _as_number(column, dialect), [number(float(level)) for level in levels]
    elif all(isinstance(level, str) for level in levels):
        value = dialect.label(exp.Cast(this=column(), to=kind("TEXT")))
        labels = [text(str(level)) for level in levels]
    else:
        raise ValueError(
            f"Column {name!r} held labels of different kinds, such as {levels[0]!r} and "
            f"{levels[-1]!r}, which a database cannot tell apart; fit on labels that are all text."
        )
    ifs = [exp.If(this=label, true=number(float(code))) for code, label in enumerate(labels)]
    return exp.Cast(this=exp.Case(this=value, ifs=ifs), to=kind("DOUBLE"))


def _number(column: Make, rules: Rules, dialect: Dialect) -> Sql:
    """Write a number: text that holds none, NaN and what is too large are missing."""
    asked = dialect.holds_number
    holds = None if asked is None else lambda: asked(column)
    return rules.input(lambda: double(column()), holds)


def _as_number(column: Make, dialect: Dialect) -> Sql:
    """Write a column as a number, missing where it holds none."""
    if dialect.holds_number is None:
        return double(column())
    return case((dialect.holds_number(column), double(column())))


def _zero_or_one(column: Make, dialect: Dialect) -> Sql:
    """Write a truth value as 0 or 1; any other value is missing."""
    exp = sqlglot()

    def value() -> Sql:
        if dialect.casts_booleans:
            return _as_number(column, dialect)
        return double(exp.Cast(this=column(), to=kind("INT")))

    known = exp.In(this=value(), expressions=[number(0.0), number(1.0)])
    return case((known, value()))
