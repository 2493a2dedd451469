"""Doctests: modules whose library is not installed have none to run."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["featurewright/distributed/spark.py"]
