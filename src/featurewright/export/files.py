"""Model files: save a fitted estimator, load it in another process."""

from __future__ import annotations

import io
import json
import os
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from sklearn.base import BaseEstimator

from featurewright.export.stored.archive import (
    DOCUMENT,
    MAX_BYTES,
    Archive,
    ModelFileError,
    array_name,
    broken,
    foreign_name,
    write_archive,
)
from featurewright.export.stored.models import estimator_name
from featurewright.export.stored.reading import Reader, parse_document, predicting_nodes
from featurewright.export.stored.writing import Writer

FORMAT = "featurewright model"
# Files of all versions up to this one are read. Within a version only parameters may be added: a
# file without one means its default. Any other change raises the number and keeps a reader of the
# old one.
FORMAT_VERSION = 1
_KEYS = {"format", "version", "featurewright", "nodes", "model"}


def save(model: BaseEstimator, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write an estimator to a file that `load` reads.

    The file is a zip archive of JSON and .npy arrays. It holds no code. It is written under another
    name first, so that a failure leaves an older file as it was.

    Parameters
    ----------
    model : estimator
        One of featurewright's estimators, fitted or not. Operators of your own are saved by their
        names. Estimators of scikit-learn inside it need skops (``featurewright[files]``).
    path : str, path or binary file
        Where to.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import featurewright
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = featurewright.ConstructiveForestClassifier(10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     featurewright.save(model, pathlib.Path(folder) / "iris.fw")
    ...     same = featurewright.load(pathlib.Path(folder) / "iris.fw")
    >>> bool((same.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    if estimator_name(model) is None:
        raise TypeError(
            f"save writes featurewright's own estimators, got a {type(model).__name__}; use "
            "skops.io.dump for a pipeline that contains one."
        )
    import featurewright

    check_place(path)
    writer = Writer()
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "featurewright": featurewright.__version__,
        "model": writer.value(model, type(model).__name__),
        "nodes": writer.nodes,
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
    members = [(DOCUMENT, text)]
    members += [(array_name(k), data) for k, data in enumerate(writer.arrays)]
    members += [(foreign_name(k), data) for k, data in enumerate(writer.foreign)]
    if not isinstance(path, (str, os.PathLike)):
        whole = io.BytesIO()  # a file may be one that only takes bytes, such as a pipe
        write_archive(whole, members)
        path.write(whole.getvalue())
        return
    _replace(Path(os.path.realpath(path)), members)


def check_place(path: Any) -> None:
    """Refuse what no model file can be written to, before any work.

    Devices and pipes are refused too: a file that appears when it is complete would replace them.
    """
    if not isinstance(path, (str, os.PathLike)):
        if not hasattr(path, "write") or isinstance(path, io.TextIOBase):
            raise TypeError(
                f"path is a {type(path).__name__}, but the name of a file, or a file opened for "
                "writing bytes, is expected: pass a path such as 'model.fw'."
            )
        return
    shown = repr(os.fspath(path))
    target = Path(path)
    if "\0" in os.fsdecode(path):
        raise ValueError(f"path={shown} holds a NUL character: pass the name of a file.")
    if target.is_dir():
        raise IsADirectoryError(
            f"{shown} is a folder, but a file to write is expected: add a file name."
        )
    if target.exists() and not target.is_file():
        raise OSError(
            f"{shown} is a device or a pipe, which a model file would replace: name an ordinary "
            "file, or pass an open file."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder to write {shown} to: make it first.")


def _replace(target: Path, members: list[tuple[str, bytes]]) -> None:
    """Write a file under a temporary name, then move it to its place."""
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            write_archive(file, members)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def load(
    path: str | os.PathLike[str] | IO[bytes],
    *,
    trusted: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
) -> Any:
    """Read an estimator that `save` has written.

    Predictions, columns and names are the same to the last bit. Nothing in the file is executed,
    and a damaged or hostile file gives a `ModelFileError`.

    Parameters
    ----------
    path : str, path or binary file
        Where from.
    trusted : sequence of str, default=()
        Names of types outside of scikit-learn that estimators inside the model may have, such as
        ``"lightgbm.sklearn.LGBMClassifier"``. The error names those that are missing. Do not name a
        type that you would not import.
    max_bytes : int, default=2**32
        Most bytes that the file may unpack to.

    Returns
    -------
    estimator
        As it was saved.

    Examples
    --------
    >>> import io
    >>> import featurewright
    >>> file = io.BytesIO()
    >>> featurewright.save(featurewright.ConstructiveTreeClassifier(max_depth=3), file)
    >>> featurewright.load(file)
    ConstructiveTreeClassifier(max_depth=3)
    """
    if isinstance(trusted, str):
        raise TypeError(f"trusted={trusted!r} must be a sequence of names; put it in a list.")
    if not isinstance(path, (str, os.PathLike)):
        if not hasattr(path, "seek") or isinstance(path, io.TextIOBase):
            raise TypeError(
                f"path is a {type(path).__name__}, but the name of a model file, or one opened for "
                "reading bytes, is expected: pass a path such as 'model.fw'."
            )
        return _load(path, trusted, max_bytes, "the model")
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {os.fspath(path)!r}: give one that save wrote.")
    with Path(path).open("rb") as file:
        return _load(file, trusted, max_bytes, repr(os.fspath(path)))


def load_to_transform(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that is only to compute columns.

    The estimator that an `AutoFeatures` predicts with is left out: importing skops, which reads it,
    takes longer than all the rest.
    """
    with Path(path).open("rb") as file:
        return _load(file, (), MAX_BYTES, repr(os.fspath(path)), predicts=False)


def _load(
    file: IO[bytes], trusted: Sequence[str], max_bytes: int, name: str, *, predicts: bool = True
) -> Any:
    """Read an open file; errors name it."""
    try:
        archive = Archive(file, max_bytes)
        document = parse_document(archive.read(DOCUMENT))
        _check_version(document)
        nodes, model = document["nodes"], document["model"]
        unread = set() if predicts else predicting_nodes(nodes, model)
        return Reader(archive, trusted, max_bytes, unread).read(nodes, model)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {name}: {error}.") from error


def _check_version(document: dict[str, Any]) -> None:
    """Refuse other formats, and versions later than this one."""
    version, writer = document.get("version"), str(document.get("featurewright"))[:40]
    if document.get("format") != FORMAT or type(version) is not int or version < 1:
        raise broken("it is no model file of featurewright")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"featurewright {writer} wrote it in format {version}, and this version reads up to "
            f"{FORMAT_VERSION}; install a newer featurewright"
        )
    if set(document) != _KEYS:
        raise broken("its document has other fields than it should")
