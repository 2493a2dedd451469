"""What `make papers`, `make bench` and `make compare` share: parts that run one after the other.

Every part is a program of its own, so that what one leaves in memory does not weigh on the next,
and so that a part that fails does not end the others.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from results_page import write_results
from runner import say

HERE = Path(__file__).resolve().parent
Parts = Mapping[str, Sequence[str]]


def add_front_options(
    parser: argparse.ArgumentParser, parts: Parts, quick: str, full: str, default: str = "quick"
) -> None:
    """Add the options all three have, with what the sizes mean."""
    size = parser.add_mutually_exclusive_group()
    for name, text in (("quick", quick), ("full", full)):
        usual = " (the default)" if name == default else ""
        size.add_argument(
            f"--{name}", action="store_const", dest="size", const=name, help=f"{text}{usual}"
        )
    parser.set_defaults(size=default)
    parser.add_argument(
        "--only", nargs="+", choices=tuple(parts), default=list(parts), help="these parts alone"
    )
    parser.add_argument(
        "more",
        nargs="*",
        metavar="-- OPTION",
        help="what follows -- goes to every part that is run; one that does not know it fails",
    )
    parser.epilog = "Options of a part come after --, such as: --only paths -- --sets sonar glass"


def run_parts(parts: Parts, options: argparse.Namespace, extra: Sequence[str] = ()) -> int:
    """Run the chosen parts, then write the page of all results.

    Parameters
    ----------
    parts : mapping
        Name of a part: its file under ``benchmarks`` and options of its own.
    options : argparse.Namespace
        What `add_front_options` read.
    extra : sequence of str
        Options for every part.

    Returns
    -------
    int
        1 if a part failed, 130 if it was stopped, else 0.
    """
    size = f"--{options.size}"
    failed = []
    # Threads that spin while they wait take tens of times as long on a busy machine.
    environment = {"OMP_WAIT_POLICY": "PASSIVE"} | os.environ
    for name in options.only:
        script, *own = parts[name]
        command = [sys.executable, str(HERE / script), size, *own, *extra, *options.more]
        say(f"== {name}: {script} {size}")
        started = time.perf_counter()
        try:
            code = subprocess.run(command, check=False, env=environment).returncode
        except KeyboardInterrupt:
            say(f"Stopped in {name}; the same command goes on where it was.")
            return 130
        say(f"== {name}: {(time.perf_counter() - started) / 60:.1f} minutes, exit code {code}")
        if code:
            failed.append(name)
    write_results()
    if failed:
        say(f"Not clean: {', '.join(failed)}.")
    return int(bool(failed))
