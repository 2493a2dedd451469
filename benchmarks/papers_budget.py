"""Error by search budget K and by largest expression size D (method E, figures 3 to 5).

Single trees, Extra-Trees and boosted stumps with random search, on the smaller sets of the
publication: K from 0.1 to 100 times the columns with D = 5, and D from 1 to 15 with the default
budget. The line to compare with is the plain learner. ``--full`` has the published sizes.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from data import present
from pages import add_size_options, image, settle_page, settle_sizes, shown
from papers_constructive import in_rounds
from plots import draw_curves, drawing
from runner import (
    Learner,
    Settings,
    Store,
    add_common_options,
    column,
    finish,
    markdown_table,
    mean_and_error,
    run,
    show,
)

from featurewright.publications import PUBLISHED as PUBLICATIONS

QUICK_SETS = ("waveform", "ringnorm", "vehicle", "vowel")
FULL_SETS = (*QUICK_SETS, "twonorm", "segment", "spambase", "satellite", "pendigits")
BUDGETS = ("0.1n", "0.3n", "1n", "3n", "10n", "30n", "100n")
SIZES = (1, 3, 5, 7, 9, 11, 15)
Cells = dict[tuple[str, str], list[Settings]]
CLOSE = 1.03  # times the least error: as good


class Kind(NamedTuple):
    """A learner of the figures, its default budget, and the largest budget of a short run."""

    family: str
    params: dict[str, Any]
    budget: str
    most: str


def kinds(options: argparse.Namespace) -> dict[str, Kind]:
    """Make the learners, with the published settings but for their sizes."""
    stumps = {"n_estimators": options.iterations}
    trees = {"n_estimators": options.trees}
    made = {}
    for label, (name, sizes, most) in {
        "single tree": ("monte_carlo_tree", {}, "100n"),
        "Extra-Trees": ("monte_carlo_extra_trees", trees, "30n"),
        "boosted stumps": ("monte_carlo_stumps", stumps, "30n"),
    }.items():
        method = PUBLICATIONS[name]
        family, settings = method.estimator.removesuffix("Classifier"), method.settings | sizes
        made[label] = Kind(family, settings, settings["budget"], most)
    return made


def variants(kind: Kind, full: bool) -> dict[str, dict[str, Any]]:
    """Name the points of both curves; where they meet, they are one."""
    most = BUDGETS[-1] if full else kind.most
    budgets = BUDGETS[: BUDGETS.index(most) + 1]
    found: dict[str, dict[str, Any]] = {"plain": {"search": None}}
    for budget in budgets:
        found[f"K {budget}"] = {"search": "random", "budget": budget, "max_size": 5}
    for size in SIZES:
        found[f"D {size}"] = {"search": "random", "budget": kind.budget, "max_size": size}
    return found


def plan(options: argparse.Namespace) -> dict[tuple[str, str, str], list[Settings]]:
    """List the jobs of every point."""
    cells = {}
    for label, kind in kinds(options).items():
        for name in options.sets:
            for point, params in variants(kind, options.full).items():
                learner = Learner(label, kind.family, kind.params | params)
                cells[label, name, point] = [
                    learner.settings(name, split, "third", options.jobs)
                    for split in range(options.splits)
                ]
    return cells


def points_of(cells: dict, label: str, letter: str) -> list[str]:
    """List the points of a learner by K or by D."""
    return list(dict.fromkeys(p for a, _, p in cells if a == label and p.startswith(f"{letter} ")))


def table(cells: dict, store: Store, label: str, letter: str, sets: list[str]) -> str:
    """Lay out the errors of one learner by K or by D."""
    points = ["plain", *points_of(cells, label, letter)]
    rows = [
        [name, *(show(100 * column(store, cells[label, name, p], "error")) for p in points)]
        for name in sets
    ]
    return markdown_table([f"{label}, error %", *points], rows)


def draw(cells: dict, store: Store, options: argparse.Namespace) -> None:
    """Draw the errors over those of the plain learner, by K above and by D below."""
    labels = list(kinds(options))
    with drawing(image(options, "curves"), 2, len(labels), size=(3.5, 2.7)) as grid:
        for column_of, label in enumerate(labels):
            for axes, letter in zip(grid[:, column_of], "KD", strict=True):
                curves = {}
                for name in options.sets:
                    plain = column(store, cells[label, name, "plain"], "error")
                    found = []
                    for p in points_of(cells, label, letter):
                        ratios = column(store, cells[label, name, p], "error") / plain
                        found.append((float(p[2:].removesuffix("n")), *mean_and_error(ratios)))
                    found = [triple for triple in found if np.isfinite(triple[1])]
                    if found:
                        curves[name] = tuple(zip(*found, strict=True))
                draw_curves(axes, curves, legend=(column_of, letter) == (0, "K"))
                axes.axhline(1, color="0.6", linewidth=0.8)
                axes.set_title(f"{label}: {'budget K' if letter == 'K' else 'size D'}", fontsize=9)
                axes.set(xscale="log" if letter == "K" else "linear")
                axes.set_xlabel("K / columns" if letter == "K" else "D", fontsize=8)
                axes.set_ylabel("error / plain" if column_of == 0 else "", fontsize=8)
                axes.tick_params(labelsize=7)


def sentences(cells: dict, store: Store, options: argparse.Namespace) -> str:
    """Say what more budget and larger expressions do, on average over the sets."""
    lines = []
    for label in kinds(options):
        for letter in "KD":
            means = {}
            for p in points_of(cells, label, letter):
                ratios = [
                    mean_and_error(
                        column(store, cells[label, n, p], "error")
                        / column(store, cells[label, n, "plain"], "error")
                    )[0]
                    for n in options.sets
                ]
                means[p] = float(np.exp(np.nanmean(np.log(ratios)))) if ratios else np.nan
            known = {p: mean for p, mean in means.items() if np.isfinite(mean)}
            if known:
                best = min(known, key=known.__getitem__)
                first, *_, last = known
                lines.append(
                    f"- {label}: error over the plain learner's, geometric mean over the sets: "
                    f"{known[first]:.2f} with {first}, {known[last]:.2f} with {last}, the least "
                    f"{known[best]:.2f} with {best}."
                    f"{as_published(label, letter, known)}"
                )
    return "\n".join(lines)


def as_published(label: str, letter: str, means: dict[str, float]) -> str:
    """Say whether the means over the sets go the way that the publication describes."""
    steps = list(means.values())
    if letter == "D":
        near = means.get("D 5", np.nan) <= CLOSE * min(steps)
        return f" D 5 is {'' if near else 'not '}within {CLOSE - 1:.0%} of the least."
    if label == "single tree":
        rising = [p for p, q in zip(list(means)[1:], pairwise(steps), strict=True) if q[1] > q[0]]
        return f" Published: every step helps; here not: {', '.join(rising) or 'none'}."
    if label == "Extra-Trees":
        best = float(min(means, key=means.__getitem__)[2:].removesuffix("n"))
        return f" Published: best between 0.1n and 10n; here {'so' if best <= 10 else 'not so'}."
    helps = steps[0] < 1 / CLOSE
    more = " (as many rounds as published: [constructive](constructive.md), 0.1n)"
    return f" Published: the smallest K helps; here {'so' if helps else 'not so'}{more}."


def report(cells: dict, store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    tables = "\n\n".join(
        table(cells, store, label, letter, options.sets)
        for label in kinds(options)
        for letter in "KD"
    )
    return f"""# Search budget and expression size

