"""What differs between versions of scikit-learn."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn import get_config


def sparse_container() -> Any:
    """Return the class of sparse results: a matrix, or an array where scikit-learn is set to it.

    Versions before 1.9 have no such setting and return matrices.
    """
    interface = get_config().get("sparse_interface", "spmatrix")
    return sparse.csr_array if interface == "sparray" else sparse.csr_matrix
