"""Plots: one look, small files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from significance import Ranking, cliques

N_COLOURS = 128
MARKERS = "osD^vP*X<>"
NAME_WIDTH = 0.018  # of a letter of a name, as a share of the axes
PALE = {"color": "0.6", "linewidth": 0.8}
# Curves: label -> places, values, and their standard errors where there are any.
Curve = tuple[Sequence[float], Sequence[float], Sequence[float] | None]


@contextmanager
def drawing(
    path: Path, rows: int = 1, columns: int = 1, size: tuple[float, float] = (5.2, 3.6)
) -> Iterator[np.ndarray]:
    """Return axes to draw on and save them, by a name of its own first.

    Parameters
    ----------
    path : Path
        The file to write, a PNG.
    rows, columns : int, default=1
        Number of axes.
    size : (float, float), default=(5.2, 3.6)
        Width and height of one, in inches.

    Yields
    ------
    ndarray of shape (rows, columns)
        The axes.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image  # comes with matplotlib

    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(columns * size[0], rows * size[1]),
        squeeze=False,
        layout="constrained",
    )
    try:
        yield axes
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn = BytesIO()
        figure.savefig(drawn, dpi=90, format="png")
        part = path.with_name(f"{path.name}.part")
        # A palette makes a third of the file, and no difference that is seen.
        Image.open(drawn).convert("RGB").quantize(N_COLOURS).save(part, "PNG", optimize=True)
        part.replace(path)
    finally:
        plt.close(figure)


def draw_curves(axes: Any, curves: Mapping[str, Curve], *, legend: bool = True) -> None:
    """Draw lines with marks, and bars of one standard error."""
    for k, (label, (places, values, errors)) in enumerate(curves.items()):
        axes.errorbar(
            places,
            values,
            None if errors is None else np.nan_to_num(np.asarray(errors, dtype=float)),
            marker=MARKERS[k % len(MARKERS)],
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=label,
        )
    axes.grid(alpha=0.3)
    if legend and curves:
        axes.legend(fontsize=8)


def log_ticks(axis: Any) -> None:
    """Write the ticks of a logarithmic axis as numbers, also between powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_pairs(
    axes: Any, ours: np.ndarray, theirs: np.ndarray, names: Sequence[str], titles: tuple[str, str]
) -> None:
    """Draw scores of two methods against each other, with the names of the points furthest off."""
    from matplotlib.ticker import MaxNLocator

    low = float(np.nanmin([ours, theirs])) - 0.02
    high = float(np.nanmax([ours, theirs])) + 0.02
    axes.plot([low, high], [low, high], **PALE)
    axes.scatter(theirs, ours, s=18)
    far = np.argsort(-np.nan_to_num(np.abs(ours - theirs)))[:5]
    line, nearest = 0.035 * (high - low), {True: -np.inf, False: -np.inf}
    for place in far[np.argsort(ours[far])]:
        # Beside the point, away from the diagonal, and a line above the name below.
        above = bool(ours[place] >= theirs[place])
        level = max(ours[place] + (0.2 if above else -1.0) * line, nearest[above] + line)
        nearest[above] = level
        # On the other side where it would leave the axes.
        width = NAME_WIDTH * len(names[place]) * (high - low)
        left = theirs[place] - width > low if above else theirs[place] + width > high
        axes.text(
            theirs[place] + (-0.4 if left else 0.4) * line,
            level,
            names[place],
            ha="right" if left else "left",
            fontsize=7,
        )
    axes.set(xlabel=titles[1], ylabel=titles[0], xlim=(low, high), ylim=(low, high))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.set_aspect("equal")
    axes.grid(alpha=0.3)


def critical_difference_plot(path: Path, ranking: Ranking, title: str) -> None:
    """Draw methods on a line of mean ranks; bars join those that Nemenyi's test holds alike."""
    order = np.argsort(ranking.ranks, kind="stable")
    ranks = ranking.ranks[order]
    n_methods = len(order)
    half = (n_methods + 1) // 2
    bars = cliques(ranking)
    depth = 0.6 + 0.28 * len(bars)
    with drawing(path, size=(8.0, 1.5 + 0.24 * half + 0.15 * len(bars))) as grid:
        axes = grid[0, 0]
        lowest = np.floor(ranks[0])
        highest = np.ceil(max(ranks[-1], lowest + ranking.critical))
        axes.plot([lowest, highest], [0, 0], color="black", linewidth=1)
        for tick in np.arange(lowest, highest + 1):
            axes.plot([tick, tick], [0, 0.12], color="black", linewidth=1)
            axes.text(tick, 0.2, f"{tick:g}", ha="center", fontsize=8)
        for place, rank in enumerate(ranks):
            left = place < half
            level = -depth - 0.45 * (place if left else n_methods - 1 - place)
            end = lowest - 0.1 if left else highest + 0.1
            axes.plot([rank, rank, end], [0, level, level], color="0.35", linewidth=0.8)
            text = f"{ranking.labels[order[place]]}  {rank:.2f}"
            axes.annotate(
                text,
                (end, level),
                xytext=(-4 if left else 4, 0),
                textcoords="offset points",
                ha="right" if left else "left",
                va="center",
                fontsize=8,
            )
        for k, (first, last) in enumerate(bars):
            level = -0.25 - 0.28 * k
            ends = [ranks[first] - 0.02, ranks[last] + 0.02]
            axes.plot(ends, [level, level], color="tab:red", linewidth=3, solid_capstyle="butt")
        axes.plot([lowest, lowest + ranking.critical], [0.75, 0.75], color="tab:red", linewidth=2)
        axes.text(lowest, 0.88, f"critical difference {ranking.critical:.2f}", fontsize=8)
        width = max(highest - lowest, 1.0)
        axes.set_xlim(lowest - 0.6 * width, highest + 0.6 * width)
        axes.set_ylim(-depth - 0.45 * half, 1.5)
        axes.set_title(f"{title}; {ranking.n_sets} sets", fontsize=9)
        axes.axis("off")
