"""The container of a model file: a zip archive of a few kinds of members, read within limits."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable
from typing import IO

DOCUMENT = "model.json"
MAX_BYTES = 2**32
_MAX_DOCUMENT = 2**28
_NAME = re.compile(r"model\.json|arrays/\d{1,9}\.npy|foreign/\d{1,9}\.skops")
# Most that unpacking may multiply the size of a file. `save` does not compress beyond it.
_MAX_RATIO = 200
_FREE = 2**26
_LEVEL = 1  # higher ones take several times as long for a few per cent
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model always gives the same bytes
_LOCAL_HEADER = 30
_ENCRYPTED = 1
# What zipfile and zlib raise on damaged archives.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    IndexError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
    OSError,
)


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged, or holds what this version cannot read.

    Examples
    --------
    >>> import io
    >>> from featurewright.export import ModelFileError, load
    >>> try:
    ...     load(io.BytesIO(b"not a model"))
    ... except ModelFileError as error:
    ...     print(str(error).partition("; ")[0])
    Cannot load the model: it is not a complete model file (File is not a zip file)
    """


def broken(what: str, advice: str = "save it again") -> ModelFileError:
    """Return the error for content that no file written by `save` has."""
    return ModelFileError(f"{what}; {advice}")


def reason(error: BaseException) -> str:
    """Return the message of an error as one short printable line without a full stop."""
    text = " ".join(str(error).split()) or type(error).__name__
    return "".join(c if c.isprintable() else "?" for c in text)[:160].rstrip(".")


def array_name(number: int) -> str:
    """Return the member name of an array."""
    return f"arrays/{number}.npy"


def foreign_name(number: int) -> str:
    """Return the member name of an estimator of another library."""
    return f"foreign/{number}.skops"


def write_archive(file: IO[bytes], members: Iterable[tuple[str, bytes]]) -> None:
    """Write members to an empty file, compressed as far as a reader allows."""
    members = list(members)
    total = sum(len(data) for _, data in members)
    _write(file, members, zipfile.ZIP_DEFLATED)
    if total > allowed_bytes(file.tell()):
        file.seek(0)
        file.truncate()
        _write(file, members, zipfile.ZIP_STORED)


def _write(file: IO[bytes], members: list[tuple[str, bytes]], method: int) -> None:
    with zipfile.ZipFile(file, "w", method, compresslevel=_LEVEL) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = method
            archive.writestr(info, data, compresslevel=_LEVEL)


def allowed_bytes(file_size: int) -> int:
    """Return the number of bytes that a file of a given size may unpack to."""
    return _MAX_RATIO * file_size + _FREE


class Archive:
    """An archive whose members are checked to be small enough before any is read.

    Parameters
    ----------
    file : binary file
        The archive, seekable.
    max_bytes : int
        Most bytes that all members may have together.
    """

    def __init__(self, file: IO[bytes], max_bytes: int) -> None:
        try:
            self.file_size = file.seek(0, io.SEEK_END)
            file.seek(0)
            self._zip = zipfile.ZipFile(file)
        except DAMAGE as error:
            what = f"it is not a complete model file ({reason(error)})"
            raise broken(what, "give a file that save or fit --out wrote") from error
        self._members = {info.filename: info for info in self._zip.infolist()}
        self._check(self._zip.infolist(), max_bytes)

    def _check(self, members: list[zipfile.ZipInfo], max_bytes: int) -> None:
        """Refuse members of other kinds, twice the same one, and sizes out of proportion."""
        if len(self._members) != len(members):
            raise broken("it has two members of one name")
        check_sizes(members, self.file_size, max_bytes)
        for info in members:
            if not _NAME.fullmatch(info.filename):
                raise broken(f"it has a member {info.filename[:80]!r} that no model has")
        if DOCUMENT not in self._members:
            raise broken(f"it has no member {DOCUMENT!r}")
        if self._members[DOCUMENT].file_size > _MAX_DOCUMENT:
            raise broken(f"its {DOCUMENT} is larger than {_MAX_DOCUMENT:,} bytes")

    @property
    def names(self) -> set[str]:
        """Names of all members."""
        return set(self._members)

    def read(self, name: str) -> bytes:
        """Read one member; its checksum must be right."""
        if name not in self._members:
            raise broken(f"it has no member {name!r}")
        info = self._members[name]
        try:
            with self._zip.open(info) as member:
                data = member.read()
        except DAMAGE as error:
            raise broken(f"its member {name!r} is damaged ({reason(error)})") from error
        if len(data) != info.file_size:
            raise broken(f"its member {name!r} is shorter than it says")
        return data


def check_sizes(members: list[zipfile.ZipInfo], file_size: int, max_bytes: int) -> None:
    """Refuse archives whose directory says that they unpack to more than is sensible."""
    total = sum(info.file_size for info in members)
    if total > max_bytes:
        raise ModelFileError(
            f"it unpacks to {total:,} bytes, more than max_bytes={max_bytes:,}; pass a larger "
            "max_bytes if you trust it"
        )
    if total > allowed_bytes(file_size):
        raise broken(f"its {file_size:,} bytes claim to unpack to {total:,}")
    end = 0
    for info in sorted(members, key=lambda info: info.header_offset):
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise broken(f"its member {info.filename[:80]!r} is compressed in another way")
        if info.flag_bits & _ENCRYPTED:
            raise broken(f"its member {info.filename[:80]!r} is encrypted")
        if info.header_offset < end:
            raise broken("its members overlap")
        end = info.header_offset + _LOCAL_HEADER + info.compress_size
