"""Reports of a fitted `AutoFeatures`: a dict of plain values, a text, and one HTML page."""

from __future__ import annotations

from featurewright.auto.summary import summarize
from featurewright.auto.text import as_text, result_blocks
from featurewright.report.page import render, write_report

__all__ = ["as_text", "render", "result_blocks", "summarize", "write_report"]
