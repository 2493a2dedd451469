"""Raw tables: which columns are read as what."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from featurewright import AutoFeatures, load, save
from featurewright.auto.reading import learn_reader

SEARCH = {"methods": "batch", "effort": "quick", "cv": 2, "random_state": 0}


def _readings(n_rows=60):
    """Return a table with a column of numbers as text, in which two cells are none."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(n_rows, 2)), columns=["a", "b"])
    dirty = frame.assign(b=frame["b"].astype(str))
    dirty.loc[[7, 9], "b"] = ["n/a", "1.234 EUR"]
    return frame, dirty


def test_numbers_with_cells_that_are_none_are_numbers(caplog, tmp_path):
    """The cells are missing, and that is said once; the same for later tables and from a file."""
    frame, dirty = _readings()
    y = frame["a"] * frame["b"] > 0
    clean = frame.assign(b=frame["b"].mask([k in (7, 9) for k in range(60)]))
    expected = AutoFeatures(**SEARCH).fit(clean, y).transform(clean)
    auto = AutoFeatures(**SEARCH).fit(dirty, y)
    assert auto.left_out_ == {}
    assert caplog.text.count("Read as numbers: 'b' (2 of 60 cells, such as '1.234 EUR',") == 1
    np.testing.assert_array_equal(auto.transform(dirty), expected)
    save(auto, tmp_path / "auto.fw")
    again = load(tmp_path / "auto.fw")
    np.testing.assert_array_equal(again.transform(clean), expected)
    np.testing.assert_array_equal(again.transform(dirty.astype(object)), expected)


@pytest.mark.parametrize(
    ("cells", "is_number"),
    [
        ([f"{k // 2}" for k in range(59)] + ["?"], True),
        ([k // 2 for k in range(59)] + ["x"], True),
        (["3", "4", "?"] * 20, False),  # few values are as good as labels
        ([f"0{k}" for k in range(60)], False),  # codes
        ([f"{k % 20}" for k in range(60)], False),  # numbers on purpose made labels
        ([f"{k}.5" for k in range(60)], True),
        ([f"{k}.5" for k in range(40)] + [f"V{k}" for k in range(20)], False),
        ([f"{k}.5" for k in range(40)] + ["N/A"] * 20, True),
    ],
)
def test_which_texts_are_numbers(cells, is_number):
    frame = pd.DataFrame({"a": np.arange(60.0) % 7, "b": pd.Series(cells, dtype=object)})
    reader, _, _ = learn_reader(BaseEstimator(), frame)
    assert reader.numbers == (("b",) if is_number else ())
    categories = frame.assign(b=frame["b"].astype("category"))
    assert learn_reader(BaseEstimator(), categories)[0].numbers == ()


@pytest.mark.parametrize(
    ("cells", "is_amount"),
    [
        ([f"${k * 777:,}.50" for k in range(60)], True),
        ([f"(${k * 777:,})" for k in range(58)] + ["n/a", "-"], True),
        ([f"{k / 8}%" for k in range(60)], True),
        ([f"{k} kg" for k in range(60)], True),
        (["10%", "20%", "30%"] * 20, False),  # few values are as good as labels
        ([f"{k:05}%" for k in range(60)], False),  # codes
        ([f"{k}{'abc'[k % 3]}" for k in range(60)], False),  # different units
        ([f"shop {k}" for k in range(60)], False),
        ([f"+49 {k}" for k in range(60)], False),
        ([f"{k}" for k in range(60)], False),
    ],
)
def test_numbers_with_signs_are_told_of(cells, is_amount, caplog):
    """Labels by another name: whoever has them wants numbers."""
    frame = pd.DataFrame({"a": np.arange(60.0) % 7, "b": pd.Series(cells, dtype=object)})
    _, _, left_out = learn_reader(BaseEstimator(), frame)
    assert ("holds numbers with signs as text" in left_out.get("b", "")) == is_amount
    again = pd.concat([frame, frame])  # every label comes twice, so it is used
    reader, _, left_out = learn_reader(BaseEstimator(), again)
    assert reader.plain.names == ("a", "b")
    assert not left_out
    assert ("Read as labels: 'b' (such as " in caplog.text) == is_amount
    caplog.clear()
    learn_reader(BaseEstimator(), again.assign(b=again["b"].astype("category")))
    assert not caplog.text


def test_labels_that_are_nearly_all_new_are_told_of():
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "b": ["yes", "no"] * 20})
    estimator = BaseEstimator()
    reader, _, _ = learn_reader(estimator, frame)
    with pytest.warns(
        UserWarning, match="Column 'b': 40 of 40 labels are none that the fit saw"
    ) as told:
        reader.read(estimator, frame.assign(b=["Yes", "No"] * 20))
    assert "such as 'Yes'; the fit saw 'no', 'yes')" in str(told[0].message)
    some = frame.assign(b=["yes", "no", "yes", "perhaps"] * 10)
    assert np.isnan(reader.read(estimator, some).matrix).sum() == 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": 1000}, "cv=1000 is more than the 40 rows: use fewer folds"),
        ({"cv": [(np.arange(5), np.arange(30, 50))]}, "numbers of rows, 0 to 39"),
        ({"cv": [(np.arange(40) < 20, np.arange(20, 40))]}, "numbers of rows, 0 to 39"),
        ({"cv": [(np.arange(30), np.arange(20, 40))]}, "learns from rows that it tests on"),
        ({"methods": []}, r"methods=\[\] names no method"),
    ],
)
def test_folds_and_methods_that_make_no_sense_are_refused(settings, message):
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=message):
        AutoFeatures(**{**SEARCH, **settings}).fit(X, X[:, 0])


def test_numbers_for_a_classifier_and_classes_for_instances_are_refused():
    y = np.arange(200) % 150
    X = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.raises(ValueError, match=r"150 different numbers in 200 rows.*pass a regressor"):
        AutoFeatures(LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match=r"is the class LogisticRegression.*LogisticRegression\(\)"):
        AutoFeatures(LogisticRegression).fit(X, y > 75)
