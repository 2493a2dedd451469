"""Similarities to some training rows as new columns."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from featurewright.engine.threads import one_blas_thread
from featurewright.estimators.parameters import (
    Parameter,
    documented,
    flag,
    keep_arguments,
    whole,
)
from featurewright.estimators.shared_parameters import worded
from featurewright.landmarks.inputs import apply_rows, fit_rows, n_rows_of
from featurewright.landmarks.selection import LandmarkParameters, plan_landmarks
from featurewright.tables import (
    ClassTarget,
    check_input_names,
    check_length,
    check_weights,
    is_sparse,
    read_classes,
)


@documented()
class LandmarkKernelFeatures(LandmarkParameters, TransformerMixin, BaseEstimator):
    """Compute the similarities of each row to some rows of the training table.

    For the kernel, missing numbers are replaced by the column's median; a column of labels counts
    as one column of 0 and 1 for each label. Rows may be sparse; with a function as the kernel they
    may be objects of any kind, and with `kernel="precomputed"` their similarities are given.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    landmark_rows_ : ndarray of shape (n_landmarks,)
        Positions of the training rows that are landmarks, counted from 0.
    landmarks_ : ndarray of shape (n_landmarks, n_coordinates)
        The landmarks as the kernel sees them: points, objects, or with "precomputed" one column of
        the numbers of the training rows.
    width_ : float or None
        Width of the Gaussian kernel.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where the table had names.

    References
    ----------
    M.-F. Balcan, A. Blum and S. Vempala, Kernels as features, 2006.

    Examples
    --------
    >>> from featurewright import LandmarkKernelFeatures
    >>> features = LandmarkKernelFeatures(1, width=1.0, random_state=0)
    >>> print(features.fit_transform([[0.0], [0.0], [0.0]]))
    [[0. 1.]
     [0. 1.]
     [0. 1.]]
    >>> print(*features.get_feature_names_out(), sep=", ")
    x0, gaussian(x, row 2)

    Strings, compared by the letters they share:

    >>> def shared(one, other):
    ...     return len(set(one) & set(other))
    >>> words = LandmarkKernelFeatures(1, kernel=shared, random_state=0)
    >>> print(words.fit_transform(["tree", "three", "oak"]).ravel())
    [0. 0. 3.]
    """

    _parameters: ClassVar = {
        "n_landmarks": Parameter(
            "int",
            "Number of landmarks, and of new columns; all training rows, with a warning, if there "
            "are fewer.",
            whole(1),
        ),
        "append": Parameter(
            "bool",
            """
            Whether the original columns come first, missing values filled with their median and
            labels as the number of their level. Objects and precomputed similarities have no
            original columns.
            """,
            flag,
        ),
        "landmarks": worded(
            LandmarkParameters._parameters["landmarks"],
            """
            Which training rows are landmarks: any; as many of each class, where there are enough;
            the rows next to the centers that k-means finds. "class" needs y.
            """,
        ),
    }

    def __init__(
        self,
        n_landmarks: int = 10,
        *,
        append: bool = True,
        kernel: Any = "gaussian",
        width: float | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        batched: bool = False,
        landmarks: str = "random",
        scale: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.landmarks == "class"
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the landmarks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome in
            dense ones. Objects, or similarities, as the kernel has it.
        y : array-like of shape (n_samples,), optional
            Classes; used by `landmarks="class"` alone.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight zero count as if they were not there; other weights change nothing.

        Returns
        -------
        self
            The fitted transformer.
        """
        self._check_parameters()
        matrix, schema = fit_rows(self, X)
        n_rows = n_rows_of(matrix)
        weights = check_weights(sample_weight, n_rows)
        rows = np.arange(n_rows) if weights is None else np.flatnonzero(weights > 0)
        if self.n_landmarks > len(rows):
            warnings.warn(
                f"n_landmarks={self.n_landmarks} is more than the {len(rows)} rows to choose from: "
                "all of them are landmarks; set n_landmarks to at most their number.",
                UserWarning,
                stacklevel=3,
            )
        codes = None
        if self.landmarks == "class":
            target = read_classes(y, n_rows)
            if not isinstance(target, ClassTarget):
                raise ValueError(
                    'y has several columns, but landmarks="class" expects one column of classes.'
                )
            codes = target.codes
        elif y is not None:
            check_length(y, n_rows)
        random = check_random_state(self.random_state)
        plan = plan_landmarks(self, matrix, schema, rows, codes, random=random)
        self.landmark_rows_, self._map = plan.draw(matrix, random)
        self.landmarks_ = self._map.landmarks
        self.width_ = plan.similarity.width
        self._schema = schema
        return self

    def transform(self, X: Any) -> Any:
        """Compute the similarities of each row to the landmarks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows, with the columns seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            With `append` the original columns first; then one column for each landmark. A sparse
            matrix where sparse columns come first.
        """
        check_is_fitted(self)
        matrix = apply_rows(self, self._schema, X)
        with one_blas_thread():
            columns = self._map.columns(matrix, self.n_jobs)
        places = self._map.places
        if not self.append or places is None:
            return columns
        if is_sparse(matrix):
            return sparse.hstack([matrix, columns], format="csr")
        return np.hstack([places.filled(matrix), columns])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` computes.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names seen in `fit`.

        Returns
        -------
        ndarray of str
            Original names, and such as "gaussian(x, row 17)": the position of the landmark in the
            training table, counted from 0, not its index in a data frame.
        """
        check_is_fitted(self)
        if input_features is not None:
            check_input_names(self._schema, input_features)
        appended = self.append and self._map.places is not None
        originals = list(self._schema.names) if appended else []
        name, point = self._map.similarity.name, "x"
        made = [f"{name}({point}, row {row})" for row in self.landmark_rows_]
        while set(made) & set(originals):  # features of features
            point += "'"
            made = [f"{name}({point}, row {row})" for row in self.landmark_rows_]
        return np.array(originals + made, dtype=object)
