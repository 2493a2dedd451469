"""What the page of feature construction trees is made of."""

import re
from types import SimpleNamespace

import numpy as np
import papers_fctree
import pytest
from c45 import C45
from fctree_leaves import areas, leaves_report
from fctree_operators import compare, operators_report
from fctree_published import COMPARISONS
from fctree_search import draws_by_depth, find_xor
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB


def skewed(seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(300) < 0.2).astype(int)
    return rng.normal(size=(300, 3)) * 100 + 120 * y[:, None], y


def test_svms_are_measured_by_labels_and_by_margins():
    X, y = skewed()
    svm = papers_fctree.make_learner("svm").fit(X, y)
    found = papers_fctree.measure("svm", svm, X, y, skewed=True)
    assert found["svm"] == roc_auc_score(y, svm.predict(X))
    assert found["svm margins"] == roc_auc_score(y, svm.decision_function(X))
    assert found["svm"] < found["svm margins"]
    assert papers_fctree.measure("svm", svm, X, y, skewed=False) == {"svm": svm.score(X, y)}
    bayes = GaussianNB().fit(X, y)
    found = papers_fctree.measure("bayes", bayes, X, y, skewed=True)
    assert found == {"bayes": roc_auc_score(y, bayes.predict_proba(X)[:, 1])}


def test_learners_are_those_of_weka():
    X, y = skewed()
    svm = papers_fctree.make_learner("svm").fit(X, y)
    assert svm[-1].kernel == "linear"
    scaled = svm[0].transform(X)
    assert (scaled.min(), scaled.max()) == pytest.approx((0, 1))
    assert papers_fctree.make_learner("gaussian")[-1].gamma == 0.01
    tree = papers_fctree.make_learner("tree")
    assert isinstance(tree, C45)
    assert tree.confidence == 0.25


def test_a_fold_has_every_value_that_is_compared(monkeypatch):
    monkeypatch.setattr(papers_fctree, "table", lambda name, max_rows: skewed())
    values = {
        kind: papers_fctree.evaluate_fold(
            {
                "set": "landmine 0",
                "params": {"columns": kind},
                "split": 0,
                "n_jobs": 1,
                "max_rows": 9,
            }
        )
        for kind in ("original", "TFC", "FCT", "unweighted")
    }
    for ours, theirs, _ in COMPARISONS.values():
        for kind, learner in (ours, theirs):
            wanted = papers_fctree.LEARNERS if learner == "all" else [learner]
            assert set(wanted) <= set(values[kind])
    assert values["FCT"]["n_columns"] > values["original"]["n_columns"] == 3


def test_means_by_learner_are_those_of_the_sets():
    scores = {
        ("a", "FCT"): [70.0, 72.0],
        ("a", "original"): [69.0, 70.0],
        ("a", "TFC"): [71.0, 71.0],
    }
    scores |= {("b", "FCT"): [80.0, 80.0], ("b", "original"): [76.5, 76.5], ("b", "TFC"): [80, 80]}
    results = SimpleNamespace(
        groups={"balanced": ["a", "b"]}, get=lambda name, kind, _: np.array(scores[name, kind])
    )
    lines = papers_fctree.means_table(results).splitlines()
    assert "original, balanced" in lines[0]
    assert "2.5 ± 1.0" in lines[2]
    assert "0.0 ± 0.0" in lines[2]


def test_what_is_drawn_and_found():
    equal, learned = (draws_by_depth(strength, 1) for strength in (0.0, 1.0))
    assert equal[0] == learned[0]
    assert learned[4] > equal[4] + 0.1
    assert find_xor(2, 8, 2)[:2] == ["100%", "100%"]


def test_one_operator_alone_is_found_where_only_it_helps():
    X = np.random.default_rng(0).normal(size=(200, 6)) * 10.0 ** np.arange(6)
    y = (X[:, 0] * X[:, 5] > 0).astype(int)
    page = operators_report([("xor", X, y)])
    assert re.search(r"\| xor .*\| +mul \|", page)
    assert "One alone is better beyond two standard errors on 1 of 1 sets (xor)" in page
    assert "and worse on 0 (none)" in page
    found = compare(X, y)
    assert found["best"] == "mul"
    assert len(found["alike"]) == len(found["weighted"]) == 15


def test_rows_of_a_leaf():
    X, y = skewed()
    X = np.column_stack([X, np.random.default_rng(1).normal(size=(300, 3))])
    page = leaves_report([("field", X, y)])
    row = next(line for line in page.splitlines() if line.startswith("| FCTree itself"))
    small, *_, large = (float(cell) for cell in row.strip("| ").split("|")[1:])
    assert f"changes by {large - small:.1f}\npoints" in page
    assert small == pytest.approx(areas(X, y, 1), abs=0.051)
    assert large == pytest.approx(areas(X, y, 30), abs=0.051)
    assert leaves_report([]) == "Not measured: there are no mine fields."


class Scores:
    """Results of one set in each group, the same in all folds."""

    def __init__(self, itself, bayes=70.0):
        self.groups = {"balanced": ["a"], "skewed": ["landmine 0"]}
        self.fields = ["landmine 0"]
        self.values = {"itself": itself, "bayes": bayes}

    def get(self, name, kind, learner):
        if learner == "bayes" and kind == "original":
            return np.full(10, 69.0)
        return np.full(10, self.values.get(learner, 65.0))

    def count(self, group, ours, theirs):
        return papers_fctree.Count((4, 6, 0), (0, 0, 10), ())


def test_claims_that_are_no_counts():
    said = papers_fctree.claims(Scores(itself=69.5))
    assert "on 1 with original columns, on 0 with any columns of 1 (published: on 5" in said[0]
    assert "(published: on all mine fields)" in said[1]
    assert "mine fields: 1.0 points on average (published: at least 5% higher)" in said[2]
    assert (
        "on 1 with original columns, on 1 with any columns" in papers_fctree.claims(Scores(71))[0]
    )


def test_a_published_majority_that_ours_has_not_is_told():
    """ "Most higher" stands for more than half: 4 wins and 6 losses are fewer."""
    _, remarks = papers_fctree.counts_table(Scores(itself=60.0))
    told = [remark for remark in remarks if remark.startswith("FCT against original, skewed")]
    assert len(told) == 1
    assert "published (most higher" in told[0]
    weights = [remark for remark in remarks if "without weighting, skewed" in remark]
    assert weights[0].endswith("No reason is known.")  # operators alone are of balanced sets
