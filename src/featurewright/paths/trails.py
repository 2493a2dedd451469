"""Fitted trees with their numbering: where rows go in them, and what two rows share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from featurewright.engine.buffers import UserFunctions
from featurewright.engine.forest import Forest
from featurewright.paths.affinity import multiply_encodings, share_paths
from featurewright.paths.encoding import (
    LeafSource,
    Seen,
    Source,
    SpreadSource,
    all_trees,
    write_rows,
)
from featurewright.paths.numbering import Numbering

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Trails:
    """The ways of rows through trees.

    Attributes
    ----------
    forest, numbering : Forest, Numbering
        The trees.
    users : UserFunctions
        Compiled operators of the user.
    salts : ndarray of uint64
        One per tree; they decide, with the row's values, which way a missing value goes.
    spread : bool
        Whether missing values go both ways instead.
    n_jobs : int or None
        Threads.
    """

    forest: Forest
    numbering: Numbering
    users: UserFunctions
    salts: npt.NDArray[np.uint64]
    spread: bool
    n_jobs: int | None = None

    def find_leaves(self, matrix: Matrix) -> npt.NDArray[np.int32]:
        """Give each row's leaf in each tree, missing values going either way by chance."""
        return self.forest.find_leaves(matrix, self.users, self.n_jobs, self.salts)

    def _spreads(self, *matrices: Matrix) -> bool:
        """Tell whether rows may reach several leaves: values are missing, or may be undefined."""
        constructed = self.forest.programs.shape[1] > 1
        return self.spread and (constructed or any(np.isnan(m).any() for m in matrices))

    def source(self, matrix: Matrix, seen: Seen, *, only_leaves: bool) -> Source:
        """Make ready to write the encoding of rows."""
        if self._spreads(matrix):
            return SpreadSource(
                matrix, self.forest, self.users, self.numbering, seen, only_leaves=only_leaves
            )
        leaves = self.find_leaves(matrix)
        return LeafSource(leaves, self.numbering, seen, only_leaves=only_leaves)

    def n_columns(self, *, only_leaves: bool) -> int:
        """Count the columns of the encoding."""
        return self.forest.n_leaves if only_leaves else len(self.forest.left)

    def share(
        self, rows: Matrix, others: Matrix | None, kind: str, *, normalize: bool
    ) -> npt.NDArray[np.float64]:
        """Work out the kernel matrix of rows with others, or with themselves."""
        if self._spreads(rows, *(() if others is None else (others,))):
            only_leaves = kind == "leaf"
            encoded = self._full_encoding(rows, only_leaves=only_leaves)
            encoded_others = encoded
            if others is not None:
                encoded_others = self._full_encoding(others, only_leaves=only_leaves)
            roots = self.forest.roots
            return multiply_encodings(encoded, encoded_others, roots, kind, normalize=normalize)
        leaves = self.find_leaves(rows)
        other_leaves = leaves if others is None else self.find_leaves(others)
        return share_paths(
            leaves, other_leaves, self.numbering, kind, normalize=normalize, n_jobs=self.n_jobs
        )

    def _full_encoding(self, matrix: Matrix, *, only_leaves: bool) -> Any:
        """Encode rows through all trees, with a column for each node or leaf."""
        n_columns = self.n_columns(only_leaves=only_leaves)
        source = self.source(matrix, all_trees(len(matrix)), only_leaves=only_leaves)
        starts, indices, data = write_rows(source, len(matrix), n_columns, self.n_jobs)
        return sparse.csr_array((data, indices, starts), shape=(len(matrix), n_columns))
