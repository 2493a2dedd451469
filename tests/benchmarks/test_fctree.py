"""What the page of feature construction trees is made of."""

import re
from types import SimpleNamespace

import numpy as np
import papers_fctree
import pytest
from c45 import C45
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
