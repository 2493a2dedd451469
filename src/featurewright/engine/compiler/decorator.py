"""The one decorator every compiled function wears, and access to float bits and addresses."""

from __future__ import annotations

import hashlib
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
)

from featurewright.engine.compiler.inline_compiler import InlineCompiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _fingerprint() -> str:
    """Hash the sources that kernels are compiled from."""
    engine = Path(__file__).parents[1]
    language = engine.parent / "expressions"
    names = ("builtin.py", "numbers.py", "opcodes.py")
    sources = [*engine.rglob("*.py"), *(language / name for name in names)]
    digest = hashlib.sha1(usedforsecurity=False)
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


# Numba keeps compiled code by the name and the file of a function, and does not see that a function
# it calls has changed, or that a new version was installed over an old one. With the fingerprint in
# the name, code compiled from other sources is never found.
_SOURCES = _fingerprint()


class Kernel:
    """A compiled function: whole and kept on disk for Python, a part of others for kernels."""

    def __init__(self, function: Callable[..., Any], *, paste: bool) -> None:
        function.__qualname__ = f"{function.__qualname__}_{_SOURCES}"
        options = {
            "nogil": True,
            # `reassoc` lets sums vectorise and `contract` fuses the steps of polynomials. `nnan`
            # and `ninf` stay off: missing values are NaN and must survive.
            "fastmath": {"reassoc", "nsz", "contract"},
            # x/0 is inf or NaN instead of an exception; the domain rules make it missing.
            "error_model": "numpy",
            "boundscheck": False,
            "no_cfunc_wrapper": True,  # nothing but kernels and Python calls kernels
            "_nrt": False,
        }
        update_wrapper(self, function)
        self.whole = numba.njit(cache=True, **options)(function)
        self.part = numba.njit(
            pipeline_class=InlineCompiler, no_cpython_wrapper=True, forceinline=paste, **options
        )(function)

    def __call__(self, *arguments: Any) -> Any:
        """Run it, compiled or loaded for such arguments."""
        return self.whole(*arguments)

    def compile_for(self, *arguments: Any) -> None:
        """Compile or load what a call with such arguments would."""
        self.whole.compile(tuple(numba.typeof(argument) for argument in arguments))

    @property
    def is_kept(self) -> bool:
        """Whether it was compiled before, in this process or another, and kept on disk."""
        name = self.whole.py_func.__qualname__
        return any(Path(self.whole.stats.cache_path).glob(f"*.{name}-*.nbi"))

    @property
    def is_ready(self) -> bool:
        """Whether it was compiled or loaded in this process already."""
        return bool(self.whole.signatures)


@typeof_impl.register(Kernel)
def type_of_kernel(called: Kernel, context: Any) -> Any:
    """Tell numba what a kernel is where another one calls it."""
    return types.Dispatcher(called.part)


def kernel(function: Callable[..., Any] | None = None, *, inline: bool = False) -> Any:
    """Compile a function that runs without the interpreter lock and is kept on disk.

    Kernels make no arrays, so they are compiled without reference counting, which would otherwise
    cost an atomic operation for every array of every call: on small nodes more than the work.

    Parameters
    ----------
    function : callable
        The function to compile.
    inline : bool
        Whether to paste the function into its callers whatever its size.
    """

    def compile_it(function: Callable[..., Any]) -> Kernel:
        return Kernel(function, paste=inline)

    return compile_it if function is None else compile_it(function)


_FIRST = ir.Constant(ir.IntType(32), 0)


class Reference(types.Type):
    """The type of a tuple that is passed on as the address it lies at."""

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(name=f"Reference({content})")


register_model(Reference)(models.OpaqueModel)


@intrinsic
def share(typing_context: Any, content: Any) -> Any:
    """Put a tuple where other kernels can read it while this one runs; give a reference to it.

    A tuple of arrays is hundreds of words, and a kernel that gets it as an argument has all of them
    copied with every call: at small nodes that takes longer than the work. A reference is one word,
    and reading a field of it reads that field alone. A reference stays what it is.
    """
    if isinstance(content, Reference):
        return content(content), lambda context, builder, signature, args: args[0]
    if not isinstance(content, types.BaseTuple):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = cgutils.alloca_once(builder, args[0].type)
        for path in _leaves(args[0].type):
            builder.store(builder.extract_value(args[0], path), _place_of(builder, place, path))
        return builder.bitcast(place, cgutils.voidptr_t)

    return Reference(content)(content), codegen


@infer_getattr
class ReferenceAttribute(AttributeTemplate):
    """What a field of a shared tuple is read as: itself, or a reference to a tuple of tuples."""

    key = Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:
        """Give the type of a field."""
        return _field_type(reference.content, name)


@lower_getattr_generic(Reference)
def read_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    """Read a field where the tuple lies, word by word; the rest is not looked at."""
    whole = context.get_value_type(kind.content)
    number = kind.content.fields.index(name)
    place = _place_of(builder, builder.bitcast(value, whole.as_pointer()), [number])
    if isinstance(_field_type(kind.content, name), Reference):
        return builder.bitcast(place, cgutils.voidptr_t)
    field = ir.Constant(whole.elements[number], ir.Undefined)
    for path in _leaves(field.type):
        word = builder.load(_place_of(builder, place, path))
        field = builder.insert_value(field, word, path) if path else word
    return field


def _field_type(content: Any, name: str) -> Any:
    """Give the type that a field of a shared tuple is read as."""
    field = content.types[content.fields.index(name)]
    nested = isinstance(field, types.BaseTuple) and any(
        isinstance(part, types.BaseTuple) for part in field.types
    )
    return Reference(field) if nested else field


def _leaves(kind: Any) -> Iterator[list[int]]:
    """List the ways to the words of nested structures and arrays."""
    if isinstance(kind, ir.ArrayType):
        parts = [kind.element] * kind.count
    elif isinstance(kind, ir.LiteralStructType):
        parts = list(kind.elements)
    else:
        yield []
        return
    for place, part in enumerate(parts):
        for path in _leaves(part):
            yield [place, *path]


def _place_of(builder: Any, place: Any, path: list[int]) -> Any:
    """Give the address of a word."""
    steps = [ir.Constant(ir.IntType(32), step) for step in path]
    return builder.gep(place, [_FIRST, *steps], inbounds=True)


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
def cast_like(typing_context: Any, value: Any, like: Any) -> Any:
    """Give a number the type of another one."""
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


def kernel_address(function: Any, shared: tuple[Any, ...], arguments: tuple[Any, ...]) -> int:
    """Compile a kernel, or load it, and give its address.

    It takes a reference to a tuple like `shared`, and arguments like these.
    """
    kinds = (Reference(numba.typeof(shared)), *(numba.typeof(a) for a in arguments))
    function.whole.compile(kinds)
    compiled = function.whole.overloads[kinds]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
