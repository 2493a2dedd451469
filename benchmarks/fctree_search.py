"""How feature construction trees search: which operators are drawn, and how often XOR is found.

Two tables. Where only products tell the classes, the share of `mul` among the draws at each depth,
by the strength of the weighting rule. And where the classes are the XOR of two columns among others
that are noise, how often the product of the two is found, how large the tree is and how long a fit
takes, by the features constructed at a node.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pages import write_page
from runner import markdown_table, say

from featurewright import FCTreeClassifier

STRENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0)
DEPTH = 6
COLUMNS = (2, 5, 10, 20, 50)
BUDGETS = ("1n", "3.5n", "10n", "auto")
ROWS = 1000


def five_products(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table of ten columns and the classes for which the signs of five products vote.

    The columns are of very different size, so that the sum, the difference and the Gaussian of two
    tell no more than one of them does.
    """
    X = np.random.default_rng(seed).normal(size=(2 * ROWS, 10)) * 10.0 ** np.arange(10)
    return X, (X[:, ::2] * X[:, 1::2] > 0).sum(axis=1) > 2


def xor(n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table whose classes are the sign of the product of its first two columns."""
    X = np.random.default_rng(seed).normal(size=(ROWS, n_columns))
    return X, X[:, 0] * X[:, 1] > 0


def draws_by_depth(strength: float, n_fits: int) -> np.ndarray:
    """Return the share of `mul` among the candidates of all nodes of a depth."""
    counts = np.zeros((DEPTH, 2))
    for seed in range(n_fits):
        tree = FCTreeClassifier(
            n_constructed="3.5n", weighting_strength=strength, max_depth=DEPTH, random_state=seed
        ).fit(*five_products(seed))
        place = list(tree.operator_weights_).index("mul")
        drawn, depth = tree.forest_.operator_counts, tree.forest_.depth
        for level in range(DEPTH):
            here = drawn[depth == level]
            counts[level] += here[:, place].sum(), here.sum()
    return counts[:, 0] / np.maximum(1, counts[:, 1])


def draws_table(n_fits: int) -> str:
    """Lay out the shares of draws."""
    rows = []
    for strength in STRENGTHS:
        say(f"draws at strength {strength:g}")
        shares = draws_by_depth(strength, n_fits)
        rows.append([f"{strength:g}", *(f"{100 * share:.0f}%" for share in shares)])
    return markdown_table(["strength", *(f"depth {level}" for level in range(DEPTH))], rows)


def find_xor(n_columns: int, budget: int | str, n_fits: int) -> list[str]:
    """Fit trees on XOR and return the cells of a row."""
    found, alone, leaves, scores, seconds = [], [], [], [], []
    for seed in range(n_fits):
        tree = FCTreeClassifier(n_constructed=budget, random_state=seed)
        started = time.perf_counter()
        tree.fit(*xor(n_columns, seed))
        seconds.append(time.perf_counter() - started)
        found.append(any(feature.name == "x0 * x1" for feature in tree.features_))
        alone.append(tree.forest_.n_leaves == 2)
        leaves.append(tree.n_effective_leaves_)
        scores.append(tree.score(*xor(n_columns, seed + n_fits)))
    return [
        f"{100 * np.mean(found):.0f}%",
        f"{100 * np.mean(alone):.0f}%",
        f"{np.mean(leaves):.1f}",
        f"{100 * np.mean(scores):.1f}",
        f"{1000 * np.mean(seconds):.1f}",
    ]


def xor_table(n_fits: int, columns: Sequence[int], budgets: Sequence[int | str]) -> str:
    """Lay out how often XOR is found."""
    rows = []
    for n_columns in columns:
        for budget in budgets:
            say(f"XOR among {n_columns} columns, {budget}")
            rows.append([f"{n_columns}, {budget}", *find_xor(n_columns, budget, n_fits)])
    header = ["columns, n_constructed", "found", "at the root", "effective leaves"]
    return markdown_table([*header, "accuracy in %", "ms of a fit"], rows)


def search_report(
    n_fits: int, columns: Sequence[int] = COLUMNS, budgets: Sequence[int | str] = BUDGETS
) -> str:
    """Measure and write both tables."""
    FCTreeClassifier().fit(*xor(2, 0))  # compiles
    return f"""Share of `mul` among six operators drawn, where only products tell the classes
({2 * ROWS:,} rows, ten columns, `n_constructed="3.5n"`, {n_fits} fits). Chance is 17%; strength 0
is no weighting.

{draws_table(n_fits)}

XOR of two normal columns among others that are noise: {ROWS:,} rows, {n_fits} fits. Found: the
product of the two is tested somewhere in the tree; at the root: the tree has two leaves. Accuracy
is that on new rows.

{xor_table(n_fits, columns, budgets)}
"""


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fits", type=int, default=40, help="fits of each cell (default: 40)")
    parser.add_argument("--columns", type=int, nargs="+", default=list(COLUMNS), metavar="N")
    parser.add_argument("--budgets", nargs="+", default=list(BUDGETS), metavar="N_CONSTRUCTED")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the Markdown here too")
    options = parser.parse_args()
    budgets = [int(word) if word.isdigit() else word for word in options.budgets]
    body = search_report(options.fits, options.columns, budgets)
    text = f"# How feature construction trees search\n\n{body}"
    print(text)
    if options.write:
        write_page(options.write, text, "custom")


if __name__ == "__main__":
    main()
