"""Compiled kernels and the code that drives them; the only package that imports numba."""
