"""Published figures, tables and the plot of the page on recursive selective transformation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from data import load
from plots import draw_curves, drawing
from recursive_runs import Cells
from runner import NO_VALUE, Store, column, markdown_table, mean_and_error, show
from significance import wilcoxon_sentence

from featurewright.publications import PUBLISHED as PUBLICATIONS
from featurewright.recursive.steps import plan_parts

RST = PUBLICATIONS["rst"].settings

# Published log losses: original, best after some recursion, best PCA, LDA. The tables are scrambled
# in the text of the article: this is our reading of them.
PUBLISHED = {
    "iris": (0.46, 0.30, 0.48, 0.43),
    "glass": (1.35, 1.10, 1.18, 1.20),
    "sonar": (0.52, 0.56, 0.55, 1.00),
    "digits": (0.25, 0.23, 0.36, 0.28),
    "letter": (1.33, 1.28, 1.45, 1.62),
    "olivetti_faces": (1.98, 1.07, 1.50, 1.53),
    "otto_group": (0.96, 0.70, 0.78, 0.94),
    "mnist": (1.85, 0.41, 1.30, 0.52),
}
COMPARED = {
    "iris": (150, 6, 5),
    "glass": (214, 6, 5),
    "sonar": (208, 6, 5),
    "digits": (1_000, 6, 1),
    "letter": (2_500, 4, 1),
    "olivetti_faces": (100, 2, 1),
}
# Rows and recursions: what more rows change where the short run takes few of them.
MORE_ROWS = {
    "otto_group": ((12_000, 2), (61_878, 2)),
    "mnist": ((5_000, 1), (10_000, 1), (70_000, 1)),
}
FORESTS = ("iris", "glass", "sonar", "digits")  # the first two splits
# What is run with the settings of the publication, and what it is called without its outliers.
AS_PUBLISHED = ("iris", "glass", "sonar", "digits", "letter")
WITH_OUTLIERS = {"published": True, "published, all rows": False}
USUAL = "stretch first, unit length"  # as published, but for the loss
CANDIDATES = {
    USUAL: ("stretch", RST["normalize"], "squared_hinge", RST["project"]),
    "stretch first, w as fitted": ("stretch", None, "squared_hinge", "first"),
    "stretch, w as fitted": ("stretch", None, "squared_hinge", "after"),
    "stretch, unit length": ("stretch", "unit", "squared_hinge", "after"),
    "stretch, largest entry 1": ("stretch", "max", "squared_hinge", "after"),
    "stretch, w as fitted, hinge loss": ("stretch", None, "hinge", "after"),
    "diagonal, w as fitted": ("diagonal", None, "squared_hinge", "after"),
    "diagonal, unit length": ("diagonal", "unit", "squared_hinge", "after"),
    "diagonal, largest entry 1": ("diagonal", "max", "squared_hinge", "after"),
    "orthogonal": ("orthogonal", None, "squared_hinge", "after"),
}


def parts_of(n_columns: int, recursions: int, n_rows: int) -> list[tuple[int, ...]]:
    """Return the columns that the steps of each recursion keep, as published."""
    return plan_parts(n_columns, RST["keep"], recursions, n_rows)


def losses_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out ours above the published losses."""
    rows = []
    for name in sets:
        rst = cells["rst", name]
        cases = [column(store, rst, "loss_0"), column(store, rst, "best")]
        cases += [column(store, rst, "last"), column(store, cells["auto", name], "best")]
        cases += [column(store, cells[other, name], "best") for other in ("pca", "lda")]
        rows.append([f"{name}, ours", *(show(case, 3) for case in cases)])
        original, best, pca, lda = (f"{loss:.2f}" for loss in PUBLISHED[name])
        rows.append(["published", original, best, NO_VALUE, NO_VALUE, pca, lda])
    head = ["log loss", "original", "best RST", "last RST", "auto", "best PCA", "LDA"]
    return markdown_table(head, rows)


