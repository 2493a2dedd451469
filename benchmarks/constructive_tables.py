"""Published figures, tables and sentences of the page on trees that construct features."""

from __future__ import annotations

import argparse

import numpy as np
import table_noise
from data import FRESH, SMALL_TRAINING, manifest
from runner import (
    NO_VALUE,
    Settings,
    Store,
    column,
    markdown_table,
    mean_and_error,
    outcome,
    show,
    tally,
)
from scipy.stats import t
from significance import CHANCE, beside_published, noise_of_both, wilcoxon_sentence

SETS = (
    *("waveform", "twonorm", "ringnorm", "vehicle", "vowel"),
    *("segment", "spambase", "satellite", "pendigits", "letter", "isolet_part1"),
)
FEW = "stumps + random, 0.1n"  # a tenth of a candidate per column: its most striking claim
# Published test errors in %, in the order of SETS (Maes, Geurts and Wehenkel, table 3).
PUBLISHED = {
    "tree": (29.2, 21.6, 16.6, 20.9, 20.2, 3.21, 8.02, 14.3, 3.81, 14.9, 25.8),
    "tree + random": (25.9, 15.6, 17.5, 21.9, 18.4, 3.38, 9.01, 14.8, 3.11, 15.2, 25.6),
    "tree + step": (26.0, 15.3, 17.3, 21.9, 18.9, 3.58, 8.73, 14.5, 3.10, 15.6, 24.7),
    "tree + look-ahead": (25.3, 15.3, 18.1, 21.7, 18.9, 3.06, 8.64, 14.0, 2.99, 14.9, 22.0),
    "RF": (17.1, 4.08, 6.03, 23.5, 3.27, 1.94, 4.57, 8.46, 0.969, 4.62, 7.78),
    "RF + random": (15.6, 2.89, 2.92, 20.3, 3.43, 1.72, 4.71, 8.46, 0.606, 3.74, 7.56),
    "RF + step": (15.6, 2.87, 2.78, 20.1, 3.35, 1.71, 4.62, 8.45, 0.606, 3.75, 7.63),
    "RF + look-ahead": (15.7, 2.92, 2.93, 20.1, 3.54, 1.69, 4.68, 8.46, 0.615, 3.81, 7.46),
    "ET": (16.1, 3.08, 2.88, 24.0, 1.51, 1.85, 4.31, 8.33, 0.652, 3.53, 6.75),
    "ET + random": (15.8, 2.77, 2.44, 20.4, 1.58, 1.41, 4.56, 7.85, 0.555, 3.23, 6.98),
    "ET + step": (15.7, 2.72, 2.29, 20.4, 1.58, 1.43, 4.57, 7.85, 0.578, 3.24, 7.00),
    "ET + look-ahead": (15.8, 2.78, 2.38, 20.5, 1.62, 1.45, 4.44, 7.89, 0.589, 3.21, 6.96),
    "stumps": (19.6, 4.88, 9.94, 20.0, 17.3, 2.53, 5.51, 11.1, 2.76, 17.9, 8.52),
    "stumps + random": (17.0, 3.18, 5.08, 18.3, 3.37, 1.53, 4.78, 9.08, 0.432, 6.36, 6.40),
    FEW: (np.nan,) * 11,  # drawn in its figure 6, not told
    "stumps + step": (17.1, 3.16, 5.07, 18.1, 3.41, 1.55, 4.96, 9.06, 0.429, 6.43, 6.50),
    "stumps + look-ahead": (17.0, 3.14, 5.09, 17.9, 3.43, 1.58, 4.88, 8.87, 0.483, 6.27, 6.24),
    "depth 3": (17.1, 3.72, 8.84, 19.7, 2.44, 1.09, 4.97, 8.09, 0.472, 4.34, 5.72),
    "depth 3 + random": (15.6, 2.89, 3.67, 18.2, 2.00, 1.32, 4.66, 7.92, 0.375, 3.38, 5.51),
    "depth 3 + step": (15.6, 2.89, 3.61, 18.4, 2.08, 1.32, 4.62, 7.74, 0.349, 3.30, 5.51),
    "depth 3 + look-ahead": (15.6, 2.90, 3.65, 18.6, 2.18, 1.31, 4.52, 7.77, 0.397, 3.28, 5.40),
    "depth 5": (16.6, 3.66, 6.82, 21.2, 1.90, 1.23, 4.85, 7.55, 0.460, 3.53, 5.91),
    "depth 5 + random": (15.4, 2.84, 3.10, 20.0, 1.98, 1.36, 4.60, 7.74, 0.403, 3.00, 6.21),
    "depth 5 + step": (15.4, 2.82, 3.05, 19.7, 2.00, 1.42, 4.52, 7.76, 0.397, 3.00, 6.26),
    "depth 5 + look-ahead": (15.4, 2.85, 3.05, 19.7, 1.90, 1.39, 4.53, 7.90, 0.392, 2.95, 6.14),
}
# The plain learner that each one with construction stands beside.
PAIRS = {label: label.split(" + ", 1)[0] for label in PUBLISHED if " + " in label}
# The learner of scikit-learn that runs on the same splits, beside the plain one.
PEERS = {"tree": "DecisionTree", "RF": "RandomForest", "ET": "ExtraTrees"}
GINI = "ours with Gini"  # scikit-learn's criterion; ours, and the published, is another
SMALL_ROWS = 3000
SMALL_SPLITS, LARGE_SPLITS = 50, 10  # of the publication
FEW_SPLITS = 10  # below which counting mistakes may tell more of the noise than splits do


