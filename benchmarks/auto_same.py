"""Whether `AutoFeatures` gives the same answer everywhere.

Each table is searched in fresh processes: one after the other with nothing beside them, and with
endless loops beside them; with other hash seeds and other numbers of threads; with what libraries
of linear algebra, NumPy and Numba do on other processors. On one processor formulas, the front and
predictions must be the same to the last bit. On others formulas must be the same, and numbers in
all digits but the last few: solvers of models round differently there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
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
NICE = 19  # of the endless loops: they keep the machine busy, and give way to other programs
# What may differ between processors, as a share of the largest number.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Run:
    """A way to run the same search.

    Parameters
    ----------
    name : str
        What differs from the first run.
    environment : dict
        Variables of the process.
    n_jobs : int
        Threads.
    is_busy : bool
        Whether endless loops run beside it.
    """

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    n_jobs: int = 1
    is_busy: bool = False


RUNS = (
    Run("nothing beside", {"PYTHONHASHSEED": "1"}),
    Run("two threads", {"PYTHONHASHSEED": "2"}, n_jobs=2),
    Run("endless loops beside", {"PYTHONHASHSEED": "3"}, is_busy=True),
    Run("two threads, endless loops beside", {"PYTHONHASHSEED": "4"}, n_jobs=2, is_busy=True),
)
_WITHOUT_AVX = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
PROCESSORS = (
    Run(
        "2008 (Nehalem)",
        {
            "OPENBLAS_CORETYPE": "Nehalem",
            "NUMBA_CPU_NAME": "generic",
            "NPY_DISABLE_CPU_FEATURES": _WITHOUT_AVX,
        },
    ),
    Run("Zen", {"OPENBLAS_CORETYPE": "Zen", "NUMBA_CPU_NAME": "znver1"}),
    # Code that Numba compiles for these has the same widths of vectors as that for others.
    Run("OpenBLAS of Haswell", {"OPENBLAS_CORETYPE": "Haswell"}),
    Run("OpenBLAS of SkylakeX", {"OPENBLAS_CORETYPE": "SkylakeX"}),
)


def search(name: str, effort: str, max_rows: int, n_jobs: int) -> dict[str, Any]:
    """Fit once; return what must be the same everywhere."""
    from featurewright import AutoFeatures

    dataset = load(name)
    train, test = split_rows(dataset, "stratified", 0, max_rows)
    task = "regression" if dataset.task == "regression" else "classification"
    auto = AutoFeatures(effort=effort, task=task, random_state=0, n_jobs=n_jobs)
    auto.fit(take(dataset.X, train), dataset.y[train])
    held_out = take(dataset.X, test)
    predicted = auto.predict(held_out)
    return {
        "names": [auto.best_method_, *(feature.name for feature in auto.features_)],
        "features": [feature.gain for feature in auto.features_],
        "front": [[p["n_formulas"], p["score"], p["gain"], p["chosen"]] for p in auto.front_],
        "columns": auto.transform(held_out).tolist(),
        "predictions": predicted.tolist(),
    }


@contextmanager
def busy(n_loops: int) -> Iterator[None]:
    """Run endless loops beside what is done."""
    command = ["nice", "-n", str(NICE), sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command) for _ in range(n_loops)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run_apart(options: argparse.Namespace, name: str, run: Run) -> dict[str, Any]:
    """Search in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--jobs", str(run.n_jobs)]
    command += ["--effort", options.effort, "--max-rows", str(options.max_rows)]
    environment = os.environ | run.environment
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def same_text(ours: dict[str, Any], theirs: dict[str, Any], *, tolerant: bool) -> list[str]:
    """Say for formulas, the front and predictions whether two runs agree."""

    def close(first: Any, second: Any) -> bool:
        if not tolerant or first == second:
            return bool(first == second)
        a, b = np.array(first), np.array(second)
        if a.shape != b.shape or a.dtype.kind not in "fiub":
            return False
        scale = np.abs(a).max(axis=0, initial=1e-300)
        return bool((np.abs(a - b) <= TOLERANCE * scale).all())

    same = [
        ours["names"] == theirs["names"] and close(ours["features"], theirs["features"]),
        close(ours["front"], theirs["front"]),
        close(ours["columns"], theirs["columns"])
        and close(ours["predictions"], theirs["predictions"]),
    ]
    return ["same" if one else "DIFFERENT" for one in same]


def compare(options: argparse.Namespace) -> tuple[str, bool]:
    """Search all tables in all ways; return the page, and whether nothing differs."""
    rows = []
    loads: dict[bool, list[float]] = {False: [], True: []}
    runs = (*RUNS, *PROCESSORS)[: options.runs]
    for name in options.sets:
        first: dict[str, Any] | None = None
        for run in runs:
            with busy(options.loops if run.is_busy else 0):
                found = run_apart(options, name, run)
                loads[run.is_busy].append(os.getloadavg()[0])
            if first is None:
                first = found
                continue
            cells = same_text(first, found, tolerant=run in PROCESSORS)
            rows.append([name, run.name, *cells])
            say(", ".join(rows[-1]))
    n_same = sum(all(cell == "same" for cell in row[2:]) for row in rows)
    busiest = f" and {span(loads[True])} with the loops" if loads[True] else ""
    page = f"""# The same answer everywhere

`AutoFeatures(effort="{options.effort}")`, all methods, at most {options.max_rows} rows, each in a
fresh process with another hash seed. Every row compares a run with one of one thread, beside which
nothing was started: formulas with their gains, the front, and columns and predictions for held-out
rows. Runs on this processor must agree to the last bit. Those of other processors make OpenBLAS,
NumPy and Numba do what they do there: formulas must be the same, and other numbers within
{TOLERANCE:g} of the largest. Load of the machine after a run: {span(loads[False])} without{busiest}
({options.loops} of them).

{n_same} of {len(rows)} runs found the same.

{markdown_table(["set", "compared with", *WHAT], rows)}
"""
    return page, n_same == len(rows)


def span(values: Sequence[float]) -> str:
    """Write the least and the largest of some values."""
    return f"{min(values):.0f} to {max(values):.0f}"


def main() -> None:
    """Run and report; leave with 1 if something differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", metavar="SET", help="sets of the data folder")
    parser.add_argument("--effort", choices=("quick", "standard", "thorough"), default="quick")
    parser.add_argument("--max-rows", type=int, default=2_000, help="rows (default: 2000)")
    parser.add_argument("--loops", type=int, default=4, help="endless loops (default: 4)")
    parser.add_argument("--runs", type=int, help="the first so many ways to run a search")
    parser.add_argument("--write", type=Path, default=PAGES / "auto_same.md", metavar="FILE")
    parser.add_argument("--one", metavar="SET", help="search one set here and print what it found")
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
