"""Features over links: search, and the transformer that computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from featurewright.estimators.collections import is_collection
from featurewright.estimators.parameters import (
    DeclaredParameters,
    Parameter,
    choice,
    documented,
    flag,
    keep_arguments,
    whole,
)
from featurewright.estimators.selection import indicator_target
from featurewright.estimators.shared_parameters import OUTPUT, RANDOM_STATE, RUNNING
from featurewright.expressions import Domain
from featurewright.relations.aggregates import AGGREGATES, LinkFeature, SeenRows, levels_of
from featurewright.relations.checks import check_aggregates, check_as_of, check_windows
from featurewright.relations.keys import KeyTable, Numbers, read_keys
from featurewright.relations.linked import (
    TableLayout,
    encode_columns,
    learn_layout,
    read_times,
)
from featurewright.relations.links import (
    LinkKind,
    all_links,
    check_links,
    links_in_memory,
    names_of_rows,
    tables_in_memory,
)
from featurewright.relations.selection import (
    FeatureSearch,
    Found,
    SearchSettings,
    compute_found,
    draw_half,
    draw_parts,
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
    check_names,
    fit_table,
    holds_numbers,
    read_classes,
    read_numbers,
)

_N_FOLDS = 5  # of the targets of groups


@documented()
class RelationalFeatures(DeclaredParameters, TransformerMixin, BaseEstimator):
    """Find features of rows in the rows of other tables that belong to them.

    A feature is an aggregate (count, mean, trend, ...) of a value of the linked rows, possibly
    under a condition and within a window of time. Candidates are fitted on one half of the rows and
    scored on the other half (with `as_of`, on the later half), by what they explain of the target
    beyond the columns of the table; then variants of the best ones are tried. A candidate that
    explains no more than chance would is not kept.

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
        For each feature, the share of the target's variance, beyond the columns of the table, that
        it explained in training rows it was not learned from.
    levels_ : tuple
        For each feature, the labels that its codes stand for, in order; None if the feature is a
        number.
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
            check_as_of,
        ),
        "aggregates": Parameter(
            '"all" or list of str',
            f"Computed of linked rows: {', '.join(AGGREGATES)}; labels are compared.",
            check_aggregates,
        ),
        "windows": Parameter(
            '"auto", list or None',
            """
            How far back linked rows count, besides all of them: days (or units of a time that is a
            number), and texts such as "10 rows". "auto" tries 7, 30, 90 and 365 days and the last 3
            and 10 rows.
            """,
            check_windows,
        ),
        "conditions": Parameter(
            "bool",
            """
            Whether a feature may use only the linked rows with a certain level, or with a value
            above the median.
            """,
            flag,
        ),
        "categories": Parameter(
            "bool",
            """
            Whether features may be labels, such as the most frequent one: a column of codes, whose
            labels are in `levels_`, for an estimator that takes categories. Labels are compared
            with frequent ones in any case.
            """,
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
            Whether the result also contains the columns of the table, except times of rows and
            numeric keys of other tables or of a history, which identify a row but do not describe
            it. If no feature is found, the result contains these columns in any case.
            """,
            flag,
        ),
        "keep_missing": OUTPUT["keep_missing"],
        "budget": Parameter("int", "Candidates that are compared.", whole(1, most=2**31 - 1)),
        "task": Parameter(
            '{"auto", "classification", "regression"}',
            """
            What the target is. "auto" reads numbers as a quantity if some are not whole, otherwise
            as classes.
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
        categories: bool = False,
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
            Rows with the same label belong together: mean targets of training rows come from rows
            with other labels, and candidates are scored on rows with other labels than those they
            were fitted on.

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
            Rows with the same label belong together: mean targets of training rows come from rows
            with other labels, and candidates are scored on rows with other labels than those they
            were fitted on.

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
            best first. Undefined values are the feature's median in `fit`, of labels the commonest
            one, or NaN with `keep_missing`.
        """
        check_is_fitted(self)
        frame, base = self._read_again(X)
        tables = self._check_tables(links)
        used = [self._sources[at].link for at in self._sources_used()]
        tables = tables_in_memory(used, X, tables)
        values = [base[:, self._shown]]
        if self.features_:
            values.append(self._compute_features(frame, tables))
        values += [means.look_up(frame) for means in self._groups]
        return self._finish(np.hstack(values))

    @property
    def levels_(self) -> tuple[tuple[Any, ...] | None, ...]:
        """For each feature the labels that its codes stand for; None where it is a number."""
        check_is_fitted(self)
        schemas = [self._sources[at].layout.schema for at in self._feature_sources]
        return tuple(
            levels_of(feature, schema) or None
            for feature, schema in zip(self.features_, schemas, strict=True)
        )

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

    _of_sample = False  # set where the rows are some of those that statistics will be of

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
        """Return the columns that are neither times nor keys, but for keys that are categories."""
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
        check_names(self, X)
        if not len(self.links):  # by place, as where only one of both tables has names
            names = self._layout.schema.names
            frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
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
                links_in_memory(self.links, X),
                frame,
                target,
                columns,
                as_of=self.as_of,
                max_order=self.max_order,
            )
            seen = {
                at: source.see(frame, self.as_of, training=True)
                for at, source in enumerate(self._sources)
            }
        usable = base[:, self._layout.schema.domains != Domain.CATEGORY]
        means = self._learn_groups(frame, target, columns, labels, rng)
        known = np.hstack([_filled(usable), _filled(means)])
        search = FeatureSearch(self._sources, seen, self._settings(), rng)
        found = search.run(target, known, labels, self._row_times(frame))
        self.n_candidates_ = search.n_candidates
        self.features_: tuple[LinkFeature, ...] = tuple(one.feature for one in found)
        self.worth_ = np.array([one.worth for one in found], dtype=np.float64)
        self._feature_sources = np.array([one.source for one in found], dtype=np.int64)
        self._n_columns = len(self.features_) + len(self._group_names)
        self._own_columns = self._columns_by_themselves()
        values = [base[:, self._shown]]
        if self.features_:
            values.append(compute_found(found, self._sources, seen, self.n_jobs))
        matrix = np.hstack([*values, means])
        own = self._layout.schema.domains[self._shown].tolist()
        domains = [*own, *(feature.domain for feature in self.features_)]
        self._fill = _usual_values(matrix, [domain == Domain.CATEGORY for domain in domains])
        self._keep_statistics()
        self._sources = [source.told(self.links) for source in self._sources]
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
                Found(feature, 0, 0.0)
                for feature, place in zip(self.features_, self._feature_sources, strict=True)
                if place == at
            ]
            if mine:
                seen = SeenRows(keys, *rows.spans(keys, None), None)
                table = compute_found(mine, [source], {0: seen}, self.n_jobs)
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
        folds = draw_parts(n_rows, _N_FOLDS, labels, rng)
        learning = draw_half(n_rows, labels, rng)
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

    def _row_times(self, frame: Any) -> Numbers | None:
        """Return the times of the rows of a table, by which candidates are judged.

        Times of a history without `as_of` are not used: later values may exceed all earlier ones.
        """
        timed = self.as_of is not None and frame is not None
        return read_times(frame, self.as_of, "X").values if timed else None

    def _settings(self) -> SearchSettings:
        """Return what the search is asked for."""
        return SearchSettings(
            aggregates=AGGREGATES if isinstance(self.aggregates, str) else self.aggregates,
            windows=self.windows,
            conditions=self.conditions,
            categories=self.categories,
            n_features=self.n_features_out,
            budget=self.budget,
            is_exhaustive=self.search == "exhaustive",
            n_jobs=self.n_jobs,
            of_sample=self._of_sample,
        )

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
            found = [Found(self.features_[k], 0, 0.0) for k in mine]
            out[:, mine] = compute_found(found, [source], {0: seen}, self.n_jobs)
        return out

    def _stored_attributes(self) -> dict[str, Any]:
        """Return what a model file holds besides the parameters."""
        if self.store_links and any(is_collection(one.link.table) for one in self._sources):
            raise ValueError(
                "store_links=True stores linked rows in the file, but these are a Dask collection: "
                "fit with store_links=False, and pass the tables to transform(X, links={…})."
            )
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


def _usual_values(matrix: Numbers, are_codes: Sequence[bool]) -> Numbers:
    """Return what replaces missing values of each column: the median, of codes the commonest."""
    fill = np.zeros(matrix.shape[1])
    known = np.flatnonzero(~np.isnan(matrix).all(axis=0))
    fill[known] = np.nanmedian(matrix[:, known], axis=0)
    for at in set(known.tolist()).intersection(np.flatnonzero(are_codes).tolist()):
        codes = matrix[~np.isnan(matrix[:, at]), at].astype(np.intp)
        fill[at] = np.argmax(np.bincount(codes))
    return fill


def _several(n_parts: int) -> TargetColumns:
    """Return what numbers or labels are called."""
    names = (TARGET,) if n_parts == 1 else tuple(f"{TARGET} {k}" for k in range(n_parts))
    return TargetColumns(names, names, None)


def _filled(columns: Numbers) -> Numbers:
    """Return columns with medians in place of missing values."""
    holes = np.isnan(columns)
    if not holes.any():
        return columns
    fill = np.zeros(columns.shape[1])
    known = ~holes.all(axis=0)
    fill[known] = np.nanmedian(columns[:, known], axis=0)
    return np.where(holes, fill, columns)
