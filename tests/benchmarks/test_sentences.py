"""Sentences that pages make of what was measured."""

import auto_gap
import auto_noise
import papers_budget
import pytest


class Found:
    """A store of results by the name of a job."""

    def __init__(self, **results):
        self.get = results.get


def test_columns_that_were_kept_for_nothing():
    none = {"method": "original", "claimed": 0.0, "before": 0.5, "after": 0.5}
    some = {"method": "votes", "claimed": 0.2, "before": 0.5, "after": 0.4}
    store = Found(a=none, b=some, c=some)
    said = auto_noise.kept_sentence(store, ["a", "b", "c", "not done"])
    assert said.startswith("Columns were kept for nothing in 2 of 3 fits")
    assert "claimed there is 0.2000, the real one -0.1000" in said
    assert auto_noise.kept_sentence(store, ["a"]) == "Nothing was kept in any of 1 fits."


def test_sets_where_features_do_little_or_harm():
    said = auto_gap.behind_sentence({"a": 0.9, "b": 0.2}, ["b"])
    assert said == "Less than half: b (0.20). Worse than the linear model: b."
    said = auto_gap.behind_sentence({"a": 0.9}, [])
    assert said == "Less than half: none. Worse than the linear model: none."


@pytest.mark.parametrize(
    ("label", "letter", "means", "said"),
    [
        ("single tree", "K", {"K 1n": 1.0, "K 3n": 0.9, "K 10n": 0.95}, "here not: K 10n."),
        ("single tree", "K", {"K 1n": 1.0, "K 3n": 0.9}, "here not: none."),
        ("Extra-Trees", "K", {"K 1n": 0.8, "K 30n": 0.9}, "between 0.1n and 10n; here so."),
        ("Extra-Trees", "K", {"K 1n": 0.8, "K 30n": 0.7}, "here not so."),
        ("boosted stumps", "K", {"K 0.1n": 1.1, "K 30n": 0.7}, "smallest K helps; here not so."),
        ("Extra-Trees", "D", {"D 1": 1.0, "D 5": 0.9, "D 7": 0.89}, "D 5 is within 3%"),
        ("Extra-Trees", "D", {"D 1": 1.0, "D 5": 0.9, "D 7": 0.8}, "D 5 is not within 3%"),
    ],
)
def test_curves_beside_the_published_words(label, letter, means, said):
    assert said in papers_budget.as_published(label, letter, means)
