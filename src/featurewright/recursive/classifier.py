"""One classifier for each class, each on the rows as its own matrix transforms them."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from featurewright.estimators.parameters import Parameter, choice, documented, keep_arguments
from featurewright.estimators.publications import cited
from featurewright.recursive.base import ATTRIBUTES, Recursed, RecursiveSelective
from featurewright.recursive.members import (
    CALIBRATIONS,
    calibrate,
    check_member,
    check_weighable,
    fit_member,
    fit_model,
    join_probabilities,
)
from featurewright.recursive.steps import Matrix, Plane, Problem, Weights, each_problem, product

_MEMBERS = """
estimators_ : list of classifiers
    The members: one for each class, a single one for two classes.
"""


@documented(
    attributes=_MEMBERS.rstrip() + ATTRIBUTES,
    publication=cited(
        "recursive",
        """
`featurewright.published("rst")` has the settings of the publication: six recursions of its sizes
(`keep="published"`), one scale for the whole table, the hinge loss, no rows with outliers, and
members calibrated on rows that the transformation has seen. Remaining difference: the publication
says that rows are projected onto the subspace that the weights determine, but not by which matrix.
``I + ww'`` lowered the loss on held-out rows most often among the forms that were tried.
""",
    ),
)
class RecursiveSelectiveClassifier(ClassifierMixin, RecursiveSelective):
    """An ensemble of one classifier per class over recursive selective transformations.

    Each class against the rest has its own transformation, and the member for that class learns on
    rows transformed by it (see `RecursiveSelectiveTransformer`). Probabilities of the members are
    normalised over the classes.

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
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RecursiveSelectiveClassifier(n_recursions=1, random_state=0).fit(X[::2], y[::2])
    >>> model.predict_proba(X[1::2]).shape
    (75, 3)
    """

    _parameters: ClassVar = {
        "estimator": Parameter(
            "classifier",
            """
            The member that is fitted for each class. One without `predict_proba` is calibrated by a
            sigmoid. None is a linear SVM calibrated in that way.
            """,
            check_member,
        ),
        "calibration": Parameter(
            '{"cross_fit", "published"}',
            """
            Which rows a sigmoid is fitted on. "cross_fit" holds rows out, in five folds (in three
            above 3,000 rows), from the transformation and from the member, pools their decision
            values, and fits one sigmoid for the member that is then learned from all rows.
            "published" learns the transformation from all rows, and then averages three members,
            each calibrated on a third of the same rows: their probabilities are overconfident,
            since the transformation has seen the rows that calibrate them.
            """,
            choice(*CALIBRATIONS),
        ),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_recursions: int | str = "auto",
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
        calibration: str = "cross_fit",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        keep_arguments(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the matrices and the members.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome,
            except in sparse tables.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_parameters()
        check_weighable(self.estimator, sample_weight)
        found = self._learn(X, y, sample_weight)
        with self._few_threads(found.rows), warnings.catch_warnings():
            if self.estimator is None:  # the user's own member may warn
                warnings.simplefilter("ignore", ConvergenceWarning)
            self.estimators_ = self._fit_members(found)
        return self

    def _fit_members(self, found: Recursed) -> list[Any]:
        """Fit one member for each problem."""
        rows, plane = found.rows, found.plane
        problems = self._problems(rows.target, plane)
        blocks = (product(rows.columns, stage.matrix) for stage in found.stages)
        if not self._calibrates_on_held_out_rows():
            settings = (self.estimator, rows.weights, plane)
            return each_problem(_fit_one, blocks, problems, settings, self._threads(rows, plane))
        decisions = self._held_out_decisions(found)
        members = []
        for k, (block, problem) in enumerate(zip(blocks, problems, strict=True)):
            model = found.stages[k].weighed.model
            if self.estimator is not None:
                model = fit_model(self.estimator, block, problem, rows.weights)
            members.append(
                calibrate(model, decisions[:, k], block, problem, weights=rows.weights, plane=plane)
            )
        return members

    def predict_proba(self, X: Any) -> Matrix:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The members' probabilities of their classes, normalised.
        """
        columns = self._read_columns(X)
        return join_probabilities(
            [
                member.predict_proba(self._blocks(columns, which, which + 1))[:, 1]
                for which, member in enumerate(self.estimators_)
            ]
        )

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]


def _fit_one(block: Any, problem: Problem, estimator: Any, weights: Weights, plane: Plane) -> Any:
    """Fit the member of one problem."""
    return fit_member(estimator, block, problem, weights, plane)
