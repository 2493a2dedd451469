"""The one decorator every compiled function wears, and access to float bits and addresses."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable


def _fingerprint() -> str:
    """Hash the sources that kernels are compiled from."""
    here = Path(__file__).parent
    sources = [*here.glob("*.py"), here.parent / "expressions" / "opcodes.py"]
    digest = hashlib.sha1(usedforsecurity=False)
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


# Numba keeps compiled code by the name and the file of a function, and does not see that a function
# it calls has changed, or that a new version was installed over an old one. With the fingerprint in
# the name, code compiled from other sources is never found.
_SOURCES = _fingerprint()


def kernel(function: Callable[..., Any] | None = None, *, inline: bool = False) -> Any:
    """Compile a function that runs without the interpreter lock and is kept on disk.

    Kernels make no arrays, so they are compiled without reference counting, which would otherwise
    cost an atomic operation for every array of every call: on small nodes more than the work.

    Parameters
    ----------
    function : callable
        The function to compile.
    inline : bool
        Whether to paste the function into its caller before compiling. Every level of calls is
        optimised again with all that it calls, so a function called from one place alone costs
        seconds of compilation if it stands by itself.
    """

    def compile_it(function: Callable[..., Any]) -> Any:
        function.__qualname__ = f"{function.__qualname__}_{_SOURCES}"
        return numba.njit(
            cache=True,
            nogil=True,
            # `reassoc` lets sums vectorise and `contract` fuses the steps of polynomials. `nnan`
            # and `ninf` stay off: missing values are NaN and must survive.
            fastmath={"reassoc", "nsz", "contract"},
            # x/0 is inf or NaN instead of an exception; the domain rules make it missing.
            error_model="numpy",
            boundscheck=False,
            inline="always" if inline else "never",
            _nrt=False,
        )(function)

    return compile_it if function is None else compile_it(function)


@intrinsic
def float_bits(typing_context: Any, value: Any) -> Any:
    """Read the bits of a float32 as an int32."""
    if value != types.float32:
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), codegen


@intrinsic
def bits_float(typing_context: Any, value: Any) -> Any:
    """Read the bits of an int32 as a float32."""
    if value != types.int32:
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), codegen


@intrinsic
def call_address(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call a compiled scalar function by its address with a tuple of equal-typed floats."""
    if not isinstance(arguments, types.UniTuple):
        return None
    number = arguments.dtype

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        scalar = context.get_value_type(number)
        function_type = ir.FunctionType(scalar, [scalar] * arguments.count)
        pointer = builder.inttoptr(args[0], function_type.as_pointer())
        values = [builder.extract_value(args[1], k) for k in range(arguments.count)]
        return builder.call(pointer, values)

    return number(types.int64, arguments), codegen


@intrinsic
def call_kernel(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call a kernel that returns nothing by its address, with a tuple of its arguments.

    A kernel called by its name is optimised again as part of its caller. One called by address is
    compiled once. The heavy ones are, which shortens the first use after installing.
    """
    if not isinstance(arguments, types.BaseTuple):
        return None
    kinds = list(arguments)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function_type = context.call_conv.get_function_type(types.none, kinds)
        pointer = builder.inttoptr(args[0], function_type.as_pointer())
        values = [builder.extract_value(args[1], k) for k in range(len(kinds))]
        context.call_conv.call_function(builder, pointer, types.none, kinds, values)
        return context.get_dummy_value()

    return types.none(types.int64, arguments), codegen


def kernel_address(function: Any, arguments: tuple[Any, ...]) -> int:
    """Compile a kernel for arguments of these types, or load it, and give its address."""
    kinds = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(kinds)
    compiled = function.overloads[kinds]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
