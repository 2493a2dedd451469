"""Recursive selective transformation as a transformer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from featurewright.estimators.parameters import (
    Parameter,
    accept,
    choice,
    documented,
    keep_arguments,
)
from featurewright.estimators.publications import cited
from featurewright.recursive.base import ATTRIBUTES, RecursiveSelective
from featurewright.recursive.steps import Matrix
from featurewright.tables import check_input_names

_MAX_TERMS = 3  # of a component that its name shows


@documented(
    attributes=ATTRIBUTES.replace("The classes.", "None in regression."),
    publication=cited(
        "recursive",
        """
`featurewright.published("rst")` is the classifier of the publication; its `keep="published"`,
`scale="table"`, `loss="hinge"` and `remove_outliers=True` may be set here as well. The matrix of
a recursion is ours: see `RecursiveSelectiveClassifier`.
""",
    ),
)
class RecursiveSelectiveTransformer(TransformerMixin, RecursiveSelective):
    """Fewer columns for each class, in which a linear model separates it from the rest.

    A linear SVM weighs the columns. Rows are stretched along its weights, and the columns with
    large weights are kept; the others are weighed by themselves and thinned out. This is repeated
    on the result.
    Each class against the rest has its own recursions, and all of them together are one matrix, so
    that a transform is one product. A continuous target uses linear support vector regression.

    Missing numbers are filled with the median of `fit`; a category becomes one indicator column per
    level. Components are made for linear models, which gain from them on some tables; forests lose.
    With `block` there are fewer columns than before; those of all classes together may be more.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    {publication}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rst = RecursiveSelectiveTransformer(n_recursions=1, block=0, random_state=0).fit(X, y)
    >>> rst.transform(X).shape
    (150, 2)
    """

    _parameters: ClassVar = {
        "block": Parameter(
            "label",
            """
            The class whose components `transform` returns; None returns those of all classes side
            by side.
            """,
            accept,
        ),
        "task": Parameter(
            '{"auto", "classification", "regression"}',
            """
            What the target is. "auto" reads numbers with fractions as a regression target, and all
            other targets as classes.
            """,
            choice("auto", "classification", "regression"),
        ),
    }

    def __init__(
        self,
        n_recursions: int | str = "auto",
        *,
        keep: Any = "auto",
        projection: str = "stretch",
        project: str = "first",
        normalize: str | None = "unit",
        ranking: str = "shared",
        scale: str | None = "auto",
        remove_outliers: bool = False,
        C: float = 1.0,
        loss: str = "squared_hinge",
        solver: str = "auto",
        validation: int | float | str = "auto",
        block: Any = None,
        task: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        keep_arguments(self, locals())

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
        self._check_parameters()
        self._learn(X, y, sample_weight)
        self._shown_blocks()
        return self

    def _shown_blocks(self) -> tuple[int, int]:
        """Return the first matrix that `transform` uses and the one after the last."""
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
        """Return names for the components: their largest terms.

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


def component_names(
    matrix: Matrix, factor: Matrix, columns: Sequence[str], prefix: str = ""
) -> list[str]:
    """Return names for the components of one matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n_columns, n_components)
        Coefficients of the columns as they came.
    factor : ndarray of shape (n_columns,)
        Factor that brought each column to the common scale: terms are ranked on that scale.
    columns : sequence of str
        Names of the columns.
    prefix : str, default=""
        Written before every name.

    Returns
    -------
    list of str
        The three largest terms of each component; "..." stands for more.

    Examples
    --------
    >>> component_names(np.array([[2.0, 0.0], [-0.5, 1.0]]), np.ones(2), ["a", "b c"])
    ['2*a - 0.5*b c', '1*b c']
    """
    known = factor > 0
    scaled = np.zeros_like(matrix)
    scaled[known] = matrix[known] / factor[known, np.newaxis]
    return [
        prefix + _combination(matrix[:, k], scaled[:, k], columns) for k in range(matrix.shape[1])
    ]


def _combination(coefficients: Matrix, importance: Matrix, columns: Sequence[str]) -> str:
    """Return one linear combination as text."""
    order = np.argsort(-np.abs(importance), kind="stable")
    terms = [k for k in order[: _MAX_TERMS + 1] if coefficients[k] != 0]
    text = ""
    for k in terms[:_MAX_TERMS]:
        sign = "-" if coefficients[k] < 0 else "+"
        lead = f" {sign} " if text else sign.strip("+")
        text += f"{lead}{abs(coefficients[k]):.2g}*{columns[k]}"
    return (text or "0") + (" + ..." if len(terms) > _MAX_TERMS else "")


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names with numbers appended where they occur more than once."""
    times = Counter(names)
    taken = {name for name in names if times[name] == 1}
    counted: Counter[str] = Counter()
    result = []
    for name in names:
        candidate = name
        while times[name] > 1 and (candidate == name or candidate in taken):
            counted[name] += 1
            candidate = f"{name} ({counted[name]})"
        taken.add(candidate)
        result.append(candidate)
    return result
