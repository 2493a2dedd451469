"""Recursive selective transformation as a transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from featurewright.estimators.documentation import documented
from featurewright.recursive.base import RecursiveSelective
from featurewright.recursive.documentation import ATTRIBUTES, END, PARAMETERS
from featurewright.recursive.naming import component_names, unique_names
from featurewright.recursive.steps import Matrix
from featurewright.tables import check_input_names

_OWN = """
block : label, optional
    The class whose components `transform` gives; None gives those of all classes side by side.
task : {"auto", "classification", "regression"}, default="auto"
    What the target is. "auto" takes numbers with fractions for regression, all else for classes.
"""


@documented(
    PARAMETERS + _OWN + END, attributes=ATTRIBUTES.replace("The classes.", "None in regression.")
)
class RecursiveSelectiveTransformer(TransformerMixin, RecursiveSelective):
    """Fewer columns for each class, in which a linear model is to part it from the rest.

    A linear SVM weighs the columns. Those with large weights are kept and stretched along the
    weights; the others are weighed by themselves and thinned out. This is repeated on the result.
    Each class against the rest has its own recursions, and all of them together are one matrix, so
    that a transform is one product. A continuous target uses linear support vector regression.

    Missing numbers are filled with the median of `fit`; a category becomes one indicator column per
    level. Components are made for linear models: these gain on some tables, forests lose. With
    `block` there are fewer columns than before; those of all classes together may be more.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rst = RecursiveSelectiveTransformer(n_recursions=1, block=0, random_state=0).fit(X, y)
    >>> rst.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_recursions: int | str = "auto",
        *,
        keep: Any = "auto",
        projection: str = "stretch",
        normalize: str | None = None,
        scale: str | None = "auto",
        C: float = 1.0,
        loss: str = "squared_hinge",
        solver: str = "auto",
        validation: int | float | str = "auto",
        block: Any = None,
        task: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_recursions = n_recursions
        self.keep = keep
        self.projection = projection
        self.normalize = normalize
        self.scale = scale
        self.C = C
        self.loss = loss
        self.solver = solver
        self.validation = validation
        self.block = block
        self.task = task
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the matrices.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome,
            except in sparse tables.
        y : array-like of shape (n_samples,)
            Classes, or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted transformer.
        """
        self._learn(X, y, sample_weight)
        self._shown_blocks()
        return self

    def _shown_blocks(self) -> tuple[int, int]:
        """Give the first matrix that `transform` uses and the one after the last."""
        if self.block is not None:
            if self.classes_ is None:
                raise ValueError(f"block={self.block!r} names a class, but y is continuous.")
            found = np.flatnonzero(self.classes_ == self.block)
            if found.size != 1:
                raise ValueError(
                    f"block={self.block!r} is not one of the classes, {self.classes_.tolist()!r}."
                )
            # Two classes share one matrix.
            which = min(int(found[0]), len(self._seeds) - 1)
            return which, which + 1
        # Without any recursion, all matrices only scale: once is enough.
        return 0, len(self._seeds) if self.n_recursions_ else 1

    def transform(self, X: Any) -> Matrix:
        """Compute the components of each row.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The rows, with the columns seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The components of all classes side by side, or those of `block`; the scaled columns
            where no recursion was kept.
        """
        columns = self._read_columns(X)
        return self._blocks(columns, *self._shown_blocks())

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Name the components by their largest terms.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names seen in `fit`; the names of components use those.

        Returns
        -------
        ndarray of str
            One name for each column, such as ``"virginica: 3.1*petal width + 1.2*petal length"``.
            At most three terms are written, "..." stands for more, and constants are left out.
        """
        check_is_fitted(self)
        if input_features is not None:
            check_input_names(self._schema, input_features)
        first, last = self._shown_blocks()
        names: list[str] = []
        for which in range(first, last):
            prefix = f"{self.classes_[which]}: " if last - first > 1 else ""
            names += component_names(
                self.matrices_[which], self._inputs.factor, self._inputs.names, prefix
            )
        return np.array(unique_names(names), dtype=object)
