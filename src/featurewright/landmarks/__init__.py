"""Method D: similarities to landmarks as features, and ensembles over them."""

from featurewright.landmarks.ensembles import (
    KernelFeatureEnsembleClassifier,
    KernelFeatureEnsembleRegressor,
)
from featurewright.landmarks.features import LandmarkKernelFeatures

__all__ = [
    "KernelFeatureEnsembleClassifier",
    "KernelFeatureEnsembleRegressor",
    "LandmarkKernelFeatures",
]
