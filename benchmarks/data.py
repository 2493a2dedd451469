"""Tables for the benchmarks: the data folder, synthetic tables and train/test splits.

Without a data folder, tables come from where `fallback` finds them.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fallback import MissingSetError, catalogue, fetch, make_up
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).resolve().parent.parent
# Columns of the files that are not inputs: landmine's is the number of the mine field; how long a
# call of bank_marketing took is known only after its outcome.
NOT_INPUTS = {"landmine": ["task"], "bank_marketing": ["duration"]}
# Sets that share rows with another one; tables with mean ranks say so.
SAME_ROWS = {
    "raetsch_diabetis": "pima_diabetes",
    "raetsch_heart": "heart_cleveland",
    "raetsch_image": "segment",
    "raetsch_ringnorm": "ringnorm",
    "raetsch_twonorm": "twonorm",
    "raetsch_waveform": "waveform",
}
SINGLE_TARGET = ("binary", "multiclass", "regression")
SMALL_TRAINING = {"waveform": 300, "twonorm": 300, "ringnorm": 300}
FRESH = ":fresh"  # ends the name of an artificial set that is drawn anew for every split
# Rows to learn from of larger sets, as Geurts, Ernst and Wehenkel (2006) split them.
TRAINING_ROWS = {"letter": 10_000, "pendigits": 7_494}
HOLDOUTS = ("published", "tenth", "third", "own", "stratified")


@dataclass(frozen=True)
class Dataset:
    """A table with one target.

    Parameters
    ----------
    name : str
        Name of the set.
    X : ndarray or pandas.DataFrame
        Numbers as an array of floats; a frame if a column is nominal.
    y : ndarray
        Class codes from 0 on, or numbers.
    task : {"binary", "multiclass", "regression"}
        What kind of target it is.
    own_train_rows : int or None
        Rows at the top of the table that are its own training part.
    """

    name: str
    X: Any
    y: np.ndarray
    task: str
    own_train_rows: int | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 in regression."""
        return 0 if self.task == "regression" else int(self.y.max()) + 1


@dataclass(frozen=True)
class LabelSet:
    """A table with several labels to a row.

    Parameters
    ----------
    name : str
        Name of the set.
    X : ndarray of shape (n_rows, n_columns), float32
        Inputs.
    Y : ndarray of shape (n_rows, n_labels)
        1 where a row has a label, 0 where it has not.
    own_split : bool
        Whether the split comes with the set.
    train, test : ndarray of int
        Row numbers of its split.
    """

    name: str
    X: np.ndarray
    Y: np.ndarray
    own_split: bool
    train: np.ndarray
    test: np.ndarray


def data_folder() -> Path:
    """Return where the data folder is, or would be."""
    return Path(os.environ.get("FEATUREWRIGHT_DATA", ROOT.parent / "shared" / "data"))


@functools.cache
def manifest() -> dict[str, dict[str, Any]]:
    """Return what is known of each set: the folder's manifest, and what can be had without one."""
    path = data_folder() / "MANIFEST.json"
    stored = json.loads(path.read_text(encoding="utf-8"))["datasets"] if path.is_file() else {}
    return catalogue() | stored


def origin(name: str) -> str:
    """Say where a set comes from: rows that are made or fetched need not be those of the folder."""
    entry = manifest().get(name.removesuffix(":numeric"))
    return "elsewhere" if entry is not None and "file" not in entry else "folder"


@functools.cache
def why_missing(name: str) -> str:
    """Say why a set cannot be had; empty if it can."""
    entry = manifest().get(name.removesuffix(":numeric"))
    if _synthetic(name) or name in fresh_sets():
        return ""
    if entry is None:
        return "neither the data folder nor OpenML has it"
    if "file" in entry:
        found = (data_folder() / entry["file"]).is_file()
        return "" if found else "the data folder lists it, but its file is not there"
    try:
        fetch(name.removesuffix(":numeric"))
    except MissingSetError as e:
        return str(e)
    return ""


