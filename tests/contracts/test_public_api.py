"""The public names, written down: a change of this list is a change of the product."""

from __future__ import annotations

import types

import pytest
from tests.cases import loop_over

import featurewright
from featurewright import datasets, metrics

PUBLIC = [
    "AdditiveDisplay",
    "AutoFeatures",
    "BatchConstructor",
    "Boolean",
    "Category",
    "ConstructiveBoostingClassifier",
    "ConstructiveBoostingRegressor",
    "ConstructiveExtraTreesClassifier",
    "ConstructiveExtraTreesRegressor",
    "ConstructiveForestClassifier",
    "ConstructiveForestRegressor",
    "ConstructiveTreeClassifier",
    "ConstructiveTreeRegressor",
    "FCTreeClassifier",
    "FCTreeRegressor",
    "Feature",
    "ForestPathEncoder",
    "FrontDisplay",
    "KernelFeatureEnsembleClassifier",
    "KernelFeatureEnsembleRegressor",
    "LandmarkKernelFeatures",
    "Link",
    "Operator",
    "Real",
    "RecursiveSelectiveClassifier",
    "RecursiveSelectiveTransformer",
    "RelationalFeatures",
    "compile_all",
    "datasets",
    "load",
    "metrics",
    "published",
    "register_operator",
    "save",
]
MODULES = ("datasets", "metrics")
PUBLIC_DATASETS = [
    "load_airfoil",
    "make_ringnorm",
    "make_shop",
    "make_sin_inverse",
    "make_twonorm",
    "make_unit_square",
    "make_waveform",
]


def test_public_names():
    assert sorted(featurewright.__all__) == PUBLIC


def test_public_datasets():
    assert sorted(datasets.__all__) == PUBLIC_DATASETS


@loop_over("name", [name for name in PUBLIC if name not in MODULES])
def test_public_name_has_an_example(name):
    assert ">>> " in (getattr(featurewright, name).__doc__ or "")


def test_public_metric_has_an_example():
    assert ">>> " in (metrics.target_alignment.__doc__ or "")


@pytest.mark.parametrize("name", PUBLIC_DATASETS)
def test_public_dataset_has_an_example(name):
    assert ">>> " in (getattr(datasets, name).__doc__ or "")


def test_nothing_else_is_in_sight():
    seen = {
        name
        for name, value in vars(featurewright).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert seen - {"annotations"} <= set(PUBLIC)