def peer_of(label: str) -> str:
    """Name scikit-learn's counterpart of a learner."""
    return f"{label}, scikit-learn"


def gini_of(label: str) -> str:
    """Name our learner with the criterion of scikit-learn's."""
    return f"{label}, {GINI}"


def learner_of(label: str) -> str:
    """Name the published learner that a row, or a peer of it, stands beside."""
    return label if label in PUBLISHED else label.split(",", 1)[0]


def n_splits(name: str, small: int, large: int) -> int:
    """Return how many splits a set gets: small training parts vary more."""
    name = name.removesuffix(FRESH)
    return small if SMALL_TRAINING.get(name, manifest()[name]["n_rows"]) < SMALL_ROWS else large


class Table:
    """The results of all cells, in %."""

    def __init__(
        self,
        cells: dict[tuple[str, str], list[Settings]],
        store: Store,
        noise: dict[tuple[str, str], Settings] | None = None,
    ) -> None:
        self.spreads = {
            key: 100 * column(store, [job], "spread")[0] for key, job in (noise or {}).items()
        }
        self.errors = {key: 100 * column(store, jobs, "error") for key, jobs in cells.items()}
        self.test_rows = {key: column(store, jobs, "n_test") for key, jobs in cells.items()}

    def get(self, label: str, name: str) -> np.ndarray:
        """Return the errors of a cell, without any if it was left out."""
        return self.errors.get((label, name), np.array([np.nan]))

    def means(self, label: str, names: list[str]) -> np.ndarray:
        """Return the mean errors of a learner on some sets."""
        return np.array([mean_and_error(self.get(label, name))[0] for name in names])

    def noise(self, label: str, name: str) -> float:
        """Return the standard error of a cell: of its splits, or of counting if they are few."""
        errors = self.get(label, name)
        errors = errors[np.isfinite(errors)]
        of_splits = mean_and_error(errors)[1]
        if len(errors) >= FEW_SPLITS:
            return of_splits
        if len(errors) == 0:
            return np.nan
        share = max(errors.mean(), 0.1) / 100
        counting = 100 * float(np.sqrt(share / np.nansum(self.test_rows[label, name])))
        # Three splits with as many mistakes each seem to have no noise at all.
        return max(counting, float(np.nan_to_num(of_splits)))

    def table_noise(self, label: str, name: str) -> float:
        """Return by how much an error varies with the table of an artificial set, else 0."""
        spread = self.spreads.get((learner_of(label), name.removesuffix(FRESH)), 0.0)
        rows = self.test_rows.get((label, name), np.array([np.nan]))
        return float(np.nan_to_num(spread / np.sqrt(np.nanmax(rows)))) if spread else 0.0

    def beside_published(self, label: str, name: str) -> tuple[float, float]:
        """Return the difference to the published figure and its standard error.

        A peer stands beside the figure of its learner. The published splits are taken to vary as
        ours do. The published table of an artificial set is one, and so is ours unless every split
        has a fresh one.
        """
        errors = self.get(label, name)
        theirs = n_splits(name, SMALL_SPLITS, LARGE_SPLITS)
        of_splits = noise_of_both(self.noise(label, name), int(np.isfinite(errors).sum()), theirs)
        n_tables = 1 if name.endswith(FRESH) else 2
        of_tables = np.sqrt(n_tables) * self.table_noise(label, name)
        difference = mean_and_error(errors)[0] - published(learner_of(label), name)
        return difference, float(np.hypot(of_splits, of_tables))

    def against_published(self, label: str, name: str) -> str:
        """Say how a cell stands beside the published figure."""
        return beside_published(*self.beside_published(label, name))

    def compare(self, label: str, other: str, name: str) -> str:
        """Say how a learner stands beside another one on the splits of a set."""
        noise = np.hypot(self.noise(label, name), self.noise(other, name))
        return outcome(self.get(label, name), self.get(other, name), float(noise))


