"""`AutoFeatures`: better features for a table and a target."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.utils import ClassifierTags, RegressorTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from featurewright.auto.candidates import ORIGINAL, Candidate
from featurewright.auto.cross_check import score_estimators
from featurewright.auto.estimators import (
    check_cv,
    check_estimator,
    choose_estimator,
    few_threads,
    further_folds,
    is_boosting,
    is_linear,
    make_folds,
    probabilities,
    takes_categories,
)
from featurewright.auto.failures import Attempt
from featurewright.auto.links import (
    LAST_SEED,
    LinkSearch,
    keep_used,
    read_table,
    with_and_without,
)
from featurewright.auto.methods import LINKS, METHODS, chosen_methods, warm_up
from featurewright.auto.notebook import NotebookView, show_status, status_line
from featurewright.auto.parts import Part, compute_columns
from featurewright.auto.plan import EFFORTS
from featurewright.auto.reading import TableReader, learn_reader
from featurewright.auto.refits import Refits
from featurewright.auto.scoring import choose_scorer
from featurewright.auto.screening import MAX_COLUMNS, screen, screening_rows, without_rows
from featurewright.auto.search import Search
from featurewright.auto.summary import summarize, unexpected
from featurewright.auto.targets import TASKS, known_rows, read_target, take_rows
from featurewright.auto.tasks import Task
from featurewright.auto.text import as_text, result_blocks, told
from featurewright.auto.time_folds import (
    N_FOLDS,
    are_later,
    check_as_of,
    longest_delay,
    row_times,
    split_by_time,
)
from featurewright.auto.timing import Clock
from featurewright.auto.workspace import Problem, ValueStore, Workspace
from featurewright.estimators.collections import TakesCollections, takes_collections
from featurewright.estimators.parameters import (
    check_jobs,
    check_seed,
    check_verbose,
    flag,
    number,
    one_of,
    whole_number,
)
from featurewright.estimators.selection import indicator_target
from featurewright.expressions.automaton import MAX_SIZE
from featurewright.relations.links import check_links, names_of_rows
from featurewright.tables import (
    EncodedTable,
    check_groups,
    check_input_names,
    check_length,
    check_weights,
)

_logger = logging.getLogger("featurewright")
_MAX_KEPT_BYTES = 10**8  # of a training table that `limit` may use again
_NAMES = ("auto", "formula", "short")


def _model_has(method: str) -> Any:
    """Return a test of whether the fitted model has a method."""
    return lambda self: not hasattr(self, "model_") or hasattr(self.model_, method)


class AutoFeatures(NotebookView, TakesCollections, Refits, TransformerMixin, BaseEstimator):
    """Find columns that make an estimator better, prove it on held-out rows, and compute them.

    The methods of this package are run inside the folds of a cross-validation. Their formulas are
    improved and put in one order, and columns of other methods are added if that helps. If the
    result is clearly better than the original columns on held-out rows, it is fitted again on all
    rows; if not, only the original columns are kept.

    The effort, the other settings and the shape of the table alone decide what is tried. The same
    seed gives the same result on any machine, idle or busy, for any `n_jobs`.

    Tables may hold numbers, booleans, strings and categories, dates, times and durations, free
    text, and missing values. Columns that are constant, empty or look like identifiers are left
    out.

    Parameters
    ----------
    estimator : estimator, {"linear", "knn", "boosting"} or None, default=None
        The model that the features are for. None is "linear": logistic regression or ridge
        regression on standardised columns.
    effort : {"quick", "standard", "thorough"}, default="standard"
        How much is tried: rows, folds, methods, candidates.
    task : {"auto", "classification", "regression"}, default="auto"
        What the target is. "auto" follows the estimator if it is a classifier or a regressor.
        Otherwise text, categories, booleans and up to ten different whole numbers are classes;
        other targets are numbers.
    methods : {"all", "readable"}, str or list of str, default="all"
        What is tried: "forest", "batch", "fctree" and "boosting", which give formulas ("readable"),
        "landmarks", "scores", "votes", "formula votes", "paths", "formula paths", "recursive". With
        links, "links" is tried as well, and "labels" if the estimator takes categories.
    time_budget : float or None, default=None
        Seconds after which the search is cut short; None sets no limit. It may be exceeded by a
        tenth and by the time of one fit. A search that was cut short depends on how fast the
        machine is: `stopped_by_time_` is True and a warning says so. The first use after installing
        compiles the engine, which is not counted.
    n_features_out : int or None, default=None
        Largest number of constructed columns. By default the fewest whose held-out score is within
        one standard error of the best.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn. By default R2 for numbers, accuracy for classes (if one is rare,
        the area under the ROC curve for two classes, else balanced accuracy) and micro-averaged F1
        for several labels. With up to 3,000 rows, choices are compared by the mean of accuracy and
        a Brier score.
    cv : int, splitter, iterable or None, default=None
        Folds; None makes three for a quick search and five for others. A number makes shuffled
        folds that keep the shares of the classes, and that keep groups whole if `groups` are given;
        with up to 3,000 rows, or with links, the best few choices are then tried on further folds.
    links : list of Link, default=()
        Rows of other tables, earlier rows or groups of rows that explain the rows of the table.
        Features over them are searched in the training rows of each fold, are operands of all
        methods, and count as formulas. The table is also searched without links, and links are used
        only if the result is better. Numeric keys of other tables or of a history are not used as
        columns.
    as_of : str or None, default=None
        The column of the table with the time at which each row is predicted. Needed if a linked
        table has times. Unless `cv` is a splitter of your own, folds are then tested on later rows
        than they learn from. The recurring parts of this time become columns: month, day, weekday,
        hour.
    store_links : bool, default=False
        Whether model files hold the linked rows of the fit. Without them, a model from a file needs
        the tables: ``predict(X, links={"orders": orders})``.
    free_text : bool, default=True
        Whether columns of free text (sentences) are used: lengths, numbers of words, up to eight
        themes (main directions of hashed words and pairs of words), which have no SQL or ONNX form.
    max_size : int, default=5
        Largest number of symbols in a formula, not counting numbers. A weighted sum of columns has
        at most as many columns, and no more than five.
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
        Whether to tell what is tried: as one line that changes in a notebook, else in the log.

    Attributes
    ----------
    task_ : {"classification", "regression", "multilabel"}
        What the target was read as.
    classes_ : ndarray or list of ndarray
        The classes, where there are any.
    label_names_ : list of str or None
        The names of several labels: the columns of y, where it is a data frame.
    results_ : list of dict
        Every method tried, the original columns first: scores and gains by fold, time, number of
        constructed columns, status, and the reason where it was not finished, as text and as a
        code. The gains are those of the best columns of each method; see `gain_`.
    best_method_ : str
        What was kept; "original" keeps the original columns only.
    features_ : list of Feature
        The formulas among the constructed columns, by decreasing gain: the share of the target
        that each explains beyond the original columns and the formulas that explain more.
    front_ : list of dict
        Held-out score by number of formulas: n_formulas, score, score_std, gain, gain_std (standard
        errors), and whether it was chosen. Measured in the same folds for all numbers.
    stability_ : ndarray of shape (n_formulas,)
        For each of `features_`, the share of folds in which it, or a formula that ranks rows almost
        identically, was found again.
    path_ : Part or None
        The formulas of all methods in one order, of which `limit` takes the first; None where no
        method gives formulas.
    path_stability_ : ndarray
        The same share for each formula of `path_`.
    terms_ : list of dict
        If the model is linear, the terms that it adds up: formula, shape ("line", "bend", "step",
        or the kind of an original column), threshold, and a coefficient for each score.
    later_folds_ : bool
        Whether every fold was scored on rows later than those it learned from.
    stopped_by_time_ : bool
        Whether `time_budget` cut the search short.
    baseline_score_, score_ : float
        Mean held-out score with the original columns, and with what was kept.
    gain_, gain_std_ : float
        Difference of these two scores and its standard error, corrected for folds whose training
        rows overlap.
    gain_per_fold_ : ndarray
        For each fold, the gain of what the other folds would have chosen, so that choosing causes
        no bias. If the best few choices were tried on further folds, only those folds are included.
    scoring_ : str
        Name of the scorer.
    left_out_ : dict
        Columns that are not used, and why.
    estimator_scores_ : list of dict
        Held-out scores before and after, by fold, of the estimator and, on tables that are not
        too large, of the standard estimators; a quick search leaves the standard estimators out.
    columns_ : tuple of OutputColumn
        What `transform` gives.
    feature_mapping_ : dict of str to str
        What each short name of the output stands for; empty where names are formulas.
    reader_ : TableReader
        How a raw table becomes the table that features are made from.
    linked_ : LinkedColumns or None
        Computes the features over links that formulas use; None if no formula uses any.
    originals_ : Originals
        How the table that `reader_` returns becomes the original columns of the output.
    parts_ : list of Part
        The constructed columns, by method.
    model_ : estimator
        The estimator fitted on the output for all rows.
    report_ : InlineReport
        The whole report, which notebooks show at the end of a cell (`report` extra).
    profile_ : dict
        Describes the first columns of the output and their relation to the target, without columns
        of paths.
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
        links: Any = (),
        as_of: str | None = None,
        store_links: bool = False,
        free_text: bool = True,
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
        self.links = links
        self.as_of = as_of
        self.store_links = store_links
        self.free_text = free_text
        self.max_size = max_size
        self.feature_names = feature_names
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        task = getattr(self, "task_", self.task)
        given = self.estimator if isinstance(self.estimator, BaseEstimator) else None
        # Before the fit, the task is known if the user or the estimator says it.
        if task == "auto" and given is not None:
            task = "classification" if is_classifier(given) else task
            task = "regression" if is_regressor(given) else task
        if task in ("classification", "multilabel"):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif task == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
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
        self._fit(X, y, sample_weight, groups)
        return self

    def fit_transform(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> NDArray[np.float64]:
        """Search for columns that help, and return those of the training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, numbers, or 0 and 1 for each of several labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            What `transform` gives, but for statistics of groups over links: those leave out the
            row itself, and its target. Train other models on these.
        """
        problem, known = self._fit(X, y, sample_weight, groups)
        training = self._output(problem.table)
        if known is None:
            return training
        output = self._output(read_table(self, X, None))
        output[known] = training
        return output

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> tuple[Problem, NDArray[np.bool_] | None]:
        """Search; return the training rows as methods see them, and which rows have a target."""
        methods = self._check()
        if y is None:
            raise ValueError(
                "AutoFeatures requires y to be passed, but the target y is None; give classes or "
                "numbers."
            )
        clock = self._make_clock(self.time_budget)
        keys, row_clocks = names_of_rows(self.links, self.as_of)
        reader, table, left_out = learn_reader(
            self, X, free_text=self.free_text, keys=keys, times=row_clocks
        )
        for name, _, kind in reader.times if self.verbose else ():
            _logger.warning("Column %r is read as a %s.", name, kind.value)
        for name, _, _ in reader.texts if self.verbose else ():
            _logger.warning("Column %r is read as free text; free_text=False does not.", name)
        n_rows = len(table.matrix)
        weights, groups = check_weights(sample_weight, n_rows), check_groups(groups, n_rows)
        check_length(y, n_rows)
        known = known_rows(y, self.cv)
        if known is not None:
            table, n_rows = EncodedTable(table.matrix[known], table.schema), int(known.sum())
            y, weights, groups = (take_rows(given, known) for given in (y, weights, groups))
            if len(self.links) or self.as_of is not None:
                X = take_rows(X, known)
        target = read_target(y, n_rows, self.estimator, self.task)
        self.task_: str = target.task
        self.target_name_, self.label_names_ = target.name, target.label_names
        if target.classes is not None:
            self.classes_: Any = target.classes
        labels, codes = target.labels, target.codes
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max - 1000))
        n_outputs = 1 if codes.ndim == 1 else codes.shape[1]
        name, estimator = choose_estimator(self.estimator, self.task_, n_outputs, seed)
        self.scoring_, scorer = choose_scorer(self.scoring, estimator, self.task_, labels)
        self.reader_: TableReader = reader
        self.left_out_: dict[str, str] = left_out
        task = Task(
            self.task_,
            n_outputs,
            self.max_size,
            self.n_jobs,
            adds_up=is_linear(estimator),
            takes_numbers=not is_boosting(estimator),
            takes_categories=takes_categories(estimator),
            endless=reader.endless,
            corrects=estimator if is_boosting(estimator) else None,
        )
        effort = EFFORTS[self.effort]
        cv = effort.folds_for(boosting=task.corrects is not None) if self.cv is None else self.cv
        times = row_times(X, self.as_of, self.links)
        if times is not None and isinstance(cv, int | np.integer):
            n_folds = N_FOLDS if self.cv is None else whole_number("cv", cv, 2)
            cv = split_by_time(times, n_folds, groups, seed, longest_delay(self.links)) or cv
        self.later_folds_ = are_later(cv, self.cv)
        links = self._link_search(X, labels, groups) if len(self.links) else None
        folds = make_folds(cv, labels, groups, self.task_, seed, weights=weights)
        further = further_folds(
            *(cv, labels, groups, self.task_, seed),
            n_repetitions=effort.n_repetitions,
            weights=weights,
            of_any_size=links is not None,
        )
        if table.shape[1] > MAX_COLUMNS:
            rows = screening_rows(folds, n_rows, groups, seed)
            folds, further = without_rows(folds, rows), without_rows(further, rows)
            outputs = indicator_target(codes, self.task_)
            self.reader_, table, unused = screen(reader, table, outputs, rows)
            left_out |= unused
        clock.pause(lambda: warm_up(task, methods))
        with few_threads(self.n_jobs, table.matrix.size), status_line():
            make = partial(
                Search,
                Problem(table, labels, codes, weights, task, self.n_features_out),
                folds,
                further=further,
                estimator=estimator,
                scorer=scorer,
                seed=seed,
                effort=effort,
                clock=clock,
                store=ValueStore(),
                skips_slow=isinstance(self.methods, str) and self.methods not in METHODS,
            )
            return self._run(
                with_and_without(make, methods, links, estimator, self._hear), name, links
            ), known

    def _link_search(self, X: Any, labels: NDArray[Any], groups: Any) -> LinkSearch:
        """Return what finds columns over links in choices of the training rows."""
        return LinkSearch(
            self.links,
            self.as_of,
            X,
            labels,
            task=self.task_,
            groups=groups,
            effort=EFFORTS[self.effort],
            n_jobs=self.n_jobs,
            store_links=self.store_links,
            sampled=getattr(self, "_sampled", False),
        )

    _make_clock = Clock  # tests replace it with a clock that they control

    def _run(self, searches: Sequence[Search], name: str, links: LinkSearch | None) -> Problem:
        """Search, choose, and fit once more on all rows; return these as methods see them.

        With links the same table is searched without them too: a choice over links must be better
        than that.
        """
        search = searches[0]
        search.run()
        candidate, gains = search.leaderboard.decide()
        if links is not None and len(searches) > 1 and not search.stopped_by_time:
            flat = searches[1]
            for fold in search.folds:  # two searches take little more memory than one
                fold.release()
            flat.run()
            rival, rival_gains = flat.leaderboard.decide()
            if not search.leaderboard.beats(candidate, flat.leaderboard, rival):
                flat.leaderboard.note_beaten(LINKS, search.leaderboard)
                search, candidate, gains, links = flat, rival, rival_gains, None
        self._keep_results(search, candidate, gains)
        problem = self._refit(search, candidate, links)
        kept = ORIGINAL if self.best_method_ == ORIGINAL.label else candidate
        self.front_ = search.front(kept)
        self.estimator_scores_ = score_estimators(search, kept, name)
        self.stopped_by_time_ = any(tried.stopped_by_time for tried in searches)
        if self.stopped_by_time_:
            warnings.warn(
                f"The search was cut short by time_budget={self.time_budget:g}: the result depends "
                "on how fast this machine is; allow more time"
                + (", or use effort='quick'." if self.effort != "quick" else "."),
                UserWarning,
                stacklevel=5,
            )
        self._tell(unexpected(self))
        self._hear(
            {
                "method": self.best_method_,
                "stage": "done",
                "seconds": search.clock.spent,
                "best_method": self.best_method_,
                "best_score": self.score_,
                "baseline": self.baseline_score_,
                "n_folds": len(self.gain_per_fold_),
                "n_rows": len(problem.y),
            }
        )
        return problem

    def _check(self) -> list[str]:
        """Refuse parameters that make no sense; return the methods asked for."""
        one_of("effort", self.effort, tuple(EFFORTS))
        one_of("task", self.task, TASKS)
        if self.time_budget is not None:
            number("time_budget", self.time_budget, above=0.0)
        check_seed("random_state", self.random_state)
        check_verbose("verbose", self.verbose)
        check_cv("cv", self.cv)
        if self.n_features_out is not None:
            whole_number("n_features_out", self.n_features_out, 1, other="None")
        whole_number("max_size", self.max_size, 1, most=MAX_SIZE)
        one_of("feature_names", self.feature_names, _NAMES)
        check_jobs(self.n_jobs)
        check_estimator(self.estimator)
        check_links("links", self.links)
        check_as_of(self.as_of)
        flag("store_links", self.store_links)
        flag("free_text", self.free_text)
        return chosen_methods(self.methods, self.links)

    def _keep_results(
        self, search: Search, candidate: Candidate, gains: NDArray[np.float64]
    ) -> None:
        """Set the attributes that say what the search found."""
        leaderboard = search.leaderboard
        self._list_results(search)
        self.best_method_ = candidate.label
        # The last fold may have the original columns only: both means are over the same folds.
        base = leaderboard.proofs(ORIGINAL)[: len(gains) or None]
        self.baseline_score_ = float(np.mean(base)) if base else float("nan")
        self.gain_per_fold_ = gains if len(gains) else np.zeros(len(base))
        self.gain_ = float(self.gain_per_fold_.mean()) if base else 0.0
        self.gain_std_ = leaderboard.error(self.gain_per_fold_) if base else 0.0
        self.score_ = self.baseline_score_ + self.gain_

    def _list_results(self, search: Search) -> None:
        """Set what became of each method."""
        self.results_: list[dict[str, Any]] = search.leaderboard.results()
        for result in self.results_:
            # Several methods together may have been offered more columns than were asked for.
            result["n_features"] = min(
                result["n_features"], self.n_features_out or result["n_features"]
            )

    def _keep_originals(self) -> None:
        """Set the attributes of a search that keeps the original columns only."""
        self.best_method_ = ORIGINAL.label
        self.gain_, self.gain_std_, self.score_ = 0.0, 0.0, self.baseline_score_
        self.gain_per_fold_ = np.zeros(len(self.gain_per_fold_))

    def _refit(self, search: Search, candidate: Candidate, links: LinkSearch | None) -> Problem:
        """Construct and fit once more, on all rows; return these as methods see them."""
        problem, linked = search.problem, None
        if links is not None:
            problem, linked = links.whole(problem, LAST_SEED)
        sample = problem.sample(candidate.methods, LAST_SEED)
        space = Workspace(sample, LAST_SEED, search.store, search.effort)
        originals = space.originals_for(search.estimator)
        parts: list[Part] = []
        self.path_: Part | None = None
        with Attempt(f"{candidate.label!r} on all rows") as attempt:
            search.construct(space, [candidate, *search.longest_path()], is_last=True)
            chosen = space.select(candidate)
            parts = space.rated_parts(chosen, space.columns(chosen))
            columns: Any = space.columns(chosen, originals)
            self.path_ = space.joined
        if attempt.error:
            self._keep_originals()
            search.leaderboard.records[candidate.label].outcome = attempt.outcome
            self._list_results(search)
            parts, columns = [], space.columns([], originals)
        self.parts_, self.originals_ = parts, originals
        shares = [part.undefined(sample.table) for part in parts]
        if sample is not problem:
            del space, columns  # all rows take their place
            originals = self.originals_ = problem.originals(search.estimator)
            columns = compute_columns(originals, parts, problem.table, self.n_jobs, np.float32)
        undefined = np.concatenate([np.zeros(len(self.originals_.columns)), *shares])
        self._fit_model(search.estimator, problem, columns, undefined)
        path = () if self.path_ is None else self.path_.features
        self.path_stability_ = search.stability(path, problem.table)
        self.stability_ = search.stability(self.features_, problem.table)
        needed = [*self.parts_, *([] if self.path_ is None else [self.path_])]
        self.linked_ = keep_used(linked, needed, problem.own.shape[1])
        small = problem.table.matrix.nbytes <= _MAX_KEPT_BYTES
        self._training = problem if small else None
        return problem

    def _tell(self, sentences: list[str]) -> None:
        """Log what a user should know unasked; the command line shows it with the results."""
        for sentence in sentences:
            _logger.warning("%s", sentence)

    def _hear(self, event: dict[str, Any], where: str = "") -> None:
        """Pass on what a search says, with which search it is and the name of the scorer."""
        self._notify({**event, "stage": event["stage"] + where, "scoring": self.scoring_})

    def _notify(self, event: dict[str, Any]) -> None:
        """Tell what was tried where `verbose` asks for it; a subclass may show it instead.

        The dict has method, stage, seconds, best_method, best_score, baseline, the numbers of folds
        and training rows that these scores are of (n_folds, n_rows), and scoring.
        """
        text = f"{event['seconds']:.1f} s, {told(event)}"
        if self.verbose and not show_status(text):
            _logger.warning("%s", text)

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
        return as_text(result_blocks(summarize(self), python=True), width)

    # Using --------------------------------------------------------------------------------------

    def _columns(self, X: Any, links: Any = None) -> NDArray[np.float64]:
        """Return the output as an array, whatever `set_output` asks for."""
        check_is_fitted(self)
        return self._output(read_table(self, X, links))

    def _output(self, table: EncodedTable) -> NDArray[np.float64]:
        """Return the output for rows as methods see them."""
        return np.asarray(compute_columns(self.originals_, self.parts_, table, self.n_jobs))

    def transform(self, X: Any, links: Any = None) -> NDArray[np.float64]:
        """Return the original columns as numbers, and the constructed ones.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows, with the columns seen in `fit`.
        links : dict of str to data frame, optional
            Newer linked tables, by the names of their links; others are those of the fit. For a
            history, its earlier rows.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            Finite numbers; `columns_` and `get_feature_names_out` describe them.
        """
        return self._columns(X, links)

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
    def predict(self, X: Any, links: Any = None) -> NDArray[Any]:
        """Predict with the estimator fitted on the output for all training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        links : dict of str to data frame, optional
            Newer linked tables.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        columns = self._columns(X, links)
        return np.asarray(self.model_.predict(columns))

    @available_if(_model_has("predict"))
    def score(self, X: Any, y: Any, links: Any = None) -> float:
        """Return the score of the predictions by `scoring_`: higher is better.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their true targets.
        links : dict of str to data frame, optional
            Newer linked tables.

        Returns
        -------
        float
            The score.
        """
        check_is_fitted(self)
        scorer = self.scoring if callable(self.scoring) else get_scorer(self.scoring_)
        return float(scorer(self.model_, self._columns(X, links), y))

    @available_if(_model_has("predict_proba"))
    @takes_collections
    def predict_proba(self, X: Any, links: Any = None) -> NDArray[np.float64]:
        """Predict the probability of each class, or of each label, with the estimator.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        links : dict of str to data frame, optional
            Newer linked tables.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Probabilities.
        """
        columns = self._columns(X, links)
        return probabilities(self.model_, columns)
