"""`AutoFeatures`: better features for a table and a target."""

from __future__ import annotations

import logging
import warnings
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import get_scorer
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from featurewright.auto.additive import Term, output_shapes, read_weights, select_terms
from featurewright.auto.candidates import ORIGINAL, Candidate
from featurewright.auto.cross_check import score_estimators
from featurewright.auto.estimators import (
    STANDARD,
    choose_estimator,
    few_threads,
    fit_estimator,
    further_folds,
    make_folds,
    probabilities,
    refuses_formulas,
    standard_estimator,
)
from featurewright.auto.failures import Attempt
from featurewright.auto.methods import METHODS, Task, chosen_methods, warm_up
from featurewright.auto.originals import OutputColumn, short_names, unique_names
from featurewright.auto.parts import KINDS, Part, learn_part, rate_formulas
from featurewright.auto.plan import EFFORTS
from featurewright.auto.profile import profile_columns
from featurewright.auto.reading import TableReader, learn_reader
from featurewright.auto.scoring import choose_scorer
from featurewright.auto.search import Search
from featurewright.auto.summary import summarize
from featurewright.auto.targets import TASKS, read_target
from featurewright.auto.text import as_text, result_blocks
from featurewright.auto.timing import Clock
from featurewright.auto.workspace import Problem, Workspace
from featurewright.estimators.collections import TakesCollections, takes_collections
from featurewright.estimators.parameters import check_jobs, number, one_of, whole_number
from featurewright.expressions import Feature
from featurewright.tables import check_groups, check_input_names, check_weights

_logger = logging.getLogger("featurewright")
_LAST_SEED = 1000
_MAX_KEPT_BYTES = 10**8  # of a training table that `limit` may use again
_NAMES = ("auto", "formula", "short")
_MAX_PROFILED_COLUMNS = 300  # columns of the output that `profile_` describes


def _model_has(method: str) -> Any:
    """Return a test of whether the fitted model has a method."""
    return lambda self: not hasattr(self, "model_") or hasattr(self.model_, method)


