"""Choosing and its correction, orders of columns, dates."""

from __future__ import annotations

import datetime as dt

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import KFold

from featurewright.auto.choice import choose, corrected_error
from featurewright.auto.estimators import (
    EvenScaler,
    further_folds,
    make_folds,
)
from featurewright.estimators.selection import by_residual, distinct, left_over
from featurewright.tables.dates import TimeKind, date_parts, read_seconds, time_kind

SHARE = 0.25


def naive_order(base, pool, target, wanted):
    """Add the column whose least-squares fit leaves least, one after the other."""
    taken = []
    ones = np.ones((len(pool), 1))
    while len(taken) < wanted:
        losses = {}
        for k in set(range(pool.shape[1])) - set(taken):
            design = np.hstack([ones, base, pool[:, [*taken, k]]])
            rest = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
            losses[k] = (rest**2).sum()
        taken.append(min(losses, key=losses.get))
    return taken


def test_order_by_residual():
    rng = np.random.default_rng(0)
    base, pool = rng.normal(size=(80, 2)), rng.normal(size=(80, 7))
    target = pool[:, [3]] * 2 + pool[:, [5]] + base[:, [0]] + 0.5 * rng.normal(size=(80, 1))
    expected = naive_order(base, pool, target, 5)
    np.testing.assert_array_equal(by_residual(base, pool, target, 5), expected)


def test_a_few_further_folds_that_agree_are_enough():
    steady = [0.012, 0.010, 0.013, 0.011, 0.012]
    sizes = {"a": 5}
    agrees = {"a": np.array([*steady, 0.030, 0.002])}
    assert choose({"a": agrees["a"][5:]}, sizes, SHARE).key is None  # they alone are not
    assert choose(agrees, sizes, SHARE, n_first=5).key == "a"
    contradicts = {"a": np.array([*steady, 0.010, -0.015])}
    assert choose(contradicts, sizes, SHARE, n_first=5).key is None
    wild = {"a": np.array([0.05, -0.02, 0.04, -0.01, 0.03, 0.030, 0.002])}
    assert choose(wild, sizes, SHARE, n_first=5).key is None


def test_left_over_is_the_residual_of_least_squares():
    rng = np.random.default_rng(1)
    columns, target = rng.normal(size=(60, 3)), rng.normal(size=(60, 1))
    design = np.hstack([np.ones((60, 1)), columns])
    fitted = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    expected = (target - fitted) / target.std()
    np.testing.assert_allclose(left_over(columns, target), expected, atol=1e-9)


def test_columns_that_say_the_same_are_left_out():
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(3, 100))
    pool = np.column_stack([-2 * a + 1, b, b + 0.001 * c, np.ones(100), c])
    np.testing.assert_array_equal(distinct(a[:, None], pool), [1, 4])


def test_corrected_error():
    gains = np.array([0.1, 0.2, 0.3])
    assert corrected_error(gains, SHARE) == pytest.approx(0.1 * np.sqrt(1 / 3 + SHARE))
    assert np.isnan(corrected_error(gains[:1], SHARE))


def test_clear_gains_are_kept_and_unclear_ones_not():
    clear = {"a": np.array([0.1, 0.11, 0.12, 0.1, 0.1]), "b": np.full(5, 0.01)}
    assert choose(clear, {"a": 10, "b": 1}, SHARE).key == "a"
    unclear = {"a": np.array([0.3, -0.2, 0.1, -0.1, 0.05])}
    choice = choose(unclear, {"a": 10}, SHARE)
    assert choice.key is None
    assert choice.gains.tolist() == [0.0] * 5
    assert choose({}, {}, SHARE).key is None
    assert choose({"a": np.array([0.5])}, {"a": 1}, SHARE).key is None


def test_few_folds_need_more():
    gains = np.array([0.10, 0.03])
    assert choose({"a": gains}, {"a": 1}, SHARE).key is None
    assert choose({"a": np.array([0.10, 0.08])}, {"a": 1}, SHARE).key == "a"


