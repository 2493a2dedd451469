"""Arrays as .npy bytes, read without trusting their header."""

from __future__ import annotations

import io
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from featurewright.export.stored.archive import ModelFileError, broken

# Booleans, numbers, bytes, text, durations and dates: whatever needs no pickle.
KINDS = "biufcSUmM"
_MAX_DIMENSIONS = 8


def write_array(array: npt.NDArray[Any]) -> bytes:
    """Return the .npy bytes of an array."""
    file = io.BytesIO()
    npy.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def read_array(data: bytes, where: str) -> npt.NDArray[Any]:
    """Read an array that is writable, aligned and in the byte order of the machine.

    Kernels are compiled for writable arrays, and would be compiled again for read-only ones.
    """
    file = io.BytesIO(data)
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise broken(f"{where} has the unknown .npy version {version}")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except ModelFileError:
        raise
    except Exception as error:  # NumPy parses the header as a literal, which fails in many ways
        raise broken(f"{where} has no valid .npy header") from error
    check_dtype(dtype, where)
    if len(shape) > _MAX_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
        raise broken(f"{where} has the impossible shape {shape}"[:200])
    if prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise broken(f"{where} does not have as many values as it says")
    try:
        flat = np.frombuffer(data[file.tell() :], dtype)
        array = flat.reshape(shape, order="F" if fortran else "C")
        return np.array(array, dtype=dtype.newbyteorder("="), order="K", copy=True)
    except ValueError as error:  # such as a shape of zeros and of numbers that overflow
        raise broken(f"{where} has the impossible shape {shape}"[:200]) from error


def check_dtype(dtype: np.dtype[Any], where: str) -> None:
    """Refuse what is not plain values."""
    if dtype.kind not in KINDS or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise broken(f"{where} has the dtype {str(dtype)[:80]}, which no model has")
