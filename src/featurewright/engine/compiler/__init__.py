"""The decorator of compiled functions, and everything that leans on Numba's internals."""

from featurewright.engine.compiler.decorator import Kernel, kernel, kernel_address
from featurewright.engine.compiler.intrinsics import (
    bits_float,
    call_address,
    call_kernel,
    cast_like,
    float_bits,
    prefetch,
)
from featurewright.engine.compiler.progress import counted_compilations
from featurewright.engine.compiler.references import Layouts, Shared

__all__ = [
    "Kernel",
    "Layouts",
    "Shared",
    "bits_float",
    "call_address",
    "call_kernel",
    "cast_like",
    "counted_compilations",
    "float_bits",
    "kernel",
    "kernel_address",
    "prefetch",
]
