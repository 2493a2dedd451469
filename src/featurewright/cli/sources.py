"""Tables in files: which format, which columns, frames of some rows at a time."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors

from featurewright.cli.errors import UserError, closest
from featurewright.cli.memory import check_reading
from featurewright.cli.streams import (
    COMPRESSIONS,
    MAX_ROW,
    SAMPLE,
    as_text,
    compression_of,
    count_outside_quotes,
    open_bytes,
    read_start,
    sniff_delimiter,
    text_rows,
    unpacking,
    without_blank_lines,
)
from featurewright.tables import check_label

FORMATS = {
    "csv": "csv",
    "tsv": "csv",
    "tab": "csv",
    "txt": "csv",
    "data": "csv",
    "jsonl": "json lines",
    "ndjson": "json lines",
    "json": "json lines",
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
}
"""Formats by the ending of a file's name."""

CELLS = 2_000_000
"""Cells of a frame that is read at a time from a file of columns."""

MAX_CELLS = 64_000_000
"""Cells that a model is fitted on; of a larger file, a sample of the rows."""

MAX_BYTES = 3 * 2**30
"""Bytes of cells, as they come, above which rows are drawn too."""

MIN_SAMPLED_ROWS = 500
"""Rows that are held whatever they take."""

MANY_COLUMNS, MIN_PARSED_ROWS = 1_000, 256
"""Number of columns above which at least this many rows are parsed at a time."""

_UNNAMED_INDEX = selectors.matches(r"^__index_level_\d+__$|^__null_dask_index__$")
"""Numbers of rows that pandas and Dask store beside the columns: they say nothing about a row."""

_SPACES = (b" ", b"\t", b"\v", b"\f")


