"""What successive halving saves and what it costs: error and time on large tables.

With halving, a large node first scores its candidates on a sample of its rows and keeps the better
ones for larger samples. Each start size runs on the same splits as no halving at all.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

import numpy as np
from data import check_sets
from runner import (
    WORDS,
    Learner,
    Settings,
    Store,
    add_common_options,
    column,
    finish,
    markdown_table,
    mean_and_error,
    outcome,
    run,
    show,
    tally,
)

SETS = ("covertype_20k", "letter", "adult:numeric", "synthetic:100000x20")
FAMILIES = {
    "tree": ("ConstructiveTree", {"budget": "10n"}),
    "forest": ("ConstructiveForest", {"budget": "10n"}),
    "Extra-Trees": ("ConstructiveExtraTrees", {"budget": "10n"}),
    "boosting": ("ConstructiveBoosting", {"early_stopping": False}),
    "AdaBoost.MH": (
        "ConstructiveBoosting",
        {
            "loss": "adaboost_mh",
            "learning_rate": 1.0,
            "max_depth": 1,
            "budget": "10n",
            "early_stopping": False,
        },
    ),
}
ROUNDS = 10  # of boosting for each tree of a forest
Start = int | str | None
Case = tuple[str, str]  # learner, set


def start_size(text: str) -> Start:
    """Read a start size from the command line."""
    if text == "auto":
        return text
    return int(text)


def jobs_of(case: Case, start: Start, options: argparse.Namespace) -> list[Settings]:
    """List the jobs of one learner on one set with one start size."""
    kind, name = case
    family, fixed = FAMILIES[kind]
    params: dict[str, Any] = {"search": "random", "halving": start, **fixed}
    if kind != "tree":
        boosted = family == "ConstructiveBoosting"
        params["n_estimators"] = ROUNDS * options.trees if boosted else options.trees
    learner = Learner(f"{kind} {start}", family, params)
    return [
        learner.settings(name, split, "stratified", options.jobs) for split in range(options.splits)
    ]


def report(cases: list[Case], store: Store, options: argparse.Namespace) -> str:
    """Write the table and the sentences as Markdown."""
    rows = []
    outcomes: dict[Start, list[str]] = {start: [] for start in options.starts}
    ratios: dict[Start, list[float]] = {start: [] for start in options.starts}
    for case in cases:
        without = jobs_of(case, None, options)
        full_error = 100 * column(store, without, "error")
        full_time = column(store, without, "fit_seconds")
        rows.append([*case, "None", show(full_error), "", "", show(full_time), "1.00"])
        noise = np.sqrt(2 * full_error / np.nansum(column(store, without, "n_test")) * 100)
        for start in options.starts:
            jobs = jobs_of(case, start, options)
            error = 100 * column(store, jobs, "error")
            time = column(store, jobs, "fit_seconds")
            found = outcome(error, full_error, float(np.nanmean(noise)))
            ratio = mean_and_error(time / full_time)[0]
            if found:
                outcomes[start].append(found)
                ratios[start].append(ratio)
            difference = show(error - full_error)
            cells = [
                *case,
                str(start),
                show(error),
                difference,
                WORDS[found],
                show(time),
                f"{ratio:.2f}",
            ]
            rows.append(cells)
    header = ["learner", "set", "start", "error %", "difference", "", "seconds", "×"]
    lines = [
        f"- Start {start}: error {tally(outcomes[start])} in {len(outcomes[start])} comparisons, "
        f"at {np.median(ratios[start]):.2f} times the time (median; {min(ratios[start]):.2f} to "
        f"{max(ratios[start]):.2f})."
        for start in options.starts
        if outcomes[start]
    ]
    return f"""# Successive halving of candidates

Two thirds of the rows to learn from; splits: {options.splits}; trees in an ensemble:
{options.trees}; rounds of boosting: {ROUNDS * options.trees}, of stumps with AdaBoost.MH; K = 10f,
of boosting with log loss its default; threads: {options.jobs}. Differences are to no halving on the
same split, in points; within noise: closer than two standard errors to 0, which with fewer than
three splits are those of counting errors among the test rows. ×: time over that of no halving.

{markdown_table(header, rows)}

{chr(10).join(lines)}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", metavar="SET", default=list(SETS))
    parser.add_argument(
        "--learners", nargs="+", choices=tuple(FAMILIES), default=list(FAMILIES), metavar="LEARNER"
    )
    parser.add_argument(
        "--starts",
        nargs="+",
        type=start_size,
        default=["auto", 128, 256, 512, 1024, 4096],
        help="rows of the first sample (default: auto 128 256 512 1024 4096)",
    )
    parser.add_argument("--trees", type=int, default=20, help="trees in an ensemble (default: 20)")
    parser.add_argument("--splits", type=int, default=3, help="default: 3")
    add_common_options(parser)
    options = parser.parse_args()
    check_sets(options.sets)
    cases = [(kind, name) for name, kind in product(options.sets, options.learners)]
    store = Store("halving", options.reuse)
    jobs = [
        jobs_of(case, start, options)[split]
        for split in range(options.splits)
        for case in cases
        for start in (None, *options.starts)
    ]
    problems = run(store, jobs, max_minutes=options.max_minutes)
    finish(report(cases, store, options), problems, options.write, store)


if __name__ == "__main__":
    main()
