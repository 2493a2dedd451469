"""Features over links in plain words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from featurewright.auto.links import LinkedColumns
from featurewright.expressions import Column
from featurewright.relations import Link, LinkFeature
from featurewright.relations.links import LinkKind

_OF_ROWS = {
    "count": "number of",
    "share": "share of",
    "time since last": "time since the last of",
    "mean gap": "mean time between",
}
_OF_VALUES = {
    "std": "standard deviation of",
    "min": "smallest",
    "max": "largest",
    "first": "first",
    "last": "last",
    "trend": "slope over time of",
    "distinct": "number of different values of",
    "mode": "most frequent",
}
_KINDS = {
    LinkKind.TABLE: "the rows of {title}",
    LinkKind.HISTORY: "the earlier rows",
    LinkKind.GROUP: "the other rows",
}


def describe(feature: LinkFeature, link: Link, as_of: str | None) -> str:
    """Return what a feature over a link is, in plain words.

    Parameters
    ----------
    feature : LinkFeature
        The feature.
    link : Link
        Its link.
    as_of : str or None
        The column with the times of the rows.

    Examples
    --------
    >>> from featurewright.expressions import Real
    >>> from featurewright.relations.aggregates import Window
    >>> amount = Column(0, "amount", Real)
    >>> feature = LinkFeature("orders", "mean", amount, None, Window(90.0, None, True))
    >>> describe(feature, Link(None, on="customer", time="date", name="orders"), "day")
    'mean of amount over the rows of orders with the same customer, before day, last 90 days'
    """
    rows = _rows(link)
    if feature.value is None:
        text = f"{_OF_ROWS.get(feature.aggregate, feature.aggregate)} {rows}"
    else:
        value = feature.value.name if isinstance(feature.value, Column) else str(feature.value)
        word = _OF_VALUES.get(feature.aggregate, f"{feature.aggregate} of")
        text = f"{word} {value} over {rows}"
    if link.kind is LinkKind.TABLE and link.time is not None and as_of is not None:
        text += f", before {as_of}"
    if feature.window is not None:
        text += f", {feature.window}"
    if feature.condition is not None:
        text += f", where {feature.condition.text}"
    if feature.level is not None:
        text = f"whether it is {feature.level.text}: {text}"
    return text


def _rows(link: Link) -> str:
    """Return which rows a link leads to."""
    keys = [here if here == there else f"{here} (there {there})" for here, there in link.keys]
    return f"{_KINDS[link.kind].format(title=link.title)} with the same {' and '.join(keys)}"


def explain_links(model: Any, names: Iterable[str]) -> list[dict[str, str]]:
    """Return the columns over links among some names, each with what it is in plain words.

    Parameters
    ----------
    model : AutoFeatures
        A fitted search.
    names : iterable of str
        Names of columns that formulas use.

    Returns
    -------
    list of dict
        Name and meaning, in the order of the names.
    """
    linked: LinkedColumns | None = getattr(model, "linked_", None)
    if linked is None:
        return []
    links = {link.title: link for link in model.links}
    features = linked.relational.features_
    words: dict[str, str] = {}
    for at, place in enumerate(linked.places):
        name = linked.names[place]
        if at < len(features):
            own = links.get(features[at].link)
            words[name] = (
                str(features[at]) if own is None else describe(features[at], own, model.as_of)
            )
            continue
        group = next((link for title, link in links.items() if f", {title})" in name), None)
        what = name.partition("(")[2].rpartition(", ")[0]
        shown = "share of rows with" if name.startswith("share") else "mean"
        words[name] = name if group is None else f"{shown} {what} over {_rows(group)}"
    return [
        {"name": name, "meaning": words[name]} for name in dict.fromkeys(names) if name in words
    ]
