"""Speed beside scikit-learn and peers: every bar, growth, memory (`make bench`).

Runs the measurements one after the other, writes their pages and plots under docs/results and then
docs/results.md. With ``--check`` it leaves with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys

from front import add_front_options, run_parts
from peers import PINS, install
from runner import say

PARTS = {
    "speed": ("speed.py",),
    "growth": ("speed_growth.py",),
    "boosting": ("speed_boosting.py",),
    "paths": ("speed_paths.py",),
    "landmarks": ("speed_landmarks.py",),
    "relations": ("speed_relations.py",),
    "peers": ("speed_peers.py",),
}


def install_peers() -> None:
    """Install the peers that are not there; those that cannot be are told and left out."""
    for library in PINS:
        reason = install(library)
        if reason:
            say(f"{library} is absent: {reason}.")


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_front_options(parser, PARTS, "minutes", "hours, mostly the peers'", default="full")
    parser.add_argument("--check", action="store_true", help="leave with 1 if a bar is missed")
    parser.add_argument("--no-install", action="store_true", help="take the peers that are there")
    options = parser.parse_args()
    if "peers" in options.only and not options.no_install:
        install_peers()
    sys.exit(run_parts(PARTS, options, ["--check"] if options.check else []))


if __name__ == "__main__":
    main()
