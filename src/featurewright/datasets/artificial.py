"""Artificial problems of the literature, generated."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Literal, get_args

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Table = tuple[NDArray[np.float64], NDArray[np.int64]]
Seed = int | RandomState | None
Concept = Literal["plus", "2x", "diagonal", "circle"]


def make_twonorm(n_samples: int = 300, *, random_state: Seed = None) -> Table:
    """Generate twonorm: two normal clouds in 20 dimensions, a slanted plane between them.

    Class 0 is normal with unit covariance around (a, ..., a), class 1 around (-a, ..., -a),
    with a = 2/sqrt(20). The best possible error is 2.3%.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    random_state : int, RandomState or None
        Seed; the same seed gives the same table.

    Returns
    -------
    X : ndarray of shape (n_samples, 20)
        The columns.
    y : ndarray of shape (n_samples,)
        The classes, 0 or 1, equally likely.

    References
    ----------
    L. Breiman, Bias, variance, and arcing classifiers, 1996.

    Examples
    --------
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> X.shape, bool(np.mean((X.sum(axis=1) < 0) == y) > 0.95)
    ((1000, 20), True)
    """
    random = _start(n_samples, random_state)
    y = random.randint(0, 2, size=n_samples)
    noise = random.normal(size=(n_samples, 20))
    return noise + (1 - 2 * y[:, np.newaxis]) * (2 / np.sqrt(20)), y.astype(np.int64)


def make_ringnorm(n_samples: int = 300, *, random_state: Seed = None) -> Table:
    """Generate ringnorm: a narrow normal cloud inside a wide one, in 20 dimensions.

    Class 0 is normal around the origin with covariance 4 I, class 1 is normal around
    (a, ..., a) with covariance I, with a = 2/sqrt(20). The best possible error is 1.2%.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    random_state : int, RandomState or None
        Seed; the same seed gives the same table.

    Returns
    -------
    X : ndarray of shape (n_samples, 20)
        The columns.
    y : ndarray of shape (n_samples,)
        The classes, 0 or 1, equally likely.

    References
    ----------
    L. Breiman, Bias, variance, and arcing classifiers, 1996.

    Examples
    --------
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> X.shape, bool(X[y == 0].std() > 1.9)
    ((1000, 20), True)
    """
    random = _start(n_samples, random_state)
    y = random.randint(0, 2, size=n_samples)
    noise = random.normal(size=(n_samples, 20))
    inner = y[:, np.newaxis] == 1
    return np.where(inner, noise + 2 / np.sqrt(20), 2 * noise), y.astype(np.int64)


def make_waveform(n_samples: int = 300, *, random_state: Seed = None) -> Table:
    """Generate waveform: mixtures of two out of three triangular waves, with noise.

    A row of class 0, 1 or 2 is u times one wave plus (1 - u) times another, u uniform in
    [0, 1], plus standard normal noise, at the points 1, ..., 21. The best possible error is 14%.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    random_state : int, RandomState or None
        Seed; the same seed gives the same table.

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
        The columns.
    y : ndarray of shape (n_samples,)
        The classes, 0, 1 or 2, equally likely.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and Regression Trees, 1984.

    Examples
    --------
    >>> X, y = make_waveform(1000, random_state=0)
    >>> X.shape, np.unique(y).tolist()
    ((1000, 21), [0, 1, 2])
    """
    random = _start(n_samples, random_state)
    points = np.arange(1, 22)
    waves = np.array([np.maximum(6 - np.abs(points - peak), 0) for peak in (7, 15, 11)])
    first = np.array([0, 0, 1])
    second = np.array([1, 2, 2])
    y = random.randint(0, 3, size=n_samples)
    share = random.uniform(size=(n_samples, 1))
    noise = random.normal(size=(n_samples, 21))
    X = share * waves[first[y]] + (1 - share) * waves[second[y]] + noise
    return X, y.astype(np.int64)


_CONCEPTS: dict[str, Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.int_]]] = {
    "plus": lambda x, y: (x > 0.5) + 2 * (y > 0.5),
    "2x": lambda x, y: (y > 2 * x).astype(int),
    "diagonal": lambda x, y: (y > x).astype(int),
    "circle": lambda x, y: (x**2 + y**2 > 0.5).astype(int),
}


def make_unit_square(
    n_samples: int = 500, *, concept: Concept = "diagonal", random_state: Seed = None
) -> Table:
    """Generate points of the unit square, labelled by a simple boundary without noise.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows.
    concept : {"plus", "2x", "diagonal", "circle"}, default="diagonal"
        "plus": the four quarters are four classes; "2x": y > 2x; "diagonal": y > x;
        "circle": x² + y² > 0.5.
    random_state : int, RandomState or None
        Seed; the same seed gives the same table.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points, uniform in the square.
    y : ndarray of shape (n_samples,)
        The classes.

    Examples
    --------
    >>> X, y = make_unit_square(100, concept="circle", random_state=0)
    >>> bool(np.all((X[:, 0] ** 2 + X[:, 1] ** 2 > 0.5) == y))
    True
    """
    if concept not in _CONCEPTS:
        known = ", ".join(map(repr, get_args(Concept)))
        raise ValueError(f"concept is {concept!r}, but one of {known} is expected: choose one.")
    random = _start(n_samples, random_state)
    X = random.uniform(size=(n_samples, 2))
    return X, _CONCEPTS[concept](X[:, 0], X[:, 1]).astype(np.int64)


def make_sin_inverse(
    n_samples: int = 500, *, smallest: float = 0.02, random_state: Seed = None
) -> Table:
    """Generate the concept y >= sin(1/x), which is simple on the right and wild on the left.

    The density of x is proportional to 1/x between `smallest` and 1, so that rows grow dense
    where the boundary winds; y is uniform in [-1, 1].

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows.
    smallest : float, default=0.02
        Smallest x, above 0 and below 1: the smaller, the more turns of the boundary.
    random_state : int, RandomState or None
        Seed; the same seed gives the same table.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points (x, y).
    y : ndarray of shape (n_samples,)
        The classes: 1 on and above the curve, 0 below.

    Examples
    --------
    >>> X, y = make_sin_inverse(100, random_state=0)
    >>> bool(np.all((X[:, 1] >= np.sin(1 / X[:, 0])) == y))
    True
    """
    if not 0 < smallest < 1:
        raise ValueError(
            f"smallest is {smallest!r}, but a number between 0 and 1 is expected: try 0.02."
        )
    random = _start(n_samples, random_state)
    # A density proportional to 1/x is a uniform logarithm.
    x = np.exp(random.uniform(np.log(smallest), 0, size=n_samples))
    height = random.uniform(-1, 1, size=n_samples)
    return np.column_stack([x, height]), (height >= np.sin(1 / x)).astype(np.int64)


def _start(n_samples: int, random_state: Seed) -> RandomState:
    """Check the number of rows and return the source of random numbers."""
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
        raise ValueError(
            f"n_samples is {n_samples!r}, but a number of rows of at least 1 is expected: ask for "
            "some rows."
        )
    random: RandomState = check_random_state(random_state)
    return random
