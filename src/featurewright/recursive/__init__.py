"""Method C: recursive selective transformation."""

from featurewright.recursive.classifier import RecursiveSelectiveClassifier
from featurewright.recursive.display import RecursionDisplay
from featurewright.recursive.transformer import RecursiveSelectiveTransformer

__all__ = ["RecursionDisplay", "RecursiveSelectiveClassifier", "RecursiveSelectiveTransformer"]
