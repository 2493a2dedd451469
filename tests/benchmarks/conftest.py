"""The benchmarks are programs that find each other in their own folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture(autouse=True)
def _no_data_is_remembered():
    """What is known of the data folder is found out again in every test."""
    import data

    for cached in (data.manifest, data.why_missing, data.load):
        cached.cache_clear()
