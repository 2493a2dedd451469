"""Our errors beside the published ones for ensembles over kernel features (method D).

Boundaries in the unit square, Rätsch's thirteen sets, the number of landmarks, and kernels that do
not fit the data. The publication has 10 runs of the boundaries and 100 splits of most sets:
``--full`` takes 10 of each (the data folder holds that many of most), ``--published`` 100, or 20 of
image and splice. The default is a short run. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from data import Dataset, load, manifest, present, raetsch_split
from landmarks_jobs import Cells, errors, job, params_of
from landmarks_plots import boundary_plot
from landmarks_published import (
    BOUNDARIES,
    IN_SQUARE,
    PAIRS,
    PUBLISHED,
    SETS,
    SIZES,
    STUDY,
    WIDTHS,
    published_splits,
)
from landmarks_rules import ESTIMATORS, rule_cells, rules_section, worse_sentence
from pages import add_size_options, image, settle_page, settle_sizes, shown
from runner import (
    NO_VALUE,
    Settings,
    Store,
    Values,
    add_common_options,
    finish,
    fit_and_score,
    make_model,
    markdown_table,
    mean_and_error,
    run,
    show,
    tally,
)
from significance import t_test, wilcoxon_sentence

from featurewright.datasets import make_unit_square

DRAWN = ("y = x", "x + y = 1", "circle")
# Kernels for the robustness table; factors are of the set's own width.
KERNELS: dict[str, dict[str, Any]] = {
    "Gaussian": {"factor": 1.0},
    "Gaussian, width / 1000": {"factor": 1e-3},
    "Gaussian, width × 1000": {"factor": 1e3},
    "linear": {"kernel": "linear"},
    "sigmoid (not PSD)": {"kernel": "sigmoid"},
    "agreement (not PSD)": {"kernel": "agreement", "batched": True},
    "noise": {"kernel": "noise", "batched": True},
}
ROBUST_SETS = ("image", "ringnorm", "splice")
ROBUST = ("kernel only", "bagging + K", "AdaBoost.M1 + K", "forest + K")


def agreement(points: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Return the share of coordinates less than a half apart: a similarity, not a kernel."""
    alike = np.zeros((len(points), len(landmarks)))
    for k in range(points.shape[1]):
        alike += np.abs(points[:, k, None] - landmarks[:, k]) < 0.5
    return alike / points.shape[1]


