"""Estimators with and without `AutoFeatures` on tables as they come, on rows held out from all.

For each set, estimator and split: the held-out score of the estimator over the original columns and
over those of `AutoFeatures`, the gain that `AutoFeatures` claimed from its own folds, and the time.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from auto_runs import (
    add_auto_options,
    evaluate_auto,
    seeds_of,
    settings_of,
    tell_splits,
    warm_up_auto,
)
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

MIXED = (
    "adult",
    "ames_housing",
    "bank_marketing",
    "credit_approval",
    "cylinder_bands",
    "bike_sharing_hour",
    "california_housing",
    "electricity",
    "heart_cleveland",
    "mammographic_mass",
)
NUMERIC = ("vehicle", "segment", "airfoil_self_noise", "wine_quality_white", "pima_diabetes")
ESTIMATORS = ("linear", "knn", "boosting")
SIGNS = {"win": "higher", "draw": "the same", "loss": "lower"}
WRITE = ROOT / "docs" / "results" / "auto_mixed.md"


def jobs_of(name: str, estimator: str, options: argparse.Namespace) -> list[Settings]:
    """List the fits on a set."""
    return [settings_of(name, seed, options, estimator=estimator) for seed in seeds_of(options)]


def honesty_sentence(gains: dict[str, list[tuple[float, float]]]) -> str:
    """Compare gains that were claimed with those on held-out rows, for all and each estimator.

    Parameters
    ----------
    gains : dict
        Claimed and real gain of each fit, by estimator; nothing was kept where 0 is claimed.
    """
    kept = {name: np.array([p for p in pairs if p[0] > 0]) for name, pairs in gains.items()}
    kept = {name: pairs for name, pairs in kept.items() if len(pairs)}
    if not kept:
        return "Nothing was kept anywhere."
    claimed, real = np.concatenate(list(kept.values())).T
    by_estimator = "; ".join(
        f"{name} {show(pairs[:, 0] - pairs[:, 1], 4)}" for name, pairs in kept.items()
    )
    return (
        f"Where something was kept ({len(claimed)} of {sum(map(len, gains.values()))} fits), the "
        f"claimed gain was {claimed.mean():.4f} and the gain on held-out rows {real.mean():.4f} on "
        f"average: claimed minus real {show(claimed - real, 4)} ({by_estimator}). Folds learn from "
        "fewer rows, of large tables from a part of them: where more rows help the estimator "
        "without features more than with them, as nearest neighbours, the claim is too high, and "
        "where they help the features more, too low. Scores of unlike kinds are averaged."
    )


def report(store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    rows, outcomes = [], []
    gains: dict[str, list[tuple[float, float]]] = {}  # claimed and on held-out rows, by estimator
    words = SIGNS if options.seeds == 1 else WORDS
    rule = (
        "With one split there is no error to compare with: higher and lower are signs alone."
        if options.seeds == 1
        else 'The gain is "better" or "worse" where its mean is more than two standard errors '
        "from nothing."
    )
    for name in options.sets:
        for estimator in options.estimators:
            jobs = jobs_of(name, estimator, options)
            before, after, claims, seconds = (
                column(store, jobs, value)
                for value in ("before", "after", "claimed", "fit_seconds")
            )
            if not np.isfinite(after).any():
                continue
            first = next(found for job in jobs if (found := store.get(job)))
            # Scores are better when they are higher; `outcome` wants lower.
            outcomes.append(outcome(-after, -before))
            pairs = zip(claims, after - before, strict=True)
            gains.setdefault(estimator, []).extend(pair for pair in pairs if np.isfinite(pair[0]))
            methods = {(store.get(job) or {}).get("method", "") for job in jobs} - {""}
            rows.append(
                [
                    name,
                    estimator,
                    first["scoring"],
                    show(before, 4),
                    show(after, 4),
                    show(after - before, 4),
                    words[outcomes[-1]],
                    show(claims, 4),
                    "; ".join(sorted(methods)),
                    f"{np.nanmax(seconds):.0f}",
                ]
            )
    header = ["set", "estimator", "score", "without", "with", "gain", "", "claimed", "kept", "s"]
    counts = ", ".join(f"{outcomes.count(kind)} {word}" for kind, word in words.items() if kind)
    return f"""# Estimators with and without AutoFeatures

Scores on a third of the rows, drawn at random within each class, that nothing has seen;
splits: {options.seeds} ({tell_splits(options)}), means ± standard error;
at most {options.max_rows} rows;
Effort {options.effort}, threads: {options.jobs}; the largest time in seconds (s) is
that of the whole fit. {rule}
`duration` is left out of bank_marketing.

{counts}. {honesty_sentence(gains)}

{markdown_table(header, rows)}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_auto_options(parser, 3)
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    add_common_options(parser)
    parser.set_defaults(write=Path(WRITE))
    options = parser.parse_args()
    options.sets = check_sets(options.sets or [*MIXED, *NUMERIC])
    store = Store("auto_mixed", options.reuse)
    jobs = [
        job
        for name in options.sets
        for estimator in options.estimators
        for job in jobs_of(name, estimator, options)
    ]
    problems = run(
        store, jobs, max_minutes=options.max_minutes, work=evaluate_auto, compile_all=warm_up_auto
    )
    finish(report(store, options), problems, options.write, store)


if __name__ == "__main__":
    main()
