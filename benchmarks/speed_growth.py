"""How the time of a fit grows with rows, columns, classes, trees, budget and threads.

One of them changes and the others stay. Ours with and without construction, scikit-learn's forest
and Extra-Trees beside them, on the same rows.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
from pages import image, settle_page, shown
from plots import draw_curves, drawing, log_ticks
from runner import make_model, markdown_table, say, warm_up
from sklearn.datasets import make_classification
from speed import Line, add_speed_options, finish_lines, seconds, taking_turns

CONSTRUCTION = {"search": "random", "max_size": 5}
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "our Extra-Trees, constructing": ("ConstructiveExtraTrees", CONSTRUCTION),
    "our forest, constructing": ("ConstructiveForest", CONSTRUCTION),
    "our forest, plain": ("ConstructiveForest", {"search": None}),
    "sklearn forest": ("RandomForest", {}),
    "sklearn Extra-Trees": ("ExtraTrees", {}),
}
BASE = {"rows": 4000, "columns": 20, "classes": 2, "trees": 10, "budget": 200, "threads": 1}
# Values of each in a full run; a quick run leaves out the last one or two.
STEPS: dict[str, tuple[int, ...]] = {
    "rows": (1000, 4000, 16_000, 64_000, 256_000),
    "columns": (10, 20, 40, 80, 160),
    "classes": (2, 4, 8, 16, 32),
    "trees": (5, 10, 20, 40, 80),
    "budget": (20, 60, 200, 600, 2000),
    "threads": (1, 2, 4, 8),
}
ROWS_BAR = 1.1  # power of the rows with which time may grow


def table_of(point: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Make the rows of a point."""
    X, y = make_classification(
        point["rows"],
        point["columns"],
        n_informative=max(6, point["columns"] // 2),
        n_redundant=0,
        n_classes=point["classes"],
        n_clusters_per_class=1,
        flip_y=0.05,
        random_state=0,
    )
    return X.astype(np.float32), y


def fits_of(point: dict[str, int], repeats: int) -> dict[str, float]:
    """Measure all learners at a point; what does not know the budget is left out of that curve."""
    X, y = table_of(point)

    def work(label: str) -> Any:
        family, params = LEARNERS[label]
        own = {"budget": point["budget"]} if params.get("search") else {}
        params = params | own | {"n_estimators": point["trees"]}
        return lambda: make_model(family, params, "multiclass", 0, point["threads"]).fit(X, y)

    return taking_turns({label: work(label) for label in LEARNERS}, repeats)[0]


def measure(options: argparse.Namespace) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Measure all curves: by what grows, then by learner."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    known: dict[tuple[int, ...], dict[str, float]] = {}
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for what in options.only:
        steps = STEPS[what] if options.full else STEPS[what][:3]
        if what == "threads":
            steps = tuple(step for step in STEPS[what] if step <= (n_cores or 1))
        curves[what] = {label: [] for label in LEARNERS}
        for step in steps:
            point = BASE | {what: step}
            key = tuple(point.values())
            if key not in known:
                say(f"{what}: {step}")
                known[key] = fits_of(point, options.repeats)
            for label, value in known[key].items():
                if what != "budget" or LEARNERS[label][1].get("search"):
                    curves[what][label].append((step, value))
        curves[what] = {label: found for label, found in curves[what].items() if found}
    return curves


def exponent(found: list[tuple[int, float]]) -> float:
    """Return the power with which time grows."""
    if len(found) < 2:
        return np.nan
    places, values = np.log(np.array(found, dtype=float)).T
    return float(np.polyfit(places, values, 1)[0])


def row_lines(curves: dict[str, dict[str, list[tuple[int, float]]]]) -> list[Line]:
    """Return how the time of each learner grows with rows."""
    return [
        Line(
            f"{label}: exponent of time by rows",
            f"{seconds(pairs[0][1])} → {seconds(pairs[-1][1])}",
            "",
            exponent(pairs),
            ROWS_BAR if label.startswith("our ") else None,
            "",
        )
        for label, pairs in curves.get("rows", {}).items()
    ]


def draw(curves: dict[str, dict[str, list[tuple[int, float]]]], options: Any) -> None:
    """Draw the curves with logarithmic axes."""
    with drawing(image(options, "curves"), 2, 3, size=(3.3, 2.7)) as grid:
        for axes, (what, found) in zip(grid.ravel(), curves.items(), strict=False):
            parts = {label: (*zip(*pairs, strict=True), None) for label, pairs in found.items()}
            draw_curves(axes, parts, legend=False)
            axes.set(xscale="log", yscale="log")
            axes.set_xlabel(what, fontsize=8)
            axes.set_ylabel("seconds of a fit", fontsize=8)
            places = [place for place, _ in next(iter(found.values()))]
            axes.set_xticks(places, [f"{p // 1000}k" if p >= 4000 else str(p) for p in places])
            axes.minorticks_off()
            log_ticks(axes.yaxis)
            axes.tick_params(labelsize=7)
        for axes in grid.ravel()[len(curves) :]:
            axes.axis("off")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        grid[0, 0].figure.legend(
            handles, labels, fontsize=8, ncols=3, loc="outside lower center", frameon=False
        )


def growth_tables(curves: dict[str, dict[str, list[tuple[int, float]]]]) -> str:
    """Lay out seconds and exponents of every curve."""
    parts = []
    for what, found in curves.items():
        places = [place for place, _ in next(iter(found.values()))]
        rows = [
            [label, *(f"{value:.3g}" for _, value in pairs), f"{exponent(pairs):.2f}"]
            for label, pairs in found.items()
        ]
        header = [f"seconds by {what}", *(f"{place:,}" for place in places), "exponent"]
        parts.append(markdown_table(header, rows))
    return "\n\n".join(parts)


def main() -> None:
    """Measure, draw, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_speed_options(parser, "three points of each curve", "all points")
    parser.add_argument(
        "--only", nargs="+", choices=tuple(STEPS), default=list(STEPS), help="these curves alone"
    )
    options = parser.parse_args()
    settle_page(options, "speed_growth")
    say("Compiling the kernels.")
    warm_up()
    curves = measure(options)
    draw(curves, options)
    point = ", ".join(f"{value:,} {what}" for what, value in BASE.items())
    intro = f"""Where not said otherwise: {point}; the budget is the number of candidates at a
node. The median of {options.repeats} turns, side by side. The exponent is that of the straight line
through the points of the plot, whose axes are logarithmic.

{shown(image(options, "curves"), "seconds of a fit by what grows")}

{growth_tables(curves)}"""
    finish_lines("Growth of the time of a fit", intro, row_lines(curves), options)


if __name__ == "__main__":
    main()
