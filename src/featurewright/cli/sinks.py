"""Tables out: frames are written as they come, and the file appears when it is complete."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from featurewright.cli.errors import UserError
from featurewright.cli.sources import FORMATS, ending_of
from featurewright.cli.streams import COMPRESSIONS

STANDARD_OUTPUT = Path("-")


class Sink(Protocol):
    """Where frames go, one after the other."""

    def write(self, frame: pl.DataFrame) -> None:
        """Write some rows."""


def check_output(path: Path, *inputs: Path) -> None:
    """Refuse, before any work, a place that cannot be written to or that is an input."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, but a file to write is expected: add a file name.")
    if path.exists() and not path.is_file():
        raise UserError(
            f"{path} is a device or a pipe, but a file appears when it is complete: name an "
            "ordinary file."
        )
    if path == STANDARD_OUTPUT:
        raise UserError("This cannot be written to the standard output: name a file instead of -.")
    if not path.parent.is_dir():
        raise UserError(f"There is no folder {path.parent} to write {path.name} to: make it first.")
    try:
        # Permissions say too little of folders such as /proc.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UserError(
            f"Files cannot be written to the folder {path.parent} ({error.strerror}): choose "
            "another one."
        ) from error
    for other in inputs:
        if path.exists() and other.exists() and path.samefile(other):
            raise UserError(f"{path} is an input and would be overwritten: choose another name.")


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Return a temporary name beside a file, which becomes its name if all goes well."""
    path = path.resolve()  # a link stays, and what it points to is written
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, complete or not at all."""
    with unfinished(path) as temporary:
        # A lone surrogate in a name cannot be written; a question mark takes its place.
        temporary.write_bytes(text.encode("utf-8", "replace"))


@contextmanager
def open_sink(path: Path) -> Iterator[Sink]:
    """Open a table for writing; the ending of its name says the format.

    To the standard output goes CSV, as it comes.
    """
    if path == STANDARD_OUTPUT:
        yield _Text(sys.stdout.buffer, ",", "csv")
        sys.stdout.buffer.flush()
        return
    ending = ending_of(path)
    kind = FORMATS.get(ending)
    if kind is None or ending in {"txt", "data", "json"}:
        raise UserError(
            f"The name {path.name!r} does not say a format: end it with .csv, .tsv, .jsonl, "
            ".parquet or .arrow (text also with .gz, .bz2, .xz or .zst)."
        )
    packing = path.suffix.lower().removeprefix(".")
    if kind in {"csv", "json lines"}:
        with unfinished(path) as temporary:
            opener = COMPRESSIONS.get(packing)
            with opener(temporary, "wb") if opener else temporary.open("wb") as file:
                yield _Text(file, "\t" if ending in {"tsv", "tab"} else ",", kind)
        return
    if packing in COMPRESSIONS:
        raise UserError(f"{path.name}: a {kind} file is packed already, leave .{packing} away.")
    with unfinished(path) as temporary:
        folder = temporary.with_name(temporary.name + "s")
        folder.mkdir()
        try:
            parts = _Parts(folder, kind)
            yield parts
            parts.join(temporary)
        finally:
            shutil.rmtree(folder)


class _Text:
    """Frames as lines of text."""

    def __init__(self, file: Any, delimiter: str, kind: str) -> None:
        self.file = file
        self.delimiter = delimiter
        self.kind = kind
        self.header = True

    def write(self, frame: pl.DataFrame) -> None:
        """Write some rows, the names above the first ones."""
        # Not straight into the file: polars has an error of its own for a pipe closed early.
        if self.kind == "csv":
            text = frame.write_csv(separator=self.delimiter, include_header=self.header)
        else:
            text = frame.write_ndjson()
        self.file.write(text.encode())
        self.header = False


class _Parts:
    """Frames as files of their own, joined at the end without holding them all."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self.kind = kind
        self.files: list[Path] = []

    def write(self, frame: pl.DataFrame) -> None:
        """Write some rows to the next file."""
        file = self.folder / f"{len(self.files):08d}"
        frame.write_parquet(file) if self.kind == "parquet" else frame.write_ipc(file)
        self.files.append(file)

    def join(self, path: Path) -> None:
        """Join the parts into one file."""
        if len(self.files) == 1:
            self.files[0].replace(path)
        elif self.kind == "parquet":
            pl.scan_parquet(self.files, glob=False).sink_parquet(path)
        else:
            pl.scan_ipc(self.files, glob=False).sink_ipc(path)