@dataclass
class Source:
    """A table in a file, read some rows at a time.

    Parameters
    ----------
    path : Path
        The file.
    kind : str
        "csv", "json lines", "json", "parquet" or "arrow".
    compression : str or None
        How it is compressed.
    delimiter : str
        Of a CSV file, what separates the columns.
    header : bool
        Of a CSV file, whether its first row has the names.
    recoded : bool
        Whether the file read so far turned out not to be UTF-8.
    n_absent : int
        Of a CSV file, how many cells the rows read so far lack at their ends.
    """

    path: Path
    kind: str
    compression: str | None
    delimiter: str = ","
    header: bool = True
    recoded: bool = False
    n_absent: int = 0

    @property
    def is_text(self) -> bool:
        """Whether all columns come as text, types still to be found."""
        return self.kind == "csv"

    def read(self) -> pl.DataFrame:
        """Read the whole table."""
        return _join(self.path, list(self.batches()))

    def sample(self, max_rows: int | None, seed: int) -> tuple[pl.DataFrame, int]:
        """Read the table, or a random sample of its rows where it has too many to be held.

        Every row has a random key by its number, and the rows with the smallest keys stay: what
        is drawn depends on the file and the seed alone.

        Parameters
        ----------
        max_rows : int or None
            Rows at most; None for as many as `MAX_CELLS` and `MAX_BYTES` allow.
        seed : int
            Seed of the keys.

        Returns
        -------
        frame : polars.DataFrame
            The rows, in their order.
        n_rows : int
            Number of rows in the file.
        """
        random = np.random.default_rng(seed)
        frames: list[pl.DataFrame] = []
        keys: list[NDArray[np.float64]] = []
        n_seen = n_held = n_bytes = 0
        limit, largest = max_rows, np.inf
        for frame in self.batches():
            if limit is None:
                limit = max(MIN_SAMPLED_ROWS, MAX_CELLS // max(1, frame.width))
            own = random.random(frame.height)
            n_seen += frame.height
            kept = own < largest
            frames.append(frame if kept.all() else frame.filter(kept))
            keys.append(own[kept])
            n_held += frames[-1].height
            n_bytes += int(frames[-1].estimated_size())
            if max_rows is None and n_bytes > MAX_BYTES and n_held > MIN_SAMPLED_ROWS:
                limit = min(limit, max(MIN_SAMPLED_ROWS, n_held // 2))
            check_reading(n_bytes)
            # Each time by half, so that rows are copied a few times only.
            if n_held > 2 * limit or n_bytes > MAX_BYTES:
                frames, keys, largest = _keep_smallest(frames, keys, limit, largest)
                n_held = sum(map(len, keys))
                n_bytes = sum(int(frame.estimated_size()) for frame in frames)
        if limit is not None and n_held > limit:
            frames, _, _ = _keep_smallest(frames, keys, limit, largest)
        return _join(self.path, frames), n_seen

    def batches(self) -> Iterator[pl.DataFrame]:
        """Read the table in frames, in the order of its rows."""
        try:
            with unpacking(self.path):
                if self.kind == "csv":
                    yield from self._csv()
                elif self.kind == "json lines":
                    yield from self._json_lines()
                elif self.kind == "json":
                    yield pl.read_json(self.path, infer_schema_length=None)
                else:
                    yield from self._columns()
        except (pl.exceptions.PolarsError, csv.Error) as error:
            raise UserError(
                f"{self.path} cannot be read as {self.kind}: {self._cause(error)}"
            ) from error

    def _csv(self) -> Iterator[pl.DataFrame]:
        """Read blocks of whole rows, every cell as text."""
        names: list[str] = []
        waiting: list[bytes] = []
        n_lines = self.n_absent = 0
        with open_bytes(self.path, self.compression) as stream:
            for block in text_rows(stream, b'"'):
                data, other = self._text(block)
                self.recoded |= other
                if not names:
                    names, data = self._names(data)
                waiting.append(data)
                n_lines += data.count(b"\n")
                # Parsing few rows of many columns takes as long as parsing many.
                if len(names) <= MANY_COLUMNS or n_lines >= MIN_PARSED_ROWS:
                    yield from self._parse(b"".join(waiting), names)
                    waiting, n_lines = [], 0
        yield from self._parse(b"".join(waiting), names)

    def _text(self, block: bytes) -> tuple[bytes, bool]:
        """Return a block as UTF-8; refuse what is no text."""
        if b"\0" in block:
            raise UserError(
                f"{self.path} holds NUL bytes, so it is no table as text, or one in UTF-16 or "
                "UTF-32 without a mark that says so: save it as CSV in UTF-8."
            )
        return as_text(block)

    def _names(self, data: bytes) -> tuple[list[str], bytes]:
        """Take the names off the first block; without a header, number the columns."""
        csv.field_size_limit(MAX_ROW)
        text = io.StringIO(data.decode("utf-8"), newline="")
        rows = csv.reader(iter(text.readline, ""), delimiter=self.delimiter)
        first: list[str] = next((row for row in rows if row), [])
        if not self.header:
            return [f"column_{number + 1}" for number in range(len(first))], data
        names = [name.strip() or f"column_{number}" for number, name in enumerate(first, start=1)]
        for number, name in enumerate(names, start=1):
            check_label(name, f"The name of column {number} of {self.path}")
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise UserError(
                f"{self.path} has more than one column called {twice[0]!r}: names must differ, "
                "rename one."
            )
        return names, data[len(text.getvalue()[: text.tell()].encode("utf-8")) :]

    def _parse(self, data: bytes, names: list[str]) -> Iterator[pl.DataFrame]:
        """Cut rows into cells of text without surrounding space."""
        if not data.strip(b"\r\n"):
            return
        if len(names) > 1:
            data = without_blank_lines(data)
        # Under numbered names every block has the same columns, whatever its first row looks like.
        numbers = self.delimiter.join(map(str, range(len(names))))
        frame = pl.read_csv(
            io.BytesIO(numbers.encode("utf-8") + b"\n" + data),
            separator=self.delimiter,
            infer_schema_length=0,
            quote_char='"',
        )
        frame.columns = names
        n_delimiters = frame.height * (len(names) - 1)
        self.n_absent += n_delimiters - count_outside_quotes(data, self.delimiter.encode())
        has_space = not data.isascii() or any(space in data for space in _SPACES)
        yield frame.with_columns(pl.all().str.strip_chars()) if has_space else frame

    def _cause(self, error: Exception) -> str:
        """Return why polars cannot read the file, as a sentence."""
        lines = str(error).strip().splitlines() or ["unknown reason"]
        if "more fields than defined" in lines[0]:
            return f"{self._long_row()}."
        if "malformed" in lines[0] or "could not parse" in lines[0]:
            return f'{self._odd_quotes()}; write a cell with a quote in it as "5"" pipe".'
        if self.kind != "csv" and lines[0].rstrip(".").endswith(("('N')", "('I')")):
            return "NaN and Infinity are no JSON; write null where a number is missing."
        return lines[0].rstrip(".") + "."

    def _odd_quotes(self) -> str:
        """Return the first line with a quote that is not closed in it, as text."""
        with open_bytes(self.path, self.compression) as stream:
            for number, line in enumerate(stream, start=1):
                if line.count(b'"') % 2:
                    return f"line {number} has a quote without its other half"
        return "quotes do not match"

    def _long_row(self) -> str:
        """Return the first row with more fields than the header and what to do, as text."""
        with open_bytes(self.path, self.compression) as stream:
            text = codecs.getreader("utf-8")(stream, "replace")
            rows = csv.reader(text, delimiter=self.delimiter)
            width = len(next((row for row in rows if row), []))
            for row in rows:
                if len(row) > width:
                    place = f"line {rows.line_num} has {len(row)} fields"
                    advice = "look for an unquoted delimiter in it"
                    if 2 * width <= len(row):
                        advice = "if the names are further down, remove the lines above them"
                    return f"{place}, more fields than the header's {width}; {advice}"
        return "a row has more fields than the header; look for an unquoted delimiter"

    def _json_lines(self) -> Iterator[pl.DataFrame]:
        """Read blocks of whole lines."""
        with open_bytes(self.path, self.compression) as stream:
            for block in text_rows(stream, None):
                data, other = self._text(block)
                self.recoded |= other
                frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
                yield frame.select(_in_order(frame.columns, data))

    def _columns(self) -> Iterator[pl.DataFrame]:
        """Read slices of a file of columns."""
        if self.kind == "parquet":
            lazy = pl.scan_parquet(self.path, glob=False)
        else:
            lazy = pl.scan_ipc(self.path, glob=False)
        lazy = lazy.select(~_UNNAMED_INDEX)
        n_rows = int(lazy.select(pl.len()).collect().item())
        step = max(1000, CELLS // max(1, len(lazy.collect_schema())))
        for start in range(0, n_rows, step):
            yield lazy.slice(start, step).collect()


def _join(path: Path, frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Put frames one below the other; refuse a table without rows."""
    if not frames:
        raise UserError(f"{path} has no rows: a table with a header and rows is expected.")
    if len(frames) == 1:
        return frames[0]
    alike = all(frame.schema == frames[0].schema for frame in frames)
    return pl.concat(frames, how="vertical" if alike else "diagonal_relaxed")


def _keep_smallest(
    frames: list[pl.DataFrame], keys: list[NDArray[np.float64]], limit: int, largest: float
) -> tuple[list[pl.DataFrame], list[NDArray[np.float64]], float]:
    """Return the rows with the smallest keys, and what further keys must be smaller than."""
    every = np.concatenate(keys)
    if len(every) <= limit:
        return frames, keys, largest
    bound = float(np.partition(every, limit)[limit])
    found = [
        (frame.filter(own < bound), own[own < bound])
        for frame, own in zip(frames, keys, strict=True)
    ]
    return [frame for frame, _ in found], [own for _, own in found], bound


def _in_order(names: list[str], data: bytes) -> list[str]:
    """Put columns in the order of the first line, where polars may mix them; others follow."""
    first = data.lstrip().split(b"\n", 1)[0]
    known = [name for name in json.loads(first) if name in names]
    return [*known, *sorted(set(names).difference(known))]


def open_table(path: Path, *, delimiter: str | None = None, header: bool = True) -> Source:
    """Find out what a file is, by its content first and by its name where that leaves it open."""
    is_there = path.exists()
    if not path.is_file() and not path.is_dir() and (is_there or str(path) == "-"):
        raise UserError(
            f"{path} is a stream, but a table is read more than once: write it to a file first."
        )
    if not is_there:
        near = [other.name for other in path.parent.glob("*")] if path.parent.is_dir() else []
        meant = closest(path.name, near, cutoff=0.75)
        hint = f"did you mean {meant}?" if meant else "check the path."
        raise UserError(f"There is no file {path}: {hint}")
    if path.is_dir():
        raise UserError(
            f"{path} is a folder without a table in it, such as a .parquet or .csv file: name "
            "the file, or a folder that has some."
        )
    compression = compression_of(path)
    start = read_start(path, compression)
    if not start.strip():
        raise UserError(f"{path} is empty: a table with a header and rows is expected.")
    kind = _kind(path, start)
    if compression and kind in {"parquet", "arrow", "json"}:
        raise UserError(f"{path} is a compressed {kind} file: unpack it first.")
    source = Source(path, kind, compression, header=header)
    if kind == "csv":
        delimiter = "\t" if delimiter == r"\t" else delimiter  # as it is typed in a shell
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii()):
            raise UserError(f"The delimiter must be one character, got {delimiter!r}.")
        source.delimiter = delimiter or sniff_delimiter(start, whole=len(start) < SAMPLE)
    return source


def _kind(path: Path, start: bytes) -> str:
    """Return the format of a file."""
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"ARROW1"):
        return "arrow"
    if start.startswith(b"PK\x03\x04") and b"model.json" in start[:64]:
        raise UserError(
            f"{path} is a model file, but a table is expected: name the model first, then the "
            "table."
        )
    if start.startswith(b"PK\x03\x04"):
        raise UserError(
            f"{path} is a zip archive or an Excel file: unpack it, or save the table as CSV."
        )
    if b"\r" in start and b"\n" not in start:
        raise UserError(
            f"{path} ends its lines with carriage returns alone, as old Macs did: save it with "
            "other line ends."
        )
    if start.startswith((b"FEA1", b"\xff\xff\xff\xff")):
        raise UserError(
            f"{path} is an old Feather file or an Arrow stream, which cannot be read in parts: "
            "save it as an Arrow file or as Parquet."
        )
    first = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    kind = FORMATS.get(ending_of(path))
    if kind in {"parquet", "arrow"}:
        raise UserError(f"{path} is no {kind} file, whatever its name says: check how it was made.")
    if kind == "json lines" or (kind is None and first == b"{"):
        return "json" if first == b"[" else "json lines"
    return "csv"


def ending_of(path: Path) -> str:
    """Return the ending of a name without that of a compression, in small letters."""
    parts = path.name.lower().split(".")[1:]
    if parts and parts[-1] in COMPRESSIONS:
        parts = parts[:-1]
    return parts[-1] if parts else ""
