"""Time and memory beside gplearn, autofeat and OpenFE, on the same rows.

Each library runs at its defaults in a process of its own: fit and transform, with a time limit.
Imports do not count. Memory is what the process takes at most beyond what it had before the fit. A
library that reached the limit is not asked about more rows. Our engine is compiled before the clock
starts; what that takes is told on the page of growth.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from data import synthetic
from pages import image, settle_page, shown
from peers import OURS, PINS, Answer, is_there, run_library
from plots import draw_curves, drawing, log_ticks
from runner import markdown_table, say
from speed import Line, add_speed_options, finish_lines, seconds

# Label: library, and our method with its parameters.
ENTRIES: dict[str, dict] = {
    "our forest": {"library": OURS, "method": "ConstructiveForestClassifier"},
    "our FCTree": {"library": OURS, "method": "FCTreeClassifier"},
    "our BatchConstructor": {"library": OURS, "method": "BatchConstructor"},
    # Compiles and reads what it needs itself; gives the columns too.
    "our AutoFeatures": {"library": OURS, "method": "AutoFeatures", "beside": False, "warm": False},
    **{library: {"library": library} for library in PINS},
}
Answers = dict[tuple[str, int], Answer]


def measure(options: argparse.Namespace) -> Answers:
    """Run every library on ever more rows."""
    found: Answers = {}
    for n_rows in options.rows:
        X, y = synthetic(n_rows + 500, options.columns)
        rows = (X[:n_rows], y[:n_rows], X[n_rows:])
        for label, entry in ENTRIES.items():
            known = [found[label, n] for n in options.rows if (label, n) in found]
            if any(answer.reason for answer in known):
                found[label, n_rows] = Answer("not asked")
                continue
            say(f"{label}, {n_rows} rows")
            more = {key: value for key, value in entry.items() if key != "library"}
            if entry["library"] == OURS:
                more = {"params": {}, "beside": True, "warm": True} | more
            found[label, n_rows] = run_library(
                entry["library"],
                "binary",
                rows,
                n_jobs=max(options.threads),
                limit=options.limit,
                **more,
            )
    return found


def table(found: Answers, options: argparse.Namespace) -> str:
    """Lay out seconds of a fit, milliseconds of a transform and memory."""
    rows = []
    for label in ENTRIES:
        for n_rows in options.rows:
            answer = found[label, n_rows]
            if answer.reason:
                cells = [answer.reason, "", "", ""]
            else:
                made = answer.test.shape[1] - options.columns if answer.test is not None else 0
                cells = [
                    f"{answer.fit_seconds:.3g} s",
                    f"{1000 * answer.transform_seconds:.0f} ms",
                    f"{answer.memory / 1e6:.0f} MB",
                    f"{made:+d}",
                ]
            rows.append([label, f"{n_rows:,}", *cells])
    return markdown_table(["library", "rows", "fit", "transform", "memory", "columns"], rows)


def ratio_lines(found: Answers, options: argparse.Namespace) -> list[Line]:
    """Compare our forest and AutoFeatures with each peer at the most rows both have done."""
    lines = []
    for own, library in product(("our forest", "our AutoFeatures"), PINS):
        done = [n for n in options.rows if not (found[own, n].reason or found[library, n].reason)]
        if done:
            ours, theirs = found[own, done[-1]], found[library, done[-1]]
            both = seconds(ours.fit_seconds), seconds(theirs.fit_seconds)
            ratio = ours.fit_seconds / theirs.fit_seconds
            lines.append(Line(f"{own} against {library}, {done[-1]} rows", *both, ratio, None))
    return lines


def draw(found: Answers, options: argparse.Namespace) -> None:
    """Draw time and memory by rows with logarithmic axes."""
    with drawing(image(options, "curves"), 1, 2, size=(4.4, 3.4)) as grid:
        for axes, value, title in (
            (grid[0, 0], "fit_seconds", "seconds of a fit"),
            (grid[0, 1], "memory", "most MB, beyond those before"),
        ):
            curves = {}
            for label in ENTRIES:
                pairs = [
                    (n, getattr(found[label, n], value))
                    for n in options.rows
                    if not found[label, n].reason
                ]
                scale = 1e6 if value == "memory" else 1.0
                if pairs:
                    places, numbers = zip(*pairs, strict=True)
                    curves[label] = (places, np.maximum(numbers, 1e-6) / scale, None)
            draw_curves(axes, curves, legend=False)
            axes.set(xscale="log", xlabel="rows", ylabel=title)
            if value == "memory":
                axes.set_ylim(bottom=0)
            else:
                axes.set_yscale("log")
                log_ticks(axes.yaxis)
            axes.set_xticks(options.rows, [f"{n:,}" for n in options.rows])
            axes.minorticks_off()
        handles, labels = grid[0, 0].get_legend_handles_labels()
        grid[0, 0].figure.legend(
            handles, labels, fontsize=8, ncols=3, loc="outside lower center", frameon=False
        )


def main() -> None:
    """Measure, draw, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_speed_options(parser, "up to 1,000 rows, two minutes each", "up to 30,000, half an hour")
    parser.add_argument("--rows", type=int, nargs="+", help="training rows")
    parser.add_argument("--columns", type=int, default=10, help="default: 10")
    parser.add_argument("--limit", type=float, help="seconds for each (120, or 1800)")
    options = parser.parse_args()
    settle_page(options, "speed_peers")
    options.rows = options.rows or ([1000, 3000, 10_000, 30_000] if options.full else [300, 1000])
    options.limit = options.limit or (1800.0 if options.full else 120.0)
    absent = [library for library in PINS if not is_there(library)]
    found = measure(options)
    draw(found, options)
    shortest = min(
        (a.fit_seconds for (label, _), a in found.items() if label == "our forest"), default=np.nan
    )
    intro = f"""{(__doc__ or "").split(chr(10) * 2, 1)[1].strip()}

Made-up two-class tables of {options.columns} columns; threads or processes: {max(options.threads)};
limit: {options.limit:g} s; versions: {"; ".join(", ".join(pins) for pins in PINS.values())}.
Not installed: {", ".join(absent) or "none"}. Columns: how many the library adds; one that selects
may have fewer than before. The shortest fit of our forest takes {shortest:.2g} s. AutoFeatures
tries all methods with cross-validation at its standard effort, and its seconds have the loading of
the compiled engine in them.

{shown(image(options, "curves"), "seconds and memory by rows")}

{table(found, options)}"""
    finish_lines("Time and memory beside peers", intro, ratio_lines(found, options), options)


if __name__ == "__main__":
    main()
