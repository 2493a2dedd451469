"""Where kernel features are worse than published: the same with the trees of the published program.

The published trees are those of Weka: C4.5's rules (J48), and forests that try log2(columns) + 1
columns at a node. Random subspaces fit the published errors if half of the columns are drawn with
replacement. Cells that are worse with our trees are run again with those rules.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from c45 import C45, SubspaceC45
from data import load
from landmarks_jobs import Cells, errors, job, params_of
from landmarks_published import PUBLISHED, SETS, WIDTHS, published_splits
from runner import NO_VALUE, Store, markdown_table, mean_and_error, show, tally
from significance import CHANCE, beside_published, beyond_chance, noise_of_both, t_test

from featurewright.publications import PUBLISHED as PUBLICATIONS

LANDMARKS = PUBLICATIONS["kernel_subspace"].settings["n_landmarks"]
ESTIMATORS = {
    "C4.5": C45,
    "C4.5, drawn": SubspaceC45,
    "C4.5, drawn + K": partial(SubspaceC45, n_kept=LANDMARKS),
}
_SEVERAL = 3  # kinds of ensembles that share what is hard about a set
_LEAST_SPLITS = 3  # whose standard error says anything
_ROUNDING = 0.1 / math.sqrt(12)  # standard error of published figures, which have one decimal


def differences(store: Store, cells: Cells) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return what each cell is above its published error, and the standard error of that."""
    found = {}
    for (label, name), jobs in cells.items():
        ours, published = errors(store, jobs), PUBLISHED[label][SETS.index(name)]
        if np.isfinite(ours).sum() >= _LEAST_SPLITS and np.isfinite(published):
            mean, error = mean_and_error(ours)
            noise = noise_of_both(error, int(np.isfinite(ours).sum()), published_splits(name))
            found[label, name] = (mean - published, float(np.hypot(noise, _ROUNDING)))
    return found


def judge(store: Store, cells: Cells) -> dict[tuple[str, ...], str]:
    """Compare each cell with its published error: win, draw or loss."""
    return {cell: beside_published(*found) for cell, found in differences(store, cells).items()}


def rules_of(label: str, n_columns: int) -> dict[str, Any]:
    """Return the parameters that make an ensemble's trees those of the published program."""
    with_k = label.endswith(" + K")
    if label.startswith("subspace"):
        return {"estimator": "C4.5, drawn + K" if with_k else "C4.5, drawn"}
    if not label.startswith("forest"):
        return {"estimator": "C4.5"}
    n_columns += LANDMARKS if with_k else 0
    return {"max_features": int(math.log2(n_columns)) + 1}


def rule_cells(store: Store, cells: Cells, splits: int, n_jobs: int) -> Cells:
    """List the jobs of the cells that are worse than published, by the rules of its program."""
    worse = [cell for cell, what in judge(store, cells).items() if what == "loss"]
    found: Cells = {}
    for label, name in worse:
        params = params_of(label, width=WIDTHS[name])
        params |= rules_of(label, load(f"raetsch_{name}").X.shape[1])
        found[label, name] = [
            job(name, split, params, n_jobs)
            for split in range(min(splits, len(cells[label, name])))
        ]
    return found


def rules_section(store: Store, cells: Cells, rules: Cells, splits: int) -> str:
    """Lay out the cells that are worse, with our trees and with those of the published program."""
    done = {cell: jobs for cell, jobs in rules.items() if np.isfinite(errors(store, jobs)).any()}
    if not done:
        return ""
    rows, verdicts = [], []
    for (label, name), jobs in done.items():
        ours, theirs = errors(store, cells[label, name][: len(jobs)]), errors(store, jobs)
        figure = f"{PUBLISHED[label][SETS.index(name)]:g}"
        verdict = change(store, cells, rules, (label, name))
        verdicts.append(verdict)
        changed = {"win": "better", "loss": "worse"}.get(verdict, NO_VALUE)
        rows.append([f"{label} on {name}", figure, show(ours, 1), show(theirs, 1), changed])
    head = ["error %", "published", "our trees", "their rules", "by the t-test"]
    table = markdown_table(head, rows)
    after = judge(store, done)
    return f"""
## Trees as in the published program

The published ensembles are of Weka's trees: C4.5's (`benchmarks/c45.py`: a cut needs a tenth of a
node's rows per class on both sides, up to 25; a column's gain is lessened by what it costs to name
the cut; the gain ratio among columns of at least the mean gain), and forests that try
log2(columns) + 1 columns. Half of the columns of a random subspace are drawn with replacement here,
so that some come twice: the text does not say so, but its errors fit. Below are the cells that are
worse than published, again with those rules on the same splits, {splits} at most.

{table}

With their rules, {verdicts.count("win")} of {len(verdicts)} cells err less than with our trees and
{verdicts.count("loss")} more; beside the published errors they are {tally(after.values())}, where
fewer splits than above have more noise.
"""


def change(store: Store, cells: Cells, rules: Cells, cell: tuple[str, ...]) -> str:
    """Compare a cell by the rules with our trees on the same splits: win, draw or loss."""
    ours = errors(store, cells[cell][: len(rules[cell])])
    return t_test(errors(store, rules[cell]), ours)


def without_reason(store: Store, cells: Cells, rules: Cells) -> list[tuple[str, ...]] | None:
    """Name the cells that the rules do not make better, or not as good as published.

    None where nothing was run by the rules.
    """
    judged = judge(store, rules)
    if not judged:
        return None
    return [
        cell
        for cell, what in judged.items()
        if what == "loss" or change(store, cells, rules, cell) != "win"
    ]


def listed(cells: Sequence[tuple[str, ...]]) -> str:
    """Name cells in a sentence."""
    return "; ".join(f"{label} on {name}" for label, name in cells) or "none"


def worse_sentence(store: Store, cells: Cells, rules: Cells) -> str:
    """Name the cells of the sets that are worse than published, and what is known of them."""
    judged = judge(store, cells)
    if not judged:
        return "Too few splits to say which cells are worse than published."
    worse = [cell for cell, what in judged.items() if what == "loss"]
    text = f"Beside the published errors: {tally(judged.values())}."
    if worse:
        both_ways = list(judged.values()).count("win") >= len(worse)
        found = differences(store, cells)
        far = beyond_chance(*zip(*found.values(), strict=True))
        clear = [cell for cell, is_far in zip(found, far, strict=True) if is_far]
        text += f""" Worse: {listed(worse)}.
  {"Differences go both ways: the" if both_ways else "The"} published trees are those of another
  program (J48). The noise of published errors is taken to be what ours would be with as many
  splits, and that of rounding. Of {len(judged)} cells about {CHANCE * len(judged):.1f} would be
  worse by chance if nothing differed, and in groups: all ensembles of a set share its splits. By
  Holm's correction for their number, worse beyond chance: {listed(clear)}."""
    still = without_reason(store, cells, rules)
    if still is not None:
        text += f" With that program's rules, no reason is known for what is left: {listed(still)}."
        if worse and still:
            text += f" Of these beyond chance: {listed([cell for cell in still if cell in clear])}."
    by_set = Counter(name for _, name in (worse if still is None else still))
    several = [name for name, count in by_set.items() if count >= _SEVERAL]
    if several:
        text += f"""
  Where {_SEVERAL} and more kinds are worse on a set ({", ".join(several)}), our splits may be
  harder than the published ones, of which ours are a part at most."""
    return text
