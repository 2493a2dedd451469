"""The main job: a table and a target in, better features out."""

from featurewright.auto.estimators import standard_estimator
from featurewright.auto.features import AutoFeatures
from featurewright.auto.originals import OutputColumn

__all__ = ["AutoFeatures", "OutputColumn", "standard_estimator"]
