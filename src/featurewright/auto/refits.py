"""The last fit of a search on all rows, further ones with fewer columns, constants of more rows."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from featurewright.auto.additive import Term, output_shapes, read_weights, select_terms
from featurewright.auto.candidates import ORIGINAL
from featurewright.auto.estimators import (
    few_threads,
    fit_estimator,
    refuses_formulas,
    standard_estimator,
)
from featurewright.auto.links import LinkedColumns, read_table, training_rows
from featurewright.auto.methods import ADDITIVE
from featurewright.auto.originals import Originals, OutputColumn, short_names, unique_names
from featurewright.auto.parts import (
    KINDS,
    RANGE_LEVELS,
    Part,
    category_places,
    compute_columns,
    learn_part,
    rate_formulas,
)
from featurewright.auto.profile import profile_columns
from featurewright.auto.reading import TableReader
from featurewright.auto.targets import read_target
from featurewright.auto.tasks import Task
from featurewright.auto.workspace import Problem
from featurewright.estimators.parameters import whole_number
from featurewright.expressions import Feature
from featurewright.relations.links import in_tables_in_memory
from featurewright.tables import EncodedTable, check_weights

_MAX_PROFILED_COLUMNS = 300  # columns of the output that `profile_` describes


class Refits:
    """What `AutoFeatures` fits once more: on all rows, with few formulas, as a short sum.

    Fills and ranges of its columns can be learned once more, from quantiles of a larger table.
    """

    estimator: Any
    links: Any
    as_of: str | None
    effort: str
    max_size: int
    feature_names: str
    n_jobs: int | None
    task_: str
    reader_: TableReader
    linked_: LinkedColumns | None
    originals_: Originals
    parts_: list[Part]
    path_: Part | None
    best_method_: str
    baseline_score_: float
    stability_: NDArray[np.float64]
    path_stability_: NDArray[np.float64]
    front_: list[dict[str, Any]]
    gain_: float
    gain_std_: float
    gain_per_fold_: NDArray[np.float64]
    score_: float
    _training: Problem | None

    def _fit_model(self, estimator: Any, problem: Problem, columns: Any, undefined: Any) -> None:
        """Fit the estimator on the output, and set the attributes that describe the output."""
        self.columns_: tuple[OutputColumn, ...] = unique_names(
            [*self.originals_.columns, *(c for part in self.parts_ for c in part.columns)]
        )
        short = self.feature_names == "short"
        if self.feature_names == "auto":
            short = refuses_formulas(estimator)
        self.feature_mapping_: dict[str, str] = short_names(self.columns_) if short else {}
        listed = [feature for part in self.parts_ for feature in part.features]
        self.features_: list[Feature] = sorted(listed, key=lambda feature: -feature.gain)
        categories = category_places(
            self.originals_, ((part.kind, len(part.names)) for part in self.parts_)
        )
        self.model_ = fit_estimator(estimator, columns, problem.y, problem.weights, categories)
        labels = getattr(self, "classes_", None) if self.task_ == "classification" else None
        described = [c.kind not in KINDS or KINDS[c.kind].is_described for c in self.columns_]
        shown = np.flatnonzero(described)[:_MAX_PROFILED_COLUMNS]
        self.profile_ = profile_columns(
            columns[:, shown],
            [self.columns_[at].name for at in shown],
            problem.codes,
            self.task_,
            class_labels=None if labels is None else labels.tolist(),
            undefined=undefined[shown],
        )

    def limit(
        self,
        n_formulas: int,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        links: Any = None,
    ) -> Self:
        """Return a fitted copy with the best few formulas and no other constructed columns.

        There is no new search: the formulas are the first of `path_`, and the estimator is fitted
        once more. The training rows are needed for that; they are at hand until the model is
        saved or pickled, if the table is not very large.

        Parameters
        ----------
        n_formulas : int
            Number of formulas; 0 keeps the original columns only.
        X : array-like or data frame, optional
            The training table, where it is not at hand.
        y : array-like, optional
            Its target.
        sample_weight : array-like, optional
            Weights of its rows.
        links : dict of str to data frame, optional
            Its linked tables, by the names of their links, where they are not at hand.

        Returns
        -------
        AutoFeatures
            The copy. Its `gain_` and `score_` are those of the nearest smaller point of `front_`.

        Examples
        --------
        >>> import numpy as np
        >>> from featurewright import AutoFeatures
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> y = X[:, 0] * X[:, 1] > 0
        >>> auto = AutoFeatures(methods="batch", effort="quick", random_state=0).fit(X, y)
        >>> [feature.name for feature in auto.limit(1).features_]
        ['x0 * x1 > 0']
        """
        check_is_fitted(self)
        whole_number("n_formulas", n_formulas, 0)
        if not hasattr(self, "path_"):
            raise ValueError(
                "The model was saved by a version that kept no order of formulas: fit it again."
            )
        available = 0 if self.path_ is None else len(self.path_.names)
        if n_formulas > available:
            raise ValueError(
                f"n_formulas={n_formulas} is more than the {available} formulas that were found: "
                "ask for fewer."
            )
        problem = self._training_rows(X, y, sample_weight, links)
        limited = self._copy()
        limited._keep_formulas(n_formulas, problem)
        return limited

    def _copy(self) -> Self:
        """Return a copy that has the training rows too, where they are at hand."""
        other = copy(self)
        kept: Problem | None = getattr(self, "_training", None)
        if kept is not None:
            other._training = kept
        return other

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, links: Any, asked_by: str = "limit"
    ) -> Problem:
        """Return the training rows, as given or as kept."""
        if X is None or y is None:
            kept: Problem | None = getattr(self, "_training", None)
            if kept is None:
                raise ValueError(
                    "The training rows are not at hand, since the model was loaded from a file or "
                    f"the table is large: pass X and y of the training table to {asked_by}."
                )
            return kept
        return training_rows(
            self, self._problem(self.reader_.read(self, X), y, sample_weight), X, links
        )

    def _problem(self, table: EncodedTable, y: Any, sample_weight: Any) -> Problem:
        """Return a table with its targets as methods see them."""
        n_rows = len(table.matrix)
        asked = "regression" if self.task_ == "regression" else "classification"
        target = read_target(y, n_rows, self.estimator, asked)
        weights = check_weights(sample_weight, n_rows)
        task = Task(self.task_, 1, self.max_size, self.n_jobs)
        return Problem(table, target.labels, target.codes, weights, task, None)

    def _fit_on(self, table: EncodedTable, y: Any, sample_weight: Any) -> None:
        """Fit the estimator once more, on training rows whose columns over links are other ones.

        Parameters
        ----------
        table : EncodedTable
            The training rows with their columns over links.
        y, sample_weight : array-like
            Their targets and weights.
        """
        problem = self._problem(table, y, sample_weight)
        n_linked = 0 if self.linked_ is None else len(self.linked_.names)
        self._training = replace(problem, n_linked=n_linked)
        columns = compute_columns(self.originals_, self.parts_, table, self.n_jobs)
        shares = [part.undefined(table) for part in self.parts_]
        undefined = np.concatenate([np.zeros(len(self.originals_.columns)), *shares])
        with few_threads(self.n_jobs, columns.size):
            self._fit_model(clone(self.model_), problem, columns, undefined)

    def _keep_formulas(self, n_formulas: int, problem: Problem) -> None:
        """Keep the first formulas of the path and nothing else that was constructed."""
        base = self.originals_.compute(np.asarray(problem.table.matrix, np.float64))
        columns, undefined = base, np.zeros(base.shape[1])
        shares: dict[str, float] = {}
        self.parts_, self.best_method_ = [], ORIGINAL.label
        if self.path_ is not None and n_formulas:
            part = self.path_.take(np.arange(n_formulas))
            columns = np.hstack([base, part.compute(problem.table)])
            undefined = np.concatenate([undefined, part.undefined(problem.table)])
            self.parts_ = rate_formulas([part], columns, problem.target)
            self.best_method_ = part.method
            shares = dict(zip(self.path_.names, self.path_stability_, strict=True))
        with few_threads(self.n_jobs, columns.size):
            self._fit_model(clone(self.model_), problem, columns, undefined)
        self.stability_ = np.array([shares[feature.name] for feature in self.features_])
        point = [point for point in self.front_ if point["n_formulas"] <= n_formulas][-1]
        self.front_ = [{**other, "chosen": other is point} for other in self.front_]
        self.gain_, self.gain_std_ = point["gain"], point["gain_std"]
        self.gain_per_fold_ = np.array(point["fold_gains"])
        self.score_ = self.baseline_score_ + self.gain_

    def to_additive(
        self,
        max_terms: int = 20,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        links: Any = None,
    ) -> Self:
        """Return a fitted copy that predicts by a short sum, which `terms_` lists.

        A term is an original column or a formula of `path_`, as it is, bent at a number (as in
        ``max(a * b, 2.5)``) or a step there (``a * b > 2.5``). Terms are selected by a path of L1
        penalties, the penalty by cross-validation; a linear or logistic regression is then fitted
        to them. `export.to_sql` and `save` take the copy as they take any search.

        Parameters
        ----------
        max_terms : int, default=20
            Largest number of terms.
        X : array-like or data frame, optional
            The training table, where it is not at hand (see `limit`).
        y : array-like, optional
            Its target.
        sample_weight : array-like, optional
            Weights of its rows.
        links : dict of str to data frame, optional
            Its linked tables, by the names of their links, where they are not at hand.

        Returns
        -------
        AutoFeatures
            The copy. Its scores and gains stay those of the search: score it on rows of your own.

        Examples
        --------
        >>> import numpy as np
        >>> from featurewright import AutoFeatures
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> y = X[:, 0] * X[:, 1] > 0
        >>> auto = AutoFeatures(methods="batch", effort="quick", random_state=0).fit(X, y)
        >>> additive = auto.to_additive(max_terms=1)
        >>> [(term["formula"], term["shape"], term["threshold"]) for term in additive.terms_]
        [('x0 * x1', 'step', 0.0)]
        """
        check_is_fitted(self)
        whole_number("max_terms", max_terms, 1)
        problem = self._training_rows(X, y, sample_weight, links, "to_additive")
        if problem.y.ndim > 1:
            raise ValueError(
                f"The target has {problem.y.shape[1]} columns, but a sum of terms predicts one: "
                "fit one AutoFeatures for each."
            )
        path = getattr(self, "path_", None)
        additive = self._copy()
        with few_threads(self.n_jobs, problem.table.matrix.size):
            additive.originals_, chosen = select_terms(
                # Codes are no numbers.
                problem.originals(None) if self.originals_.categories else self.originals_,
                () if path is None else path.features,
                problem,
                max_terms,
            )
            additive._keep_terms(chosen, problem)
        return additive

    def _keep_terms(self, chosen: list[Feature], problem: Problem) -> None:
        """Keep some formulas beside the original columns, and a linear model."""
        columns = self.originals_.compute(np.asarray(problem.table.matrix, np.float64))
        undefined = np.zeros(columns.shape[1])
        self.parts_, self.best_method_ = [], ORIGINAL.label
        if chosen:
            part = learn_part(ADDITIVE, "formula", problem.table, features=chosen)
            columns = np.hstack([columns, part.compute(problem.table)])
            undefined = np.concatenate([undefined, part.undefined(problem.table)])
            self.parts_ = rate_formulas([part], columns, problem.target)
            self.best_method_ = part.method
        # The order of formulas goes with all original columns.
        self.path_, self.path_stability_ = None, np.zeros(0)
        self._fit_model(standard_estimator("linear", self.task_), problem, columns, undefined)
        self.stability_ = np.full(len(self.features_), np.nan)  # terms are not searched in folds
        self.front_ = [{**point, "chosen": False} for point in getattr(self, "front_", [])]

    @property
    def terms_(self) -> list[Term]:
        """The terms of a linear model, those with the largest effect first."""
        check_is_fitted(self)
        weights, scaled = read_weights(self.model_)
        shapes = output_shapes(self)
        order = np.argsort(-np.linalg.norm(scaled, axis=0), kind="stable")
        return [
            Term(
                formula=shapes[at].formula,
                shape=shapes[at].kind,
                threshold=shapes[at].threshold,
                coefficients=weights[:, at].tolist(),
            )
            for at in order
        ]

    # Constants of a larger table ----------------------------------------------------------------

    def _quantile_levels(self) -> tuple[float, ...]:
        """Return the quantiles that constants are learned from, for rows by themselves.

        There are none where a row is known by other rows of its table, or by a collection.
        """
        return RANGE_LEVELS if in_tables_in_memory(self.links) else ()

    def _filled_parts(self) -> list[Part]:
        """Return the parts that have fills and ranges."""
        return [*self.parts_, *([] if self.path_ is None else [self.path_])]

    def _unfilled(self, X: Any) -> NDArray[np.float64]:
        """Return numbers and constructed columns of some rows; undefined values are NaN."""
        return self._unfilled_table(read_table(self, X, None))

    def _unfilled_table(self, table: EncodedTable) -> NDArray[np.float64]:
        """Return the same for rows as methods see them."""
        numbers = np.asarray(table.matrix, np.float64)[:, self.originals_.numbers]
        return np.column_stack([numbers, *(part.raw(table) for part in self._filled_parts())])

    def _take_quantiles(
        self,
        quantiles: NDArray[np.float64],
        lowest: NDArray[np.float64],
        highest: NDArray[np.float64],
    ) -> None:
        """Set fills and ranges to those of a larger table, by its quantiles and extremes."""
        end = len(self.originals_.numbers)
        schema = self.reader_.schema
        self.originals_ = self.originals_.with_fills(schema, quantiles[1, :end])
        parts = []
        for part in self._filled_parts():
            own = slice(end, end := end + len(part.names))
            parts.append(part.with_quantiles(quantiles[:, own], lowest[own], highest[own]))
        if self.path_ is not None:
            self.path_ = parts.pop()
        self.parts_ = parts
