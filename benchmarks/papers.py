"""The experiments of the five publications, ours beside theirs (`make papers`).

Runs one module for each of them, writes their pages and plots under docs/results and then
docs/results.md. Results are kept as they come: stop it at any time, the same command goes on.
"""

from __future__ import annotations

import argparse
import sys

from front import add_front_options, run_parts

PARTS = {
    "constructive": ("papers_constructive.py",),
    "budget": ("papers_budget.py",),
    "paths": ("papers_paths.py",),
    "fctree": ("papers_fctree.py",),
    "recursive": ("papers_recursive.py",),
    "landmarks": ("papers_landmarks.py",),
}


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_front_options(parser, PARTS, "half an hour", "days; stop it at any time")
    sys.exit(run_parts(PARTS, parser.parse_args()))


if __name__ == "__main__":
    main()