def noise(points: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Scramble the digits of the points: a similarity that means nothing."""
    mixed = np.sin(1e4 * (points.sum(axis=1)[:, None] + 3.0 * landmarks.sum(axis=1)))
    return mixed


FUNCTIONS = {"agreement": agreement, "noise": noise}


def square(name: str, split: int) -> tuple[Dataset, np.ndarray, np.ndarray]:
    """Make 500 points of the unit square to train on and 5000 to test on."""
    concept, mirrored, _, _ = BOUNDARIES[name]
    X, y = make_unit_square(5500, concept=concept, random_state=split)
    if mirrored:
        X[:, 0] = 1.0 - X[:, 0]
    return Dataset(name, X, y, "multiclass"), np.arange(500), np.arange(500, 5500)


def work(settings: Settings) -> Values:
    """Do one job."""
    name, split, n_jobs = settings["set"], settings["split"], settings["n_jobs"]
    if name in BOUNDARIES:
        dataset, train, test = square(name, split)
    else:
        dataset = load(f"raetsch_{name}")
        train, test = raetsch_split(dataset, split)
    params = dict(settings["params"])
    if params.get("kernel") in FUNCTIONS:
        params["kernel"] = FUNCTIONS[params["kernel"]]
    if params.get("estimator") in ESTIMATORS:
        params["estimator"] = ESTIMATORS[params["estimator"]]()
    model = make_model(settings["family"], params, dataset.task, split, n_jobs)
    return fit_and_score(model, dataset, train, test, n_jobs)


def drawn_boundary(name: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return the training rows of a boundary and the forests to draw, without and with features."""
    dataset, train, _ = square(name, 0)
    rows = {label: params_of(label, **BOUNDARIES[name][2]) for label in ("forest", "forest + K")}
    models = {
        label: make_model("KernelFeatureEnsemble", params, dataset.task, 0, 1)
        for label, params in rows.items()
    }
    return dataset.X[train], dataset.y[train], models


def plan(options: argparse.Namespace) -> dict[str, Cells]:
    """List the jobs of every cell of the four tables."""
    jobs = options.jobs
    squares: Cells = {
        (label, name): [job(name, s, params_of(label, **kernel), jobs) for s in range(options.runs)]
        for name, (_, _, kernel, _) in BOUNDARIES.items()
        for label in IN_SQUARE
    }
    sets: Cells = {
        (label, name): [
            job(name, s, params_of(label, width=WIDTHS[name]), jobs)
            for s in range(min(options.splits, published_splits(name)))
        ]
        for name in SETS
        for label in PUBLISHED
    }
    study: Cells = {}
    for name in STUDY:
        for size in (*SIZES, "auto"):
            params = params_of("kernel only", width=WIDTHS[name])
            params |= {} if size == SIZES[0] else {"n_landmarks": size}
            study[str(size), name] = [job(name, s, params, jobs) for s in range(options.studies)]
    robust: Cells = {}
    for name in ROBUST_SETS:
        for title, kernel in KERNELS.items():
            own = {key: value for key, value in kernel.items() if key != "factor"}
            if "factor" in kernel:
                own["width"] = WIDTHS[name] * kernel["factor"]
                own["width"] = WIDTHS[name] if kernel["factor"] == 1.0 else own["width"]
            for label in ROBUST:
                robust[title, label, name] = [
                    job(name, s, params_of(label, **own), jobs) for s in range(options.studies)
                ]
    return {"squares": squares, "sets": sets, "study": study, "robust": robust}


def in_rounds(tables: dict[str, Cells]) -> list[Settings]:
    """Order jobs so that every cell has its first split before any has its second."""
    cells = [jobs for table in tables.values() for jobs in table.values()]
    longest = max(map(len, cells), default=0)
    return [jobs[i] for i in range(longest) for jobs in cells if i < len(jobs)]


def beside(store: Store, jobs: list[Settings], published: float) -> str:
    """Write ours and the published error."""
    theirs = NO_VALUE if np.isnan(published) else f"{published:g}"
    return f"{show(errors(store, jobs), 1)} ({theirs})"


def square_table(store: Store, cells: Cells) -> str:
    """Lay out the boundaries in the unit square."""
    rows = []
    for name, (_, _, _, published) in BOUNDARIES.items():
        found = [
            beside(store, cells[label, name], figure)
            for label, figure in zip(IN_SQUARE, published, strict=True)
        ]
        rows.append([name, *found])
    return markdown_table(["error %: ours (published)", *IN_SQUARE], rows)


def set_table(store: Store, cells: Cells) -> str:
    """Lay out the thirteen sets."""
    rows = [
        [
            name,
            *(
                beside(store, cells[label, name], PUBLISHED[label][SETS.index(name)])
                for label in PUBLISHED
            ),
        ]
        for name in SETS
    ]
    return markdown_table(["error %: ours (published)", *PUBLISHED], rows)


def study_table(store: Store, cells: Cells) -> str:
    """Lay out the number of landmarks."""
    rows = [
        [
            name,
            *(
                beside(store, cells[str(size), name], figure)
                for size, figure in zip(SIZES, figures, strict=True)
            ),
            show(errors(store, cells["auto", name]), 1),
        ]
        for name, figures in STUDY.items()
    ]
    head = ["ours (published)", *(f"{size} landmarks" for size in SIZES), '"auto"']
    return markdown_table(head, rows)


def robust_table(store: Store, tables: dict[str, Cells], studies: int) -> str:
    """Lay out what kernels that do not fit do to each ensemble."""
    rows = []
    for name in ROBUST_SETS:
        for title in KERNELS:
            cells = (tables["robust"][title, label, name] for label in ROBUST)
            rows.append([f"{name}, {title}", *(show(errors(store, jobs), 1) for jobs in cells)])
        plain = []
        for label in ROBUST:
            own = tables["sets"].get((label.removesuffix(" + K"), name), [])[:studies]
            plain.append(NO_VALUE if label == "kernel only" else show(errors(store, own), 1))
        rows.append([f"{name}, without a kernel", *plain])
    return markdown_table(["error %", *ROBUST], rows)


def sentences(store: Store, tables: dict[str, Cells], studies: int) -> list[str]:
    """Count what kernel features do, ours and published."""
    lines = []
    cells = tables["sets"]
    for label in PAIRS:
        ours = {}
        for name in SETS:
            with_k, plain = (errors(store, cells[row, name]) for row in (f"{label} + K", label))
            ours[name] = t_test(with_k, plain)
        means = {
            row: np.array([mean_and_error(errors(store, cells[row, n]))[0] for n in SETS])
            for row in (f"{label} + K", label)
        }
        gained = [name for name, found in ours.items() if found == "win"]
        lost = [name for name, found in ours.items() if found == "loss"]
        lines.append(
            f"{label}: kernel features are {tally(ours.values())}; better: "
            f"{', '.join(gained) or 'none'}; worse: {', '.join(lost) or 'none'}. "
            f"{wilcoxon_sentence(means[f'{label} + K'], means[label])}"
        )
    differences = [
        mean_and_error(errors(store, jobs))[0] - PUBLISHED[label][SETS.index(name)]
        for (label, name), jobs in cells.items()
    ]
    known = np.array([value for value in differences if np.isfinite(value)])
    if len(known):
        lines.append(
            f"Ours minus published over {len(known)} cells: median {np.median(known):+.2f} points, "
            f"nine in ten within {np.quantile(np.abs(known), 0.9):.1f} points."
        )
        lines.append(worse_sentence(store, cells, tables["rules"]))
    return lines + robust_sentences(store, tables, studies)


def robust_sentences(store: Store, tables: dict[str, Cells], studies: int) -> list[str]:
    """Say what the worst kernel costs each ensemble."""
    lines = []
    for label in ROBUST:
        costs = []
        for name in ROBUST_SETS:
            rest = "forest" if label == "kernel only" else label.removesuffix(" + K")
            plain = mean_and_error(errors(store, tables["sets"][rest, name][:studies]))[0]
            for title in KERNELS:
                jobs = tables["robust"][title, label, name]
                costs.append((mean_and_error(errors(store, jobs))[0] - plain, f"{title}, {name}"))
        costs = [cost for cost in costs if np.isfinite(cost[0])]
        if costs:
            worst, where = max(costs)
            beside_what = "the plain forest" if label == "kernel only" else "the plain ensemble"
            lines.append(f"{label}: at worst {worst:+.1f} points beside {beside_what} ({where}).")
    return lines


def report(store: Store, tables: dict[str, Cells], options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    stored = {n: manifest().get(f"raetsch_{n}", {}).get("n_splits_available", 0) for n in SETS}
    asked = {name: min(options.splits, published_splits(name)) for name in SETS}
    short = [f"{name} {count}" for name, count in stored.items() if count < asked[name]]
    drawn = (
        f"as far as they are stored, the others drawn at random in the same sizes (stored: "
        f"{', '.join(short)})"
        if short
        else "all of them"
    )
    boundary_plot(image(options, "boundaries"), {n: drawn_boundary(n) for n in DRAWN})
    lines = "\n".join(f"- {line}" for line in sentences(store, tables, options.studies))
    return f"""# Ensembles over kernel features: our errors beside the published ones

196 to 200 trees and 10 landmarks as published. Mean ± standard error over splits; `+ K` is with
kernel features. Tables read: ours (published).

## Boundaries in the unit square

Runs: {options.runs} (published: 10), 500 rows to train on and 5000 to test on. Linear kernel
x'z + 1; Gaussian of width 1 for the circle. Landmarks of the unit square have no negative
coordinates, so the lines x'z = const all slope downwards. They fit the boundary x + y = 1, where
kernel features take the errors to the published figures for "y = x"; the boundary y = x itself,
as the text defines it, they do not fit.

{square_table(store, tables["squares"])}

{shown(image(options, "boundaries"), "what forests make of three boundaries")}

One forest with kernel features and one without, on the 500 training rows of the first run: what
they answer in the unit square.

## Rätsch's sets

Splits: {options.splits}, 20 at most of image and splice (published: 100 and 20). Gaussian kernel
with the set's own width. The splits are the published ones, {drawn}.

{set_table(store, tables["sets"])}
{rules_section(store, tables["sets"], tables["rules"], options.rules)}
## Number of landmarks, kernel features alone

Splits: {options.studies}. "auto" is `n_landmarks="auto"`, which chooses among these on held-out
training rows.

{study_table(store, tables["study"])}

## Kernels that do not fit

Splits: {options.studies}. "Agreement" is the share of coordinates that differ by less than a half,
a similarity that is no kernel; "noise" means nothing at all. AdaBoost.M1 without a kernel is one
run of 200 rounds, with one it is 14 runs of 14.

{robust_table(store, tables, options.studies)}

## In short

Better and worse are by the paired t-test at 95%, as published, over the splits of a set; two or
three splits seldom suffice for it. Over the sets: Wilcoxon's test of the means.

{lines}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size_options(parser, "a short run", "10 splits of everything: hours")
    parser.add_argument(
        "--published",
        action="store_true",
        help="as many splits as published, 100 or 20: days; set by set with --sets",
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--runs", type=int, help="runs of the unit square")
    parser.add_argument("--splits", type=int, help="splits of the sets")
    parser.add_argument("--rules", type=int, help="splits with the published program's trees")
    parser.add_argument("--studies", type=int, help="splits of the two studies")
    add_common_options(parser)
    options = parser.parse_args()
    if options.published and options.splits is None:
        options.splits = max(map(published_splits, SETS))
        options.max_minutes = options.max_minutes or math.inf
    settle_sizes(
        options,
        runs=(3, 10),
        splits=(2, 10),
        studies=(1, 10),
        rules=(0, 10),
        max_minutes=(9.0, None),
    )
    settle_page(options, "landmarks")
    there, missing = present(f"raetsch_{name}" for name in SETS)
    store = Store("papers_landmarks", options.reuse)
    tables = plan(options)
    # Cells of a set that is missing or not asked for stay empty.
    jobs = [
        job
        for job in in_rounds(tables)
        if job["set"] in BOUNDARIES
        or (job["set"] in options.sets and f"raetsch_{job['set']}" in there)
    ]
    problems = missing + run(store, jobs, max_minutes=options.max_minutes, work=work)
    # Which cells are worse than published is known only now.
    tables["rules"] = rule_cells(store, tables["sets"], options.rules, options.jobs)
    rules = in_rounds({"rules": tables["rules"]})
    problems += run(store, rules, max_minutes=options.max_minutes, work=work)
    text = report(store, tables, options)
    finish(text, problems, options.write, store, options.size)


if __name__ == "__main__":
    main()
