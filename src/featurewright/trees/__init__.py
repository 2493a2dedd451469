"""Grown trees: the fitted structure, and the drivers that fill it in parallel."""
