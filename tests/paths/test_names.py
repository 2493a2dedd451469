"""Names say which rows reach a node."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.paths.cases import frame_classes, make_classes, make_frame, make_table

from featurewright import ForestPathEncoder


def test_names_are_the_conditions():
    frame = make_frame(missing=False)
    encoder = ForestPathEncoder(6, random_state=0).fit(frame, frame_classes(frame))
    names = encoder.get_feature_names_out()
    assert len(set(names)) == len(names) == encoder.n_nodes_
    encoding = encoder.transform(frame).toarray()
    rows = frame.to_dicts()
    seen = set()
    for k, name in enumerate(names):
        tree, _, condition = name.partition(": ")
        assert re.fullmatch(r"tree [1-6]", tree)
        for i, row in enumerate(rows):
            holds = condition == "all rows" or all(
                holds_for(test, row, seen) for test in condition.split(" & ")
            )
            assert holds == bool(encoding[i, k]), (name, row)
    assert seen == {">", "<=", "=", "!=", "flag"}


def holds_for(test: str, row: dict, seen: set) -> bool:
    """Check one part of a condition on a row."""
    column, sign, value = re.fullmatch(r"(.*) (<=|>|=|!=) (.*)", test).groups()
    if column == "flag":
        seen.add("flag")
        return row["flag"] == (value == "true")
    seen.add(sign)
    if sign in ("=", "!="):
        return (row[column] == value) == (sign == "=")
    x = np.float32(row[column])
    return bool(x <= np.float32(value)) if sign == "<=" else bool(x > np.float32(value))


def test_only_the_tightest_bounds_are_named():
    X = make_table(200)[:, :1]
    names = ForestPathEncoder(1, random_state=0).fit(X, np.sin(3 * X[:, 0])).get_feature_names_out()
    assert max(name.count("x0") for name in names) == 2
    assert names[0] == "tree 1: all rows"
    assert any(re.fullmatch(r"tree 1: x0 > [-.\de]+ & x0 <= [-.\de]+", name) for name in names)


def test_numbers_are_short():
    X = np.array([[0.2], [1.4], [0.3], [1.2]])
    names = ForestPathEncoder(1, bootstrap=False, random_state=0).fit(X, [0, 1, 0, 1])
    assert names.get_feature_names_out()[1] == "tree 1: x0 <= 0.75"


def test_expressions_and_leaves():
    X = make_table()
    y = make_classes(X)
    encoder = ForestPathEncoder(4, search="random", budget=20, max_features=0, random_state=0)
    names = encoder.fit(X, y).get_feature_names_out()
    assert len(set(names)) == encoder.n_nodes_
    assert any(re.search(r"x\d [-+*/] ", name) for name in names)
    leaves = encoder.set_params(encode="leaf").get_feature_names_out()
    assert len(leaves) == encoder.transform(X[:1]).shape[1]
    assert leaves.tolist() == [names[k] for k in np.sort(encoder._numbering.end)]


def test_columns_named_like_conditions_stay_apart():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(make_table(60)[:, :2], columns=["a", "a <= 0.0 & a"])
    encoder = ForestPathEncoder(5, random_state=0).fit(X, make_classes(make_table(60)))
    names = encoder.get_feature_names_out()
    assert len(set(names)) == encoder.n_nodes_


def test_other_input_names_are_refused():
    frame = make_frame()
    encoder = ForestPathEncoder(2, random_state=0).fit(frame, frame_classes(frame))
    assert len(encoder.get_feature_names_out(frame.columns)) == encoder.n_nodes_
    with pytest.raises(ValueError, match="input_features"):
        encoder.get_feature_names_out(["a", "b", "c"])
