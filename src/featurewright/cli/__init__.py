"""The command line: ``featurewright``."""

from __future__ import annotations

import gc
import importlib.util
import sys

_NEEDED = ("typer", "rich", "polars")
# Objects made between two collections. What a command imports lives until its end, and Python's 700
# would have the collector go through it hundreds of times: a seventh of a short command.
_COLLECT_AFTER = 100_000


def main() -> None:
    """Run the command line, or say in one sentence what it needs."""
    absent = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        sys.stderr.write(
            f"featurewright: the command line needs {', '.join(absent)}: install it with "
            "pip install 'featurewright[cli]'.\n"
        )
        sys.exit(1)
    gc.set_threshold(_COLLECT_AFTER)
    from featurewright.cli.app import app

    app(prog_name="featurewright")
