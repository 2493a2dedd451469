"""Whether `AutoFeatures` gives the same answer everywhere.

Each table is searched in fresh processes: one after the other with nothing beside them, and with
endless loops beside them; with other hash seeds and other numbers of threads. Formulas, the front
and predictions must be the same to the last bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from data import check_sets, load, split_rows, take
from pages import PAGES, write_page
from runner import markdown_table, say

SETS = (
    "airfoil_self_noise",
    "vehicle",
    "credit_approval",
    "pima_diabetes",
    "wine",
    "energy_heating",
)
WHAT = ("features", "front", "predictions")
# How often the same search is run: is the machine busy, Python's hash seed, threads.
RUNS = ((False, "1", 1), (False, "2", 2), (True, "3", 1), (True, "4", 2))


def search(name: str, effort: str, max_rows: int, n_jobs: int) -> dict[str, str]:
    """Fit once; return what must be the same everywhere as hashes."""
    from featurewright import AutoFeatures

    dataset = load(name)
    train, test = split_rows(dataset, "stratified", 0, max_rows)
    task = "regression" if dataset.task == "regression" else "classification"
    auto = AutoFeatures(effort=effort, task=task, random_state=0, n_jobs=n_jobs)
    auto.fit(take(dataset.X, train), dataset.y[train])
    held_out = take(dataset.X, test)
    found = (
        repr([(feature.name, feature.gain) for feature in auto.features_]).encode(),
        repr(auto.front_).encode(),
        auto.transform(held_out).tobytes() + auto.predict(held_out).tobytes(),
    )
    return {
        what: hashlib.sha256(value).hexdigest() for what, value in zip(WHAT, found, strict=True)
    }


@contextmanager
def busy(n_loops: int) -> Iterator[None]:
    """Run endless loops beside what is done."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_loops)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run_apart(options: argparse.Namespace, name: str, seed: str, n_jobs: int) -> dict[str, str]:
    """Search in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--jobs", str(n_jobs)]
    command += ["--effort", options.effort, "--max-rows", str(options.max_rows)]
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def span(values: list[float]) -> str:
    """Write the least and the largest of some values."""
    return f"{min(values):.0f} to {max(values):.0f}"


def compare(options: argparse.Namespace) -> tuple[str, bool]:
    """Search all tables in all ways; return the page, and whether nothing differs."""
    rows = []
    loads: dict[bool, list[float]] = {False: [], True: []}
    for name in options.sets:
        found = []
        for is_busy, seed, n_jobs in RUNS:
            say(f"{name}: hash seed {seed}, threads {n_jobs}, {'busy' if is_busy else 'alone'}")
            with busy(options.loops if is_busy else 0):
                found.append(run_apart(options, name, seed, n_jobs))
                loads[is_busy].append(os.getloadavg()[0])
        same = {what: len({run[what] for run in found}) == 1 for what in WHAT}
        rows.append([name, *("same" if same[what] else "DIFFERENT" for what in WHAT)])
    is_same = all(cell == "same" for row in rows for cell in row[1:])
    ways = "; ".join(
        f"hash seed {seed}, {n_jobs} thread{'s' if n_jobs > 1 else ''}, "
        + (f"{options.loops} endless loops beside" if is_busy else "nothing beside")
        for is_busy, seed, n_jobs in RUNS
    )
    page = f"""# The same answer everywhere

`AutoFeatures(effort="{options.effort}")`, all methods, at most {options.max_rows} rows, in fresh
processes: {ways}. Compared to the last bit: formulas with their gains, the front, and columns and
predictions for held-out rows. Load of the machine after each run: {span(loads[False])} without
the loops, {span(loads[True])} with them.

{markdown_table(["set", *WHAT], rows)}
"""
    return page, is_same


def main() -> None:
    """Run and report; leave with 1 if something differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", metavar="SET", help="sets of the data folder")
    parser.add_argument("--effort", choices=("quick", "standard", "thorough"), default="quick")
    parser.add_argument("--max-rows", type=int, default=2_000, help="rows (default: 2000)")
    parser.add_argument("--loops", type=int, default=4, help="endless loops (default: 4)")
    parser.add_argument("--write", type=Path, default=PAGES / "auto_same.md", metavar="FILE")
    parser.add_argument("--one", metavar="SET", help="search one set here and print hashes")
    parser.add_argument("--jobs", type=int, default=1, help="threads of --one (default: 1)")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(search(options.one, options.effort, options.max_rows, options.jobs)))
        return
    options.sets = check_sets(options.sets or list(SETS))
    page, is_same = compare(options)
    write_page(options.write, page, "full")
    print(page)
    sys.exit(0 if is_same else 1)


if __name__ == "__main__":
    main()
