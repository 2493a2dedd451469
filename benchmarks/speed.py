"""Speed of the engine, side by side with scikit-learn in one run.

Ours and theirs take turns, and the median of at least three turns counts, so that a busy machine
slows both. Each line is one bar: a ratio, what it may be at most, and whether it holds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from data import load, present, synthetic
from history import HISTORY, record
from pages import add_size_options, settle_page, write_page
from runner import make_model, markdown_table, say, warm_up
from threadpoolctl import threadpool_limits

import featurewright
from featurewright import ConstructiveForestClassifier

SIZES = {"20k × 20": (20_000, 20), "100k × 50": (100_000, 50)}
CONSTRUCT = {"search": "random", "budget": "10n", "max_size": 5}
# Our family: scikit-learn's family, bar of the fit.
PEERS = {
    "ConstructiveForest": ("RandomForest", 0.25),
    "ConstructiveExtraTrees": ("ExtraTrees", 0.65),
}
NANOSECONDS = {"ConstructiveExtraTrees": 1.0, "ConstructiveForest": 2.0}
NAMES = {"ConstructiveForest": "forest", "ConstructiveExtraTrees": "Extra-Trees"}
_SHORT_TURNS = 15  # of predictions, which take little time
_COST_TURNS = 5  # of the cost of a row and candidate
LARGE_ROWS = 200  # of a node in which what a candidate costs besides its rows weighs little
LARGE = f", nodes of {LARGE_ROWS} rows and more"
GROWTH_ROWS = (10_000, 100_000, 1_000_000)
GROWTH_COLUMNS = 20

IMPORT = """
import time
started = time.perf_counter()
{statement}
print(time.perf_counter() - started)
"""
# Learners are imported when they are first used, so that is told too.
IMPORTS = {
    "import featurewright": ("import, against sklearn.ensemble", 1.2),
    "from featurewright import ConstructiveForestClassifier": ("import of a forest", None),
    "import sklearn.ensemble": ("", None),
}

# The first fit of a process, with everything that it imports.
FIRST_FIT = """
import time
started = time.perf_counter()
import numpy as np
{statement}
X = np.random.default_rng(0).normal(size=(200, 5))
{learner}(5, n_jobs=1, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
print(time.perf_counter() - started)
"""
FIRST_FITS = {
    "ours": ("import featurewright", "featurewright.ConstructiveForestClassifier"),
    "theirs": ("import sklearn.ensemble", "sklearn.ensemble.RandomForestClassifier"),
}
# Loading and predicting, without what both import.
LOADING = """
import sys, time
import numba, numpy as np, sklearn.ensemble
import featurewright
X = np.random.default_rng(0).normal(size=(200, 5))
started = time.perf_counter()
featurewright.load(sys.argv[1]).predict(X)
print(time.perf_counter() - started)
"""
START_TURNS = 5

# VmHWM belongs to this process alone; ru_maxrss may start with the peak of the parent.
GROW = """
import json, pathlib, resource, sys, time
import numpy as np
from featurewright import ConstructiveTreeClassifier

rows, columns, search, repeats, fit = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.random((rows, columns), dtype=np.float32)
y = X[:, 0] * X[:, 1] > X[:, 2] * X[:, 3]

def model():
    return ConstructiveTreeClassifier(
        search=search, budget="10n", max_depth=8, random_state=0
    )

model().fit(X[:500], y[:500])
seconds, tree_bytes = [], 0
for _ in range(repeats if fit else 0):
    started = time.perf_counter()
    fitted = model().fit(X, y)
    seconds.append(time.perf_counter() - started)
    tree_bytes = sum(
        value.nbytes
        for name in dir(fitted.forest_)
        if isinstance(value := getattr(fitted.forest_, name), np.ndarray)
    )
unit = 1 if sys.platform == "darwin" else 1024
peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
status = pathlib.Path("/proc/self/status")
if status.exists():
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
    peak = 1024 * int(lines["VmHWM"].split()[0])
print(json.dumps({"seconds": seconds, "tree_bytes": tree_bytes, "peak": peak, "data": X.nbytes}))
"""


@dataclass(frozen=True)
class Line:
    """A measured number with its bar; without a bar it is told only."""

    work: str
    ours: str
    theirs: str
    number: float
    bar: float | None
    unit: str = "×"
    at_least: bool = False  # the bar is a least number instead of a largest

    @property
    def passed(self) -> bool:
        """Whether the bar holds."""
        if self.bar is None:
            return True
        return self.number >= self.bar if self.at_least else self.number <= self.bar

    def cells(self) -> list[str]:
        """Write the line of the table."""
        sign = "≥" if self.at_least else "≤"
        bar = "" if self.bar is None else f"{sign} {self.bar:g}{self.unit}"
        verdict = "" if self.bar is None else ("pass" if self.passed else "MISSED")
        digits = ".2f" if abs(self.number) >= 0.1 or not self.number else ".2g"
        number = f"{self.number:{digits}}{self.unit}"
        return [self.work, self.ours, self.theirs, number, bar, verdict]


def timed(
    work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Do something and return its seconds and its result."""
    started = clock()
    result = work()
    return clock() - started, result


def taking_turns(
    works: dict[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
    choose: Callable[[list[float]], float] = median,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Do several things by turns; return the median seconds and the last result of each.

    With `choose`, another of the seconds than the median.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    results = {}
    for turn in range(repeats):
        # Each goes first as often as the others, for what a turn leaves in the caches.
        order = list(works) if turn % 2 == 0 else list(reversed(works))
        for name in order:
            results.pop(name, None)  # or its memory could not be used again
            taken, results[name] = timed(works[name], clock)
            seconds[name].append(taken)
    return {name: choose(found) for name, found in seconds.items()}, results


def fits(
    models: dict[str, tuple[str, dict]],
    X: np.ndarray,
    y: np.ndarray,
    n_jobs: int,
    repeats: int,
    *,
    choose: Callable[[list[float]], float] = median,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Fit several models by turns."""

    def fit(family: str, params: dict) -> Any:
        return make_model(family, params, "binary", 0, n_jobs).fit(X, y)

    works = {name: partial(fit, *parts) for name, parts in models.items()}
    return taking_turns(works, repeats, choose=choose)


def seconds(value: float) -> str:
    """Write a time."""
    return f"{value:.3g} s"


def add_speed_options(parser: argparse.ArgumentParser, quick: str, full: str) -> None:
    """Add the options all measurements of speed have."""
    add_size_options(parser, quick, full)
    parser.add_argument("--check", action="store_true", help="leave with 1 if a bar is missed")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each (default: 3)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default: 1 2")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the Markdown here")
    parser.set_defaults(history=HISTORY)


def finish_lines(
    title: str, intro: str, lines: list[Line], options: argparse.Namespace, known: str = ""
) -> None:
    """Print and write the page of some lines, with what is known of those that favour others.

    Leaves with 1 if a bar is missed, or nothing was measured at all, and that is asked for.
    """
    header = ["work", "ours", "theirs", "measured", "bar", ""]
    table = markdown_table(header, [line.cells() for line in lines])
    missed = [line.work for line in lines if not line.passed]
    n_bars = sum(line.bar is not None for line in lines)
    verdict = f"{n_bars - len(missed)} of {n_bars} bars hold." if n_bars else ""
    verdict += "".join(f"\n- Missed: {work}." for work in missed)
    if known:
        verdict += f"\n\n{known}"
    text = f"# {title}\n\n{intro}\n\n{table}\n\n{verdict}".rstrip()
    print(text)
    write_page(options.write, text, options.size)
    ratios = {line.work: line.number for line in lines if line.unit == "×"}
    if ratios:
        reverse = [line.work for line in lines if line.work in ratios and line.at_least]
        record(title, options.size, ratios, reverse, options.history)
    if not lines:
        say("Nothing could be measured.")
    sys.exit(bool(options.check and (missed or not lines)))


def plain_lines(n_trees: dict[str, int], repeats: int, threads: list[int]) -> list[Line]:
    """Measure plain forests and Extra-Trees: fit, predict and error."""
    lines = []
    for size, (n_rows, n_columns) in SIZES.items():
        X_all, y_all = synthetic(n_rows + n_rows // 2, n_columns)
        X, y, X_test, y_test = X_all[:n_rows], y_all[:n_rows], X_all[n_rows:], y_all[n_rows:]
        for family, (peer, bar) in PEERS.items():
            trees = {"n_estimators": n_trees[size]}
            models = {"ours": (family, trees | {"search": None}), "theirs": (peer, trees)}
            for n_jobs in threads:
                work = f"plain {NAMES[family]}, {size}, {n_jobs} thread{'s' * (n_jobs > 1)}"
                say(work)
                taken, fitted = fits(models, X, y, n_jobs, repeats)
                ratio = taken["ours"] / taken["theirs"]
                both = [seconds(taken[who]) for who in ("ours", "theirs")]
                lines.append(Line(f"{work}: fit", *both, ratio, bar))
                predict = {who: partial(model.predict, X_test) for who, model in fitted.items()}
                taken, answers = taking_turns(predict, max(repeats, _SHORT_TURNS))
                ratio = taken["ours"] / taken["theirs"]
                both = [seconds(taken[who]) for who in ("ours", "theirs")]
                lines.append(Line(f"{work}: predict", *both, ratio, 1.0))
            lines.append(error_line(f"plain {NAMES[family]}, {size}", answers, y_test))
    return lines


def error_line(work: str, answers: dict[str, np.ndarray], y: np.ndarray) -> Line:
    """Compare errors: the difference in its standard errors may be two at most."""
    wrong = {who: (answer != y).astype(float) for who, answer in answers.items()}
    difference = wrong["ours"] - wrong["theirs"]
    noise = max(difference.std() / np.sqrt(len(y)), 1e-9)
    both = [f"{100 * wrong[who].mean():.2f} %" for who in ("ours", "theirs")]
    return Line(f"{work}: error no worse", *both, difference.mean() / noise, 2.0, " σ")


def construct_lines(n_trees: int, repeats: int, threads: list[int]) -> list[Line]:
    """Measure construction against scikit-learn's plain forest."""
    X, y = synthetic(*SIZES["20k × 20"])
    trees = {"n_estimators": n_trees}
    bars = {"ConstructiveExtraTrees": 1.0, "ConstructiveForest": 1.0}
    models = {family: (family, trees | CONSTRUCT) for family in bars}
    lines = []
    for n_jobs in threads:
        say(f"construction, {n_jobs} threads")
        taken, _ = fits(models | {"theirs": ("RandomForest", trees)}, X, y, n_jobs, repeats)
        for family, bar in bars.items():
            work = f"{NAMES[family]}, K = 10f, D = 5, against plain sklearn RF, {n_jobs} thread"
            both = [seconds(taken[who]) for who in (family, "theirs")]
            ratio = taken[family] / taken["theirs"]
            lines.append(Line(work + "s" * (n_jobs > 1), *both, ratio, bar))
    return lines


def cost_lines(n_trees: int, repeats: int) -> list[Line]:
    """Measure nanoseconds for each row and candidate, one thread; in large nodes alone too.

    Nothing is beside it to compare with, so the shortest time counts: what else the machine does
    can only add to it.
    """
    lines = []
    for name in present(("synthetic:20000x20", "satellite", "spambase"))[0]:
        dataset = load(name)
        X = dataset.X.astype(np.float32)
        budget = 10 * X.shape[1]
        for family, bar in NANOSECONDS.items():
            for halving in ("auto", None):
                params = CONSTRUCT | {"n_estimators": n_trees, "halving": halving}
                work = f"row × candidate, {NAMES[family]}, {name}, halving={halving}"
                say(work)
                large = params | {"min_samples_split": LARGE_ROWS}
                models = {work: (family, params), work + LARGE: (family, large)}
                taken, fitted = fits(models, X, dataset.y, 1, repeats, choose=min)
                for work, model in fitted.items():
                    forest = model.forest_
                    inner = np.asarray(forest.left) >= 0
                    scored = float(np.asarray(forest.n_rows, dtype=float)[inner].sum()) * budget
                    number = 1e9 * taken[work] / scored
                    own_bar = None if work.endswith(LARGE) else bar
                    lines.append(Line(work, seconds(taken[work]), "", number, own_bar, " ns"))
    return lines


def known_reasons(lines: list[Line]) -> str:
    """Say what is known of the bars that are missed, from the lines without a bar."""
    by_work = {line.work: line for line in lines}
    missed = [line for line in lines if not line.passed]
    said = []
    costs = [line for line in missed if line.work + LARGE in by_work]
    if costs:
        all_nodes, large = (
            [by_work[line.work + more].number / (line.bar or 1.0) for line in costs]
            for more in ("", LARGE)
        )
        said.append(
            f"Row × candidate: where the bar is missed, all nodes take {min(all_nodes):.2f} to "
            f"{max(all_nodes):.2f} times of it and nodes of {LARGE_ROWS} rows and more "
            f"{min(large):.2f} to {max(large):.2f} times. What a candidate costs besides its rows "
            "(drawing it, its range, its threshold) weighs on small nodes; what is left in the "
            "large ones is evaluating formulas and counting classes, more so without halving, "
            "which sees all rows of all candidates."
        )
    for line in missed:
        single = by_work.get(line.work.replace("2 threads", "1 thread"))
        if "2 threads" in line.work and single is not None and single.passed:
            said.append(
                f"{line.work}: holds with one thread ({single.number:.2f}×); a second makes ours "
                f"{speed_up(single.ours, line.ours):.2f} times as fast and theirs "
                f"{speed_up(single.theirs, line.theirs):.2f} times."
            )
    return "\n\n".join(said)


def speed_up(before: str, after: str) -> float:
    """Return how many times as fast something has become."""
    return float(before.removesuffix(" s")) / float(after.removesuffix(" s"))


def python(code: str, *arguments: str, **variables: str) -> str:
    """Run code in a fresh process, with such environment variables, and return what it prints."""
    command = [sys.executable, "-c", code, *arguments]
    where = {**os.environ, **variables}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=where).stdout


def import_lines() -> list[Line]:
    """Measure imports in fresh processes, the median of five."""
    say("imports")
    found: dict[str, list[float]] = {statement: [] for statement in IMPORTS}
    for turn in range(6):
        for statement, taken in found.items():
            value = float(python(IMPORT.format(statement=statement)))
            if turn:  # the first reads the files from disk
                taken.append(value)
    *ours, theirs = map(median, found.values())
    return [
        Line(work, seconds(taken), seconds(theirs), taken / theirs, bar)
        for (work, bar), taken in zip(IMPORTS.values(), ours, strict=False)
    ]


def start_lines() -> list[Line]:
    """Measure what a process waits for before its first result, compiled before and not."""
    say("first fits and predictions of a process")
    codes = {
        who: FIRST_FIT.format(statement=statement, learner=learner)
        for who, (statement, learner) in FIRST_FITS.items()
    }
    taken: dict[str, list[float]] = {who: [] for who in codes}
    for turn in range(START_TURNS + 1):
        for who, code in codes.items():
            value = float(python(code))
            if turn:  # the first compiles, and reads the files from disk
                taken[who].append(value)
    ours, theirs = (median(taken[who]) for who in codes)
    work = "first fit of a process, compiled before: seconds over sklearn's"
    lines = [Line(work, seconds(ours), seconds(theirs), ours - theirs, 0.3, " s")]
    X = np.random.default_rng(0).normal(size=(200, 5))
    model = ConstructiveForestClassifier(20, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.fw")
        featurewright.save(model, path)
        loaded = median([float(python(LOADING, path)) for _ in range(START_TURNS)])
        nothing = {"NUMBA_CACHE_DIR": str(Path(folder) / "empty")}
        loaded_first = float(python(LOADING, path, **nothing))
        nothing = {"NUMBA_CACHE_DIR": str(Path(folder) / "also empty")}
        first = float(python(codes["ours"], **nothing))
    return [
        *lines,
        Line("load and predict, compiled before", seconds(loaded), "", loaded, 0.5, " s"),
        Line(
            "load and predict, nothing compiled", seconds(loaded_first), "", loaded_first, 4.0, " s"
        ),
        Line("first fit of all, nothing compiled", seconds(first), "", first, 15.0, " s"),
    ]


def growth_lines(repeats: int) -> list[Line]:
    """Measure how time and memory of one tree of depth 8 grow with the rows."""
    lines = []
    for search in (None, "random"):
        taken = []
        for n_rows in GROWTH_ROWS:
            say(f"one tree, {n_rows} rows, search={search}")
            turns = repeats * (3 if n_rows == GROWTH_ROWS[0] else 1)
            arguments = [n_rows, GROWTH_COLUMNS, search, turns]
            found = json.loads(python(GROW, json.dumps([*arguments, True])))
            taken.append(median(found["seconds"]))
        slope = np.polyfit(np.log(GROWTH_ROWS), np.log(taken), 1)[0]
        ends = (f"{taken[0]:.2g} s → {taken[-1]:.2g} s", "")
        work = f"one tree, 10k → 1M rows, search={search}"
        lines.append(Line(f"{work}: exponent of time", *ends, float(slope), 1.1, ""))
        base = json.loads(python(GROW, json.dumps([*arguments, False])))
        extra = found["peak"] - base["peak"] - found["tree_bytes"]
        sizes = (f"{extra / 1e6:.0f} MB more", f"{found['data'] / 1e6:.0f} MB of data")
        number = 1 + extra / found["data"]
        lines.append(Line(f"{work}: peak memory, the data counted", *sizes, number, 3.0))
    return lines


def main() -> None:
    """Measure, print, and check if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    groups = ("import", "start", "growth", "plain", "construct", "cost")
    add_speed_options(parser, "few trees", "as many as the bars are set for")
    parser.add_argument(
        "--only", nargs="+", choices=groups, default=groups, help="measure these alone"
    )
    options = parser.parse_args()
    settle_page(options, "speed")
    say("Compiling the kernels.")
    warm_up()
    trees = {"20k × 20": 30, "100k × 50": 8} if options.full else {"20k × 20": 5, "100k × 50": 2}
    few = trees["20k × 20"]
    measures: dict[str, Callable[[], list[Line]]] = {
        "import": import_lines,
        "start": start_lines,
        "growth": lambda: growth_lines(options.repeats if options.full else 1),
        "plain": lambda: plain_lines(trees, options.repeats, options.threads),
        "construct": lambda: construct_lines(few, options.repeats, options.threads),
        "cost": lambda: cost_lines(few, max(options.repeats, _COST_TURNS)),
    }
    with threadpool_limits(max(options.threads)):
        lines = [line for group in groups if group in options.only for line in measures[group]()]
    counts = ", ".join(f"{n} at {size}" for size, n in trees.items())
    intro = f"""Trees in fits: {counts}; the median of {options.repeats} turns, side by side.
{"" if options.full else "Bars are set for a full run, which has more trees."}
Numbers with × are our time over theirs. K is the search budget (formulas scored at a node), f the
number of columns, D the most symbols of a formula. Row × candidate: seconds of a fit over the rows
of all inner nodes times K, by the shortest turn, since other work on the machine can only add to
it; with halving (`halving="auto"`) most candidates see some of the rows only, so that a pair costs
less."""
    finish_lines("Speed beside scikit-learn", intro, lines, options, known_reasons(lines))


if __name__ == "__main__":
    main()