def paths_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out the loss after each recursion, with its size."""
    rows = []
    for name in sets:
        jobs = cells["rst", name]
        n_rows, n_columns = load(name).X.shape
        n_train = int(0.6 * min(n_rows, jobs[0]["params"]["rows"]))
        plan = parts_of(n_columns, jobs[0]["params"]["recursions"], n_train)
        sizes = [n_columns, *map(sum, plan)]
        means = [np.nanmean(column(store, jobs, f"loss_{k}")) for k in range(len(sizes))]
        cells_of_row = [f"{size}: {mean:.3f}" for size, mean in zip(sizes, means, strict=True)]
        rows.append([name, *cells_of_row, *[""] * (7 - len(cells_of_row))])
    return markdown_table(["columns: log loss", *map(str, range(7))], rows)


def recursion_plot(path: Path, cells: Cells, store: Store, sets: Any) -> None:
    """Draw the log loss by recursion, over that of the original columns."""
    curves = {}
    for name in sets:
        first = column(store, cells["rst", name], "loss_0")
        found = [
            mean_and_error(column(store, cells["rst", name], f"loss_{k}") / first) for k in range(7)
        ]
        found = [pair for pair in found if np.isfinite(pair[0])]
        if found:
            curves[name] = (range(len(found)), *zip(*found, strict=True))
    with drawing(path, size=(6.4, 4.0)) as grid:
        axes = grid[0, 0]
        draw_curves(axes, curves, legend=False)
        axes.axhline(1, color="0.6", linewidth=0.8)
        axes.set_xticks(range(7))
        axes.set(xlabel="recursions", ylabel="log loss over that of the original columns")
        if curves:
            axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def candidates_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out the candidates: loss after one recursion, the last and the best."""
    names = [name for name in sets if name in COMPARED]
    if not names:
        return f"Not measured: none of {', '.join(COMPARED)} is among the sets of this run."
    rows = []
    for label in CANDIDATES:
        texts, ratios = [], []
        for name in names:
            jobs = cells[label, name]
            values = [np.nanmean(column(store, jobs, key)) for key in ("loss_0", "loss_1", "last")]
            best = column(store, jobs, "best")
            values.append(np.nanmean(np.fmin(best, column(store, jobs, "loss_0"))))
            texts.append(", ".join(f"{value:.3f}" for value in values[1:]))
            ratios.append(np.divide(values[1:], values[0]))
        means = np.exp(np.nanmean(np.log(ratios), axis=0))
        rows.append([label, *texts, ", ".join(f"{mean:.3f}" for mean in means)])
    first = next(iter(CANDIDATES))
    original = [f"{np.nanmean(column(store, cells[first, name], 'loss_0')):.3f}" for name in names]
    rows.insert(0, ["no transformation", *original, "1"])
    return markdown_table(["one, last, best", *names, "mean ratio"], rows)


def against_sentence(cells: Cells, store: Store, sets: Any) -> str:
    """Count on how many sets the best recursion has a lower loss, ours and published."""
    parts = []
    for k, (label, method, value) in enumerate(
        (
            ("the original columns", "rst", "loss_0"),
            ("the best PCA", "pca", "best"),
            ("LDA", "lda", "best"),
        )
    ):
        ours = np.array([np.nanmean(column(store, cells["rst", n], "best")) for n in sets])
        theirs = np.array([np.nanmean(column(store, cells[method, n], value)) for n in sets])
        place = (0, 2, 3)[k]
        there = np.isfinite(ours) & np.isfinite(theirs)
        published = sum(PUBLISHED[n][1] < PUBLISHED[n][place] for n in np.array(sets)[there])
        parts.append(
            f"Beside {label}, the best recursion is lower on {int((ours < theirs)[there].sum())} "
            f"of {int(there.sum())} sets (published: {published}). "
            f"{wilcoxon_sentence(ours, theirs)}"
        )
    parts.append(_default_sentence(cells, store, sets))
    parts.append(_what_is_left(cells, store, sets))
    return "\n".join(f"- {part}" for part in parts)


