"""Fitted features over links with fewer features, or with newer tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from featurewright.relations.features import RelationalFeatures
from featurewright.relations.links import Link, all_links
from featurewright.relations.sources import unique_names


def link_names(fitted: RelationalFeatures) -> tuple[str, ...]:
    """Return the names of the columns over links, without original columns."""
    return unique_names([*map(str, fitted.features_), *fitted._group_names])


def take_features(fitted: RelationalFeatures, places: Sequence[int]) -> RelationalFeatures:
    """Return a copy that computes some of `features_`, and all mean targets of groups.

    Parameters
    ----------
    fitted : RelationalFeatures
        Fitted, without original columns in its output.
    places : sequence of int
        Which features, in increasing order.
    """
    taken = copy(fitted)
    kept = [int(place) for place in places]
    n_features = len(fitted.features_)
    n_before = len(fitted._fill) - fitted._n_columns
    taken.features_ = tuple(fitted.features_[place] for place in kept)
    taken.worth_ = fitted.worth_[kept]
    taken._feature_sources = fitted._feature_sources[kept]
    taken._n_columns = len(link_names(taken))
    columns = [*range(n_before), *(n_before + place for place in kept)]
    columns += range(n_before + n_features, len(fitted._fill))
    taken._fill = fitted._fill[columns]
    taken._statistics = {}
    for at, table in fitted._statistics.items():
        own = np.flatnonzero(fitted._feature_sources == at)
        chosen = np.flatnonzero(np.isin(own, kept))
        if len(chosen):
            values = np.ascontiguousarray(table.values[:, chosen])
            taken._statistics[at] = replace(table, values=values, other=table.other[chosen])
    return taken


def told(fitted: RelationalFeatures, links: Sequence[Link]) -> RelationalFeatures:
    """Return a copy with links as they were given, and no rows of their collections."""
    made = copy(fitted)
    made.links = list(links)
    made._sources = [source.told(links) for source in fitted._sources]
    return made


def with_links(
    fitted: RelationalFeatures, links: Sequence[Link], change: Callable[[Link], Link]
) -> RelationalFeatures:
    """Return a copy with other links, whose sources have what a function makes of theirs."""
    made = copy(fitted)
    made.links = list(links)
    made._sources = [replace(source, link=change(source.link)) for source in fitted._sources]
    return made


def with_tables(fitted: RelationalFeatures, tables: Mapping[str, Any]) -> RelationalFeatures:
    """Return a copy that has read newer tables once, for many calls of `transform`."""
    checked = fitted._check_tables(tables)
    made = copy(fitted)
    made._sources, made._statistics = list(fitted._sources), dict(fitted._statistics)
    for at, source in enumerate(fitted._sources):
        if any(link.title in checked for link in all_links([source.link])):
            made._sources[at] = source.reread(checked)
            made._statistics.pop(at, None)
    return made
