"""`AutoFeatures`: a search for columns that make an estimator better."""

from featurewright.auto.displays import AdditiveDisplay, FrontDisplay
from featurewright.auto.estimators import standard_estimator
from featurewright.auto.features import AutoFeatures
from featurewright.auto.originals import OutputColumn

__all__ = ["AdditiveDisplay", "AutoFeatures", "FrontDisplay", "OutputColumn", "standard_estimator"]
