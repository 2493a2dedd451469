"""What the page on learners says of those of ours that others are ahead of."""

import compare_learners
import numpy as np
import pytest


@pytest.fixture
def measured(monkeypatch):
    """Three sets: ours is behind on the smallest one and ahead on the largest."""
    sizes = {"a": 100, "b": 1000, "c": 9000}
    known = {name: {"n_rows": n_rows} for name, n_rows in sizes.items()}
    monkeypatch.setattr(compare_learners, "manifest", lambda: known)
    return {"error": np.array([[0.3, 0.1], [0.2, 0.1], [0.1, 0.2]])}, {"error": list(sizes)}


def test_a_learner_that_is_behind_is_told_by_size(measured):
    said = compare_learners.alone(*measured, ["our forest", "sklearn RF"])
    assert "mean rank 1.67 on 3 sets; the best other, sklearn RF, has 1.33." in said
    assert "2.00 and 1.00 on the 1 sets with fewer than 500 rows" in said
    assert "1.00 and 2.00 on the 1 sets with more" in said


def test_a_learner_that_is_ahead_is_not(measured):
    values, sets = measured
    said = compare_learners.alone({"error": values["error"][:, ::-1]}, sets, ["our forest", "RF"])
    assert said.endswith("mean rank 1.33 on 3 sets; the best other, RF, has 1.67.")


def test_without_others_there_is_nothing_to_say(measured):
    assert compare_learners.alone(*measured, ["our forest", "our boosting"]) == ""
