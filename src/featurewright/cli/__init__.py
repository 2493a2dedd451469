"""The command line: ``featurewright``."""

from __future__ import annotations

import importlib.util
import sys

_NEEDED = ("typer", "rich", "polars")


def main() -> None:
    """Run the command line, or say in one sentence what it needs."""
    absent = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if absent:
        sys.stderr.write(
            f"featurewright: the command line needs {', '.join(absent)}: install it with "
            "pip install 'featurewright[cli]'.\n"
        )
        sys.exit(1)
    from featurewright.cli.app import app

    app(prog_name="featurewright")
