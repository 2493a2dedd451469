"""Reports of a fitted `AutoFeatures`: a dict of plain values, and one HTML page."""

from __future__ import annotations

from featurewright.report.page import render, write_report
from featurewright.report.summary import summarize

__all__ = ["render", "summarize", "write_report"]
