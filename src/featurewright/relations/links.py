"""Links: which other rows a row is explained by, declared by their keys and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from html import escape
from typing import Any

from featurewright.estimators.collections import bring_linked, is_collection
from featurewright.estimators.parameters import number


class LinkKind(Enum):
    """What the linked rows are."""

    TABLE = "table"
    HISTORY = "history"
    GROUP = "group"


@dataclass(frozen=True, eq=False)
class Link:
    """A link from each row of a table to the rows of another one with the same key.

    Parameters
    ----------
    table : data frame
        The linked rows: pandas, polars, PyArrow or any other frame that narwhals reads, or a Dask
        DataFrame, of which only the rows that a row or partition sees are brought to it.
    on : str, (str, str) or list of these
        The key: a column that both tables have, or a pair of names (here, there), or several.
    time : str, optional
        The column of `table` that says when a linked row became known. Only rows before the time of
        the row they explain are seen; `RelationalFeatures(as_of=...)` names that time.
    name : str, optional
        The name of the linked rows in features; "linked" by default.
    links : list of Link, default=()
        Links of the linked rows themselves. If the key is unique in the other table, its columns
        are looked up and join those of `table`; otherwise its rows are aggregated for each linked
        row, with counts, sums, means, minima and maxima.

    See Also
    --------
    RelationalFeatures : Finds features over links.

    Examples
    --------
    >>> import polars as pl
    >>> orders = pl.DataFrame({"customer": [1, 1, 2], "amount": [5.0, 7.0, 1.0]})
    >>> Link(orders, on="customer", name="orders")
    Link(name='orders', on='customer', 3 rows)
    >>> Link.history(on="store", time="day")
    Link.history(name='history', on='store', time='day')
    """

    table: Any
    on: Any
    time: str | None = None
    name: str | None = None
    links: tuple[Link, ...] | list[Link] = ()
    kind: LinkKind = LinkKind.TABLE
    target_delay: float | None = None

    def __post_init__(self) -> None:
        """Keep nested links as a tuple: a generator could be read once."""
        if isinstance(self.links, list):
            object.__setattr__(self, "links", tuple(self.links))

    @classmethod
    def history(
        cls,
        *,
        on: Any,
        time: str,
        name: str = "history",
        target_delay: float | None = None,
    ) -> Link:
        """Link each row to the earlier rows of the same table with the same key.

        Parameters
        ----------
        on : str or list of str
            The key.
        time : str
            The column of the table that orders the rows. Only strictly earlier rows are seen.
        name : str, default="history"
            How features call the earlier rows.
        target_delay : float, optional
            Days (or units of a time that is a number) after which the target of an earlier row is
            known. None leaves targets of earlier rows out.

        Returns
        -------
        Link
            The link.
        """
        return cls(None, on, time, name, (), LinkKind.HISTORY, target_delay)

    @classmethod
    def group(cls, *, on: Any, name: str | None = None, target_delay: float = 0.0) -> Link:
        """Link each row to the other rows of the training table with the same key.

        Features are statistics of the columns of these rows, the row itself left out, and the mean
        target of the group, out of fold for training rows. With ``RelationalFeatures(as_of=...)``
        both are those of earlier rows alone.

        Parameters
        ----------
        on : str or list of str
            The key.
        name : str, optional
            How features call the rows; "same" and the key by default.
        target_delay : float, default=0.0
            With times, the days (or units of a time that is a number) after which the target of an
            earlier row is known.

        Returns
        -------
        Link
            The link.
        """
        return cls(None, on, None, name, (), LinkKind.GROUP, target_delay)

    @property
    def title(self) -> str:
        """How features call the linked rows."""
        if self.name is not None:
            return self.name
        if self.kind is LinkKind.GROUP:
            return "same " + ", ".join(here for here, _ in self.keys)
        return "linked"

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Pairs of key columns: in the table, and in the linked one."""
        if isinstance(self.on, str):
            return [(self.on, self.on)]
        if _is_pair(self.on) and isinstance(self.on, tuple):
            return [(self.on[0], self.on[1])]
        pairs = []
        listed = isinstance(self.on, Iterable) and not isinstance(self.on, Mapping)
        for key in self.on if listed else [self.on]:
            if isinstance(key, str):
                pairs.append((key, key))
            elif _is_pair(key):
                pairs.append((key[0], key[1]))
            else:
                pairs = []
                break
        if not pairs:
            raise ValueError(
                f"on={self.on!r} of a link must be the name of a key column, a pair of names "
                "(here, there), or a list of these."
            )
        return pairs

    @property
    def _is_in_memory(self) -> bool:
        """Whether the number of linked rows can be told without computing anything."""
        return hasattr(self.table, "__len__") and not is_collection(self.table)

    def __sklearn_clone__(self) -> Link:
        """Return the link itself: it is never changed, and copying tables takes memory."""
        return self

    def __repr__(self) -> str:
        start = "Link(" if self.kind is LinkKind.TABLE else f"Link.{self.kind.value}("
        parts = [f"name={self.title!r}", f"on={self.on!r}"]
        if self.time is not None:
            parts.append(f"time={self.time!r}")
        if self.target_delay is not None and (self.kind is LinkKind.HISTORY or self.target_delay):
            parts.append(f"target_delay={self.target_delay!r}")
        if self._is_in_memory:
            parts.append(f"{len(self.table):,} rows")
        return start + ", ".join(parts) + ")"

    def _repr_html_(self) -> str:
        """Show in a notebook what is linked, by which key, and what a row sees of it."""
        same = self.kind is not LinkKind.TABLE
        keys = ", ".join(
            here if here == there else f"{here} = {there}" for here, there in self.keys
        )
        sees = {
            LinkKind.TABLE: "all of them"
            if self.time is None
            else f"those of an earlier {self.time}",
            LinkKind.HISTORY: f"those of an earlier {self.time}",
            LinkKind.GROUP: "all but itself",
        }
        number = f"{len(self.table):,} " if self._is_in_memory else ""
        facts = {
            "rows": number + ("of the same table" if same else f"of a {type(self.table).__name__}"),
            "key": keys,
            "a row sees": sees[self.kind],
        }
        left = 'style="text-align:left"'
        cells = "".join(
            f"<tr><th {left}>{name}</th><td {left}>{escape(fact)}</td></tr>"
            for name, fact in facts.items()
        )
        return f"<table><caption>{escape(self.title)}</caption>{cells}</table>"


