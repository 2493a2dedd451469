"""Ratios of `make bench` over time: one line of JSON for each run, with its commit and machine.

A run of a speed program appends to ``benchmarks/history.jsonl``; the site draws the file. Seconds
differ from machine to machine, so only ratios that were measured side by side are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pages import commit, machine

HISTORY = Path(__file__).with_name("history.jsonl")


def record(
    program: str,
    size: str,
    ratios: Mapping[str, float],
    larger_is_better: Sequence[str],
    path: Path,
) -> None:
    """Append a run.

    Parameters
    ----------
    program : str
        Name of the measurement.
    size : str
        "quick", "full" or "custom".
    ratios : mapping
        What was measured: our time over theirs, except where larger is better.
    larger_is_better : sequence of str
        The keys of ratios that are the reverse.
    path : Path
        The file: ``HISTORY``, but for a run that tests something.
    """
    entry = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "commit": commit(),
        "machine": machine(),
        "program": program,
        "size": size,
        "larger_is_better": list(larger_is_better),
        "ratios": {work: round(number, 4) for work, number in ratios.items()},
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")
