"""Reports of a fitted `AutoFeatures`: a dict of plain values, a text, and one HTML page."""

from __future__ import annotations

from featurewright.auto.summary import summarize
from featurewright.auto.text import as_text, result_blocks
from featurewright.report.page import InlineReport, render, show_report, write_report

__all__ = [
    "InlineReport",
    "as_text",
    "render",
    "result_blocks",
    "show_report",
    "summarize",
    "write_report",
]