def published(label: str, name: str) -> float:
    """Return the published error in %."""
    return PUBLISHED[label][SETS.index(name.removesuffix(FRESH))]


def title(name: str) -> str:
    """Name a set in a table."""
    if name == "isolet_part1":
        return "isolet (part)"
    return name.replace(FRESH, ", fresh")


def error_table(table: Table, options: argparse.Namespace) -> str:
    """Lay out ours above the published errors."""
    rows = []
    for label in options.learners:
        rows.append([f"{label}, ours", *(show(table.get(label, name)) for name in options.sets)])
        if label in PEERS:
            for title_, other in ((GINI, gini_of(label)), ("scikit-learn's", peer_of(label))):
                rows.append([title_, *(show(table.get(other, name)) for name in options.sets)])
        if label != FEW:
            rows.append(["published", *(f"{published(label, name):.3g}" for name in options.sets)])
    return markdown_table(["test error %", *map(title, options.sets)], rows)


def effect_table(table: Table, options: argparse.Namespace) -> str:
    """Lay out what construction changes, ours and published."""
    rows = []
    for constructed, plain in PAIRS.items():
        if plain not in options.learners or constructed not in options.learners:
            continue
        cells = []
        for name in options.sets:
            ours, _ = mean_and_error(table.get(constructed, name) - table.get(plain, name))
            theirs = published(constructed, name) - published(plain, name)
            theirs_shown = "" if np.isnan(theirs) else f" ({theirs:+.2f})"
            cells.append(NO_VALUE if np.isnan(ours) else f"{ours:+.2f}{theirs_shown}")
        rows.append([constructed, *cells])
    return markdown_table(["ours (published)", *map(title, options.sets)], rows)


def sentences(table: Table, options: argparse.Namespace) -> list[str]:
    """Count how often ours agree with the published direction and figures."""
    names = [name for name in options.sets if name != "isolet_part1"]
    lines = []
    for constructed, plain in PAIRS.items():
        if plain not in options.learners or constructed not in options.learners:
            continue
        ours = {name: table.compare(constructed, plain, name) for name in names}
        ours = {name: found for name, found in ours.items() if found}
        wins = [n for n in ours if published(constructed, n) < published(plain, n)]
        missed = [title(name) for name in wins if ours[name] == "loss"]
        beside_wins = (
            f"; where the published construction wins ({len(wins)}), ours is "
            f"{tally(ours[name] for name in wins)}"
            + (f" (worse: {', '.join(missed)})" if missed else "")
        )
        lines.append(
            f"{constructed} beside {plain}: {tally(ours.values())} on {len(ours)} sets"
            f"{'' if constructed == FEW else beside_wins}. "
            + wilcoxon_sentence(table.means(constructed, names), table.means(plain, names))
        )
    beside = {(a, n): table.against_published(a, n) for a in options.learners for n in names}
    worse = [
        f"{label} on {title(name)}" for (label, name), found in beside.items() if found == "loss"
    ]
    lines.append(
        f"Beside the published errors: {tally(beside.values())}"
        + (f". Worse: {'; '.join(worse)}." if worse else ".")
    )
    controls = [label for label in options.learners if label in PEERS]
    for label in controls:
        for ours, words in ((label, label), (gini_of(label), f"{label} with Gini")):
            found = {name: table.compare(ours, peer_of(label), name) for name in names}
            worse = [title(name) for name, result in found.items() if result == "loss"]
            lines.append(
                f"Plain {words} beside scikit-learn's on the same splits: {tally(found.values())}"
                + (f". Worse: {', '.join(worse)}." if worse else ".")
            )
    if controls:
        pairs = [
            (ours, peer_of(label), name)
            for label in controls
            for ours in (label, gini_of(label))
            for name in names
        ]
        lines.append(
            f"Of the comparisons with scikit-learn, about {by_chance(table, pairs):.1f} would be "
            "worse by chance if nothing differed: two standard errors of few splits are soon "
            "passed."
        )
    return lines