def names_of_rows(links: Iterable[Link], as_of: str | None) -> tuple[set[str], set[str]]:
    """Return the keys, and the times, that say which row is meant rather than what it is like.

    The number of a customer has no order that means anything, and later rows have times that no
    training row has. The key of a group is shared by design, and may be a quantity.
    """
    shared = {here for link in links if link.kind is LinkKind.GROUP for here, _ in link.keys}
    keys = {here for link in links if link.kind is not LinkKind.GROUP for here, _ in link.keys}
    times = {link.time for link in links if link.kind is LinkKind.HISTORY and link.time}
    return keys - shared, times | ({as_of} if as_of is not None else set())


def _is_pair(value: Any) -> bool:
    """Whether a value is two names."""
    two = isinstance(value, tuple | list) and len(value) == 2
    return two and all(isinstance(name, str) for name in value)


def all_links(links: Iterable[Link]) -> Iterator[Link]:
    """Yield links, each followed by those below it."""
    for link in links:
        yield link
        yield from all_links(link.links)


def tables_in_memory(links: Sequence[Link], X: Any, tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return newer tables, and of linked collections the rows that a table sees."""
    found: Mapping[str, Any] = bring_linked(links, all_links(links), X, tables)
    return found


def links_in_memory(links: Sequence[Link], X: Any) -> list[Link]:
    """Return links whose collections are the rows that a table sees."""
    return links_with_tables(links, tables_in_memory(links, X, {}))


def links_with_tables(links: Sequence[Link], tables: Mapping[str, Any]) -> list[Link]:
    """Return links with other tables, nested ones too; the same where there is none."""
    if not tables:
        return list(links)
    return [
        replace(
            link,
            table=tables.get(link.title, link.table),
            links=tuple(links_with_tables(link.links, tables)),
        )
        for link in links
    ]


def in_tables_in_memory(links: Iterable[Link]) -> bool:
    """Whether all links are to other tables, which are in memory."""
    return all(
        link.kind is LinkKind.TABLE and not is_collection(link.table) for link in all_links(links)
    )


def check_links(name: str, links: Any) -> None:
    """Refuse what is no list of links with different names."""
    _check_list(name, links)
    titles = [link.title for link in all_links(links)]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(
                f"Two links are called {title!r}: give each a name of its own (name=…)."
            )


def _check_list(name: str, links: Any) -> None:
    """Refuse what is no list of links that make sense by themselves."""
    if isinstance(links, Link) or not isinstance(links, list | tuple):
        raise ValueError(
            f"{name}={links!r} must be a list of Link, such as [Link(table, on='key')]."
        )
    for link in links:
        if not isinstance(link, Link):
            raise ValueError(f"{name} holds {link!r}, but every entry must be a Link.")
        _ = link.keys  # raises where `on` makes no sense
        for what, value in (("time", link.time), ("name", link.name)):
            if value is not None and not (isinstance(value, str) and value):
                raise ValueError(
                    f"{what}={value!r} of link {link.title!r} must be a text that is not empty."
                )
        if link.kind is LinkKind.HISTORY and link.time is None:
            raise ValueError(
                f"Link {link.title!r} is a history without a time, but which rows are earlier is "
                "told by one: name the column of times (time=…)."
            )
        if link.target_delay is not None:
            number(f"target_delay of link {link.title!r}", link.target_delay, least=0.0)
            if link.kind is LinkKind.TABLE:
                raise ValueError(
                    f"target_delay={link.target_delay!r} of link {link.title!r} says when targets "
                    "of the table's own rows are known, but this link is to another table: leave "
                    "it out, or use Link.history or Link.group."
                )
        _check_list(f"links of link {link.title!r}", link.links)
        for nested in link.links:
            if nested.kind is not LinkKind.TABLE:
                raise ValueError(
                    f"Link {nested.title!r} below link {link.title!r} is a {nested.kind.value}, "
                    "but only links to other tables nest: make it a link of the table itself."
                )
