"""Tables and targets for the tests of encoders."""

from __future__ import annotations

import numpy as np
import polars as pl


def make_table(n_rows: int = 120, missing: float = 0.0, seed: int = 0) -> np.ndarray:
    """Four columns of numbers, some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def make_classes(X: np.ndarray) -> np.ndarray:
    """Three classes that depend on two columns."""
    x = np.nan_to_num(X)
    return np.where(x[:, 0] * x[:, 1] > 0, "same", np.where(x[:, 0] > 0, "down", "up"))


def make_frame(n_rows: int = 90, missing: bool = True) -> pl.DataFrame:
    """A table of a number, a truth value and a category with odd names."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=n_rows).round(2).tolist()
    flag = (rng.random(n_rows) < 0.5).tolist()
    colour = rng.choice(["red", "green", "dark blue"], n_rows).tolist()
    if missing:
        size[3], flag[4], colour[5] = None, None, None
    return pl.DataFrame({"petal width (cm)": size, "flag": flag, "colour": colour})


def frame_classes(frame: pl.DataFrame) -> np.ndarray:
    """Two classes that depend on all columns."""
    size = np.nan_to_num(frame["petal width (cm)"].to_numpy().astype(float))
    flag = frame["flag"].fill_null(False).to_numpy().astype(bool)
    red = (frame["colour"].fill_null("red") == "red").to_numpy()
    return ((size > 0.3) ^ flag ^ red).astype(int)
