"""What kernels need and Numba's Python cannot say: float bits, casts, and calls by address."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from featurewright.engine.compiler.decorator import _PYTHON_ADDRESSES, RUNS_PYTHON


@intrinsic
def float_bits(typing_context: Any, value: Any) -> Any:
    """Return the bits of a float32 as an int32."""
    if value != types.float32:
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), codegen


@intrinsic
def bits_float(typing_context: Any, value: Any) -> Any:
    """Return the float32 that has the bits of an int32."""
    if value != types.int32:
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), codegen


@intrinsic
def cast_like(typing_context: Any, value: Any, like: Any) -> Any:
    """Return a number as the type of another one."""
    if not isinstance(value, types.Number) or not isinstance(like, types.Float):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[0], value, like)

    return like(value, like), codegen


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


@intrinsic
def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    """Ask for the memory of array[place], or of row `place`, before it is read."""
    if not isinstance(array, types.Array) or not isinstance(place, types.Integer):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        content = context.make_array(array)(context, builder, args[0])
        steps = builder.extract_value(content.strides, 0)
        offset = builder.mul(context.cast(builder, args[1], place, types.intp), steps)
        byte = ir.IntType(8).as_pointer()
        address = builder.gep(builder.bitcast(content.data, byte), [offset])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        to_read, keep_near, is_data = (number(k) for k in (0, 3, 1))
        builder.call(hint, [address, to_read, keep_near, is_data])
        return context.get_dummy_value()

    return types.none(array, place), codegen


if RUNS_PYTHON:

    def prefetch(array, place):
        """Do nothing."""

    def float_bits(value):
        """Return the bits of a float32 as an int32."""
        return np.float32(value).view(np.int32)

    def bits_float(value):
        """Return the float32 that has the bits of an int32."""
        return np.int32(value).view(np.float32)

    def cast_like(value, like):
        """Return a number as the type of another one."""
        return type(like)(value)

    def call_address(address, arguments):
        """Call a function by what stands for its address."""
        return _PYTHON_ADDRESSES[int(address)](*arguments)

    def call_kernel(address, arguments):
        """Call a kernel by what stands for its address."""
        _PYTHON_ADDRESSES[int(address)](*arguments)
