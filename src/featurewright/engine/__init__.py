"""Compiled kernels and the code that drives them; the only package that imports numba."""

from featurewright.engine.garbage import collection_paused

with collection_paused():
    import numba  # noqa: F401
