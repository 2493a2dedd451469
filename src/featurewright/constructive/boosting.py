"""Boosting over constructed expressions: AdaBoost.MH, and second-order gradient boosting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin

from featurewright.constructive.automatic import (
    CLASSES,
    EARLY_ROWS,
    MOST_LEAVES,
    NUMBERS,
    PILOT_RATE,
    PILOT_ROUNDS,
    FewRows,
    Rows,
    choose_leaves,
)
from featurewright.constructive.losses import AdaBoostMH, LogLoss, Loss, SquaredError
from featurewright.constructive.rounds import Rounds
from featurewright.engine.forest import join
from featurewright.engine.growth import Job, shares_bins
from featurewright.engine.histograms import bin_columns
from featurewright.estimators.base import (
    ConstructiveLearner,
    center_and_scale,
    from_units,
    in_units,
    plain_weights,
)
from featurewright.estimators.construction import (
    VOTE_HALVING_ROWS,
    Construction,
    Limits,
    make_settings,
    plan_construction,
)
from featurewright.estimators.parameters import (
    Parameter,
    choice,
    documented,
    keep_arguments,
    optional,
    real,
    rows,
    whole,
    whole_or_auto,
    within,
)
from featurewright.estimators.progress import compilation_notice, progress
from featurewright.estimators.publications import cited
from featurewright.estimators.shared_parameters import (
    CLASS_WEIGHT,
    FITTED,
    GROWTH,
    MAX_FEATURES,
    OUTPUT,
    RUNNING,
    SEARCH,
    check_budget_or_auto,
    check_raw_columns,
    worded,
)
from featurewright.tables import (
    MultiTarget,
    apply_class_weight,
    check_weights,
    read_classes,
    read_numbers,
)

_STUMP_DEPTH = 1
_LEAST_ROWS = 10
# Candidates of a node, by columns and by their root: benchmarks/boosting_budget.py measures this.
_COLUMN_BUDGET, _ROOT_BUDGET = 10, 20
_FEW_ROUNDS = 100
_TOTAL_RATE, _LARGEST_RATE = 15.0, 0.1  # the more rounds, the smaller their steps
BOOSTED = (
    """
n_iter_ : int
    Rounds kept.
train_score_, validation_score_ : ndarray
    Loss on the training rows and on those held out, before and after each round; the second is
    empty without early stopping.