def by_chance(table: Table, pairs: list[tuple[str, str, str]]) -> float:
    """Return how many learners would be worse than others where nothing differs.

    Parameters
    ----------
    table : Table
        What was measured.
    pairs : list of tuple
        Learner, other learner and set.
    """
    expected = 0.0
    for label, other, name in pairs:
        splits = int(np.isfinite(table.get(label, name) - table.get(other, name)).sum())
        # Fewer than three are judged by the noise of counting mistakes.
        expected += (float(t.sf(2, splits - 1)) if splits > 2 else CHANCE) if splits else 0.0
    return expected


def table_sentence(table: Table, options: argparse.Namespace) -> str:
    """Say how much errors vary with the table of an artificial set; empty where there is none."""
    found = []
    for name in (name for name in options.sets if name.removesuffix(FRESH) in SMALL_TRAINING):
        noise = [table.table_noise(label, name) for label in options.learners]
        noise = [value for value in noise if value]
        if noise:
            found.append(f"{title(name)} {min(noise):.2f} to {max(noise):.2f}")
    if not found:
        return ""
    return f"""
The published splits of an artificial set part one table, and so do ours of another unless they are
fresh. Rows that are hard whatever a learner is trained on are counted in every split, so errors
vary from table to table by a standard deviation, in points and by learner, of
{"; ".join(found)}.
It is measured by what {table_noise.MODELS} models of unlike training rows mistake together, counts
as noise, and is shared by all learners of a set."""


def worse_ones(table: Table, options: argparse.Namespace) -> str:
    """Write what is known of errors above the published ones; empty if there are none."""
    names = [name for name in options.sets if name != "isolet_part1"]
    lines = []
    for name in names:
        worse = [a for a in options.learners if table.against_published(a, name) == "loss"]
        if worse:
            lines.append(f"- {title(name)} ({', '.join(worse)}): {why(table, name, worse)}.")
    if not lines:
        return ""
    compared = sum(bool(table.against_published(a, n)) for a in options.learners for n in names)
    return "\n".join(
        [
            f"\nWhat is known of the worse ones. Of {compared} comparisons, about "
            f"{CHANCE * compared:.1f} would be worse\nby chance if nothing differed, and in "
            "groups: all learners of a set share its splits.\n",
            *lines,
            "",
        ]
    )


def why(table: Table, name: str, worse: list[str]) -> str:
    """Say what the same splits tell of learners that are worse than published."""
    found = []
    # Forests of scikit-learn are the control of learners that it does not have.
    for control in dict.fromkeys(label if label in PEERS else "RF" for label in worse):
        peer = table.get(peer_of(control), name)
        if not np.isfinite(peer).any():
            continue
        difference, noise = table.beside_published(peer_of(control), name)
        text = (
            f"scikit-learn's {control} on the same splits is {difference:+.2f} ± {noise:.2f} from "
            "the published one"
        )
        if np.isfinite(peer).sum() > 2:
            errors = [table.get(a, name) for a in worse if a == control or a not in PEERS]
            together = np.ma.corrcoef(np.ma.masked_invalid([peer, *errors]))[0, 1:].mean()
            text += f" (errors over the splits have a correlation of {together:.2f} with its own)"
        if table.against_published(peer_of(control), name) != "loss":
            text += ", so the splits do not explain it, and what does is not known"
        found.append(text)
    if "tree" in worse and published("tree", name) < published("RF", name):
        tree, forest = (table.means(label, [name])[0] for label in ("tree", "RF"))
        found.append(
            f"the published tree ({published('tree', name):.1f}) is better than the published "
            f"forest ({published('RF', name):.1f}), ours ({tree:.1f}) is not ({forest:.1f})"
        )
    if min(np.isfinite(table.get(label, name)).sum() for label in worse) < 3:
        found.append("so few splits do not show what other training rows change")
    if name in SMALL_TRAINING:
        found.append("all splits part the rows of one sample: fresh samples say more")
    return "; ".join(found)