def _default_sentence(cells: Cells, store: Store, sets: Any) -> str:
    """Count the sets on which the default has a lower loss than the original columns."""
    original, default, none = (
        np.array([np.nanmean(column(store, cells[label, name], key)) for name in sets])
        for label, key in (("rst", "loss_0"), ("auto", "best"), ("none", "best"))
    )
    there = np.isfinite(original) & np.isfinite(default)
    higher = "; ".join(
        f"{name} {default[k] - original[k]:+.3f}, without recursions {none[k] - original[k]:+.3f}"
        for k, name in enumerate(sets)
        if there[k] and default[k] >= original[k]
    )
    return (
        f'The default ("auto") is lower than the original columns on '
        f"{int((default < original)[there].sum())} of {int(there.sum())} sets. Where it is higher, "
        "how much of that is its calibration, one sigmoid on pooled rows in place of the mean of "
        f"three machines and theirs: {higher or 'nowhere'}. Beside the original columns calibrated "
        f"as it is, it is lower on {int((default < none)[there].sum())}: most of what it gains is "
        "the calibration, as [more splits](recursive_variants.md) say too."
    )


def _what_is_left(cells: Cells, store: Store, sets: Any) -> str:
    """Say how our losses stand beside the published ones, before and after."""
    before = np.array([np.nanmean(column(store, cells["rst", n], "loss_0")) for n in sets])
    after = np.array([np.nanmean(column(store, cells["rst", n], "best")) for n in sets])
    there = np.isfinite(before) & np.isfinite(after)
    names = np.array(sets)[there]
    first, best = (np.array([PUBLISHED[n][k] for n in names]) for k in (0, 1))
    lower = int((before[there] < first).sum())
    higher = names[after[there] > best]
    harmed = names[after[there] > before[there]]
    off = [np.abs(ours[there] - told).mean() for ours, told in ((before, first), (after, best))]
    return (
        f"Our losses are lower than the published ones on {lower} of {len(names)} sets with the "
        f"original columns (on rows of our own choice, so of another difficulty where a set is "
        f"cut) and on {int((after[there] < best).sum())} with the best recursion; higher there: "
        f"{', '.join(higher) or 'none'}. Even the best recursion raises the loss on "
        f"{', '.join(harmed) or 'no set'}. Ours and the published losses are {off[0]:.2f} apart "
        f"without recursion and {off[1]:.2f} with the best one (means of the sets): they differ "
        f"{'more' if off[0] > off[1] else 'less'} in what a recursion starts from than in what it "
        "reaches."
    )


def _three(cells: Cells, store: Store, name: str) -> Any:
    """Return the losses without recursion, after one and after the last: training, held out, apart.

    Returns
    -------
    ndarray of shape (3, 3, n_splits)
        One row for each way to measure.
    """
    held_out = [column(store, cells["rst", name], key) for key in ("loss_0", "loss_1", "last")]
    training = [column(store, cells["training", name], key) for key in ("loss_0", "loss_1", "last")]
    # Without a recursion there is none to learn apart.
    apart = [column(store, cells["apart", name], key) for key in ("loss_1", "loss_2")]
    return np.array([training, held_out, [held_out[0], *apart]])


