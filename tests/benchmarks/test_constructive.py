"""Fresh samples of the artificial sets, and what the page says beside published errors."""

from __future__ import annotations

from types import SimpleNamespace

import constructive_tables as page
import data
import numpy as np
import papers_constructive
import pytest
import table_noise

ROWS = {"waveform": 5000, "twonorm": 10000, "ringnorm": 10000}


@pytest.mark.parametrize("kind", ROWS)
def test_a_fresh_sample_is_a_table_of_its_own(kind):
    name = f"{kind}:fresh"
    assert data.present([name]) == ([name], [])
    first, second = (data.load(data.sample_of(name, split)) for split in (0, 1))
    assert first.X.shape[0] == ROWS[kind]
    assert first.task == data.manifest()[kind]["task"]
    assert not np.isin(first.X[:, 0], second.X[:, 0]).any()
    data.load.cache_clear()
    np.testing.assert_array_equal(data.load(f"{name} 0").X, first.X)
    train, test = data.split_rows(first, "tenth", 0)
    assert (len(train), len(test)) == (300, ROWS[kind] - 300)


def test_a_table_of_a_file_is_the_same_for_every_split():
    assert data.sample_of("twonorm", 3) == "twonorm"


def made_table(errors: dict[tuple[str, str], list[float]]) -> page.Table:
    table = page.Table({}, None)
    table.errors = {key: np.array(values) for key, values in errors.items()}
    table.test_rows = {key: np.full(len(values), 100.0) for key, values in errors.items()}
    return table


def test_the_published_figure_has_noise_too():
    spread = np.resize([-1.0, 1.0], 50)
    table = made_table({("RF", "twonorm:fresh"): 4.08 + 0.3 + spread})
    difference, noise = table.beside_published("RF", "twonorm:fresh")
    own = table.noise("RF", "twonorm:fresh")
    assert difference == pytest.approx(0.3)
    assert noise == pytest.approx(own * np.sqrt(2))  # as many splits as published
    assert difference > 2 * own
    assert table.against_published("RF", "twonorm:fresh") == "draw"


def test_a_row_that_was_not_published_is_not_compared():
    table = made_table({(page.FEW, "segment"): [9.0, 9.1, 9.2]})
    assert table.against_published(page.FEW, "segment") == ""
    assert page.learner_of("RF, scikit-learn") == "RF"


def test_worse_ones_are_explained_by_their_splits():
    rng = np.random.default_rng(0)
    hard = rng.normal(size=30)
    errors = {
        ("RF", "ringnorm"): 8 + hard,
        ("RF, scikit-learn", "ringnorm"): 7.5 + hard,
        ("stumps", "ringnorm"): 9.94 + 0 * hard,
        ("tree", "vehicle"): 27 + hard,
        ("tree, scikit-learn", "vehicle"): 27 + hard[::-1],
        ("RF", "vehicle"): 23.5 + hard,
        ("stumps", "letter"): [31.0, 32.0],
    }
    options = SimpleNamespace(
        sets=["ringnorm", "vehicle", "letter"], learners=["tree", "RF", "stumps"]
    )
    text = page.worse_ones(made_table(errors), options)
    ringnorm, vehicle, letter = (line for line in text.splitlines() if line.startswith("- "))
    assert "scikit-learn's RF on the same splits is +1." in ringnorm
    assert "correlation of 1.00" in ringnorm
    assert "do not explain" not in ringnorm
    assert "fresh" in ringnorm
    assert "the published tree (20.9) is better than the published forest (23.5)" in vehicle
    assert "so few splits" in letter
    assert "Of 5 comparisons, about 0.1 would be worse" in text  # four cells have no result


def test_nothing_is_said_where_nothing_is_worse():
    options = SimpleNamespace(sets=["ringnorm"], learners=["RF"])
    table = made_table({("RF", "ringnorm"): np.array([5.0, 6.0, 7.0])})
    assert page.worse_ones(table, options) == ""


def test_spread_of_a_learner_that_is_always_wrong_on_the_same_rows():
    wrong = np.zeros((3, 100), dtype=bool)
    wrong[:, :20] = True
    assert table_noise.spread(wrong) == pytest.approx(np.sqrt(0.2 * 0.8))  # as of one draw of rows


def test_no_spread_where_mistakes_have_nothing_in_common():
    wrong = np.random.default_rng(0).random((4, 200_000)) < 0.2
    assert table_noise.spread(wrong) < 0.02


def test_spread_tells_how_errors_vary_between_tables():
    """Against the obvious way: many tables, many models on each, the spread of their means."""
    rng = np.random.default_rng(0)
    chances = np.where(rng.random(2_000_000) < 0.1, 0.7, 0.02)  # few hard rows, many easy ones
    tables = chances.reshape(1000, 2000)
    means = np.mean([(rng.random(tables.shape) < tables).mean(axis=1) for _ in range(50)], axis=0)
    wrong = rng.random((4, 200_000)) < chances[:200_000]
    assert table_noise.spread(wrong) / np.sqrt(2000) == pytest.approx(means.std(), rel=0.1)


def test_measure_counts_models_of_unlike_rows():
    learner = papers_constructive.learners(5, 5)["RF"]
    settings = table_noise.settings_of(learner, "twonorm:fresh")
    assert settings["params"]["n_estimators"] == 5
    values = table_noise.measure(settings)
    assert 0.03 < values["error"] < 0.3
    assert 0.0 < values["spread"] < np.sqrt(values["error"] * (1 - values["error"]))


def test_the_table_is_noise_beside_the_published_error():
    errors = 4.08 + 0.3 + np.resize([-0.1, 0.1], 50)
    fresh, one = made_table({("RF", "twonorm:fresh"): errors, ("RF", "twonorm"): errors}), {}
    assert fresh.against_published("RF", "twonorm:fresh") == "loss"
    fresh.spreads = {("RF", "twonorm"): 1.0}  # a tenth of a point for the 100 rows of made_table
    for name in ("twonorm:fresh", "twonorm"):
        split = fresh.noise("RF", name) * np.sqrt(2)
        _, noise = fresh.beside_published("RF", name)
        one[name] = noise**2 - split**2
    assert one["twonorm:fresh"] == pytest.approx(0.01)  # the published table
    assert one["twonorm"] == pytest.approx(0.02)  # and ours
    options = SimpleNamespace(sets=["twonorm"], learners=["RF"])
    assert "twonorm 0.10 to 0.10" in page.table_sentence(fresh, options)


def test_no_sentence_on_tables_where_none_is_artificial():
    options = SimpleNamespace(sets=["vehicle"], learners=["RF"])
    assert page.table_sentence(made_table({("RF", "vehicle"): [20.0]}), options) == ""


def test_learners_that_are_worse_by_chance():
    """A mean of three differences passes two standard errors more often than that of many."""
    cells = {("RF", "segment"): [1.0, 2.0, 3.0], ("RF", "letter"): [4.0]}
    cells |= {(f"{label}, scikit-learn", name): errors for (label, name), errors in cells.items()}
    table = made_table(cells)
    few, one, none = (
        page.by_chance(table, [("RF", "RF, scikit-learn", name)])
        for name in ("segment", "letter", "vowel")
    )
    assert few == pytest.approx(0.0918, abs=1e-4)
    assert (one, none) == (page.CHANCE, 0)
    options = SimpleNamespace(sets=["segment", "letter"], learners=["RF"])
    assert "about 0.1 would be worse by chance" in page.sentences(table, options)[-1]