"""
    + FITTED
)


class BoostedTrees(ConstructiveLearner):
    """Grow trees one after the other, each on what those before it got wrong."""

    _parameters: ClassVar = {
        "n_estimators": Parameter(
            'int or "auto"',
            """
            Largest number of rounds. With fewer than 10,000 rows, "auto" is 300 for classes and 600
            for numbers; with more rows, and for "adaboost_mh", it is 100. With the log loss a round
            grows one tree for each of three or more classes.
            """,
            whole_or_auto(1),
        ),
        "learning_rate": Parameter(
            "float",
            """
            Factor by which the contribution of each tree is multiplied: by default 15 divided by
            the number of rounds, at most 0.1; 1 for "adaboost_mh".
            """,
            optional(real(above=0.0)),
        ),
        **SEARCH,
        "budget": Parameter(
            "int or str",
            """
            Score calls at each node; "10n" stands for ten times the number of columns. "auto" is
            "10n" for up to four columns and twenty times the root of their number for more; always
            "10n" for "adaboost_mh".
            """,
            check_budget_or_auto,
        ),
        "max_features": worded(
            MAX_FEATURES,
            """
            Raw columns that a node tries besides expressions. None stands for all, and for none
            with a search and "adaboost_mh".
            """,
        ),
        **GROWTH,
        "max_depth": worded(
            GROWTH["max_depth"],
            'Largest depth of a tree; 3 by default for "adaboost_mh", where 1 grows stumps.',
        ),
        "max_leaf_nodes": worded(
            GROWTH["max_leaf_nodes"],
            """
            Most leaves of a tree; the best nodes are split first. By default 31; for fewer than
            10,000 rows of classes one for 100 rows, divided among the trees of a round, but at
            least 8; of numbers 8, 16 or 31, whichever errs least on rows held out from 100 rounds,
            and one for 40 rows, but at least 12, where `n_estimators`, `max_depth` or `max_time`
            is given; no limit for "adaboost_mh".
            """,
        ),
        "min_samples_leaf": Parameter(
            "int or float",
            """
            Rows, or share of rows, on each side of a split: 20 by default, 5 for numbers with fewer
            than 10,000 rows, 1 for "adaboost_mh".
            """,
            optional(rows(1)),
        ),
        "halving": worded(
            GROWTH["halving"],
            """
            Rows of the sample on which a large node scores its candidates first; only the better
            ones are scored on more. None scores all candidates on all rows. "auto" begins with 256
            rows, with "adaboost_mh" with 4,096.
            """,
        ),
        "f_to_enter": Parameter(
            "float",
            """
            F statistic that a split needs: its gain divided by the average gain of a useless test,
            which is the mean square of the node's residuals. Rounds end when no root is split. The
            default accounts for the choice among a node's candidates: it is the logarithm of their
            number, times 1.8 for classes and 0.35 for numbers if there are very few rows. It falls
            linearly to 0 at 10,000 rows; from there on, all splits with a gain are made. Not for
            "adaboost_mh".
            """,
            optional(real(least=0.0)),
        ),
        "l2": Parameter(
            "float", 'Weight of the squared leaf values; not for "adaboost_mh".', real(least=0.0)
        ),
        "subsample": Parameter(
            "float",
            "Share of the rows drawn, without replacement, for each round.",
            within("(0, 1]"),
        ),
        "early_stopping": Parameter(
            'bool or "auto"',
            """
            Whether to hold rows out and stop when their loss no longer drops. "auto" does so from
            10,000 rows on, but never with "adaboost_mh", whose error keeps dropping long after its
            loss on held-out rows has begun to rise.
            """,
            choice(True, False, "auto"),
        ),
        "validation_fraction": Parameter("float", "Share of the rows held out.", within("(0, 1)")),
        "n_iter_no_change": Parameter(
            "int", "Rounds without a lower loss after which to stop.", whole(1)
        ),
        **OUTPUT,
        **RUNNING,
    }

    # Growing ------------------------------------------------------------------------------------

    def _check_combinations(self) -> None:
        check_raw_columns(self)

    @property
    def _votes(self) -> bool:
        """Whether the loss is that of AdaBoost.MH."""
        return self.loss == "adaboost_mh"

    def _few_rows(self, n_rows: int) -> FewRows | None:
        """Return the defaults for few rows, or None where there are more, or votes."""
        if n_rows >= EARLY_ROWS or self._votes:
            return None
        return CLASSES if hasattr(self, "class_weight") else NUMBERS

    def _most_rounds(self, n_rows: int) -> int:
        """Return the most rounds for a number of rows."""
        if not isinstance(self.n_estimators, str):
            return int(self.n_estimators)
        few = self._few_rows(n_rows)
        return few.n_rounds if few else _FEW_ROUNDS

    def _step(self, n_rounds: int) -> float:
        """Return the factor of what each tree adds."""
        if self.learning_rate is not None:
            return float(self.learning_rate)
        return 1.0 if self._votes else min(_TOTAL_RATE / n_rounds, _LARGEST_RATE)

    def _limits(self, n_rows: int, n_trees: int = 1) -> Limits:
        """Return the limits of growing the trees of a round, by the loss and the rows."""
        depth, leaves, rows = self.max_depth, self.max_leaf_nodes, self.min_samples_leaf
        halving, few = self.halving, self._few_rows(n_rows)
        if self._votes:
            depth = 3 if depth is None and leaves is None else depth
            rows = 1 if rows is None else rows
            halving = (
                VOTE_HALVING_ROWS if isinstance(halving, str) and halving == "auto" else halving
            )
        else:
            most, leaf_rows = MOST_LEAVES, 20
            if few is not None:
                most = few.n_leaves(n_rows, n_trees)
                leaf_rows = few.leaf_rows
            leaves = most if leaves is None and depth is None else leaves
            rows = leaf_rows if rows is None else rows
        return Limits.of(
            self, max_depth=depth, max_leaf_nodes=leaves, min_samples_leaf=rows, halving=halving
        )

    def _wanted_budget(self) -> int | str:
        """Return the budget, which may depend on the loss."""
        if not isinstance(self.budget, str) or self.budget != "auto":
            return self.budget
        n_columns = self._schema.n_columns
        if self._votes:  # as published
            return _COLUMN_BUDGET * n_columns
        return min(_COLUMN_BUDGET * n_columns, int(_ROOT_BUDGET * sqrt(n_columns)))

    def _boost(
        self,
        matrix: npt.NDArray[np.float32],
        operators: Any,
        make_loss: Callable[[npt.NDArray[np.int64]], Loss],
        weights: npt.NDArray[np.float64],
        labels: npt.NDArray[np.int32] | None,
    ) -> Self:
        """Grow the rounds; `make_loss` returns the loss of some of the rows."""
        construction = plan_construction(
            self, self._schema, operators, "all", budget=self._wanted_budget()
        )
        if self.max_features is None and not self._votes and self.search is not None:
            # Gradient boosting has few trees to find a plain column by chance.
            construction = replace(construction, n_raw=self._schema.n_columns)
        self._construction: Construction = construction
        self._seed = self._draw_seed()
        kept, held = self._hold_out(weights, labels)
        n_rows = len(weights)
        n_rounds = self._most_rounds(n_rows)
        make = partial(self._make_rounds, matrix, make_loss)

        def loss_of(rows: Rows, others: Rows, n_leaves: int) -> float:
            pilot = make(rows, others, n_rounds=PILOT_ROUNDS, rate=PILOT_RATE, n_leaves=n_leaves)
            pilot.run(lambda done: None)
            return min(pilot.held)

        with (
            compilation_notice(),
            progress(n_rounds, "boosting", verbose=self.verbose) as on_done,
        ):
            n_leaves = None
            if self._tries_sizes(n_rows):
                n_leaves = choose_leaves(kept[weights[kept] > 0], self._seed, loss_of)
            step = self._step(n_rounds)
            rounds = make(kept, held, n_rounds=n_rounds, rate=step, n_leaves=n_leaves)
            rounds.run(on_done)
        loss = rounds.loss
        self.n_scores_, self._groups = loss.n_scores, loss.n_groups
        self._start = loss.start()
        self.train_score_ = np.array(rounds.train)
        self.validation_score_ = np.array(rounds.held)
        self.n_iter_ = len(rounds.trees) // loss.n_groups
        self.forest_ = join(rounds.trees)
        self._note_features(matrix, weights)
        return self

    def _tries_sizes(self, n_rows: int) -> bool:
        """Whether trees of several sizes are tried first: for few rows of numbers.

        Not where rounds or sizes are asked for, or the time is limited.
        """
        asked = (self.max_leaf_nodes, self.max_depth, self.max_time)
        is_free = isinstance(self.n_estimators, str) and asked == (None, None, None)
        return is_free and self._few_rows(n_rows) is NUMBERS

    def _make_rounds(
        self,
        matrix: npt.NDArray[np.float32],
        make_loss: Callable[[Rows], Loss],
        kept: Rows,
        held: Rows | None,
        *,
        n_rounds: int,
        rate: float,
        n_leaves: int | None,
    ) -> Rounds:
        """Return rounds that grow on some rows, and watch others where there are any."""
        construction, n_rows = self._construction, len(matrix)
        loss, watched = make_loss(kept), None if held is None else make_loss(held)
        few = self._few_rows(n_rows)
        enter = self.f_to_enter
        if enter is None:
            candidates = construction.budget + construction.n_raw
            enter = few.f_to_enter(n_rows, candidates) if few else 0.0
        limits = self._limits(n_rows, loss.n_groups)
        settings = make_settings(
            limits if n_leaves is None else replace(limits, max_leaf_nodes=n_leaves),
            construction,
            len(kept),
            l2=0.0 if self._votes else self.l2,
            f_to_enter=0.0 if self._votes else enter,
            level_sets=int(not self._votes),
            **loss.scoring,
        )
        inner = matrix if held is None else matrix[kept]
        outer = None if held is None else matrix[held]
        columns = np.ascontiguousarray(inner.T)
        many = few is None and shares_bins(settings, columns)
        job = Job(
            matrix=inner,
            columns=columns,
            bins=bin_columns(inner) if many else None,
            target=loss.targets(np.zeros((loss.n_scores, len(kept))))[0],
            settings=settings,
            grammar=construction.grammar,
            users=construction.compiled.functions(np.float32),
            width=construction.width,
            leaf=loss.leaf,
            n_values=loss.n_scores if loss.n_groups == 1 else 1,
        )
        return Rounds(
            job,
            loss,
            watched=watched,
            outer=outer,
            n_rounds=n_rounds,
            rate=rate,
            learner=self,
            seed=self._seed,
        )

    def _hold_out(
        self, weights: npt.NDArray[np.float64], labels: npt.NDArray[np.int32] | None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
        """Return the rows to grow on and those to hold out; rows of no weight are neither."""
        n_rows = len(weights)
        stop = self.early_stopping
        if stop == "auto":
            stop = n_rows >= EARLY_ROWS and not self._votes
        rows = np.flatnonzero(weights > 0)
        if not stop:
            return np.arange(n_rows), None
        n_held = max(1, int(self.validation_fraction * len(rows)))
        if len(rows) < _LEAST_ROWS:
            raise ValueError(
                f"early_stopping=True holds out validation_fraction={self.validation_fraction!r} "
                f"of the rows, but there are only {len(rows)}; use early_stopping=False with "
                f"fewer than {_LEAST_ROWS}."
            )
        # Held-out rows have every class where the classes are large enough for that.
        counts = np.bincount(labels[rows]) if labels is not None else np.zeros(1, np.int64)
        counts = counts[counts > 0]
        even = labels is not None and counts.min() > 1 and n_held >= len(counts)
        # Imported where it is used: it takes a tenth of a second.
        from sklearn.model_selection import train_test_split

        kept, held = train_test_split(
            rows,
            test_size=n_held,
            random_state=self._seed,
            stratify=labels[rows] if even and labels is not None else None,
        )
        return np.sort(kept), np.sort(held)

    # Predicting ---------------------------------------------------------------------------------

    def _raw(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the raw scores of each row."""
        matrix = self._read_rows(X)
        users = self._construction.compiled.functions(np.float32)
        return self._start + self.forest_.sum_values(matrix, users, self.n_jobs, self._groups)

    def _staged_raw(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Yield the raw scores of each row after each round."""
        matrix = self._read_rows(X)
        users = self._construction.compiled.functions(np.float32)
        raw = np.tile(self._start, (len(matrix), 1))
        for first in range(0, self.forest_.n_trees, self._groups):
            step = self.forest_.trees(first, first + self._groups)
            raw = raw + step.sum_values(matrix, users, self.n_jobs, self._groups)
            yield raw


@documented(
    attributes=BOOSTED,
    publication=cited(
        "monte_carlo",
        """
`featurewright.published("monte_carlo_stumps")` and `published("monte_carlo_boosting")` have the
settings of the publication: AdaBoost.MH (`loss="adaboost_mh"`) with 1,000 stumps or trees of depth
3, ten candidates for each column, all of them scored on all rows of their node (`halving=None`),
and no raw columns besides. The log loss, which is the default, and its limits are not from the
publication.
""",
    ),
)
class ConstructiveBoostingClassifier(ClassifierMixin, BoostedTrees):
    """Boosted trees whose nodes test raw columns and expressions searched on their own rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    {attributes}

    {publication}

    Examples
    --------
    >>> from featurewright import ConstructiveBoostingClassifier
    >>> from featurewright.datasets import make_ringnorm
    >>> X, y = make_ringnorm(300, random_state=0)
    >>> model = ConstructiveBoostingClassifier(50, random_state=0).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.85
    True
    """

    _parameters: ClassVar = {
        "loss": Parameter(
            "str",
            """
            "log_loss", second-order gradient boosting (the default), or "adaboost_mh".
            """,
            choice("log_loss", "adaboost_mh", None),
        ),
        "class_weight": CLASS_WEIGHT,
    }

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        loss: str | None = None,
        learning_rate: float | None = None,
        search: str | None = "random",
        budget: int | str = "auto",
        max_size: int = 5,
        operators: Any = None,
        sampling: str = "symbol",
        max_features: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | None = None,
        min_gain: float = 0.0,
        f_to_enter: float | None = None,
        l2: float = 1.0,
        subsample: float = 1.0,
        halving: int | str | None = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight: Any = None,
        n_features_out: int = 50,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the rounds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted learner.
        """
        self._check_parameters()
        matrix, operators = self._read_table(X)
        n_rows = len(matrix)
        target = read_classes(y, n_rows)
        if isinstance(target, MultiTarget):
            raise ValueError(
                f"y has {target.codes.shape[1]} columns, but boosting takes one; use a forest, or "
                "scikit-learn's MultiOutputClassifier."
            )
        self.classes_ = target.classes
        if len(target.classes) < 2:
            raise ValueError(
                "y has one class only, but boosting needs two or more classes: "
                f"{target.classes.tolist()[0]!r} is the only label."
            )
        weights = apply_class_weight(
            self.class_weight, target, check_weights(sample_weight, n_rows)
        )
        row_weights = plain_weights(weights, n_rows)

        def make_loss(rows: npt.NDArray[np.int64]) -> Loss:
            codes, n_classes = target.codes[rows], len(target.classes)
            if self._votes:
                stumps = self._limits(n_rows).max_depth == _STUMP_DEPTH
                return AdaBoostMH(codes, n_classes, row_weights[rows], stumps=stumps)
            return LogLoss(codes, n_classes, row_weights[rows])

        return self._boost(matrix, operators, make_loss, row_weights, target.codes)

    def _shares(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return class probabilities from raw scores."""
        if self._votes:
            shares = expit(2 * raw)
            return shares / shares.sum(axis=1, keepdims=True)
        if self.n_scores_ == 1:
            second = expit(raw)
            return np.hstack([1 - second, second])
        return softmax(raw, axis=1)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the raw scores.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, the score of the second one.
        """
        raw = self._raw(X)
        if len(self.classes_) == 2:
            return raw[:, 0] if self.n_scores_ == 1 else raw[:, 1] - raw[:, 0]
        return raw

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._shares(self._raw(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Predict probabilities after each round.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        for raw in self._staged_raw(X):
            yield self._shares(raw)

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict classes after each round.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        ndarray of shape (n_samples,)
            The classes.
        """
        for shares in self.staged_predict_proba(X):
            yield self.classes_[np.argmax(shares, axis=1)]


@documented(
    attributes=BOOSTED,
    publication=cited(
        "monte_carlo",
        """
The publication treats only classes, and boosts by AdaBoost.MH.
""",
    ),
)
class ConstructiveBoostingRegressor(RegressorMixin, BoostedTrees):
    """Boosted regression trees whose nodes test raw columns and searched expressions.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    {publication}

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import ConstructiveBoostingRegressor
    >>> X = np.random.default_rng(0).uniform(1, 2, size=(300, 3))
    >>> y = X[:, 0] / X[:, 2]
    >>> model = ConstructiveBoostingRegressor(50, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.98
    True
    """

    _parameters: ClassVar = {
        "loss": Parameter("str", '"squared_error".', choice("squared_error", None))
    }

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        loss: str | None = None,
        learning_rate: float | None = None,
        search: str | None = "random",
        budget: int | str = "auto",
        max_size: int = 5,
        operators: Any = None,
        sampling: str = "symbol",
        max_features: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | None = None,
        min_gain: float = 0.0,
        f_to_enter: float | None = None,
        l2: float = 1.0,
        subsample: float = 1.0,
        halving: int | str | None = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_features_out: int = 50,
        include_original: bool = False,
        keep_missing: bool = False,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the rounds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The table: numbers, booleans and strings or categories; missing values are welcome.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self
            The fitted learner.
        """
        self._check_parameters()
        matrix, operators = self._read_table(X)
        n_rows = len(matrix)
        values = read_numbers(y, n_rows)
        if values.shape[1] > 1:
            raise ValueError(
                f"y has {values.shape[1]} columns, but boosting takes one; use a forest, or "
                "scikit-learn's MultiOutputRegressor."
            )
        weights = plain_weights(check_weights(sample_weight, n_rows), n_rows)
        values, self._unit = in_units(values)
        self._center, self._scale = center_and_scale(values, weights)
        scaled = ((values - self._center) / self._scale)[:, 0]

        def make_loss(rows: npt.NDArray[np.int64]) -> Loss:
            return SquaredError(scaled[rows], weights[rows])

        return self._boost(matrix, operators, make_loss, weights, None)

    def _unscale(self, raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return scores on the target's own scale."""
        return from_units(raw[:, 0] * self._scale[0] + self._center[0], self._unit)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._unscale(self._raw(X))

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Predict the target after each round.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        ndarray of shape (n_samples,)
            Predictions.
        """
        for raw in self._staged_raw(X):
            yield self._unscale(raw)