K is the search budget (formulas scored at a node) in multiples of n, the number of columns; D is
the most symbols of a formula.

Random search; {options.trees} Extra-Trees (published: 100), {options.iterations} rounds of boosted
stumps (1000); splits: {options.splits}, a third of the rows to test on, 300 rows to train on for
the artificial sets. The publication draws its figures without numbers: single trees gain from every
increase of K, Extra-Trees are best between 0.1 and 10 times the columns on several sets, boosted
stumps gain from the smallest K on and little beyond ten times, and D = 5 is a fair default.

{shown(image(options, "curves"), "error by budget and by expression size")}

{sentences(cells, store, options)}

{tables}
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size_options(parser, "four sets, few trees: minutes", "nine sets, published sizes: hours")
    parser.add_argument("--sets", nargs="+", metavar="SET", choices=FULL_SETS)
    parser.add_argument("--trees", type=int, help="Extra-Trees (50, or 100)")
    parser.add_argument("--iterations", type=int, help="rounds of boosting (100, or 1000)")
    parser.add_argument("--splits", type=int, help="splits (4, or 10)")
    add_common_options(parser)
    options = parser.parse_args()
    settle_page(options, "budget")
    settle_sizes(options, trees=(50, 100), iterations=(100, 1000), splits=(4, 10))
    settle_sizes(options, sets=(QUICK_SETS, FULL_SETS))
    options.sets, missing = present(options.sets)
    store = Store("papers_budget", options.reuse)
    cells = plan(options)
    problems = missing + run(store, in_rounds(cells), max_minutes=options.max_minutes)
    draw(cells, store, options)
    finish(report(cells, store, options), problems, options.write, store, options.size)


if __name__ == "__main__":
    main()
