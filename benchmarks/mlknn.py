"""ML-kNN: several labels to a row, by nearest neighbours and Bayes' rule (Zhang and Zhou, 2007)."""

from __future__ import annotations

import numpy as np


def nearest(products: np.ndarray, squares: np.ndarray, k: int) -> np.ndarray:
    """Find the k nearest rows by Euclidean distance, from inner products.

    Parameters
    ----------
    products : ndarray of shape (n, n_train)
        Products of the rows with the training rows; -inf where a pair does not count.
    squares : ndarray of shape (n_train,)
        Product of each training row with itself.
    k : int
        How many.

    Returns
    -------
    ndarray of shape (n, k)
        Numbers of training rows, nearest first; of equally near ones the first.
    """
    return np.argsort(squares - 2 * products, axis=1, kind="stable")[:, :k]


def predict_labels(
    products: np.ndarray,
    test_products: np.ndarray,
    Y: np.ndarray,
    *,
    k: int = 10,
    smoothing: float = 1.0,
) -> np.ndarray:
    """Return the probability of each label for test rows.

    Parameters
    ----------
    products : ndarray of shape (n_train, n_train)
        Inner products of the training rows.
    test_products : ndarray of shape (n_test, n_train)
        Inner products of the test rows with the training rows.
    Y : ndarray of shape (n_train, n_labels)
        1 where a training row has a label.
    k : int, default=10
        Neighbours.
    smoothing : float, default=1.0
        Added to every count.

    Returns
    -------
    ndarray of shape (n_test, n_labels)
        Probabilities.
    """
    squares = np.diagonal(products).copy()
    others = products.copy()
    np.fill_diagonal(others, -np.inf)  # a row is no neighbour of its own
    # How many neighbours have each label.
    counts = Y[nearest(others, squares, k)].sum(axis=1)
    test_counts = Y[nearest(test_products, squares, k)].sum(axis=1)
    n_rows, n_labels = Y.shape
    # How often rows with (1) and without (0) a label have each number of neighbours with it.
    seen = np.zeros((2, n_labels, k + 1))
    np.add.at(seen, (Y, np.arange(n_labels), counts), 1.0)
    chances = (seen + smoothing) / (seen.sum(axis=2, keepdims=True) + smoothing * (k + 1))
    prior = (Y.sum(axis=0) + smoothing) / (n_rows + 2 * smoothing)
    found = chances[:, np.arange(n_labels), test_counts]
    with_label, without = prior * found[1], (1 - prior) * found[0]
    return with_label / (with_label + without)
