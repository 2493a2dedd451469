"""Speed of ensembles over kernel features, side by side with scikit-learn in one run.

The bar: a random forest with kernel features takes at most twice the time of scikit-learn's plain
random forest with as many trees, to fit and to predict. Ours and theirs take turns, and the median
counts, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from data import synthetic
from pages import settle_page
from runner import make_model, say, warm_up
from sklearn.kernel_approximation import Nystroem
from sklearn.tree import DecisionTreeClassifier
from speed import Line, add_speed_options, finish_lines, seconds, taking_turns
from threadpoolctl import threadpool_limits

from featurewright import ConstructiveTreeClassifier, LandmarkKernelFeatures

ROWS, COLUMNS = 20_000, 20
BAR = 2.0
GAMMA = 0.05
TREE = {"criterion": "entropy", "min_samples_leaf": 2, "random_state": 0}
OTHERS = ("bagging", "adaboost", "random_subspace", "kernel_only")


def ensemble_lines(n_trees: int, repeats: int, n_jobs: int, methods: tuple[str, ...]) -> list[Line]:
    """Measure fit and predict of several methods; the bar is for the forest."""
    X, y = synthetic(2 * ROWS, COLUMNS)
    models: dict[str, Any] = {
        "theirs": make_model("RandomForest", {"n_estimators": n_trees}, "binary", 0, n_jobs)
    }
    for method in methods:
        # As many trees as theirs: the number of runs divides it.
        params = {"method": method, "n_estimators": n_trees, "n_runs": 14}
        models[method] = make_model("KernelFeatureEnsemble", params, "binary", 0, n_jobs)
    say(f"{', '.join(methods)}; threads: {n_jobs}")
    fits = {name: partial(model.fit, X[:ROWS], y[:ROWS]) for name, model in models.items()}
    answers = {name: partial(model.predict, X[ROWS:]) for name, model in models.items()}
    lines = []
    for step, works in (("fit", fits), ("predict", answers)):
        taken, _ = taking_turns(works, repeats)
        for method in methods:
            bar = BAR if method == "random_forest" else None
            work = f"{method} + kernel features, {n_trees} trees, threads: {n_jobs}: {step}"
            both = [seconds(taken[who]) for who in (method, "theirs")]
            lines.append(Line(work, *both, taken[method] / taken["theirs"], bar))
    return lines


def member_lines(repeats: int) -> list[Line]:
    """Measure one tree of ours against one of theirs: which of them members should be."""
    lines = []
    for n_rows in (400, 2000, ROWS):
        X, y = synthetic(n_rows, 30)
        works = {
            "ours": partial(ConstructiveTreeClassifier(search=None, **TREE).fit, X, y),
            "theirs": partial(DecisionTreeClassifier(**TREE).fit, X, y),
        }
        taken, _ = taking_turns(works, 3 * repeats)
        both = [f"{1000 * taken[who]:.1f} ms" for who in ("ours", "theirs")]
        work = f"one entropy tree, {n_rows} × 30: fit"
        lines.append(Line(work, *both, taken["ours"] / taken["theirs"], None))
    return lines


def map_lines(repeats: int) -> list[Line]:
    """Measure the mapping alone against Nystroem, with the same kernel and number of landmarks."""
    X, y = synthetic(ROWS, COLUMNS)
    lines = []
    for n_landmarks in (10, 100):
        say(f"{n_landmarks} landmarks")
        ours = LandmarkKernelFeatures(
            n_landmarks, append=False, kernel="gaussian", width=1 / GAMMA, random_state=0
        )
        theirs = Nystroem(n_components=n_landmarks, gamma=GAMMA, random_state=0)
        for step in ("fit", "transform"):
            works = {
                "ours": partial(ours.fit, X, y) if step == "fit" else partial(ours.transform, X),
                "theirs": partial(getattr(theirs, step), X),
            }
            taken, _ = taking_turns(works, 3 * repeats)
            both = [f"{1000 * taken[who]:.1f} ms" for who in ("ours", "theirs")]
            work = f"kernel features, {n_landmarks} landmarks, against Nystroem: {step}"
            lines.append(Line(work, *both, taken["ours"] / taken["theirs"], None))
    return lines


def main() -> None:
    """Measure, print, write and check if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_speed_options(parser, "28 trees", "196 trees")
    options = parser.parse_args()
    settle_page(options, "speed_landmarks")
    n_trees = 196 if options.full else 28
    say("Compiling the kernels.")
    warm_up()
    lines = member_lines(options.repeats) + map_lines(options.repeats)
    for n_jobs in options.threads:
        with threadpool_limits(n_jobs):
            others = OTHERS if n_jobs == max(options.threads) else ()
            lines += ensemble_lines(n_trees, options.repeats, n_jobs, ("random_forest", *others))
    intro = f"""Training on {ROWS:,} × {COLUMNS}, predicting as many rows; theirs is scikit-learn's
plain random forest with {n_trees} trees, its tree, or Nystroem. Median of {options.repeats} turns,
side by side; measured is our time over theirs."""
    known = """Where ours take longer: kernel features check and encode tables of any kind, which
Nystroem does not, and are computed block by block so that a row has the same features alone and in
a table; members of "random_subspace" and "kernel_only" have landmarks of their own, as many as
there are trees, where other methods have those of a few runs, and theirs have none."""
    finish_lines("Speed of ensembles over kernel features", intro, lines, options, known)


if __name__ == "__main__":
    main()
