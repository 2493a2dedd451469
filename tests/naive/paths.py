"""Number nodes, follow rows and compare their paths naively."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from tests.naive import level_sets
from tests.naive.programs import run

_MASK = 2**64 - 1


def breadth_first(forest: Any) -> list[int]:
    """List the nodes of all trees, breadth first within each tree."""
    order = []
    for root in forest.roots:
        queue = deque([int(root)])
        while queue:
            node = queue.popleft()
            order.append(node)
            if forest.left[node] >= 0:
                queue += [int(forest.left[node]), int(forest.left[node]) + 1]
    return order


def leaves_left_to_right(forest: Any, node: int) -> list[int]:
    """List the leaf nodes below a node."""
    if forest.left[node] < 0:
        return [node]
    left = int(forest.left[node])
    return leaves_left_to_right(forest, left) + leaves_left_to_right(forest, left + 1)


def answer(forest: Any, node: int, row: np.ndarray, users: Any = ()) -> bool | None:
    """Return whether a row goes left at a node; None if the value is missing."""
    x = run(forest.programs[node], row[:, None], users)[0]
    if np.isnan(x):
        return None
    test = forest.threshold[node]
    if forest.is_level[node] == 2:
        return int(x) in level_sets.members(forest.level_sets[int(test)])
    return bool(x == test) if forest.is_level[node] else bool(x <= test)


def spread(forest: Any, root: int, row: np.ndarray) -> dict[int, float]:
    """Return the weight with which a row reaches each node of a tree."""
    reached: dict[int, float] = {}

    def visit(node: int, weight: float) -> None:
        reached[node] = weight
        left = int(forest.left[node])
        if left < 0:
            return
        goes_left = answer(forest, node, row)
        if goes_left is None:
            visit(left, weight / 2)
            visit(left + 1, weight / 2)
        else:
            visit(left if goes_left else left + 1, weight)

    visit(int(root), 1.0)
    return reached


def mix(bits: int) -> int:
    """SplitMix64 in Python integers."""
    z = (bits + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def row_key(row: np.ndarray) -> int:
    """Hash the values of a row."""
    key = 0
    for x in row.astype(np.float32):
        bits = 0x7FC00000 if np.isnan(x) else int((x + np.float32(0)).view(np.int32))
        key = mix(key ^ (bits & _MASK))
    return key


def random_path(forest: Any, root: int, row: np.ndarray, salt: int) -> list[int]:
    """Return the path of a row, to a pseudo-random side where a value is missing."""
    key, node = row_key(row), int(root)
    path = [node]
    while forest.left[node] >= 0:
        goes_left = answer(forest, node, row)
        if goes_left is None:
            goes_left = mix(key ^ mix(salt ^ (node - int(root)))) >> 63 == 1
        node = int(forest.left[node]) + (0 if goes_left else 1)
        path.append(node)
    return path


def in_buckets(numbers: Iterable[int], n_buckets: int, *, mixes: bool = False) -> Counter[int]:
    """Count how many numbers fall into each bucket."""
    return Counter((mix(k) if mixes else k) % n_buckets for k in numbers)


def shared(
    paths: Sequence[list[int]],
    others: Sequence[list[int]],
    kind: str,
    weights: Sequence[float] = (1.0,),
) -> float:
    """Compare two rows by their paths in all trees; the last weight is that of deeper levels."""
    total = 0.0
    for path, other in zip(paths, others, strict=True):
        squares = [weights[min(k, len(weights) - 1)] ** 2 for k in range(len(path) + len(other))]
        common = sum(squares[: len(set(path) & set(other))])
        if kind == "leaf":
            total += path[-1] == other[-1]
        elif kind == "torkkola":
            longer = sum(squares[: max(len(path), len(other))])
            total += common / longer if longer else 0.0
        else:
            total += common
    return total


def normalised(shared_with_self: Iterable[float]) -> np.ndarray:
    """Return by what rows are divided: the root of what each shares with itself, or infinity."""
    return np.array([np.sqrt(value) if value else np.inf for value in shared_with_self])


def target_alignment(K: np.ndarray, y: Sequence[Any]) -> float:
    """Compare a kernel matrix with the ideal one, diagonals left out."""
    n = len(y)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    ideal = [1.0 if y[i] == y[j] else -1.0 for i, j in pairs]
    found = [float(K[i][j]) for i, j in pairs]
    return float(np.dot(found, ideal) / np.sqrt(np.dot(found, found) * np.dot(ideal, ideal)))
