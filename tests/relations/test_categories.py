"""Labels over links: columns of codes, for estimators that take categories."""

from __future__ import annotations

import io
from copy import copy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import featurewright
from featurewright import Link, RelationalFeatures
from featurewright.export import ModelFileError, to_onnx
from featurewright.expressions import Domain

COLOURS = ["red", "green", "blue", "it's", "grey", "black"]
WORTH = np.array([3.0, -2.0, 5.0, -4.0, 1.0, -3.0])  # in no order of the labels


def boxes(n: int = 600, n_shades: int = 1) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Return boxes, their balls, and a target that follows from the most frequent colour."""
    rng = np.random.default_rng(0)
    colours = [f"{colour}{shade or ''}" for shade in range(n_shades) for colour in COLOURS]
    worth = np.concatenate([WORTH, rng.normal(scale=4, size=len(colours) - len(COLOURS))])
    usual = rng.integers(0, len(colours), n)
    box = np.repeat(np.arange(n), 5)
    colour = np.where(rng.random(5 * n) < 0.7, usual[box], rng.integers(0, len(colours), 5 * n))
    balls = pl.DataFrame({"box": box, "colour": [colours[k] for k in colour]})
    rows = pl.DataFrame({"box": np.arange(n), "size": rng.normal(size=n)})
    return rows, balls, worth[usual] + rng.normal(scale=0.5, size=n)


def fitted(**settings) -> tuple[RelationalFeatures, pl.DataFrame, pl.DataFrame]:
    rows, balls, y = boxes()
    settings = {"categories": True, "include_original": False, "random_state": 0} | settings
    model = RelationalFeatures([Link(balls, on="box", name="balls")], **settings)
    return model.fit(rows, y), rows, balls


def test_a_label_is_a_feature_where_it_says_more_than_tests() -> None:
    model, rows, balls = fitted(n_features_out=1)
    (feature,) = model.features_
    assert str(feature) == "mode(balls.colour)"
    assert feature.domain is Domain.CATEGORY
    assert model.levels_ == (tuple(sorted(COLOURS)),)
    often = balls.group_by("box").agg(pl.col("colour").mode())
    codes = model.transform(rows).ravel()
    labels = rows.join(often, on="box", how="left", maintain_order="left")["colour"]
    assert all(
        model.levels_[0][int(code)] in found
        for code, found in zip(codes, labels.to_list(), strict=True)
    )


def test_labels_are_no_features_unless_asked_for() -> None:
    model, _, _ = fitted(categories=False)
    assert all(feature.domain is not Domain.CATEGORY for feature in model.features_)
    assert model.levels_ == (None,) * len(model.features_)


def test_unseen_labels_are_filled_with_the_commonest() -> None:
    model, rows, balls = fitted(n_features_out=1)
    commonest = np.bincount(model.transform(rows).ravel().astype(int)).argmax()
    newer = {"balls": balls.with_columns(colour=pl.lit("violet"))}
    assert (model.transform(rows, links=newer) == commonest).all()
    kept = model.set_params(keep_missing=True)
    assert np.isnan(kept.transform(rows, links=newer)).all()


def test_labels_in_files() -> None:
    model, rows, _ = fitted(n_features_out=2, store_links=True)
    file = io.BytesIO()
    featurewright.save(model, file)
    loaded = featurewright.load(file)
    assert loaded.features_ == model.features_
    assert loaded.levels_ == model.levels_
    np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows))
    with pytest.raises(ValueError, match="no joins"):
        to_onnx(loaded)
    wrong = copy(model)
    column = replace(model.features_[0].value, domain=Domain.REAL)
    wrong.features_ = (replace(model.features_[0], value=column), *model.features_[1:])
    with pytest.raises(ModelFileError):
        featurewright.save(wrong, file := io.BytesIO()) or featurewright.load(file)
