"""The decorator of compiled functions, and everything that leans on Numba's internals."""