class AutoFeatures(TakesCollections, TransformerMixin, BaseEstimator):
    """Find columns that make an estimator better, prove it on held-out rows, and compute them.

    The methods of this package are run inside the folds of a cross-validation. Their formulas are
    put in one order, each improved; columns of other methods are joined where that helps. What is
    clearly better than the original columns on held-out rows is fitted once more on all rows; where
    nothing is, the original columns alone are kept.

    What is tried follows from the effort, the other settings and the shape of the table alone. The
    same seed gives the same result on any machine, idle or busy, for any `n_jobs`.

    Tables may hold numbers, booleans, strings and categories, dates, times and durations, and
    missing values. Columns that are constant, empty or look like identifiers are left out.

    Parameters
    ----------
    estimator : estimator, {"linear", "knn", "boosting"} or None, default=None
        The model that the features are for. None is "linear": logistic regression or ridge
        regression on standardised columns.
    effort : {"quick", "standard", "thorough"}, default="standard"
        How much is tried: rows, folds, methods, candidates.
    task : {"auto", "classification", "regression"}, default="auto"
        What the target is. "auto" goes by the estimator, where it is a classifier or a regressor.
        Else text, categories and booleans are classes, and so are up to ten whole numbers; other
        numbers are numbers.
    methods : {"all", "readable"}, str or list of str, default="all"
        What is tried: "forest", "batch", "fctree" and "boosting", which give formulas
        ("readable"), "landmarks", "scores", "votes", "formula votes", "paths", "formula paths",
        "recursive".
    time_budget : float or None, default=None
        Seconds after which the search is cut short, as a guard; None never does. It may be
        overdrawn by a tenth and by the time of one fit. A search that was cut short depends on how
        fast the machine is: `stopped_by_time_` is True and a warning says so. The first use after
        installing compiles the engine, which is not counted.
    n_features_out : int or None, default=None
        Largest number of constructed columns. By default the fewest whose held-out score is within
        one standard error of the best.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn. By default accuracy, or where a class is rare the area under the
        ROC curve (two classes) or balanced accuracy; R2 for numbers; micro-averaged F1 for
        several labels. Of up to 3,000 rows, choices are compared by a Brier score besides accuracy.
    cv : int, splitter, iterable or None, default=None
        Folds; None makes three for a quick search and five for others. A number makes shuffled
        folds, by class, and whole groups where `groups` are given; of up to 3,000 rows, the best
        few choices are then tried on further folds.
    max_size : int, default=5
        Largest number of symbols in a formula; a bend or step at a number comes on top.
    feature_names : {"auto", "formula", "short"}, default="auto"
        Names of constructed columns in the output and in SQL: their formulas, or "fw_01", "fw_02"
        and so on, which `feature_mapping_` explains. "short" also replaces names of other columns
        with characters that LightGBM or XGBoost refuse. "auto" is "short" where `estimator` is of
        these two, else "formula".
    random_state : int, RandomState or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Threads of the methods.
    verbose : int, default=0
        Whether to log what is tried.

    Attributes
    ----------
    task_ : {"classification", "regression", "multilabel"}
        What the target was taken for.
    classes_ : ndarray or list of ndarray
        The classes, where there are any.
    results_ : list of dict
        Every method tried, the original columns first: scores and gains by fold, time, number of
        constructed columns, status, and the reason where it was not finished, as text and as a
        code. These are the gains of the best columns of each method: see `gain_`.
    best_method_ : str
        What was kept; "original" keeps the original columns only.
    features_ : list of Feature
        The formulas among the constructed columns, by decreasing gain: the share of the target
        that each explains beyond the original columns and the formulas that explain more.
    front_ : list of dict
        Held-out score by number of formulas: n_formulas, score, score_std, gain, gain_std (standard
        errors), and whether it was chosen. Measured in the same folds for all numbers.
    stability_ : ndarray of shape (n_formulas,)
        For each of `features_`, the share of folds in which it, or a formula that ranks rows
        almost alike, was found too.
    path_ : Part or None
        The formulas of all methods in one order, of which `limit` takes the first; None where no
        method gives formulas.
    path_stability_ : ndarray
        The same share for each of those.
    terms_ : list of dict
        Where the model is linear, what it adds up: formula, shape ("line", "bend", "step", or the
        kind of an original column), threshold, and a coefficient for each score.
    stopped_by_time_ : bool
        Whether `time_budget` cut the search short.
    baseline_score_, score_ : float
        Mean held-out score with the original columns, and with what was kept.
    gain_, gain_std_ : float
        Their difference and its standard error, corrected for folds whose training rows overlap.
    gain_per_fold_ : ndarray
        The gain in each fold of what the other folds would have chosen, so that it is free of the
        bias of choosing. Where the best few choices were tried on further folds, these alone.
    scoring_ : str
        Name of the scorer.
    left_out_ : dict
        Columns that are not used, and why.
    estimator_scores_ : list of dict
        Held-out scores before and after, by fold, of the estimator and, on tables that are not
        too large, of the standard ones; a quick search leaves these out.
    columns_ : tuple of OutputColumn
        What `transform` gives.
    feature_mapping_ : dict of str to str
        What each short name of the output stands for; empty where names are formulas.
    reader_ : TableReader
        How a raw table becomes the table that features are made from.
    originals_ : Originals
        How that table becomes the original columns of the output.
    parts_ : list of Part
        The constructed columns, by method.
    model_ : estimator
        The estimator fitted on the output for all rows.
    profile_ : dict
        The first columns of the output beside the target, those of paths left out.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where the table had names.

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import AutoFeatures
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> auto = AutoFeatures(methods="batch", effort="quick", random_state=0).fit(X, y)
    >>> auto.best_method_, auto.features_[0].name
    ('batch', 'x0 * x1 > 0')
    >>> auto.gain_ > 0.3
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        effort: str = "standard",
        task: str = "auto",
        methods: Any = "all",
        time_budget: float | None = None,
        n_features_out: int | None = None,
        scoring: Any = None,
        cv: Any = None,
        max_size: int = 5,
        feature_names: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.effort = effort
        self.task = task
        self.methods = methods
        self.time_budget = time_budget
        self.n_features_out = n_features_out
        self.scoring = scoring
        self.cv = cv
        self.max_size = max_size
        self.feature_names = feature_names
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    # Fitting ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search for columns that help.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, numbers, or 0 and 1 for each of several labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the methods and for estimators that take them.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        self
            The fitted transformer.
        """
        methods = self._check()
        if y is None:
            raise ValueError(
                "AutoFeatures requires y to be passed, but the target y is None; give classes or "
                "numbers."
            )
        reader, table, left_out = learn_reader(self, X)
        for name, _, kind in reader.times if self.verbose else ():
            _logger.warning("Column %r is read as a %s.", name, kind.value)
        n_rows = len(table.matrix)
        target = read_target(y, n_rows, self.estimator, self.task)
        self.task_: str = target.task
        self.target_name_: str | None = target.name
        if target.classes is not None:
            self.classes_: Any = target.classes
        labels, codes = target.labels, target.codes
        weights = check_weights(sample_weight, n_rows)
        groups = check_groups(groups, n_rows)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max - 1000))
        n_outputs = 1 if codes.ndim == 1 else codes.shape[1]
        name, estimator = choose_estimator(self.estimator, self.task_, n_outputs, seed)
        self.scoring_, scorer = choose_scorer(self.scoring, estimator, self.task_, labels)
        self.reader_: TableReader = reader
        self.left_out_: dict[str, str] = left_out
        task = Task(self.task_, n_outputs, self.max_size, self.n_jobs)
        effort = EFFORTS[self.effort]
        cv = effort.n_folds if self.cv is None else self.cv
        folds = make_folds(cv, labels, groups, self.task_, seed, weights=weights)
        further = further_folds(
            cv,
            labels,
            groups,
            self.task_,
            seed,
            n_repetitions=effort.n_repetitions,
            weights=weights,
        )
        warm_up(task, methods)
        with few_threads(self.n_jobs, table.matrix.size):
            search = Search(
                Problem(table, labels, codes, weights, task, self.n_features_out),
                folds,
                further,
                estimator=estimator,
                scorer=scorer,
                methods=methods,
                seed=seed,
                effort=effort,
                clock=self._make_clock(self.time_budget),
                listen=self._notify,
                skips_slow=isinstance(self.methods, str) and self.methods not in METHODS,
            )
            self._run(search, name)
        return self

    _make_clock = Clock  # tests replace it with a clock that they control

    def _run(self, search: Search, name: str) -> None:
        """Search, choose, and fit once more on all rows."""
        search.run()
        candidate, gains = search.leaderboard.decide()
        self._keep_results(search, candidate, gains)
        self._refit(search, candidate)
        kept = ORIGINAL if self.best_method_ == ORIGINAL.label else candidate
        self.front_ = search.front(kept)
        self.estimator_scores_ = score_estimators(search, kept, name)
        self.stopped_by_time_ = search.stopped_by_time
        if self.stopped_by_time_:
            warnings.warn(
                f"The search was cut short by time_budget={self.time_budget:g}: the result depends "
                "on how fast this machine is. Allow more time, or use effort='quick'.",
                UserWarning,
                stacklevel=4,
            )
        self._notify(
            {
                "method": self.best_method_,
                "stage": "done",
                "seconds": search.clock.spent,
                "best_method": self.best_method_,
                "best_score": self.score_,
                "baseline": self.baseline_score_,
            }
        )

    def _check(self) -> list[str]:
        """Refuse parameters that make no sense; return the methods asked for."""
        one_of("effort", self.effort, tuple(EFFORTS))
        one_of("task", self.task, TASKS)
        if self.time_budget is not None:
            number("time_budget", self.time_budget, above=0.0)
        if self.n_features_out is not None:
            whole_number("n_features_out", self.n_features_out, 1, other="None")
        whole_number("max_size", self.max_size, 1)
        one_of("feature_names", self.feature_names, _NAMES)
        check_jobs(self.n_jobs)
        if isinstance(self.estimator, str):
            one_of("estimator", self.estimator, STANDARD)
        return chosen_methods(self.methods)

    def _keep_results(
        self, search: Search, candidate: Candidate, gains: NDArray[np.float64]
    ) -> None:
        """Set the attributes that say what the search found."""
        leaderboard = search.leaderboard
        self.results_: list[dict[str, Any]] = leaderboard.results()
        for result in self.results_:
            # Several methods together may have been offered more columns than were asked for.
            result["n_features"] = min(
                result["n_features"], self.n_features_out or result["n_features"]
            )
        self.best_method_ = candidate.label
        # The last fold may have the original columns only: both means are over the same folds.
        base = leaderboard.proofs(ORIGINAL)[: len(gains) or None]
        self.baseline_score_ = float(np.mean(base)) if base else float("nan")
        self.gain_per_fold_ = gains if len(gains) else np.zeros(len(base))
        self.gain_ = float(self.gain_per_fold_.mean()) if base else 0.0
        self.gain_std_ = leaderboard.error(self.gain_per_fold_) if base else 0.0
        self.score_ = self.baseline_score_ + self.gain_

    def _keep_originals(self) -> None:
        """Set the attributes of a search that keeps the original columns only."""
        self.best_method_ = ORIGINAL.label
        self.gain_, self.gain_std_, self.score_ = 0.0, 0.0, self.baseline_score_
        self.gain_per_fold_ = np.zeros(len(self.gain_per_fold_))

    def _refit(self, search: Search, candidate: Candidate) -> None:
        """Construct and fit once more, on all rows."""
        problem = search.problem
        # The seed is none of the folds' and the same for every `random_state`.
        space = Workspace(problem, _LAST_SEED, search.store, search.effort)
        parts: list[Part] = []
        columns = space.base
        self.path_: Part | None = None
        with Attempt(f"{candidate.label!r} on all rows") as attempt:
            search.construct(space, [candidate, *search.longest_path()])
            chosen = space.select(candidate)
            columns = space.columns(chosen)
            parts = space.rated_parts(chosen, columns)
            self.path_ = space.joined
        if attempt.error:
            self._keep_originals()
            parts, columns = [], space.base
        self.parts_ = parts
        self.originals_ = space.originals
        self._fit_model(search.estimator, problem, columns, space.undefined_shares(parts))
        path = () if self.path_ is None else self.path_.features
        self.path_stability_ = search.stability(path)
        self.stability_ = search.stability(self.features_)
        small = problem.table.matrix.nbytes <= _MAX_KEPT_BYTES
        self._training: Problem | None = problem if small else None

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
        self.model_ = fit_estimator(estimator, columns, problem.y, problem.weights)
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

    def _notify(self, event: dict[str, Any]) -> None:
        """Log what was tried where `verbose` asks for it; a subclass may show it instead.

        The dict has method, stage, seconds, best_method, best_score and baseline.
        """
        if self.verbose:
            _logger.warning(
                "%.1f s, %s, %s: best so far %s, %s %.4f (original columns %.4f)",
                event["seconds"],
                event["method"],
                event["stage"],
                event["best_method"],
                self.scoring_,
                event["best_score"],
                event["baseline"],
            )

    # Fewer formulas -----------------------------------------------------------------------------

    def limit(
        self, n_formulas: int, X: Any = None, y: Any = None, sample_weight: Any = None
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
        problem = self._training_rows(X, y, sample_weight)
        limited = copy(self)
        limited._keep_formulas(n_formulas, problem)
        return limited

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, asked_by: str = "limit"
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
        table = self.reader_.read(self, X)
        n_rows = len(table.matrix)
        asked = "regression" if self.task_ == "regression" else "classification"
        target = read_target(y, n_rows, self.estimator, asked)
        weights = check_weights(sample_weight, n_rows)
        task = Task(self.task_, 1, self.max_size, self.n_jobs)
        return Problem(table, target.labels, target.codes, weights, task, None)

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
        self, max_terms: int = 20, X: Any = None, y: Any = None, sample_weight: Any = None
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
        problem = self._training_rows(X, y, sample_weight, "to_additive")
        if problem.y.ndim > 1:
            raise ValueError(
                f"The target has {problem.y.shape[1]} columns, but a sum of terms predicts one: "
                "fit one AutoFeatures for each."
            )
        path = getattr(self, "path_", None)
        additive = copy(self)
        with few_threads(self.n_jobs, problem.table.matrix.size):
            additive.originals_, chosen = select_terms(
                self.originals_, () if path is None else path.features, problem, max_terms
            )
            additive._keep_terms(chosen, problem)
        return additive

    def _keep_terms(self, chosen: list[Feature], problem: Problem) -> None:
        """Keep some formulas beside the original columns, and a linear model."""
        columns = self.originals_.compute(np.asarray(problem.table.matrix, np.float64))
        undefined = np.zeros(columns.shape[1])
        self.parts_, self.best_method_ = [], ORIGINAL.label
        if chosen:
            part = learn_part("additive", "formula", problem.table, features=chosen)
            columns = np.hstack([columns, part.compute(problem.table)])
            undefined = np.concatenate([undefined, part.undefined(problem.table)])
            self.parts_ = rate_formulas([part], columns, problem.target)
            self.best_method_ = part.method
        # The order of formulas goes with all original columns.
        self.path_, self.path_stability_ = None, np.zeros(0)
        self._fit_model(standard_estimator("linear", self.task_), problem, columns, undefined)
        self.stability_ = np.zeros(len(self.features_))
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

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the training rows, which are no part of a model."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_training"}

    # Telling ------------------------------------------------------------------------------------

    def summary(self, width: int = 100) -> str:
        """Return what was found, as text to print: what the command line shows.

        Parameters
        ----------
        width : int, default=100
            Characters of a line.

        Returns
        -------
        str
            The verdict, scores before and after, the best formulas, the score by number of
            formulas, methods that looked better, and columns that were left out.

        Examples
        --------
        >>> import numpy as np
        >>> from featurewright import AutoFeatures
        >>> X = np.random.default_rng(0).normal(size=(300, 4))
        >>> y = X[:, 0] * X[:, 1] > 0
        >>> auto = AutoFeatures(methods="batch", effort="quick", random_state=0).fit(X, y)
        >>> print(auto.summary())  # doctest: +ELLIPSIS
        Use the new features: ...
        """
        check_is_fitted(self)
        kept: Problem | None = getattr(self, "_training", None)
        summary = summarize(self, None if kept is None else kept.y)
        return as_text(result_blocks(summary, python=True), width)

    # Using --------------------------------------------------------------------------------------

    def _columns(self, X: Any) -> NDArray[np.float64]:
        """Return the output as an array, whatever `set_output` asks for."""
        check_is_fitted(self)
        table = self.reader_.read(self, X)
        base = self.originals_.compute(np.asarray(table.matrix, np.float64))
        return np.hstack([base, *(part.compute(table, self.n_jobs) for part in self.parts_)])

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the original columns as numbers, and the constructed ones.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows, with the columns seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            Finite numbers; `columns_` and `get_feature_names_out` describe them.
        """
        return self._columns(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names seen in `fit`.

        Returns
        -------
        ndarray of str
            Original columns, and the formulas of the others or their short names.
        """
        check_is_fitted(self)
        if input_features is not None:
            check_input_names(self.reader_.input_schema, input_features)
        # Files of earlier versions have no short names.
        mapping: dict[str, str] = getattr(self, "feature_mapping_", {})
        short = {name: own for own, name in mapping.items()}
        names = [short.get(column.name, column.name) for column in self.columns_]
        return np.array(names, dtype=object)

    @available_if(_model_has("predict"))
    @takes_collections
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the estimator fitted on the output for all training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        columns = self._columns(X)
        return np.asarray(self.model_.predict(columns))

    @available_if(_model_has("predict"))
    def score(self, X: Any, y: Any) -> float:
        """Return the score of the predictions by `scoring_`: higher is better.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their true targets.

        Returns
        -------
        float
            The score.
        """
        scorer = self.scoring if callable(self.scoring) else get_scorer(self.scoring_)
        return float(scorer(self.model_, self._columns(X), y))

    @available_if(_model_has("predict_proba"))
    @takes_collections
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class, or of each label, with the estimator.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probabilities.
        """
        columns = self._columns(X)
        return probabilities(self.model_, columns)