def test_fewer_columns_where_they_are_as_good():
    gains = {"few": np.array([0.10, 0.12, 0.09]), "many": np.array([0.11, 0.11, 0.0905])}
    assert choose(gains, {"few": 5, "many": 50}, SHARE).key == "few"


def test_nearly_all_of_the_gain_with_fewer_columns_is_as_good():
    """However sure it is that more columns say a little more."""
    gains = {"many": np.array([0.900, 0.902, 0.901]), "few": np.array([0.899, 0.900, 0.900])}
    sizes = {"many": 50, "few": 1}
    assert choose(gains, sizes, 0.25).key == "few"
    assert choose({**gains, "few": gains["few"] - 0.01}, sizes, 0.25).key == "many"


def test_claimed_gain_is_not_flattered_by_choosing():
    rng = np.random.default_rng(3)
    best, claimed = [], []
    for _ in range(100):
        gains = {k: 0.02 + 0.004 * rng.normal(size=5) for k in range(20)}  # all are worth 0.02
        choice = choose(gains, dict.fromkeys(gains, 1), SHARE)
        best.append(gains[choice.key].mean())
        claimed.append(choice.gains.mean())
    assert np.mean(best) > 0.0225
    assert np.mean(claimed) == pytest.approx(0.02, abs=0.0005)


def test_dates_as_seconds_and_parts():
    days = [dt.datetime(2024, 2, 29, 13, 45), dt.datetime(1969, 12, 31, 23, 59), None]
    series = nw.from_native(pl.Series("when", days), series_only=True)
    assert time_kind(series) is TimeKind.DATE
    parts = date_parts(read_seconds("when", series, TimeKind.DATE))
    for row, day in enumerate(days[:2]):
        found = {name: values[row] for name, values in parts.items()}
        assert found == {
            "year": day.year,
            "month": day.month,
            "day": day.day,
            "weekday": day.weekday(),
            "hour": day.hour,
            "minute": day.minute,
        }
    assert all(np.isnan(values[2]) for values in parts.values())


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["2024-01-31", "2024-02-01T10:00"], TimeKind.DATE),
        (["2024-01-31T10:00:00Z", "2024-02-01 10:00:00+02:00"], TimeKind.DATE),
        (["2024-02-31", "2024-13-01"], None),
        (["12-11-10", "a"], None),
        (["20240131", "20240201"], None),
    ],
)
def test_text_is_a_date_where_nearly_all_of_it_is(labels, kind):
    series = nw.from_native(pl.Series("x", labels), series_only=True)
    assert time_kind(series) is kind


def test_rare_indicators_are_not_stretched():
    X = np.zeros((100, 2))
    X[0, 0] = 1.0
    X[:, 1] = np.arange(100)
    scaler = EvenScaler().fit(X)
    assert scaler.scale_[0] == 1.0
    assert scaler.transform(X)[:, 1].std() == pytest.approx(1.0)


def test_folds_without_two_classes_are_left_out():
    y = np.array([0] * 10 + [1] * 10)
    folds = [(np.arange(10), np.arange(10, 20)), (np.arange(5, 15), np.arange(15, 20))]
    assert len(make_folds(folds, y, None, "classification", 0)) == 1


def test_folds_that_found_the_choices_prove_nothing():
    lucky = {"a": np.array([0.3, 0.3, 0.3, 0.01, -0.01, 0.0])}
    assert choose(lucky, {"a": 1}, SHARE).key == "a"
    assert choose(lucky, {"a": 1}, SHARE, n_first=3).key is None
    good = {"a": np.array([0.3, 0.3, 0.3, 0.1, 0.12, 0.11])}
    choice = choose(good, {"a": 1}, SHARE, n_first=3)
    assert choice.key == "a"
    assert choice.gains.tolist() == [0.1, 0.12, 0.11]
    assert choose(good, {"a": 1}, SHARE, n_first=5).key is None


