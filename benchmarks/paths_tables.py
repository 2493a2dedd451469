"""Tables, sentences and plots of the page on path encodings."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from pages import image
from paths_plots import accuracy_plot, kernel_plot, learning_plot
from paths_tasks import (
    FOLDS,
    LARGE_LABELS,
    MORE_TREES,
    NEIGHBOURS,
    PUBLISHED,
    PUBLISHED_LABELS,
    PUBLISHED_NOISE,
)
from runner import Settings, Store, column, markdown_table, mean_and_error, outcome, show, tally
from significance import CHANCE, deviations_apart, wilcoxon_sentence

CURVES = {"paths": "linear SVM on paths", "forest": "the forest", "Gaussian": "Gaussian SVM"}
SPACES = ("paths", "original")
LABEL_SPACES = (*SPACES, "unscaled")  # original columns are from 0 to 1, or as they are
VERDICTS = {"win": "paths", "loss": "original", "draw": "–"}
FAR = 0.03  # a difference from the published figures that is worth a sentence
Cells = dict[tuple, list[Settings]]


@dataclass(frozen=True)
class Kind:
    """A kind of figure on two-class tasks, and where it stands in the published tables."""

    value: str
    meaning: str
    first: int
    spaces: tuple[str, str] = SPACES
    title: str = "paths"
    more: str = ""
    wins: tuple[int, int] = (0, 0)  # published, of 20 sets: of paths and of original columns

    def published(self, name: str) -> tuple[float, ...]:
        """Return the published figures of a set, on paths and on original columns."""
        return PUBLISHED[name][self.first : self.first + 2]


MACHINE = Kind("auc", "area under the curve", 0, wins=(7, 1))
ALIGNMENT = Kind(
    "alignment", "alignment", 2, ("rootless", "original"), "paths without roots", "paths", (6, 1)
)


class Figures:
    """The measured values of all cells."""

    def __init__(self, cells: Cells, store: Store) -> None:
        self.cells = cells
        self.store = store

    def get(self, *key: object) -> np.ndarray:
        """Return a value of all runs of a cell; the last part of the key names it."""
        return column(self.store, self.cells[key[:-1]], str(key[-1]))

    def mean(self, *key: object) -> float:
        """Return the mean of a value, NaN if there is none."""
        return mean_and_error(self.get(*key))[0]

    def done(self, experiment: str) -> list:
        """List the cells of an experiment that have a result."""
        keys = [key[1] for key in self.cells if key[0] == experiment]
        return [k for k in keys if np.isfinite(self.mean(experiment, k, "error"))]

    def compare(self, name: str, value: str, better: str, than: str) -> str:
        """Say whether one space has higher values than another on a set."""
        ours, theirs = (self.get("uci", name, f"{value} {label}") for label in (better, than))
        return outcome(-ours, -theirs)


def published(value: float) -> str:
    """Write a published figure."""
    return f"{value:.3f}"


def beside_table(figures: Figures, kind: Kind) -> str:
    """Lay out ours beside the published figures of two-class tasks."""
    rows = []
    for name in figures.done("uci"):
        cells = [name]
        for label, theirs in zip(kind.spaces, kind.published(name), strict=True):
            cells += [show(figures.get("uci", name, f"{kind.value} {label}"), 3), published(theirs)]
        rows.append([*cells, VERDICTS[figures.compare(name, kind.value, *kind.spaces)]])
        if kind.more:
            rows[-1].append(show(figures.get("uci", name, f"{kind.value} {kind.more}"), 3))
    header = ["set", kind.title, "published", "original columns", "published", "better"]
    return markdown_table([*header, *(["with roots"] if kind.more else [])], rows)


def far_sentence(figures: Figures, kind: Kind) -> str:
    """Name the sets where ours are far from the published figures, and those beyond our noise."""
    far, beyond = [], []
    for name in figures.done("uci"):
        for label, theirs in zip(kind.spaces, kind.published(name), strict=True):
            mean, error = mean_and_error(figures.get("uci", name, f"{kind.value} {label}"))
            if abs(mean - theirs) > FAR:
                far.append(f"{name}, {label} ({mean - theirs:+.3f})")
            if abs(mean - theirs) > 2 * error:
                beyond.append(f"{name}, {label} ({mean - theirs:+.3f})")
    return (
        f"Further than {FAR:g} from the published figure: {'; '.join(far) or 'none'}. Further than "
        f"two of our standard errors: {'; '.join(beyond) or 'none'} (about "
        f"{4 * CHANCE * len(figures.done('uci')):.1f} would be by chance)."
    )


def with_roots(figures: Figures, kind: Kind, names: list[str]) -> str:
    """Count wins of the other form too, where there is one."""
    if not kind.more:
        return ""
    found = [figures.compare(name, kind.value, kind.more, kind.spaces[1]) for name in names]
    return f" With roots, as `ForestPathEncoder.kernel` has them: {tally(found)}."


def direction_sentence(figures: Figures, kind: Kind) -> str:
    """Count wins, and on how many sets the means point where the published ones do."""
    names = figures.done("uci")
    found = [figures.compare(name, kind.value, *kind.spaces) for name in names]
    same = 0
    for name in names:
        paths, original = (figures.mean("uci", name, f"{kind.value} {s}") for s in kind.spaces)
        same += (paths > original) == np.greater(*kind.published(name))
    return (
        f"{kind.title.capitalize()} against original columns, {kind.meaning}: {tally(found)} on "
        f"{len(names)} sets (published, by deviations: {kind.wins[0]} better, {kind.wins[1]} worse "
        f"of 20). Ours and the published means agree on which is better on {same} of "
        f"them.{with_roots(figures, kind, names)}"
    )


def pair_table(figures: Figures, kinds: tuple[str, ...]) -> str:
    """Lay out accuracies on paths and on original columns, of one or several learners."""
    rows = []
    for name in figures.done("uci"):
        cells = [name]
        for kind in kinds:
            cells += [show(figures.get("uci", name, f"{kind} {s}"), 3) for s in SPACES]
            cells.append(VERDICTS[figures.compare(name, kind, "paths", "original")])
        rows.append(cells)
    titles = [kind if len(kinds) > 1 else "" for kind in kinds]
    heads = [f"{t} {h}".strip() for t in titles for h in ("paths", "original columns", "better")]
    return markdown_table(["set", *heads], rows)


def neighbour_sentences(figures: Figures) -> list[str]:
    """Count wins of more neighbours, which the publication says are alike."""
    lines = []
    for k in NEIGHBOURS[1:]:
        names = figures.done("uci")
        found = [figures.compare(name, f"{k}-NN", "paths", "original") for name in names]
        lines.append(f"{k} neighbours: paths are {tally(found)} (published: an analogous trend).")
    return lines


def gaussian_sentence(figures: Figures) -> str:
    """Compare with the alignment of the best Gaussian kernel, as published."""
    names = figures.done("uci")
    found = [figures.compare(name, "alignment", "rootless", "Gaussian") for name in names]
    return (
        "Against a Gaussian kernel of the original columns with the best of the published widths: "
        f"{tally(found)} on {len(names)} sets (published: 5 better, 0 worse of 20, by deviations)."
    )


def size_table(figures: Figures) -> str:
    """Lay out how many trees the kernel needs, and what more of them change."""
    rows = []
    for name in figures.done("size"):
        cells = [name, f"{figures.mean('size', name, 'n_trees'):.0f}"]
        for value in ("1-NN", "alignment"):
            enough, more = (figures.get("size", name, f"{value} {s}") for s in ("enough", "more"))
            cells += [show(enough, 3), f"{np.nanmean(more - enough):+.3f}"]
        rows.append(cells)
    header = ["set", "trees", "1-NN accuracy", "change", "alignment", "change"]
    return markdown_table(header, rows)


def size_sentence(figures: Figures) -> str:
    """Say how much more trees change on average."""
    parts = []
    for value, what in (("1-NN", "the accuracy of 1-NN"), ("alignment", "the alignment")):
        changes = [
            figures.mean("size", name, f"{value} more")
            - figures.mean("size", name, f"{value} enough")
            for name in figures.done("size")
        ]
        parts.append(
            f"{what} by {np.mean(changes):+.3f} (from {min(changes):+.3f} to {max(changes):+.3f})"
        )
    return (
        f'{MORE_TREES} more trees than `n_estimators="auto"` chooses change {parts[0]} and '
        f"{parts[1]}; published: they do not change the results. Published sizes are 150 to 250."
    )


def oob_table(figures: Figures) -> str:
    """Lay out what encoding training rows out of bag changes."""
    rows = []
    for name in figures.done("uci"):
        cells = []
        for value in ("auc", "1-NN"):
            usual, oob = (figures.get("uci", name, f"{value} {s}") for s in ("paths", "oob"))
            cells += [show(usual, 3), show(oob, 3), f"{np.nanmean(oob - usual):+.3f}"]
        rows.append([name, *cells])
    header = ["set", "SVM AUROC", "with oob", "change", "1-NN accuracy", "with oob", "change"]
    return markdown_table(header, rows)


def oob_sentences(figures: Figures) -> list[str]:
    """Say what encoding out of bag does on average."""
    lines = []
    for value, what in (("auc", "Linear SVM, AUROC"), ("1-NN", "1-NN, accuracy")):
        names = figures.done("uci")
        changes = [
            figures.mean("uci", name, f"{value} oob") - figures.mean("uci", name, f"{value} paths")
            for name in names
        ]
        found = [figures.compare(name, value, "oob", "paths") for name in names]
        lines.append(
            f"{what}: `oob=True` changes the mean over {len(names)} sets by "
            f"{np.mean(changes):+.3f} (from {min(changes):+.3f} to {max(changes):+.3f}); it is "
            f"{tally(found)}."
        )
    return lines


def noise_table(figures: Figures) -> str:
    """Lay out the accuracies under noise."""
    rows = []
    for share in figures.done("noise"):
        paths, original = PUBLISHED_NOISE[share]
        ours = [show(figures.get("noise", share, f"1-NN {s}"), 3) for s in SPACES]
        rows.append([f"{share:.0%}", ours[0], published(paths), ours[1], published(original)])
    return markdown_table(
        ["noise columns added", "paths", "published", "original columns", "published"], rows
    )


def noise_sentence(figures: Figures) -> str:
    """Say how much noise costs, ours and published."""
    done = figures.done("noise")
    low, high = done[0], done[-1]
    lost = [
        figures.mean("noise", high, f"1-NN {s}") - figures.mean("noise", low, f"1-NN {s}")
        for s in SPACES
    ]
    ahead = [
        f"{share:.0%}"
        for share in done
        if figures.mean("noise", share, "1-NN paths")
        > figures.mean("noise", share, "1-NN original")
    ]
    theirs = [b - a for a, b in zip(PUBLISHED_NOISE[low], PUBLISHED_NOISE[high], strict=True)]
    return (
        f"From {low:.0%} to {high:.0%} of noise, paths change by {lost[0]:+.3f} (published "
        f"{theirs[0]:+.3f}) and original columns by {lost[1]:+.3f} ({theirs[1]:+.3f}). Paths "
        f"are ahead with {', '.join(ahead) or 'none'} (published: with all)."
    )


def curve_table(figures: Figures) -> str:
    """Lay out the learning curves."""
    rows = [
        [str(n), *(show(figures.get("curve", n, label), 3) for label in CURVES)]
        for n in figures.done("curve")
    ]
    return markdown_table(["training rows", *CURVES.values()], rows)


def label_table(figures: Figures) -> str:
    """Lay out ML-kNN on sets with several labels."""
    rows = []
    for name in figures.done("labels"):
        ours = [published(figures.mean("labels", name, f"micro-AUC {s}")) for s in LABEL_SPACES]
        theirs = [published(value) for value in PUBLISHED_LABELS[name]]
        rows.append([name.removeprefix("mulan_"), ours[0], theirs[0], *ours[1:], theirs[1]])
    titles = ["original columns, 0 to 1", "original columns, unscaled", "published"]
    return markdown_table(["set", "paths", "published", *titles], rows)


def label_sentence(figures: Figures) -> str:
    """Count on how many sets paths help ML-kNN, and say which original columns are as published."""
    names = [name for name in figures.done("labels") if name not in LARGE_LABELS]
    if not names:
        return "No set that compares with the published ones was done."
    paths, *originals = (
        np.array([figures.mean("labels", name, f"micro-AUC {space}") for name in names])
        for space in LABEL_SPACES
    )
    told_paths, told = np.array([PUBLISHED_LABELS[name] for name in names]).T

    def won(columns: np.ndarray) -> str:
        wins = zip(names, paths > columns, strict=True)
        better = [name.removeprefix("mulan_") for name, win in wins if win]
        return f"{len(better)} of {len(names)} sets ({', '.join(better) or 'none'})"

    scaled, unscaled = ((columns - told).mean() for columns in originals)
    return (
        f"Paths are better than columns in the range 0 to 1 on {won(originals[0])}, and than "
        f"columns as they are on {won(originals[1])}; published: 4 of 5. Ours differ from the "
        f"published figures by {(paths - told_paths).mean():+.3f} on paths, by {scaled:+.3f} on "
        f"scaled and {unscaled:+.3f} on unscaled original columns, on average (rcv1v2 does not "
        "count)."
    )


def draw_plots(figures: Figures, options: argparse.Namespace) -> None:
    """Draw the learning curve, the accuracies of neighbours and the kernel around some points."""
    sizes = figures.done("curve")
    if sizes:
        curves = {}
        for label, title in CURVES.items():
            found = [mean_and_error(figures.get("curve", n, label)) for n in sizes]
            curves[title] = (sizes, *zip(*found, strict=True))
        learning_plot(image(options, "curve"), curves)
        kernel_plot(image(options, "kernel"), options.trees)
    names = figures.done("uci")
    if names:
        pair = [np.array([figures.mean("uci", n, f"1-NN {s}") for n in names]) for s in SPACES]
        accuracy_plot(image(options, "neighbours"), *pair, names, "1-NN accuracy")
        pair = [np.array([figures.mean("uci", n, f"accuracy {s}") for n in names]) for s in SPACES]
        accuracy_plot(image(options, "machines"), *pair, names, "accuracy of a linear SVM")


def wilcoxon_over_sets(figures: Figures, experiment: str, value: str, published: str) -> str:
    """Test paths against original columns over the sets, as published."""
    spaces = ALIGNMENT.spaces if value == "alignment" else SPACES
    names = [name for name in figures.done(experiment) if name not in LARGE_LABELS]
    pair = [np.array([figures.mean(experiment, n, f"{value} {s}") for n in names]) for s in spaces]
    return wilcoxon_sentence(*pair, published)


def apart_sentence(figures: Figures, value: str = "1-NN", spaces: tuple[str, str] = SPACES) -> str:
    """Count wins as published: by standard deviations over repetitions."""
    found = []
    for name in figures.done("uci"):
        runs = [figures.get("uci", name, f"{value} {s}").reshape(-1, FOLDS) for s in spaces]
        found.append(deviations_apart(*(run.mean(axis=1) for run in runs)))
    if not any(found):
        return "One repetition has no deviation to compare as the publication does."
    return f"By one standard deviation over repetitions, as published: paths are {tally(found)}."
