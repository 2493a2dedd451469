"""Rows that belong together: features of the rows of child tables, histories and groups."""

from featurewright.relations.aggregates import LinkFeature
from featurewright.relations.features import RelationalFeatures
from featurewright.relations.links import Link

__all__ = ["Link", "LinkFeature", "RelationalFeatures"]
