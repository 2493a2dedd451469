"""Statistics of all partitions: exact, and the same for every partitioning."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from featurewright import (
    AutoFeatures,
    BatchConstructor,
    ConstructiveBoostingRegressor,
    ConstructiveForestRegressor,
)
from featurewright.auto.parts import RANGE_LEVELS, range_of
from featurewright.distributed import fit, statistics
from featurewright.distributed.rows import Partitions
from featurewright.distributed.statistics import count_levels, find_quantiles

N = 2_000


pytestmark = pytest.mark.usefixtures("in_this_thread")


class Plain:
    """A model whose columns are those of the table."""

    def _unfilled(self, X):
        return np.array(X, dtype=np.float64)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.lognormal(size=(N, 3)), columns=list("abc"))
    table.loc[rng.random(N) < 0.3, "b"] = np.nan
    table["city"] = [f"city {k:02d}" for k in rng.geometric(0.08, N) % 60]
    table.loc[1234, "city"] = "nowhere"
    table["y"] = table["a"] / table["c"] + table["b"].fillna(0)
    return table


def columns(frame, n_partitions):
    table = dd.from_pandas(frame, npartitions=n_partitions)
    return table.drop(columns="y"), table["y"]


@pytest.mark.parametrize("n_partitions", [1, 9, 70])
def test_quantiles_are_exact(n_partitions):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(701, 6)).astype(np.float32).astype(np.float64)
    values[:, 1] = np.round(values[:, 1])  # ties, and zeros of both signs
    values[rng.random(701) < 0.4, 2] = np.nan
    values[:, 3] = np.exp(20 * values[:, 3]).astype(np.float32)
    values[1:, 4] = np.nan
    values[:, 5] = np.nan
    table = dd.from_pandas(pd.DataFrame(values, columns=list("abcdef")), npartitions=n_partitions)
    levels = [0.0, 0.01, 0.5, 0.9, 1.0]
    found = find_quantiles(Partitions(table), Plain(), levels)
    expected = np.nanquantile(values[:, :5], levels, axis=0)
    np.testing.assert_allclose(found.values[:, :5], expected, rtol=1e-12)
    assert np.isnan(found.values[:, 5]).all()
    np.testing.assert_array_equal(found.lowest[:5], np.nanmin(values[:, :5], axis=0))
    np.testing.assert_array_equal(found.highest[:5], np.nanmax(values[:, :5], axis=0))


def test_rows_without_weight_do_not_count():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 900.0], "w": [1.0, 1.0, 2.0, 0.0]})
    lazy = dd.from_pandas(table, npartitions=2)
    partitions = Partitions(lazy[["a"]], sample_weight=lazy["w"])
    assert find_quantiles(partitions, Plain(), [0.5]).values == 2.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: ConstructiveForestRegressor(3, max_samples=200, random_state=0),
        lambda: ConstructiveBoostingRegressor(3, random_state=0),
        lambda: BatchConstructor(random_state=0),
    ],
)
def test_fills_are_medians_of_all_rows(frame, make):
    fills = []
    for n_partitions in (1, 8):
        model = fit(make(), *columns(frame, n_partitions), max_rows=200)
        assert model.drawn_.medians == model.drawn_.levels == "all rows"
        fills.append(model._fill)
        values = model._unfilled(frame.drop(columns="y"))
        np.testing.assert_allclose(model._fill, np.nanmedian(values, axis=0), rtol=1e-6)
    np.testing.assert_array_equal(*fills)
    # Not by chance: the sample's are others.
    rows = frame.iloc[:200]
    own = make().fit(rows.drop(columns="y"), rows["y"])
    assert abs(own._fill[0] / fills[0][0] - 1) > 1e-3


def test_a_search_takes_ranges_and_shares_from_all_rows(frame):
    found = []
    for n_partitions in (1, 8):
        model = AutoFeatures(effort="quick", methods="batch", random_state=0)
        fit(model, *columns(frame, n_partitions), max_rows=300)
        found.append(model.transform(frame.drop(columns="y")))
    np.testing.assert_array_equal(*found)
    assert model.parts_
    raw = model._unfilled(frame.drop(columns="y"))
    numbers = len(model.originals_.numbers)
    fills = [value for kind, _, value in model.originals_.steps if kind == "number"]
    np.testing.assert_allclose(fills, np.nanmedian(raw[:, :numbers], axis=0), rtol=1e-6)
    rest = np.where(np.isfinite(raw), raw, np.nan)[:, numbers:]
    expected = range_of(
        np.nanquantile(rest, RANGE_LEVELS, axis=0), np.nanmin(rest, axis=0), np.nanmax(rest, axis=0)
    )
    parts = [*model.parts_, *([model.path_] if model.path_ else [])]
    for name, own in zip(("fill", "low", "high"), expected, strict=True):
        actual = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_allclose(actual, own, rtol=1e-6)
    (at,) = model.originals_.frequencies
    levels = model.reader_.schema.levels[at]
    assert "nowhere" in levels
    shares = frame["city"].value_counts(normalize=True)
    np.testing.assert_allclose(model.originals_.frequencies[at], shares[list(levels)], rtol=1e-12)


def test_levels_outside_the_sample_are_known(frame):
    model = fit(BatchConstructor(random_state=0), *columns(frame, 4), max_rows=100)
    assert model._schema.levels[3] == tuple(sorted(frame["city"].unique()))
    assert "_known_levels" not in vars(model)
    with pytest.raises(AttributeError):
        _ = model._known_levels


def test_too_many_levels_are_those_of_the_sample(frame, monkeypatch):
    monkeypatch.setattr(statistics, "MAX_LEVELS", 10)
    model = fit(BatchConstructor(random_state=0), *columns(frame, 4), max_rows=100)
    assert model.drawn_.levels == "sample"
    assert 10 < len(model._schema.levels[3]) < frame["city"].nunique()


def test_levels_are_counted_in_every_partition(frame):
    table = frame.assign(kind=pd.Categorical(np.where(frame["a"] > 1, "big", "small")))
    table["empty"] = pd.Series([None] * N, dtype=object)
    for n_partitions in (1, 20):
        counts = count_levels(Partitions(dd.from_pandas(table, npartitions=n_partitions)))
        assert set(counts.counts) == {"city", "kind"}
        assert counts.counts["kind"] == {
            ("str", label): n for label, n in table["kind"].value_counts().items()
        }
        assert sum(counts.counts["city"].values()) == N
