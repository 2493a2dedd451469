"""Linked tables on the command line: ``--link orders.csv:on=customer,time=date``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featurewright.cli.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from featurewright.relations import Link

_OPTIONS = ("on", "time", "name", "target_delay")
_FORM = "--link orders.csv:on=customer,time=date"
_KINDS = ("history", "group")


@dataclass(frozen=True)
class LinkText:
    """One ``--link``, taken apart.

    Parameters
    ----------
    kind : {"table", "history", "group"}
        What the linked rows are.
    path : Path or None
        The file or folder of a linked table.
    on : tuple of (str, str)
        Keys here and there.
    time : str or None
        The column of times.
    name : str or None
        How features call the linked rows.
    target_delay : float or None
        Of a history or a group, when targets are known.
    """

    kind: str
    path: Path | None
    on: tuple[tuple[str, str], ...] = ()
    time: str | None = None
    name: str | None = None
    target_delay: float | None = None

    @property
    def title(self) -> str:
        """How features call the linked rows."""
        if self.name is not None:
            return self.name
        if self.kind == "group":
            return "same " + ", ".join(here for here, _ in self.on)
        return self.kind if self.path is None else self.path.name.split(".")[0]


def parse_link(text: str) -> LinkText:
    """Take a declaration of a link apart.

    Examples
    --------
    >>> parse_link("orders.csv:on=customer=id,time=date").on
    (('customer', 'id'),)
    >>> parse_link("history:on=store,on=shelf,time=day,target_delay=1").kind
    'history'
    """
    source, colon, rest = text.rpartition(":on=")
    if not colon or not source:
        raise UserError(
            f"--link {text!r} does not say which key it is linked on: write for example {_FORM}."
        )
    kind = source if source in _KINDS else "table"
    keys: list[tuple[str, str]] = []
    found: dict[str, str] = {}
    for part in f"on={rest}".split(","):
        option, equals, value = part.partition("=")
        option = option.strip()
        if option not in _OPTIONS:
            meant = did_you_mean(option, _OPTIONS)
            raise UserError(f"--link {text!r} has the option {option!r}, but {meant}")
        if not equals or not value.strip():
            raise UserError(f"--link {text!r} says nothing for {option!r}: write {option}=….")
        if option == "on":
            here, _, there = (name.strip() for name in value.partition("="))
            keys.append((here, there or here))
        elif option in found:
            raise UserError(f"--link {text!r} says {option!r} twice: say it once.")
        else:
            found[option] = value.strip()
    _check_kind(text, kind, keys, found)
    return LinkText(
        kind,
        None if kind in _KINDS else Path(source),
        tuple(keys),
        found.get("time"),
        found.get("name"),
        _delay(text, found.get("target_delay")),
    )


def _check_kind(
    text: str, kind: str, keys: Sequence[tuple[str, str]], found: dict[str, str]
) -> None:
    """Refuse options that make no sense for what the linked rows are."""
    if kind == "history" and "time" not in found:
        raise UserError(f"--link {text!r} needs a time, which says which rows are earlier: time=….")
    if kind == "group" and "time" in found:
        raise UserError(f"--link {text!r} has a time, but a group has none: use history:… for it.")
    if kind == "table" and "target_delay" in found:
        raise UserError(
            f"--link {text!r} has a target_delay, which is for history:… and group:… alone."
        )
    if kind != "table" and any(here != there for here, there in keys):
        raise UserError(f"--link {text!r} links the table with itself: name each key once.")


def _delay(text: str, value: str | None) -> float | None:
    """Read a delay."""
    if value is None:
        return None
    try:
        delay = float(value)
    except ValueError:
        delay = -1.0
    if not 0.0 <= delay < float("inf"):
        raise UserError(f"--link {text!r} has target_delay={value!r}: give days, such as 1.")
    return delay


def parse_links(texts: Iterable[str], as_of: str | None, order_by: str | None) -> list[LinkText]:
    """Take the links of a fit apart; refuse those that do not go together."""
    linked = check_titles(map(parse_link, texts))
    timed = next((one for one in linked if one.kind == "table" and one.time), None)
    if timed is not None and as_of is None:
        raise UserError(
            f"The link {timed.title!r} has the time {timed.time!r}, so rows need one too: add "
            "--as-of with the column that says when each row is predicted."
        )
    late = next((one for one in linked if one.kind == "group" and one.target_delay), None)
    if late is not None and as_of is None:
        raise UserError(
            f"The target_delay of the group {late.title!r} needs the times of rows: add --as-of "
            "with the column that says when each row is predicted."
        )
    if order_by is not None and (as_of is not None or any(one.kind == "history" for one in linked)):
        raise UserError(
            "Folds follow --as-of, or the time of a history, already: leave --order-by out."
        )
    return linked


def parse_newer(text: str) -> LinkText:
    """Take apart where the newer rows of a link of a model are: ``orders=orders.csv``.

    The form of `fit` does too, and the name of a file that is called as the link is.

    Examples
    --------
    >>> parse_newer("orders=new/o.csv").title, parse_newer("new/orders.parquet").title
    ('orders', 'orders')
    """
    if ":on=" in text:
        link = parse_link(text)
        if link.path is None and link.kind == "history":
            raise UserError(
                f"--link {text!r} names no file of earlier rows: write --link {link.title}=FILE."
            )
        return link
    name, equals, path = text.partition("=")
    if not equals:
        return LinkText("table", Path(text))
    if not name.strip() or not path.strip():
        raise UserError(f"--link {text!r} must be a name and a file, such as orders=orders.csv.")
    return LinkText("table", Path(path.strip()), name=name.strip())


def link_names(texts: Iterable[str]) -> dict[str, str]:
    """Read which tables of a database links are: ``orders=shop.orders``.

    Examples
    --------
    >>> link_names(["orders=shop.orders"])
    {'orders': 'shop.orders'}
    """
    found = {}
    for text in texts:
        name, _, table = (part.strip() for part in text.partition("="))
        if not name or not table:
            raise UserError(
                f"--link {text!r} must be a name and a table, such as orders=shop.orders."
            )
        found[name] = table
    return found


def check_titles(links: Iterable[LinkText]) -> list[LinkText]:
    """Refuse two links of one name."""
    found: dict[str, LinkText] = {}
    for link in links:
        if link.title in found:
            raise UserError(
                f"Two links are called {link.title!r}: give each a name of its own (name=…)."
            )
        found[link.title] = link
    return list(found.values())


def read_linked(path: Path, nulls: Iterable[str], delimiter: str | None) -> pl.DataFrame:
    """Read the table of a link: a file, or a folder of Parquet files."""
    import polars as pl

    from featurewright.cli.kinds import find_types
    from featurewright.cli.sources import open_table

    if path.is_dir():
        files = sorted(path.rglob("*.parquet"))
        if not files:
            raise UserError(
                f"{path} is a folder without Parquet files: name a file, or a folder with some."
            )
        return pl.concat([open_table(file).read() for file in files], how="diagonal_relaxed")
    source = open_table(path, delimiter=delimiter)
    frame = source.read()
    return find_types(frame, nulls, source.delimiter) if source.is_text else frame


def make_links(
    texts: Sequence[LinkText], nulls: Iterable[str], delimiter: str | None
) -> list[Link]:
    """Read the linked tables of a fit."""
    from featurewright.relations import Link

    made = []
    for text in texts:
        keys = [here for here, _ in text.on]
        if text.kind == "group":
            late = text.target_delay or 0.0
            made.append(Link.group(on=keys, name=text.name, target_delay=late))
            continue
        if text.kind == "history":
            delay = text.target_delay
            own = Link.history(on=keys, time=str(text.time), name=text.title, target_delay=delay)
            made.append(own)
            continue
        assert text.path is not None  # only the table itself has none
        table = read_linked(text.path, nulls, delimiter)
        for _, there in (*text.on, *([("", text.time)] if text.time else [])):
            if there not in table.columns:
                meant = did_you_mean(there, table.columns)
                raise UserError(f"There is no column {there!r} in {text.path}: {meant}")
        made.append(Link(table, on=list(text.on), time=text.time, name=text.title))
    return made


def link_tables(
    model: Any, texts: Sequence[LinkText], nulls: Iterable[str], delimiter: str | None
) -> Any:
    """Return a model with the linked tables it is applied with; refuse to go without one."""
    known = [link.title for link in getattr(model, "links", ())]
    for text in texts:
        if text.title not in known:
            meant = did_you_mean(text.title, known) if known else "it was fitted without links."
            raise UserError(f"The model has no link {text.title!r}: {meant}")
    given = [text.title for text in texts]
    stored = getattr(model, "store_links", False)
    for title in () if stored else needed_links(model):
        if title not in given:
            raise UserError(
                f"The model needs the rows of its link {title!r}, which a model file does not "
                f"hold: add --link {title}=FILE."
            )
    tables = {
        text.title: read_linked(text.path, nulls, delimiter)
        for text in texts
        if text.path is not None
    }
    if not tables:
        return model
    from featurewright.auto.links import with_links

    return with_links(model, tables)


def needed_links(model: Any) -> list[str]:
    """Return the names of the links whose rows a model needs; groups are in its file."""
    if getattr(model, "linked_", None) is None:
        return []
    from featurewright.auto.links import used_links

    return used_links(model)


def link_columns(model: Any) -> set[str]:
    """Return the columns of the table that features over links need: keys and times."""
    if getattr(model, "linked_", None) is None:
        return set()
    keys = {here for link in model.links for here, _ in link.keys}
    own = {link.time for link in model.links if link.kind.value == "history"}
    return keys | own | ({model.as_of} if model.as_of is not None else set())
