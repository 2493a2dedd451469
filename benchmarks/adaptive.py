"""Does adaptive search pay? Adaptive against random search on the same splits.

Adaptive search draws operands and sub-expressions more often if they earned gain in earlier trees.
Budgets and numbers of trees vary, because it can only help where random search is short of tries
and where there are earlier trees to learn from.
"""

from __future__ import annotations

import argparse
from itertools import product

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

SETS = ("waveform", "ringnorm", "vehicle", "vowel", "segment", "sonar", "satellite", "pendigits")
FAMILIES = {"Extra-Trees": "ConstructiveExtraTrees", "forest": "ConstructiveForest"}
Case = tuple[str, str, str, int]  # learner, set, budget, trees


def jobs_of(case: Case, search: str, options: argparse.Namespace) -> list[Settings]:
    """List the jobs of one case with one kind of search."""
    kind, name, budget, n_trees = case
    params = {"search": search, "budget": budget, "n_estimators": n_trees}
    learner = Learner(f"{kind} {search}", FAMILIES[kind], params)
    return [
        learner.settings(name, split, options.holdout, options.jobs)
        for split in range(options.splits)
    ]


def report(cases: list[Case], store: Store, options: argparse.Namespace) -> str:
    """Write the table and the sentences as Markdown."""
    rows, outcomes, ratios = [], {}, {}
    for case in cases:
        jobs = {search: jobs_of(case, search, options) for search in ("random", "adaptive")}
        errors = {search: 100 * column(store, found, "error") for search, found in jobs.items()}
        times = {search: column(store, found, "fit_seconds") for search, found in jobs.items()}
        outcomes[case] = outcome(errors["adaptive"], errors["random"])
        ratios[case] = mean_and_error(times["adaptive"] / times["random"])[0]
        rows.append(
            [
                *map(str, case),
                *(show(errors[search]) for search in ("random", "adaptive")),
                show(errors["adaptive"] - errors["random"]),
                WORDS[outcomes[case]],
                f"{ratios[case]:.2f}",
            ]
        )
    header = ["learner", "set", "budget", "trees", "random %", "adaptive %", "difference", "", "×"]
    lines = []
    for kind, budget, n_trees in product(FAMILIES, options.budgets, options.trees):
        chosen = [case for case in cases if (case[0], *case[2:]) == (kind, budget, n_trees)]
        found = [outcomes[case] for case in chosen if outcomes[case]]
        if found:
            time = np.nanmedian([ratios[case] for case in chosen])
            lines.append(
                f"- {kind}, budget {budget}, {n_trees} trees: adaptive is {tally(found)} on "
                f"{len(found)} sets, at {time:.2f} times the time (median)."
            )
    total = [found for found in outcomes.values() if found]
    lines.append(f"- In all: adaptive is {tally(total)} in {len(total)} comparisons.")
    return f"""# Adaptive against random search

Test error in %, splits: {options.splits} (test part: {options.holdout}; the artificial sets train
on 300 rows), mean ± standard error; the difference is paired by split, and within noise if closer
than two standard errors to 0. ×: time of a fit over that of random search. Threads: {options.jobs}.

{markdown_table(header, rows)}

{chr(10).join(lines)}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", metavar="SET", default=list(SETS))
    parser.add_argument("--budgets", nargs="+", default=["1n", "2n", "10n"])
    parser.add_argument("--trees", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--splits", type=int, default=5, help="default: 5")
    add_common_options(parser)
    options = parser.parse_args()
    options.holdout = "third"
    check_sets(options.sets)
    cases = list(product(FAMILIES, options.sets, options.budgets, options.trees))
    store = Store("adaptive", options.reuse)
    # Both searches on a split, then the next split: a run cut short has pairs.
    jobs = [
        jobs_of(case, search, options)[split]
        for split in range(options.splits)
        for case in cases
        for search in ("random", "adaptive")
    ]
    problems = run(store, jobs, max_minutes=options.max_minutes)
    finish(report(cases, store, options), problems, options.write, store)


if __name__ == "__main__":
    main()
