"""Size of ensembles against accuracy, with and without construction (method E).

The publication names as next work what construction does to the complexity of models and to how
fast ensembles converge. Forests, Extra-Trees and AdaBoost.MH with stumps and with trees of depth 3
are measured after 1, 2, 5 and more trees of one and the same growing ensemble, plain and with
random search as published. Without options it is a short run; ``--full`` has more sets and splits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from data import FRESH, fresh_sets, load, present, sample_of, split_rows, take
from pages import add_size_options, image, settle_page, settle_sizes, shown
from papers_constructive import in_rounds
from plots import draw_curves, drawing, log_ticks
from runner import (
    Learner,
    Settings,
    Store,
    Values,
    add_common_options,
    column,
    finish,
    make_model,
    markdown_table,
    mean_and_error,
    run,
    show,
    tally,
)
from runner import outcome as outcome_of
from threadpoolctl import threadpool_limits

from featurewright.publications import PUBLISHED as PUBLICATIONS

QUICK_SETS = (f"waveform{FRESH}", f"ringnorm{FRESH}", "vehicle", "vowel", "segment")
FULL_SETS = (*QUICK_SETS, f"twonorm{FRESH}", "spambase", "satellite", "pendigits")
SIZES = (1, 2, 5, 10, 20, 50, 100, 200)
# Names of the learners in `featurewright.publications`, which has their settings.
KINDS = {
    "forest": "monte_carlo_forest",
    "Extra-Trees": "monte_carlo_extra_trees",
    "stumps": "monte_carlo_stumps",
    "boosting, depth 3": "monte_carlo_boosting",
}
FORMS = {"plain": {"search": None}, "construction": {}}
Cells = dict[tuple[str, str, str], list[Settings]]


def learner(kind: str, form: str) -> Learner:
    """Return a learner with the published settings and as many trees as are measured at most."""
    method = PUBLICATIONS[KINDS[kind]]
    settings = method.settings | {"n_estimators": SIZES[-1]} | FORMS[form]
    return Learner(f"{kind}, {form}", method.estimator.removesuffix("Classifier"), settings)


def plan(options: argparse.Namespace) -> Cells:
    """List the jobs of every curve."""
    return {
        (kind, form, name): [
            learner(kind, form).settings(sample_of(name, k), k, "published", options.jobs)
            for k in range(options.splits)
        ]
        for name in options.sets
        for kind in KINDS
        for form in FORMS
    }


def growing(model: Any, X: Any, y: np.ndarray, Z: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Fit an ensemble and yield its answers to new rows after each of the sizes."""
    if hasattr(model, "staged_predict"):
        # After a round the answers are those of an ensemble that ends there.
        answers = list(model.fit(X, y).staged_predict(Z))
        for size in SIZES:
            yield size, answers[min(size, len(answers)) - 1]
        return
    model.set_params(warm_start=True)
    for size in SIZES:
        model.set_params(n_estimators=size)
        yield size, model.fit(X, y).predict(Z)


def work(job: Settings) -> Values:
    """Do one job: the error after each number of trees, and the leaves of a tree."""
    dataset = load(job["set"])
    train, test = split_rows(dataset, job["holdout"], job["split"])
    X, y = take(dataset.X, train), dataset.y[train]
    Z, truth = take(dataset.X, test), dataset.y[test]
    model = make_model(job["family"], job["params"], dataset.task, job["split"], job["n_jobs"])
    values: Values = {"n_train": len(train), "n_test": len(test)}
    started = time.perf_counter()
    with threadpool_limits(job["n_jobs"]):
        for size, answer in growing(model, X, y, Z):
            values[f"error_{size}"] = float(np.mean(answer != truth))
    values["error"] = values[f"error_{max(SIZES)}"]
    values["leaves"] = model.forest_.n_leaves / model.forest_.n_trees
    return values | {"fit_seconds": time.perf_counter() - started}


def errors(store: Store, jobs: list[Settings], size: int) -> np.ndarray:
    """Return the errors in % after a number of trees."""
    return 100 * column(store, jobs, f"error_{size}")


def table(cells: Cells, store: Store, kind: str, sets: list[str]) -> str:
    """Lay out the errors of one kind of ensemble by its size."""
    rows = []
    for name in sets:
        for form in FORMS:
            jobs = cells[kind, form, name]
            found = (show(errors(store, jobs, size), 1) for size in SIZES)
            leaves, _ = mean_and_error(column(store, jobs, "leaves"))
            rows.append([f"{title(name)}, {form}", *found, f"{leaves:.0f}"])
    return markdown_table([f"{kind}, error %", *map(str, SIZES), "leaves of a tree"], rows)


def title(name: str) -> str:
    """Name a set."""
    return name.removesuffix(FRESH)


