"""Compiled kernels and the code that drives them; the only package that imports numba."""

import gc

# Importing Numba makes a hundred thousand objects that live as long as the process. Without a pause
# the garbage collector goes through them and scikit-learn's in between, for a third of the time.
_COLLECTS = gc.isenabled()
gc.disable()
try:
    import numba  # noqa: F401
finally:
    if _COLLECTS:
        gc.enable()
