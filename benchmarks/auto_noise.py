"""What `AutoFeatures` does where there is nothing to find: targets shuffled."""

from __future__ import annotations

import argparse
from itertools import zip_longest
from pathlib import Path

import numpy as np
from auto_runs import add_auto_options, evaluate_auto, seeds_of, settings_of, warm_up_auto
from data import ROOT, check_sets
from runner import (
    WORDS,
    Settings,
    Store,
    add_common_options,
    column,
    finish,
    markdown_table,
    outcome,
    run,
    show,
)

SETS = ("vehicle", "pima_diabetes", "credit_approval", "airfoil_self_noise", "wine")
ESTIMATORS = ("linear", "knn", "boosting")
SEEDS_OF_BOOSTING = 5  # which takes several times as long as the others
WRITE = ROOT / "docs" / "results" / "auto_noise.md"


def jobs_of(name: str, estimator: str, options: argparse.Namespace) -> list[Settings]:
    """List the fits of an estimator on a set; every seed shuffles and splits anew."""
    seeds = seeds_of(options)[: SEEDS_OF_BOOSTING if estimator == "boosting" else None]
    jobs = [settings_of(name, seed, options, estimator=estimator) for seed in seeds]
    if estimator == "linear":
        further = [job["params"] | {"effort": "standard"} for job in jobs[: options.standard]]
        jobs += [job | {"params": params} for job, params in zip(jobs, further, strict=False)]
    return [job | {"shuffled": True} for job in jobs]


def all_jobs(options: argparse.Namespace) -> list[Settings]:
    """List all fits; the first seed of every set and estimator comes first."""
    lists = [jobs_of(name, estimator, options) for name, estimator in problems_of(options)]
    return [job for jobs in zip_longest(*lists) for job in jobs if job]


def problems_of(options: argparse.Namespace) -> list[tuple[str, str]]:
    """List every set with every estimator."""
    return [(name, estimator) for name in options.sets for estimator in options.estimators]


def report(store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    rows = []
    for name, estimator in problems_of(options):
        jobs = jobs_of(name, estimator, options)
        before, after, claims = (
            column(store, jobs, value) for value in ("before", "after", "claimed")
        )
        done = int(np.isfinite(after).sum())
        if not done:
            continue
        first = next(found for job in jobs if (found := store.get(job)))
        none = sum((store.get(job) or {}).get("method") == "original" for job in jobs)
        gain = after - before
        rows.append(
            [
                name,
                estimator,
                first["scoring"],
                f"{none} of {done}",
                show(before, 4),
                show(after, 4),
                show(gain, 4),
                WORDS[outcome(-after, -before)],
                show(claims, 4),
            ]
        )
    sentence = kept_sentence(store, all_jobs(options))
    header = ["set", "estimator", "score", "kept none", "without", "with", "gain", "", "claimed"]
    efforts = f"effort {options.effort}"
    if options.standard:
        efforts += f", with the linear model the first {options.standard} at effort standard too"
    return f"""# Nothing to find

The target of each table is shuffled, so that no column says anything about it. All methods with
each estimator, {options.seeds} seeds (boosting at most {SEEDS_OF_BOOSTING}), each with a shuffle
and a split of its own; {efforts}.
Scores on the third of the rows that was held out.

{markdown_table(header, rows)}

{sentence}
"""


def kept_sentence(store: Store, jobs: list[Settings]) -> str:
    """Return the share of fits that kept something, and what that did to their scores."""
    found = [values for job in jobs if (values := store.get(job))]
    kept = [values for values in found if values["method"] != "original"]
    if not kept:
        rate = "False-positive rate on shuffled targets: 0 %"
        return f"{rate} (0 of {len(found)} fits kept something)."
    claimed = np.array([values["claimed"] for values in kept])
    real = np.array([values["after"] - values["before"] for values in kept])
    return (
        f"False-positive rate on shuffled targets: {100 * len(kept) / len(found):.0f} % "
        f"({len(kept)} of {len(found)} fits kept something). The mean gain claimed there is "
        f"{claimed.mean():.4f}, the real one {show(real, 4)}."
    )


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_auto_options(parser, 20)
    add_common_options(parser)
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument(
        "--standard", type=int, default=0, help="seeds of linear at standard too (default: 0)"
    )
    parser.set_defaults(write=Path(WRITE))
    options = parser.parse_args()
    options.sets = check_sets(options.sets or list(SETS))
    store = Store("auto_noise", options.reuse)
    problems = run(
        store,
        all_jobs(options),
        max_minutes=options.max_minutes,
        work=evaluate_auto,
        compile_all=warm_up_auto,
    )
    finish(report(store, options), problems, options.write, store)


if __name__ == "__main__":
    main()
