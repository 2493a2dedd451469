"""Features over links: search, and the transformer that computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from featurewright.engine.threads import local_threads
from featurewright.estimators.parameters import (
    DeclaredParameters,
    Parameter,
    choice,
    documented,
    flag,
    keep_arguments,
    number,
    one_of,
    whole,
    whole_number,
)
from featurewright.estimators.selection import indicator_target, left_over, pursue
from featurewright.estimators.shared_parameters import OUTPUT, RANDOM_STATE, RUNNING
from featurewright.expressions import Domain
from featurewright.relations.aggregates import (
    AGGREGATES,
    LinkFeature,
    LinkValues,
    SeenRows,
    Window,
)
from featurewright.relations.keys import KeyTable, Numbers, read_keys
from featurewright.relations.linked import (
    TableLayout,
    encode_columns,
    learn_layout,
    read_times,
)
from featurewright.relations.links import LinkKind, all_links, check_links, names_of_rows
from featurewright.relations.search import (
    auto_windows,
    base_candidates,
    conditions_of,
    explained,
    held_out_worth,
    least_worth,
    refined,
    seen_by_any,
    some_of,
)
from featurewright.relations.sources import (
    Source,
    learn_sources,
    newer_tables,
    refuse_array,
    unique_names,
    wrap_frame,
)
from featurewright.relations.targets import (
    TARGET,
    EarlierMeans,
    TargetColumns,
    known_from,
    learn_earlier_means,
    learn_means,
    least_gain,
    means_gain,
    out_of_fold,
)
from featurewright.tables import (
    ClassTarget,
    apply_table,
    check_groups,
    check_input_names,
    fit_table,
    holds_numbers,
    read_classes,
    read_numbers,
)

_N_FOLDS = 5  # of the targets of groups
_SCREEN_ROWS = 4_000  # rows that candidates are compared on, half of them to learn from
_MAX_ROWS = 10_000  # rows that the better ones are ordered on
_N_REFINED = 20  # candidates that variants are made of
_SIMPLICITY = 0.8  # what a feature must explain of what one explains that is a part longer
_ROWS_PER_FEATURE = 20  # training rows for each feature that is kept: few rows support few
_POOL = 4  # candidates that are ordered, for each feature asked for


@dataclass(frozen=True, eq=False)
class _Found:
    """A candidate, its worth in rows that it did not learn from, and its source."""

    feature: LinkFeature
    source: int
    worth: float


def _check_as_of(name: str, value: Any) -> None:
    """Check the name of a column of times."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name}={value!r} must be the name of a column of X, or None.")


def _check_aggregates(name: str, value: Any) -> None:
    """Check which aggregates are tried."""
    if isinstance(value, str):
        one_of(name, value, ("all",))
        return
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(
            f"{name}={value!r} must be 'all' or a list of aggregates, such as ['mean', 'count']."
        )
    for aggregate in value:
        one_of(name, aggregate, tuple(AGGREGATES))


