"""How well a feature construction tree ranks rows of rare classes, by the least rows of a leaf.

The published settings split nodes of three rows, so that most leaves hold rows of one class and the
tree ranks rows by little more than its labels.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from runner import markdown_table, say, show
from sklearn.model_selection import StratifiedKFold, cross_val_score

from featurewright import published

FOLDS = 10
LEAVES = (1, 3, 10, 30)


def areas(X: np.ndarray, y: np.ndarray, leaf: int) -> float:
    """Return the mean area under the ROC curve in % over the folds."""
    tree = published("fctree", min_samples_leaf=leaf, random_state=0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return 100 * float(cross_val_score(tree, X, y, cv=folds, scoring="roc_auc").mean())


def leaves_report(tables: Iterable[tuple[str, np.ndarray, np.ndarray]]) -> str:
    """Measure tables of two classes, given with their names, and write a table."""
    found = []
    for name, X, y in tables:
        say(f"rows of a leaf on {name}")
        found.append([areas(X, y, leaf) for leaf in LEAVES])
    if not found:
        return "Not measured: there are no mine fields."
    changes = np.array(found)
    cells = [show(column, 1) for column in changes.T]
    table = markdown_table(
        ["`min_samples_leaf`", *map(str, LEAVES)], [["FCTree itself, area in %", *cells]]
    )
    gain = show(changes[:, -1] - changes[:, 0], 1)
    return f"""Mean over the {len(found)} mine fields with its standard error over fields, all else
as published:

{table}

With leaves of at least {LEAVES[-1]} rows in place of {LEAVES[0]} the area changes by {gain}
points."""