def enough(cells: Cells, store: Store, kind: str, name: str) -> int | None:
    """Return the least size with construction that errs no more than the largest plain one."""
    bar = mean_and_error(errors(store, cells[kind, "plain", name], SIZES[-1]))[0]
    for size in SIZES:
        if mean_and_error(errors(store, cells[kind, "construction", name], size))[0] <= bar:
            return size
    return None


def sentences(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Say what construction does to convergence and to the size of trees."""
    lines = []
    for kind in KINDS:
        found = {name: enough(cells, store, kind, name) for name in options.sets}
        told = ", ".join(
            f"{title(name)} {size or f'not with {SIZES[-1]}'}" for name, size in found.items()
        )
        parts = []
        for size in (SIZES[0], 10, SIZES[-1]):
            outcomes = [
                outcome_of(*(errors(store, cells[kind, f, name], size) for f in reversed(FORMS)))
                for name in options.sets
            ]
            parts.append(f"{tally(outcomes)} with {size} tree{'s' * (size > 1)}")
        ratios = [
            np.nanmean(column(store, cells[kind, "construction", name], "leaves"))
            / np.nanmean(column(store, cells[kind, "plain", name], "leaves"))
            for name in options.sets
        ]
        ratio = float(np.exp(np.nanmean(np.log(ratios))))
        lines.append(
            f"- {kind}: construction is {'; '.join(parts)}. The first size that errs no more than "
            f"{SIZES[-1]} plain trees: {told}. A tree has {ratio:.2f} times the leaves of a plain "
            "one (geometric mean over the sets)."
        )
    return "\n".join(lines)


def draw(cells: Cells, store: Store, options: argparse.Namespace) -> None:
    """Draw the errors by size, plain ones with dashes."""
    with drawing(image(options, "curves"), 1, len(KINDS), size=(3.0, 3.0)) as grid:
        for axes, kind in zip(grid[0], KINDS, strict=True):
            curves = {}
            for name in options.sets:
                last = mean_and_error(errors(store, cells[kind, "plain", name], SIZES[-1]))[0]
                for form in FORMS:
                    found = [errors(store, cells[kind, form, name], size) for size in SIZES]
                    means = [mean_and_error(values)[0] / last for values in found]
                    curves[f"{title(name)}, {form}"] = (SIZES, means, None)
            draw_curves(axes, curves, legend=False)
            for k, line in enumerate(axes.lines):
                line.set(color=f"C{k // 2}", linestyle=("--", "-")[k % 2], marker="o", markersize=3)
            axes.axhline(1, color="0.6", linewidth=0.8)
            axes.set(xscale="log", yscale="log", xlabel="trees")
            axes.set_title(kind, fontsize=9)
            log_ticks(axes.xaxis)
            log_ticks(axes.yaxis)
            axes.tick_params(labelsize=7)
        grid[0, 0].set_ylabel(f"error / plain error with {SIZES[-1]}")
        handles = grid[0, 0].get_lines()[1::2]
        grid[0, -1].legend(handles, map(title, options.sets), fontsize=7)


def report(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    draw(cells, store, options)
    tables = "\n\n".join(table(cells, store, kind, options.sets) for kind in KINDS)
    return f"""# Size of ensembles against accuracy, with and without construction

The publication on trees that construct features names as next work what construction does to the
complexity of models and the speed of convergence of ensembles. Here every ensemble grows to
{SIZES[-1]} trees and is measured on the way; settings are the published ones (random search, ten
formulas per column at a node; boosting is AdaBoost.MH), plain ones the same with `search=None`.
Splits: {options.splits}; sizes of training parts as published, artificial sets drawn anew for each
split. Mean ± standard error over splits; better and worse by more than two standard errors of the
paired splits.

{shown(image(options, "curves"), "error by number of trees")}

Error over that of {SIZES[-1]} plain trees; dashes are plain, lines with construction.

{sentences(cells, store, options)}

{tables}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size_options(parser, "five sets, five splits: minutes", "nine sets, 50 splits: hours")
    known = (*FULL_SETS, *fresh_sets())
    parser.add_argument("--sets", nargs="+", metavar="SET", choices=known)
    parser.add_argument("--splits", type=int, help="splits (5, or 50)")
    add_common_options(parser)
    options = parser.parse_args()
    settle_page(options, "ensemble_size")
    settle_sizes(options, splits=(5, 50), sets=(QUICK_SETS, FULL_SETS))
    options.sets, missing = present(options.sets)
    store = Store("ensemble_size", options.reuse)
    cells = plan(options)
    problems = missing + run(store, in_rounds(cells), max_minutes=options.max_minutes, work=work)
    finish(report(cells, store, options), problems, options.write, store, options.size)


if __name__ == "__main__":
    main()