def _check_windows(name: str, value: Any) -> None:
    """Check windows: "auto", None, or a list of days and of texts such as "10 rows"."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(
            f"{name}={value!r} must be 'auto', None, or a list of days and numbers of rows, such "
            "as [30, 90, '10 rows']."
        )
    for window in value:
        _window(window, has_dates=True)


def _window(value: Any, *, has_dates: bool) -> Window:
    """Return a window that a user wrote."""
    if isinstance(value, str):
        count, _, unit = value.partition(" ")
        if not count.isdigit() or unit not in ("row", "rows"):
            raise ValueError(f"windows holds {value!r}, but a text must be such as '10 rows'.")
        return Window(None, whole_number("windows", int(count), 1), has_dates)
    return Window(number("windows", value, above=0.0), None, has_dates)


@documented()
class RelationalFeatures(DeclaredParameters, TransformerMixin, BaseEstimator):
    """Find features of rows in the rows of other tables that belong to them.

    A feature is an aggregate (count, mean, trend, ...) of a value of the linked rows, possibly
    under a condition and within a window of time. Candidates are compared by what they explain of
    the target beyond the columns of the table, in rows that they were not learned from; variants of
    the best ones are tried next. What explains no more than chance would is not kept.

    A row never sees what was not known at its time: linked rows count only if their time is before
    the row's, rows of its own history only if they are strictly earlier, and a row is left out of
    the statistics of its own group. `fit_transform` gives training rows the mean target of their
    group over other folds, as scikit-learn's `TargetEncoder` does; use it, not `fit` and
    `transform`, for the rows that a model is trained on.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    features_ : tuple of LinkFeature
        The features over links, best first. Printing one gives its name.
    worth_ : ndarray
        For each of them the share of the target's variance, beyond the columns of the table, that
        it explained in training rows it was not learned from.
    n_candidates_ : int
        Candidates that were compared.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Their names, where the table had names.

    See Also
    --------
    Link : A link from rows to other rows.
    AutoFeatures : Finds formulas of the columns of one table.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from featurewright import Link, RelationalFeatures
    >>> rng = np.random.default_rng(0)
    >>> orders = pl.DataFrame(
    ...     dict(customer=rng.integers(0, 300, 3000), amount=rng.exponential(10, 3000))
    ... )
    >>> customers = pl.DataFrame(dict(customer=np.arange(300), age=rng.integers(18, 80, 300)))
    >>> spent = orders.group_by("customer").agg(pl.col("amount").sum())
    >>> y = customers.join(spent, on="customer", how="left")["amount"].fill_null(0) > 100
    >>> links = [Link(orders, on="customer", name="orders")]
    >>> features = RelationalFeatures(links, n_features_out=1, random_state=0).fit(customers, y)
    >>> print(features.features_[0])
    sum(orders.amount)
    """

    _parameters: ClassVar = {
        "links": Parameter(
            "list of Link", "Which rows belong to the rows of the table.", check_links
        ),
        "as_of": Parameter(
            "str",
            """
            The column of the table with the time at which each row is predicted. Needed where a
            linked table has times.
            """,
            _check_as_of,
        ),
        "aggregates": Parameter(
            '"all" or list of str',
            f"Computed of linked rows: {', '.join(AGGREGATES)}; labels are compared.",
            _check_aggregates,
        ),
        "windows": Parameter(
            '"auto", list or None',
            """
            How far back linked rows count, besides all of them: days (or units of a time that is a
            number), and texts such as "10 rows". "auto" tries 7, 30, 90 and 365 days and the last 3
            and 10 rows.
            """,
            _check_windows,
        ),
        "conditions": Parameter(
            "bool",
            "Whether features may count only linked rows with a level, or above the median.",
            flag,
        ),
        "n_features_out": Parameter(
            "int",
            """
            Largest number of features over links that `transform` computes; also at most one for
            every 20 training rows.
            """,
            whole(1),
        ),
        "max_order": Parameter(
            "int",
            """
            Aggregates that may be inside each other over nested links: 1 only looks columns up
            there, 2 also makes aggregates of aggregates, such as the mean over orders of the sum
            of their lines.
            """,
            whole(1, most=100),
        ),
        "include_original": Parameter(
            "bool",
            """
            Whether the columns of the table are in the result too: all but times of rows, and
            numbers that are keys of other tables or of a history, which say which row is meant, not
            what it is like. Where nothing is found they are in any case.
            """,
            flag,
        ),
        "keep_missing": OUTPUT["keep_missing"],
        "budget": Parameter("int", "Candidates that are compared.", whole(1, most=2**31 - 1)),
        "task": Parameter(
            '{"auto", "classification", "regression"}',
            """
            What the target is. "auto" takes numbers for a quantity where some are not whole, else
            for classes.
            """,
            choice("auto", "classification", "regression"),
        ),
        "search": Parameter(
            '{"halving", "exhaustive"}',
            """
            Whether candidates are compared on a sample of rows first and the better ones on more,
            or all of them on all rows.
            """,
            choice("halving", "exhaustive"),
        ),
        "store_links": Parameter(
            "bool",
            """
            Whether a model file holds the linked rows of the fit. Without them `transform` of a
            loaded model has to be given tables: ``transform(X, links={"orders": orders})``.
            Statistics of groups and of their targets are stored in any case.
            """,
            flag,
        ),
        "random_state": RANDOM_STATE,
        "n_jobs": RUNNING["n_jobs"],
    }

    def __init__(
        self,
        links: Any = (),
        *,
        as_of: str | None = None,
        aggregates: Any = "all",
        windows: Any = "auto",
        conditions: bool = True,
        max_order: int = 2,
        n_features_out: int = 50,
        include_original: bool = True,
        keep_missing: bool = False,
        budget: int = 1000,
        task: str = "auto",
        search: str = "halving",
        store_links: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        keep_arguments(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Find features over the links.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_features)
            The rows, with their keys and times. Without links also an array.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, numbers or labels.
        groups : array-like of shape (n_samples,), optional
            Rows with the same label belong together: mean targets of training rows are those of
            other labels, and candidates are judged on rows of other labels than they learned from.

        Returns
        -------
        RelationalFeatures
            The fitted transformer.
        """
        self._search(X, y, groups)
        return self

    def fit_transform(self, X: Any, y: Any, groups: Any = None) -> npt.NDArray[np.float64]:
        """Find features, and compute those of the training rows without a look at themselves.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, numbers or labels.
        groups : array-like of shape (n_samples,), optional
            Rows with the same label belong together: mean targets of training rows are those of
            other labels, and candidates are judged on rows of other labels than they learned from.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            As `transform` gives it, but mean targets of groups are those of other folds, and a row
            is left out of the statistics of its own group.
        """
        return self._search(X, y, groups)

    def transform(self, X: Any, links: Mapping[str, Any] | None = None) -> npt.NDArray[np.float64]:
        """Compute the features of each row.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_features)
            The rows, with the columns seen in `fit`.
        links : dict of str to data frame, optional
            Newer linked tables, by the names of their links, nested ones too. Others are as in
            `fit`. For a history or a group, a table of rows as in `fit`; the targets of a history
            are in its column "target" ("target 0", "target 1", ... of several), where it has one.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            The original columns, unless `include_original` is off, and the features over links,
            best first. Undefined values are the feature's median in `fit`, or NaN with
            `keep_missing`.
        """
        check_is_fitted(self)
        frame, base = self._read_again(X)
        tables = self._check_tables(links)
        values = [base[:, self._shown]]
        if self.features_:
            values.append(self._compute_features(frame, tables))
        values += [means.look_up(frame) for means in self._groups]
        return self._finish(np.hstack(values))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns that `transform` computes.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of the columns of `fit`, for scikit-learn; others are refused.

        Returns
        -------
        ndarray of str
            Names such as ``mean(orders.amount, last 90 days)``.
        """
        check_is_fitted(self)
        if input_features is not None:
            check_input_names(self._layout.schema, input_features)
        originals = [self._layout.schema.names[at] for at in self._shown]
        names = [*originals, *map(str, self.features_), *self._group_names]
        return np.array(unique_names(names), dtype=object)

    # Reading ------------------------------------------------------------------------------------

    def _read(self, X: Any) -> tuple[Any, Numbers]:
        """Read the training table; return it as a frame, and its columns as numbers."""
        if not nw.dependencies.is_into_dataframe(X):
            matrix, schema = fit_table(self, X, dtype=np.float64, order="C")
            self._layout = TableLayout(schema, {})
            refuse_array(self.links)
            return None, np.asarray(matrix, dtype=np.float64)
        frame = wrap_frame(X, "X", named=len(self.links) > 0)
        validate_data(self, X, reset=True, skip_check_array=True)
        self._layout = learn_layout(frame, set())
        return frame, encode_columns(frame, self._layout, "X")

    def _columns_by_themselves(self) -> npt.NDArray[np.int64]:
        """Return the columns that say something of a row, rather than which one it is, and when."""
        keys, times = names_of_rows(self.links, self.as_of)
        schema = self._layout.schema
        own = [
            at
            for at, (name, domain) in enumerate(zip(schema.names, schema.domains, strict=True))
            if name not in times and (name not in keys or domain == Domain.CATEGORY)
        ]
        return np.array(own, dtype=np.int64)

    @property
    def _shown(self) -> npt.NDArray[np.int64]:
        """The columns of the table that are in the output; all of them where there is no other."""
        every = np.arange(self._layout.schema.n_columns)
        # Models of earlier versions have all columns.
        own = getattr(self, "_own_columns", every) if self.include_original else every[:0]
        return own if self._n_columns or len(own) else every

    def _read_again(self, X: Any) -> tuple[Any, Numbers]:
        """Read a later table under the schema of the fit."""
        if not nw.dependencies.is_into_dataframe(X):
            refuse_array(self.links)
            rows = apply_table(self, self._layout.schema, X, dtype=np.float64)
            return None, np.asarray(rows, dtype=np.float64)
        frame = wrap_frame(X, "X", named=len(self.links) > 0)
        validate_data(self, X, reset=False, skip_check_array=True)
        return frame, encode_columns(frame, self._layout, "X")

    def _read_target(self, y: Any, n_rows: int) -> tuple[Numbers, TargetColumns]:
        """Return the target as columns of numbers, and what these are."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "features are found for a target."
            )
        if self.task == "regression" or (self.task == "auto" and holds_numbers(y)):
            target = indicator_target(read_numbers(y, n_rows), "regression")
            return target, _several(target.shape[1])
        classes = read_classes(y, n_rows)
        if not isinstance(classes, ClassTarget):
            target = np.asarray(classes.codes, dtype=np.float64)
            return target, _several(target.shape[1])
        target = indicator_target(classes.codes, "classification")
        labels = tuple(f"{TARGET} = {label}" for label in classes.classes.tolist())
        if len(labels) == 2:  # one says all
            target, labels = target[:, 1:], labels[1:]
        return target, TargetColumns((TARGET,), labels, classes.classes)

    # Searching ----------------------------------------------------------------------------------

    def _search(self, X: Any, y: Any, groups: Any) -> Numbers:
        """Find features; return those of the training rows."""
        self._check_parameters()
        frame, base = self._read(X)
        target, columns = self._read_target(y, len(base))
        labels = check_groups(groups, len(base))
        rng = check_random_state(self.random_state)
        self._sources: list[Source] = []
        seen: dict[int, SeenRows] = {}
        if frame is not None:
            self._sources = learn_sources(
                self.links, frame, target, columns, as_of=self.as_of, max_order=self.max_order
            )
            seen = {
                at: source.see(frame, self.as_of, training=True)
                for at, source in enumerate(self._sources)
            }
        usable = base[:, self._layout.schema.domains != Domain.CATEGORY]
        means = self._learn_groups(frame, target, columns, labels, rng)
        known = np.hstack([_filled(usable), _filled(means)])
        found = self._choose(target, known, seen, labels, rng)
        self.features_: tuple[LinkFeature, ...] = tuple(one.feature for one in found)
        self.worth_ = np.array([one.worth for one in found], dtype=np.float64)
        self._feature_sources = np.array([one.source for one in found], dtype=np.int64)
        self._n_columns = len(self.features_) + len(self._group_names)
        self._own_columns = self._columns_by_themselves()
        values = [base[:, self._shown]]
        if self.features_:
            values.append(_compute(found, self._sources, seen, self.n_jobs))
        matrix = np.hstack([*values, means])
        holes = np.isnan(matrix).all(axis=0)
        self._fill = np.zeros(matrix.shape[1])
        self._fill[~holes] = np.nanmedian(matrix[:, ~holes], axis=0)
        self._keep_statistics()
        return self._finish(matrix)

    def _keep_statistics(self) -> None:
        """Keep the statistics of groups, where they depend on the key alone, not their rows."""
        self._statistics: dict[int, KeyTable] = {}
        for at, source in enumerate(self._sources):
            if not source.is_group:
                continue
            rows = source.rows
            # The last key is one that nobody has.
            keys = np.append(np.arange(rows.index.n_keys), -1)
            mine = [
                _Found(feature, 0, 0.0)
                for feature, place in zip(self.features_, self._feature_sources, strict=True)
                if place == at
            ]
            if mine:
                seen = SeenRows(keys, *rows.spans(keys, None), None)
                table = _compute(mine, [source], {0: seen}, self.n_jobs)
                names = tuple(name for name, _ in source.link.keys)
                self._statistics[at] = KeyTable(names, rows.index, table[:-1], table[-1])
            self._sources[at] = source.without_rows()

    def _learn_groups(
        self, frame: Any, target: Numbers, columns: TargetColumns, labels: Any, rng: Any
    ) -> Numbers:
        """Learn the mean targets of groups; return those of training rows, out of fold."""
        n_rows = len(target)
        self._groups: list[KeyTable | EarlierMeans] = []
        self._group_names: list[str] = []
        found = [np.empty((n_rows, 0))]
        links = [link for link in self.links if link.kind is LinkKind.GROUP]
        if not links:
            return found[0]
        folds = _draw_parts(n_rows, _N_FOLDS, labels, rng)
        learning = _draw_half(n_rows, labels, rng)
        for link in links:
            source = next(s for s in self._sources if s.link.title == link.title)
            here = tuple(name for name, _ in link.keys)
            index = source.rows.index
            codes = index.find(read_keys(frame, here, "X"), here)
            means: KeyTable | EarlierMeans
            if self.as_of is None:
                means = learn_means(here, index, codes, target)
                encoded = out_of_fold(index, codes, target, folds)
                gain = means_gain(index, codes, target, learning)
            else:
                known = known_from(read_times(frame, self.as_of, "X"), link.target_delay or 0.0)
                means = learn_earlier_means(here, self.as_of, (index, codes), known, target)
                encoded = means.look_up(frame)
                gain = means.gain(frame, target)
            if gain <= least_gain(len(links) * target.shape[1]):
                continue
            self._groups.append(means)
            what = "mean" if columns.classes is None else "share"
            self._group_names += [f"{what}({label}, {link.title})" for label in columns.labels]
            found.append(encoded)
        return np.hstack(found)

    def _choose(
        self, target: Numbers, known: Numbers, seen: dict[int, SeenRows], labels: Any, rng: Any
    ) -> list[_Found]:
        """Return the features that are kept, best first."""
        n_rows = len(target)
        self.n_candidates_ = 0
        if not seen or n_rows < 4:
            return []
        rows = np.sort(rng.permutation(n_rows)[: self._n_screened(n_rows)])
        rest = left_over(known, target)
        own = None if labels is None else labels[rows]
        learning = _draw_half(len(rows), own, rng)
        values = {
            at: LinkValues(*s.take(rows).alone(self._sources[at].rows)) for at, s in seen.items()
        }

        left = rest[rows]

        def score(candidates: Sequence[tuple[int, LinkFeature]]) -> list[_Found]:
            self.n_candidates_ += len(candidates)
            found = []
            for at, linked in values.items():
                mine = [feature for place, feature in candidates if place == at]
                mine.sort(key=_by_value)
                worths = linked.each(
                    mine,
                    lambda _, column: held_out_worth(column, left, learning),
                    local_threads(self.n_jobs),
                )
                found += [
                    _Found(feature, at, worth) for feature, worth in zip(mine, worths, strict=True)
                ]
            return found

        past = {at: seen_by_any(self._sources[at].rows, seen[at]) for at in values}
        base = [
            (at, feature)
            for at in values
            for feature in base_candidates(
                self._sources[at], self._names(), self._windows(at, past[at]), past[at]
            )
        ]
        found = score(some_of(base, max(1, self.budget // 2), rng))
        conditions = {
            at: conditions_of(self._sources[at].rows, past[at]) if self.conditions else []
            for at in values
        }
        tried = {(one.source, one.feature) for one in found}
        variants = [
            (one.source, feature)
            for one in _best(found)[:_N_REFINED]
            for feature in refined(
                one.feature,
                self._sources[one.source],
                conditions[one.source],
                "share" in self._names(),
            )
            if (one.source, feature) not in tried
        ]
        room = max(0, self.budget - len(found))
        found += score(some_of(list(dict.fromkeys(variants)), room, rng))
        least = least_worth(len(found), int(np.count_nonzero(~learning)))
        good = [one for one in _best(found) if one.worth > least]
        return self._order(_in_turns(good)[: _POOL * self.n_features_out], target, known, seen)

    def _order(
        self, good: list[_Found], target: Numbers, known: Numbers, seen: dict[int, SeenRows]
    ) -> list[_Found]:
        """Return candidates so that each explains most of what those before leave over."""
        if not good:
            return []
        step = max(1, -(-len(target) // _MAX_ROWS))
        rows = np.arange(0, len(target), step)
        alone = {at: s.take(rows).alone(self._sources[at].rows) for at, s in seen.items()}
        sources = [replace(source, linked=alone[at][0]) for at, source in enumerate(self._sources)]
        columns = _compute(good, sources, {at: s for at, (_, s) in alone.items()}, self.n_jobs)
        pool = np.column_stack([explained(column, target[rows]) for column in columns.T])
        simple = np.array([_SIMPLICITY ** (one.feature.size - 1) for one in good])
        most = min(self.n_features_out, max(1, len(target) // _ROWS_PER_FEATURE))
        order, _ = pursue(known[rows], pool, target[rows], most, simple)
        return [good[place] for place in order]

    def _n_screened(self, n_rows: int) -> int:
        """Return how many rows candidates are compared on."""
        return n_rows if self.search == "exhaustive" else min(n_rows, _SCREEN_ROWS)

    def _names(self) -> list[str]:
        """Return the aggregates that are tried."""
        return list(AGGREGATES) if isinstance(self.aggregates, str) else list(self.aggregates)

    def _windows(self, at: int, past: npt.NDArray[np.bool_]) -> list[Window]:
        """Return the windows that are tried for a source."""
        linked = self._sources[at].rows
        if self.windows is None or linked.times is None:
            return []
        if isinstance(self.windows, str):
            return auto_windows(linked, past)
        return [_window(window, has_dates=linked.has_dates) for window in self.windows]

    # Computing ----------------------------------------------------------------------------------

    def _check_tables(self, links: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Refuse tables of unknown links, and ask for those that the model does not hold."""
        tables = newer_tables(links)
        titles = [link.title for link in all_links(source.link for source in self._sources)]
        for title in tables:
            if title not in titles:
                listed = ", ".join(map(repr, dict.fromkeys(titles))) or "none"
                raise ValueError(f"links has a table for {title!r}, but the links are: {listed}.")
        missing: dict[str, None] = {}
        for at in self._sources_used():
            if at not in self._statistics or self._sources[at].link.title in tables:
                missing.update(dict.fromkeys(self._sources[at].missing(tables)))
        if missing:
            listed = ", ".join(f"{title!r}: …" for title in missing)
            used = [self._sources[at] for at in self._sources_used()]
            earlier = {name for one in used if one.target is not None for name in one.target.names}
            columns = ", ".join(map(repr, sorted(earlier)))
            more = f", with earlier targets in the column {columns}" if earlier else ""
            raise ValueError(
                f"The model does not hold the linked rows of {', '.join(map(repr, missing))}: pass "
                f"links={{{listed}}} beside X{more}, or fit with store_links=True."
            )
        return tables

    def _sources_used(self) -> list[int]:
        """Return the sources that some feature is computed from."""
        return sorted(set(self._feature_sources.tolist()))

    def _compute_features(self, frame: Any, tables: Mapping[str, Any]) -> Numbers:
        """Return the features over links of the rows of a table."""
        out = np.empty((len(frame), len(self.features_)))
        for at in self._sources_used():
            source = self._sources[at]
            mine = np.flatnonzero(self._feature_sources == at)
            newer = any(link.title in tables for link in all_links([source.link]))
            if at in self._statistics and not newer:
                out[:, mine] = self._statistics[at].look_up(frame)
                continue
            source = source.reread(tables) if newer else source
            seen = source.see(frame, self.as_of, training=False)
            found = [_Found(self.features_[k], 0, 0.0) for k in mine]
            out[:, mine] = _compute(found, [source], {0: seen}, self.n_jobs)
        return out

    def _stored_attributes(self) -> dict[str, Any]:
        """Return what a model file holds besides the parameters."""
        stored = dict(vars(self))
        if "_sources" in stored and not self.store_links:
            stored["_sources"] = [source.without_rows() for source in self._sources]
        return stored

    def _finish(self, matrix: Numbers) -> Numbers:
        """Fill undefined values, unless they are to be kept."""
        if not self.keep_missing:
            holes = np.isnan(matrix)
            matrix[holes] = np.broadcast_to(self._fill, matrix.shape)[holes]
        return matrix


def _compute(
    chosen: Sequence[_Found],
    sources: Sequence[Source],
    seen: Mapping[int, SeenRows],
    n_jobs: int | None,
) -> Numbers:
    """Return the values of features over links."""
    n_rows = len(next(iter(seen.values())).keys)
    out = np.empty((n_rows, len(chosen)), order="F")
    for at, mine in seen.items():
        places = [place for place, found in enumerate(chosen) if found.source == at]
        if not places:
            continue

        def keep(number: int, values: Numbers, columns: list[int] = places) -> None:
            out[:, columns[number]] = values

        features = [chosen[place].feature for place in places]
        LinkValues(sources[at].rows, mine).each(features, keep, local_threads(n_jobs))
    return out


def _several(n_parts: int) -> TargetColumns:
    """Return what numbers or labels are called."""
    names = (TARGET,) if n_parts == 1 else tuple(f"{TARGET} {k}" for k in range(n_parts))
    return TargetColumns(names, names, None)


def _draw_parts(n_rows: int, n_parts: int, labels: Any, rng: Any) -> npt.NDArray[np.int64]:
    """Return a part for each row, by chance; rows with one label are in one part."""
    if labels is None:
        return np.asarray(rng.permutation(n_rows) % n_parts, dtype=np.int64)
    _, codes = np.unique(labels, return_inverse=True)
    drawn = rng.permutation(int(codes.max(initial=-1)) + 1) % n_parts
    return np.asarray(drawn[codes], dtype=np.int64)


def _draw_half(n_rows: int, labels: Any, rng: Any) -> npt.NDArray[np.bool_]:
    """Return half of the rows, by chance; rows with one label are on one side."""
    if labels is None:
        return np.asarray(rng.permutation(n_rows) < n_rows // 2)
    return _draw_parts(n_rows, 2, labels, rng) == 0


def _by_value(feature: LinkFeature) -> tuple[str, str]:
    """Return what orders candidates so that those of one value under one condition are together."""
    return str(feature.value), "" if feature.condition is None else feature.condition.text


def _filled(columns: Numbers) -> Numbers:
    """Return columns with medians in place of missing values."""
    holes = np.isnan(columns)
    if not holes.any():
        return columns
    fill = np.zeros(columns.shape[1])
    known = ~holes.all(axis=0)
    fill[known] = np.nanmedian(columns[:, known], axis=0)
    return np.where(holes, fill, columns)


def _best(found: Sequence[_Found]) -> list[_Found]:
    """Return candidates in order of their worth."""
    return sorted(found, key=lambda one: -one.worth)


def _in_turns(found: Sequence[_Found]) -> list[_Found]:
    """Return candidates so that links take turns: many of one link leave room for others."""
    turns: dict[int, int] = {}
    keyed: list[tuple[int, int, _Found]] = []
    for one in found:
        turns[one.source] = turns.get(one.source, -1) + 1
        keyed.append((turns[one.source], len(keyed), one))
    return [one for *_, one in sorted(keyed, key=lambda item: item[:2])]