def test_less_bad_than_before_is_not_good():
    """A model that is no better than a constant has found nothing, whatever it gained."""
    gains = {"a": np.array([0.10, 0.11, 0.12, 0.10, 0.11])}
    worse = {"a": np.array([-0.05, -0.04, -0.05, -0.06, -0.04])}
    better = {"a": np.array([0.02, 0.03, 0.02, 0.03, 0.02])}
    assert choose(gains, {"a": 1}, SHARE, over_constant=worse).key is None
    assert choose(gains, {"a": 1}, SHARE, over_constant=better).key == "a"
    # Folds that chose prove nothing here either.
    mixed = {"a": np.array([0.30, 0.30, 0.30, -0.01, -0.01])}
    assert choose(gains, {"a": 1}, SHARE, n_first=3, over_constant=mixed).key is None


def test_the_best_of_many_owes_its_gain_to_luck():
    """Three folds choose among twenty candidates that are worth nothing: few are kept."""
    rng = np.random.default_rng(0)
    kept = alone = 0
    for _ in range(60):
        gains = {k: rng.normal(size=3) for k in range(20)}
        sizes = dict.fromkeys(gains, 1)
        kept += choose(gains, sizes, 0.5).key is not None
        best = max(gains, key=lambda k: gains[k].mean())
        alone += choose({best: gains[best]}, sizes, 0.5).key is not None
    assert alone > 20  # by itself, the best of twenty looks proved
    assert kept < alone / 2


def test_formulas_come_first_where_they_are_as_good():
    gains = {"formulas": np.array([0.100, 0.102, 0.101]), "votes": np.array([0.101, 0.103, 0.1])}
    sizes = {"formulas": 20, "votes": 1}
    assert choose(gains, sizes, SHARE).key == "votes"
    assert choose(gains, sizes, SHARE, readable={"formulas"}).key == "formulas"
    ahead = {**gains, "votes": gains["votes"] + 0.05}
    assert choose(ahead, sizes, SHARE, readable={"formulas"}).key == "votes"


def test_formulas_are_chosen_where_what_looked_better_does_not_hold():
    gains = {
        "formulas": np.array([0.10, 0.11, 0.10, 0.11, 0.10]),
        "votes": np.array([0.50, -0.20, 0.60, -0.10, 0.30]),
    }
    sizes = {"formulas": 20, "votes": 1}
    assert choose(gains, sizes, SHARE).key is None
    choice = choose(gains, sizes, SHARE, readable={"formulas"})
    assert choice.key == "formulas"
    assert choice.gains.tolist() == gains["formulas"].tolist()


def test_further_folds_are_others():
    y = np.arange(60) % 2
    first = make_folds(3, y, None, "classification", 0)
    further = further_folds(3, y, None, "classification", 0, n_repetitions=2)
    assert len(further) == 6
    tests = {tuple(test) for _, test in [*first, *further]}
    assert len(tests) == 9
    for train, test in further:
        assert sorted([*train, *test]) == list(range(60))
    assert further_folds(KFold(3), y, None, "classification", 0, n_repetitions=2) == []
    assert further_folds(3, y, np.arange(60) // 4, "classification", 0, n_repetitions=2) == []
    many = (3, np.arange(5000) % 2, None, "classification", 0)
    assert further_folds(*many, n_repetitions=2) == []
    assert len(further_folds(*many, n_repetitions=1, of_any_size=True)) == 3


def test_a_choice_that_varies_wildly_does_not_stand_for_the_best():
    steady = np.array([0.10, 0.11, 0.10, 0.11, 0.10])
    wild = np.array([0.30, -0.10, 0.25, -0.05, 0.08])
    gains = {"steady": steady, "wild": wild}
    # By its mean it is near enough, and it has fewer columns.
    assert choose(gains, {"steady": 50, "wild": 5}, 0.25).key == "steady"
    assert choose({"wild": wild}, {"wild": 5}, 0.25).key is None
