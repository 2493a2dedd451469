"""The decorator of compiled functions, and everything that leans on Numba's internals."""

from featurewright.engine.compiler.decorator import Kernel, kernel, kernel_address
from featurewright.engine.compiler.intrinsics import (
    bits_float,
    call_address,
    call_kernel,
    cast_like,
    float_bits,
)
from featurewright.engine.compiler.progress import counted_compilations

__all__ = [
    "Kernel",
    "bits_float",
    "call_address",
    "call_kernel",
    "cast_like",
    "counted_compilations",
    "float_bits",
    "kernel",
    "kernel_address",
]