def present(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Part the sets that can be had from those that cannot.

    Parameters
    ----------
    names : iterable of str
        Names of sets.

    Returns
    -------
    there : list of str
        The sets that can be had, in their order.
    problems : list of str
        A sentence for each of the others.
    """
    reasons = {name: why_missing(name) for name in names}
    there = [name for name, reason in reasons.items() if not reason]
    return there, [f"{name} is missing: {reason}." for name, reason in reasons.items() if reason]


def fresh_sets() -> list[str]:
    """Name the sets that can be drawn anew for every split."""
    return [name + FRESH for name in SMALL_TRAINING]


def sample_of(name: str, split: int) -> str:
    """Name what a split is taken from: one table, or a sample of its own."""
    return f"{name} {split}" if name.endswith(FRESH) else name


def numeric_sets() -> list[str]:
    """Name the sets with one target and numeric inputs alone, the cheapest to learn first."""
    found = [
        name
        for name, entry in manifest().items()
        if entry["task"] in SINGLE_TARGET and not entry.get("n_nominal")
    ]
    return sorted(found, key=_work)


def _work(name: str) -> float:
    """Guess the work of learning a set."""
    entry = manifest()[name]
    return entry["n_rows"] * entry["n_features"] * (entry.get("n_classes") or 1)


def check_sets(names: list[str]) -> list[str]:
    """Return the names, or leave with one sentence if a set is unknown."""
    unknown = [
        name
        for name in names
        if not _synthetic(name) and name.removesuffix(":numeric") not in manifest()
    ]
    if unknown:
        known = ", ".join(sorted(manifest()))
        sys.exit(f"Unknown sets {', '.join(unknown)}: choose among {known}.")
    return names


@functools.lru_cache(maxsize=2)
def load(name: str) -> Dataset:
    """Read a set by its name.

    Parameters
    ----------
    name : str
        A name of the manifest; with ``":numeric"`` appended only its numeric columns;
        ``"synthetic:ROWSxCOLUMNS"`` makes a table up, and ``"twonorm:fresh 3"`` draws sample 3
        of an artificial set.

    Returns
    -------
    Dataset
        The table and its target.
    """
    size = _synthetic(name)
    if size:
        return Dataset(name, *synthetic(*size), "binary")
    sample = re.fullmatch(rf"(\w+){FRESH} (\d+)", name)
    if sample:
        kind, seed = sample[1], int(sample[2])
        return Dataset(kind, *make_up(kind, seed), manifest()[kind]["task"])
    numeric_only = name.endswith(":numeric")
    name = name.removesuffix(":numeric")
    entry = manifest()[name]
    if entry["task"] not in SINGLE_TARGET:
        sys.exit(f"{name} is {entry['task']}: the benchmarks take sets with one target.")
    if "file" not in entry:
        X, y = fetch(name)
        if hasattr(X, "iloc"):
            X = _inputs(X, numeric_only)
    elif (path := data_folder() / entry["file"]).suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            X, y = arrays["X"].astype(np.float32), arrays["y"]
    else:
        X, y = _read_parquet(path, NOT_INPUTS.get(name, []), numeric_only)
    if entry["task"] == "regression":
        y = np.asarray(y, dtype=np.float64)
    else:
        y = np.unique(y, return_inverse=True)[1]
    own = re.match(r"first (\d+) rows = train", entry.get("official_split", ""))
    return Dataset(name, X, y, entry["task"], int(own[1]) if own else None)


@functools.lru_cache(maxsize=1)
def load_labels(name: str) -> LabelSet:
    """Read a set with several labels to a row; half of the rows test where it has no own split."""
    import pandas as pd

    entry = manifest()[name]
    if entry["task"] != "multilabel":
        sys.exit(f"{name} is {entry['task']}: several labels to a row are expected.")
    if "file" in entry:
        frame = pd.read_parquet(data_folder() / entry["file"])
        labels = [column for column in frame if column.startswith("label_")]
    else:
        frame, Y = fetch(name)
        labels = [f"label_{k}" for k in range(Y.shape[1])]
        frame = frame.assign(**dict(zip(labels, Y.T, strict=True)))
    own_split = "is_train" in frame
    rows = np.arange(len(frame))
    if own_split:
        trains = frame.pop("is_train").to_numpy(dtype=bool)
        train, test = rows[trains], rows[~trains]
    else:
        train, test = train_test_split(rows, test_size=0.5, random_state=0)
    Y = frame[labels].to_numpy(dtype=np.int64)
    X = frame.drop(columns=labels).to_numpy(dtype=np.float32)
    return LabelSet(name, X, Y, own_split, train, test)


def _read_parquet(path: Path, not_inputs: list[str], numeric_only: bool) -> tuple[Any, np.ndarray]:
    """Read inputs and target of a Parquet file."""
    import pandas as pd

    frame = pd.read_parquet(path)
    y = frame["target"].to_numpy()
    return _inputs(frame.drop(columns=["target", *not_inputs]), numeric_only), y


def _inputs(X: Any, numeric_only: bool) -> Any:
    """Turn a frame into an array where it has numbers alone, or they alone are asked for."""
    numeric = X.select_dtypes("number")
    if numeric_only or numeric.shape[1] == X.shape[1]:
        return numeric.to_numpy(dtype=np.float64, na_value=np.nan)
    return X


def _synthetic(name: str) -> tuple[int, int] | None:
    """Read rows and columns out of the name of a synthetic table."""
    match = re.fullmatch(r"synthetic:(\d+)x(\d+)", name)
    return (int(match[1]), int(match[2])) if match else None


def synthetic(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make a two-class table: half of the columns matter, one label in twenty is wrong.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the table.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_rows, n_columns), float32
        Inputs.
    y : ndarray of shape (n_rows,)
        Classes 0 and 1.
    """
    from sklearn.datasets import make_classification

    X, y = make_classification(
        n_rows,
        n_columns,
        n_informative=n_columns // 2,
        n_redundant=n_columns // 4,
        n_clusters_per_class=4,
        flip_y=0.05,
        random_state=seed,
    )
    return X.astype(np.float32), y


def split_rows(
    dataset: Dataset, holdout: str, seed: int, max_rows: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Split the rows of a set into a training and a test part.

    Parameters
    ----------
    dataset : Dataset
        The set.
    holdout : {"published", "tenth", "third", "own", "stratified"}
        Share of the rows to test on. ``"published"`` draws as many rows to learn from as the
        publications do, where that is known, else it tests on a tenth. ``"tenth"`` and ``"third"``
        draw rows at random; ``"own"`` takes the set's own split if it has one and a third
        otherwise; ``"stratified"`` draws a third within each class. Except with ``"stratified"``,
        the three artificial sets train on 300 rows.
    seed : int
        Seed of the random numbers.
    max_rows : int, optional
        Both parts are cut to this number of rows.

    Returns
    -------
    train, test : ndarray of int
        Row numbers.
    """
    rows = np.arange(len(dataset.y))
    if holdout == "own" and dataset.own_train_rows:
        train, test = np.split(rows, [dataset.own_train_rows])
    elif holdout == "stratified":
        # A class of one row cannot be on both sides.
        by_class = dataset.n_classes and np.bincount(dataset.y).min() > 1
        train, test = train_test_split(
            rows, test_size=1 / 3, random_state=seed, stratify=dataset.y if by_class else None
        )
    elif dataset.name in SMALL_TRAINING:
        size = SMALL_TRAINING[dataset.name]
        train, test = train_test_split(rows, train_size=size, random_state=seed)
    elif holdout == "published" and dataset.name in TRAINING_ROWS:
        size = TRAINING_ROWS[dataset.name]
        train, test = train_test_split(rows, train_size=size, random_state=seed)
    else:
        share = 0.1 if holdout in ("published", "tenth") else 1 / 3
        train, test = train_test_split(rows, test_size=share, random_state=seed)
    return train[:max_rows], test[:max_rows]


def raetsch_split(dataset: Dataset, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one of the published splits of a set of Rätsch's, or a random one of the same size.

    Parameters
    ----------
    dataset : Dataset
        One of the ``raetsch_`` sets.
    split : int
        Its number; where the folder has fewer of the published ones, the rest are drawn.

    Returns
    -------
    train, test : ndarray of int
        Row numbers.
    """
    entry = manifest()[dataset.name]
    if split < entry["n_splits_available"]:
        with np.load(data_folder() / entry["splits_file"], allow_pickle=False) as parts:
            return parts["train"][split].astype(np.int64), parts["test"][split].astype(np.int64)
    sizes = entry["official_sizes"]
    rows = np.arange(len(dataset.y))
    train, test = train_test_split(
        rows, train_size=sizes["train"], test_size=sizes["test"], random_state=split
    )
    return train, test


def take(X: Any, rows: np.ndarray) -> Any:
    """Take rows of an array or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
