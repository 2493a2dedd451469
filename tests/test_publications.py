"""The methods with the settings of their publications."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier

import featurewright
from featurewright import published
from featurewright.publications import PUBLISHED

PAGE = Path(__file__).parents[1] / "docs" / "understand" / "published.md"

SMALL = {
    "forest_paths": {"max_estimators": 4, "step": 2},
    "rst": {"n_recursions": 1},
    "monte_carlo_tree": {},
    "fctree": {},
    "fctree_unweighted": {},
    "tfc": {},
}


def test_every_method_is_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    for name, publication in PUBLISHED.items():
        changes = SMALL.get(name, {"n_estimators": 2})
        if "random_state" in published(name).get_params():
            changes = {**changes, "random_state": 0}
        model = published(name, **changes)
        assert type(model).__name__ == publication.estimator
        assert model.get_params().items() >= {**publication.settings, **changes}.items()
        model.fit(X, y)
        if is_classifier(model):
            assert set(model.predict(X)) <= {"same", "other"}, name
        else:
            assert model.transform(X).shape[0] == len(X), name


def test_names_that_are_unknown_are_refused():
    with pytest.raises(ValueError, match=r"'forest' is no published method; use one of 'monte_"):
        published("forest")


def test_every_method_names_its_paper():
    """The documentation of `published` names the papers, which are those to cite."""
    cited = " ".join((PAGE.parents[2] / "CITATION.cff").read_text("utf-8").split())
    for publication in PUBLISHED.values():
        assert any(title in cited for title in publication.paper.split(", "))
        assert publication.paper in " ".join(str(published.__doc__).split())


@pytest.mark.parametrize("name", PUBLISHED)
def test_documents_of_a_class_name_its_publication(name):
    document = getattr(featurewright, PUBLISHED[name].estimator).__doc__
    assert f'"{name}"' in document
    *_, authors = document.partition("\nReferences\n----------\n")
    first = authors.split(" and ")[0].split(",")[0].split()[-1]
    assert first in PAGE.read_text(encoding="utf-8")
