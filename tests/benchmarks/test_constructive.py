"""Fresh samples of the artificial sets, and what the page says beside published errors."""

from __future__ import annotations

from types import SimpleNamespace

import data
import numpy as np
import papers_constructive as page
import pytest

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
