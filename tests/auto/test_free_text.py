"""Columns of sentences: what is read from them, and what is said where it cannot be used."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import featurewright
from featurewright import AutoFeatures
from featurewright.export import to_onnx, to_sql
from featurewright.tables.free_text import learn_text

SEARCH = {"effort": "quick", "methods": ["batch"], "random_state": 0}
GOOD, BAD = ("great", "lovely", "tasty"), ("awful", "stale", "bitter")
FILLERS = ("the", "wine", "with", "notes", "of", "plum", "and", "oak", "from", "cellar")


def reviews(n_rows: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table whose classes are in the words of a column alone."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, n_rows)
    texts = []
    for good in y:
        words = [*random.choice(FILLERS, 7), *random.choice(GOOD if good else BAD, 3)]
        texts.append(" ".join(random.permutation(words)))
    frame = pd.DataFrame({"price": random.normal(size=n_rows), "review": texts})
    frame["key"] = [f"row {k}" for k in range(n_rows)]
    return frame, y


def test_words_are_used_unless_told_not_to():
    X, y = reviews()
    auto = AutoFeatures(**SEARCH).fit(X, y)
    assert auto.left_out_ == {"key": "looks like an identifier: almost all values are unique"}
    assert {"review: characters", "review: theme 1"} <= {column.name for column in auto.columns_}
    assert auto.score(X, y) > 0.8
    without = AutoFeatures(**SEARCH, free_text=False).fit(X, y)
    assert without.left_out_["review"].startswith("holds free text, which is not read")
    assert without.score(X, y) < 0.7


def test_one_row_equals_the_batch_and_models_are_saved(tmp_path):
    X, y = reviews(80)
    X.loc[3, "review"] = None
    auto = AutoFeatures(**SEARCH).fit(X, y)
    whole = auto.transform(X)
    assert np.isfinite(whole).all()
    for row in (3, 7):
        np.testing.assert_array_equal(auto.transform(X.iloc[[row]])[0], whole[row])
    featurewright.save(auto, tmp_path / "model.fw")
    again = featurewright.load(tmp_path / "model.fw")
    np.testing.assert_array_equal(again.transform(pl.from_pandas(X)), whole)
    missing = [column.name for column in auto.columns_ if column.kind == "missing"]
    assert missing == ["review: characters is missing"]


def test_long_texts_are_texts_too():
    X, y = reviews(60)
    X["review"] *= 40
    auto = AutoFeatures(**SEARCH).fit(X, y)
    assert "review" not in auto.left_out_


def test_what_cannot_be_written_is_refused():
    X, y = reviews(60)
    auto = AutoFeatures(**SEARCH).fit(X, y)
    with pytest.raises(ValueError, match="'review' holds free text, whose numbers have no SQL"):
        to_sql(auto, table="t")
    with pytest.raises(ValueError, match="'review' holds free text, whose numbers have no SQL or"):
        to_onnx(auto)
    with pytest.raises(TypeError, match="'review' held free text"):
        auto.transform(np.zeros((2, 3)))


def test_texts_become_numbers():
    reader = learn_text(["a red wine", "a white wine", "an old bridge of stone", None])
    parts = reader.read(["a red wine", "", None])
    assert reader.parts[:3] == ("characters", "words", "theme 1")
    np.testing.assert_array_equal(parts["characters"], [10, 0, np.nan])
    np.testing.assert_array_equal(parts["words"], [3, 0, np.nan])
    np.testing.assert_array_equal(parts["theme 1"][1:], [0.0, np.nan])
    assert parts["theme 1"][0] != 0.0


@pytest.mark.parametrize("texts", [[None], ["", ""], ["same words here"] * 5, ["?!"] * 30])
def test_texts_that_say_nothing_have_no_themes(texts):
    assert learn_text(texts).read(texts)["words"].shape == (len(texts),)
