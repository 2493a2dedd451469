"""Accuracy beside others: features of each library, and our learners (`make compare`).

Writes both pages with their plots under docs/results and then docs/results.md. Results are kept as
they come: stop it at any time, the same command goes on.
"""

from __future__ import annotations

import argparse
import sys

from bench import install_peers
from front import add_front_options, run_parts

PARTS = {
    "features": ("compare_features.py",),
    "learners": ("compare_learners.py",),
}


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_front_options(parser, PARTS, "two hours", "days; stop it at any time")
    parser.add_argument("--no-install", action="store_true", help="take the peers that are there")
    options = parser.parse_args()
    if "features" in options.only and not options.no_install:
        install_peers()
    sys.exit(run_parts(PARTS, options))


if __name__ == "__main__":
    main()