def reasons_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out the losses that tell why a recursion does harm."""
    rows = []
    for name in sets:
        ways = np.array(
            [[mean_and_error(case)[0] for case in way] for way in _three(cells, store, name)]
        )
        rows.append([name, *(", ".join(f"{loss:.3f}" for loss in way) for way in ways)])
    return markdown_table(["none, one, last", "training rows", "held out", "held out, apart"], rows)


def reasons_sentences(cells: Cells, store: Store, sets: Any) -> str:
    """Say of each set on which the last recursion raises the loss what the table tells."""
    lines = []
    for name in sets:
        training, held_out, apart = _three(cells, store, name)
        raised, noise = mean_and_error(held_out[2] - held_out[0])
        if not raised > 0:
            continue
        told = f"{name}: {raised:+.3f}" + (f" ± {noise:.3f}" if np.isfinite(noise) else "")
        if raised <= 2 * np.nan_to_num(noise):
            lines.append(f"{told}, within two standard errors of none.")
        elif np.nanmean(training[2] - training[0]) >= 0:
            lines.append(f"{told}; on the training rows it rises too: what is left out is missed.")
        else:
            by_apart = float(np.nanmean(apart[2] - held_out[0]))
            lines.append(
                f"{told}; on the rows it is learned from it falls, so they are fitted too closely, "
                "and members are calibrated on them. With recursions of its own in each fold of "
                f"the calibration: {by_apart:+.3f}."
            )
    if not lines:
        return "The last recursion raises the loss on no set."
    return "After the last recursion the loss is higher than without:\n\n" + "\n".join(
        f"- {line}" for line in lines
    )


def rows_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out the losses of sets that the short run cuts, by the number of rows."""
    rows = []
    for name in (name for name in sets if name in MORE_ROWS):
        sizes = [(f"{size} rows", size) for size, _ in MORE_ROWS[name]]
        first = cells["rst", name][0]["params"]["rows"]
        for label, size in [("rst", first), *sizes]:
            jobs = cells[label, name]
            shown = [show(column(store, jobs, key), 3) for key in ("loss_0", "loss_1", "best")]
            rows.append([name, f"{size:,}", *shown])
        original, best, _, _ = PUBLISHED[name]
        rows.append(["published", "all", f"{original:.2f}", NO_VALUE, f"{best:.2f}"])
    if not rows:
        return f"Not measured: none of {', '.join(MORE_ROWS)} is among the sets of this run."
    return markdown_table(["log loss", "rows", "original", "one recursion", "best RST"], rows)


def forest_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out what forests make of the components."""
    rows = []
    for name in sets:
        if name in FORESTS:
            jobs = cells["forest", name]
            found = [column(store, jobs, key) for key in ("loss_0", "loss_1", "best", "last")]
            rows.append([name, *(show(case, 3) for case in found)])
    table = markdown_table(["log loss", "original", "one recursion", "best", "last"], rows)
    parts = []
    for key, words in (("loss_1", "one recursion"), ("last", "the last one")):
        found = [
            mean_and_error(
                column(store, cells["forest", name], key)
                - column(store, cells["forest", name], "loss_0")
            )
            for name in sets
            if name in FORESTS
        ]
        lower = sum(mean < 0 for mean, _ in found)
        clear = sum(mean < -2 * error for mean, error in found)
        parts.append(
            f"after {words} the loss is lower than without on {lower} of {len(found)} sets, by "
            f"more than two standard errors on {clear}"
        )
    return f"""{table}

With forests, {"; ".join(parts)}. The publication says that forests do not gain."""


def settings_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out the losses with the settings of the publication, above the published ones."""
    names = [name for name in sets if name in AS_PUBLISHED]
    if not names:
        return f"Not measured: none of {', '.join(AS_PUBLISHED)} is among the sets of this run."
    rows = []
    for name in names:
        for label, remove in WITH_OUTLIERS.items():
            jobs = cells[label, name]
            found = [column(store, jobs, key) for key in ("loss_0", "loss_1", "last")]
            title = f"{name}, {'without outliers' if remove else 'all rows'}"
            rows.append([title, *(show(case, 3) for case in found)])
        original, best, _, _ = PUBLISHED[name]
        rows.append(["published", f"{original:.2f}", NO_VALUE, f"{best:.2f}"])
    return markdown_table(["log loss", "no recursion", "one", "last; published: best"], rows)


def settings_sentence(cells: Cells, store: Store, sets: Any) -> str:
    """Say which of the three ways has the original columns nearest to the published losses."""
    names = [name for name in sets if name in AS_PUBLISHED]
    told = []
    for label, words in {
        "published": "with these settings",
        "published, all rows": "with all training rows",
        "rst": "in the first table",
    }.items():
        off = [
            abs(np.nanmean(column(store, cells[label, name], "loss_0")) - PUBLISHED[name][0])
            for name in names
        ]
        if off and np.isfinite(off).any():
            told.append(f"{np.nanmean(off):.3f} {words}")
    if not told:
        return ""
    return (
        "The log loss of the original columns is off the published one by "
        f"{', '.join(told)} (mean of the sets)."
    )
