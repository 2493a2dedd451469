"""Files as streams of bytes: compression by content, whole rows at a time, any encoding."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from featurewright.cli.errors import UserError

BLOCK = 8 * 1024 * 1024
"""Bytes read at a time."""

SAMPLE = 64 * 1024
"""Bytes looked at to tell what a file is."""

MAX_ROW = 256 * 1024 * 1024
"""A longer row is taken for a quote that was never closed."""

_BLANK = re.compile(rb"\n(?:\r?\n)+")
_MAGIC = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # the first begins as UTF-16 does
_DELIMITERS = ",;\t|"


class _Unpacked(io.RawIOBase):
    """A file compressed with Zstandard, unpacked.

    Unlike the reader of the package zstandard it sees an end that comes too early.
    """

    def __init__(self, path: Path, make: Callable[[], Any], fault: type[Exception]) -> None:
        self._file = path.open("rb")
        self._make, self._fault = make, fault
        self._frame: Any = None
        self._packed = self._ready = b""

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack some bytes."""
        while not self._ready:
            data = self._packed or self._file.read(1 << 17)
            self._packed = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("it ends in the middle")
                return 0
            self._frame = self._frame or self._make()
            try:
                self._ready = self._frame.decompress(data)
            except self._fault as error:
                raise EOFError(str(error)) from error
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _open_zst(path: Path, mode: str) -> Any:
    """Open a file compressed with Zstandard."""
    try:
        import zstandard
    except ImportError as error:
        raise UserError(
            f"{path} is compressed with Zstandard, which needs the package zstandard: install "
            "featurewright[cli]."
        ) from error
    if mode == "rb":

        def make() -> Any:
            return zstandard.ZstdDecompressor().decompressobj()

        return io.BufferedReader(_Unpacked(path, make, zstandard.ZstdError), 1 << 20)
    return zstandard.open(path, mode)


COMPRESSIONS: dict[str, Callable[[Path, str], Any]] = {
    "gz": gzip.open,
    "bz2": bz2.open,
    "xz": lzma.open,
    "zst": _open_zst,
}
"""How files are opened, by the ending of their names."""


def compression_of(path: Path) -> str | None:
    """Return how a file is compressed by its first bytes."""
    with path.open("rb") as file:
        start = file.read(8)
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def open_bytes(path: Path, compression: str | None) -> BinaryIO:
    """Open a file for reading, unpacked."""
    opened = COMPRESSIONS[compression](path, "rb") if compression else path.open("rb")
    return cast(BinaryIO, opened)


def read_start(path: Path, compression: str | None) -> bytes:
    """Read the first bytes of a file, unpacked."""
    with unpacking(path), open_bytes(path, compression) as stream:
        return stream.read(SAMPLE)


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Turn the errors of a damaged compressed file into one sentence."""
    try:
        yield
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is damaged: it cannot be unpacked ({error}).") from error
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error}.") from error


def text_rows(stream: BinaryIO, quote: bytes | None) -> Iterator[bytes]:
    """Yield a file block by block in UTF-8, each block ending where a row does."""
    rest = b""
    for block in _utf8_blocks(stream):
        data = rest + block
        end = _last_row_end(data, quote)
        if end:
            yield data[:end]
        rest = data[end:]
        if len(rest) > MAX_ROW:
            raise UserError(
                f"A row is longer than {MAX_ROW // 1024**2} MB, which looks like a quote that is "
                "never closed: look for an odd number of quotes in the file."
            )
    if rest.strip():
        yield rest


def _last_row_end(data: bytes, quote: bytes | None) -> int:
    """Find where the last whole row ends: after a line end with no open quote before it."""
    end = data.rfind(b"\n") + 1
    if quote is None or not end:
        return end
    is_open = data.count(quote, 0, end) % 2
    while is_open and end:
        earlier = data.rfind(b"\n", 0, end - 1) + 1
        is_open ^= data.count(quote, earlier, end) % 2
        end = earlier
    return end


def count_outside_quotes(data: bytes, character: bytes) -> int:
    """Count how often a character comes outside of quotes."""
    if b'"' not in data:
        return data.count(character)
    return sum(part.count(character) for part in data.split(b'"')[::2])


def without_blank_lines(data: bytes) -> bytes:
    """Return rows without the blank lines between them; those inside quotes stay.

    In a table of several columns they are no rows: many files end with some.
    """
    starts_blank = data.startswith((b"\n", b"\r\n"))
    if not starts_blank and b"\n\n" not in data and b"\n\r\n" not in data:
        return data
    parts = data.split(b'"')  # every other part is outside quotes
    parts[::2] = [_BLANK.sub(b"\n", part) for part in parts[::2]]
    return b'"'.join(parts).lstrip(b"\r\n")


def _utf8_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Read blocks without a byte order mark, recoded where it says UTF-16 or UTF-32."""
    block = stream.read(BLOCK)
    if block.startswith((*_UTF32, *_UTF16)):
        written = "utf-32" if block.startswith(_UTF32) else "utf-16"
        decode = codecs.getincrementaldecoder(written)()
        while block:
            yield decode.decode(block).encode("utf-8")
            block = stream.read(BLOCK)
        return
    block = block.removeprefix(codecs.BOM_UTF8)
    while block:
        yield block
        block = stream.read(BLOCK)


def as_text(data: bytes) -> tuple[bytes, bool]:
    """Return bytes as UTF-8, and whether they were something else: then Windows-1252 is assumed."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            return data.decode("cp1252").encode("utf-8"), True
        except UnicodeDecodeError:
            return data.decode("latin-1").encode("utf-8"), True
    return data, False


def sniff_delimiter(sample: bytes, whole: bool) -> str:
    """Find what separates columns: what cuts most lines into the same number of fields."""
    first = next(text_rows(io.BytesIO(sample), b'"'), b"")
    lines = as_text(first)[0].decode("utf-8").splitlines(keepends=True)
    if not whole and len(lines) > 1:
        lines = lines[:-1]
    best = (0.0, 0, ",")
    for delimiter in _DELIMITERS:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not counts or counts[0] < 2:
            continue
        agreement = counts.count(counts[0]) / len(counts)
        best = max(best, (agreement, counts[0], delimiter))
    if best[1]:
        return best[2]
    fields = {len(line.split(" ")) for line in lines if line.strip()}
    return " " if len(fields) == 1 and fields != {1} else ","
