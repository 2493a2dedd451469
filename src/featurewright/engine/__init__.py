"""Compiled loops: arrays in, arrays out. Numba lives here and nowhere else."""
