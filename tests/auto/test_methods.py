"""The table of methods: names, texts, and which may be joined."""

from __future__ import annotations

from dataclasses import replace

from tests.cases import loop_over

from featurewright import AutoFeatures
from featurewright.auto.methods import METHODS, chosen_methods, may_join
from featurewright.auto.outcomes import Reason
from featurewright.auto.tasks import Task


@loop_over(
    ("method", "others", "expected"),
    [
        ("forest", ("scores",), True),
        ("scores", ("votes",), True),
        ("votes", ("scores", "forest"), True),
        ("votes", ("votes",), False),
        ("votes", ("formula votes", "scores"), True),
        ("paths", ("formula votes",), False),
        ("paths", ("scores",), False),
        ("scores", ("paths",), False),
        ("paths", ("formula paths",), False),
        ("paths", ("landmarks",), True),
    ],
)
def test_trees_join_other_trees_only_as_columns_for_classes(method, others, expected):
    assert may_join(method, others) == expected


def test_every_method_is_described_once_and_can_be_asked_for():
    assert chosen_methods("all") == [
        name for name, method in METHODS.items() if not method.needs_links
    ]
    assert chosen_methods("batch", links=["orders"]) == ["batch", "links"]
    assert set(chosen_methods("readable")) == {"forest", "batch", "fctree", "boosting"}
    for name, method in METHODS.items():
        assert method.name == name
        assert chosen_methods(name, links=["orders"]) == list(dict.fromkeys([name, "links"]))
        assert all((method.gives, method.idea, method.when, method.python))
        assert f'"{name}"' in AutoFeatures.__doc__


def test_methods_refuse_targets_that_they_cannot_handle():
    labels, classes = Task("multilabel", 3, 5, 1), Task("classification", 1, 5, 1)
    assert METHODS["labels"].refusal(classes, 2) is Reason.NO_CATEGORIES
    labels, classes = (replace(task, takes_categories=True) for task in (labels, classes))
    one_target = per_class = {"scores", "votes", "formula votes", "recursive"}
    for name, method in METHODS.items():
        assert method.refusal(labels, 2) is (Reason.ONE_TARGET_ONLY if name in one_target else None)
        assert method.refusal(classes, 101) is (
            Reason.TOO_MANY_CLASSES if name in per_class else None
        )
        assert method.refusal(classes, 100) is None
