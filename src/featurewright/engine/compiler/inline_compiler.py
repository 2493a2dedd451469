"""Numba's compiler without what kernels do not need, which shortens the first use after installing.

Four things take most of the time, and each is cut here:

- Numba makes every function that another one calls ready to run by itself: it is optimised,
  translated to machine code, wrapped for Python, and then optimised again as part of its caller. Of
  the hundreds of kernels that a fit compiles, Python calls a dozen. The others stop after lowering.
- Type inference looks up every ``a + b`` and ``x.field`` among all templates that Numba has for
  them. The answer depends on the types alone, so it is remembered.
- Passes that handle closures, context managers, comprehensions, array expressions and inlined
  overloads change nothing in kernels, which have none.
- A module is optimised twice because reference counts are pruned in between. Kernels have none.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import (
    AnnotateTypes,
    InlineOverloads,
    NativeLowering,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    RewriteSemanticConstants,
    WithLifting,
)
from numba.extending import models, register_model

from featurewright.engine.garbage import collection_paused

_UNUSED_PASSES = frozenset(
    {
        AnnotateTypes,
        DeadBranchPrune,
        FindLiterallyCalls,
        InlineClosureLikes,
        InlineInlinables,
        InlineOverloads,
        LiteralPropagationSubPipelinePass,
        LiteralUnroll,
        MakeFunctionToJitFunction,
        NoPythonSupportedFeatureValidation,
        NopythonRewrites,
        RewriteDynamicRaises,
        RewriteSemanticConstants,
        WithLifting,
    }
)


class MemoizedFunction(types.Function):
    """A built-in function or operator that remembers what it was resolved to."""

    def __init__(self, template: Any) -> None:
        super().__init__(template)
        self._known: dict[Any, Any] = {}

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        """Return the signature of a call."""
        if keywords:
            return super().get_call_type(context, arguments, keywords)
        key = tuple(arguments)
        if key not in self._known:
            self._known[key] = super().get_call_type(context, arguments, keywords)
        return self._known[key]


register_model(MemoizedFunction)(models.OpaqueModel)


class MemoizedTyping:
    """A typing context that remembers what functions and attributes of given types resolve to."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._values: dict[Any, Any] = {}
        self._functions: dict[Any, Any] = {}
        self._attributes: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_value_type(self, value: Any) -> Any:
        """Return the type of a global value."""
        kind = self._context.resolve_value_type(value)
        if type(kind) is not types.Function:
            return kind
        if kind not in self._values:
            self._values[kind] = MemoizedFunction(kind.templates)
        return self._values[kind]

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Return the signature of `target[index] = value`."""
        function = self.resolve_value_type(operator.setitem)
        return function.get_call_type(self._context, (target, index, value), {})

    def resolve_function_type(self, function: Any, arguments: Any, keywords: Any) -> Any:
        """Return the signature of a call."""
        if keywords:
            return self._context.resolve_function_type(function, arguments, keywords)
        key = function, tuple(arguments)
        try:
            known = self._functions.get(key)
        except TypeError:  # a slice as a constant index cannot be a key
            return self._context.resolve_function_type(function, arguments, keywords)
        if known is None:
            known = self._context.resolve_function_type(function, arguments, keywords)
            if known is not None:
                self._functions[key] = known
        return known

    def resolve_getattr(self, kind: Any, name: str) -> Any:
        """Return the type of an attribute."""
        known = self._attributes.get((kind, name))
        if known is None:
            known = self._context.resolve_getattr(kind, name)
            if known is not None:
                self._attributes[kind, name] = known
        return known


@cache
def memoized_typing(context: Any) -> MemoizedTyping:
    """Return what remembers for a typing context; Numba has one in a process."""
    return MemoizedTyping(context)


@contextmanager
def _typing_by(state: Any) -> Iterator[None]:
    """Make lowering use the functions of type inference and each size once; needs the lock."""
    target = state.targetctx
    usual, target.typing_context = target.typing_context, state.typingctx
    # Numba asks for the size of every variable, and makes and parses a module each time.
    target.get_abi_sizeof = cache(target.get_abi_sizeof)
    try:
        yield
    finally:
        target.typing_context = usual
        del target.get_abi_sizeof


class KernelLibrary(JITCodeLibrary):
    """Code that Python calls."""

    def _optimize_final_module(self) -> None:
        """Run the full optimisation once."""
        passes, builder = self._codegen._module_pass_manager()
        with self._recorded_timings.record("Module passes", builder):
            passes.run(self._final_module, builder)


class InlineLibrary(JITCodeLibrary):
    """Code that is linked into other code and never run by itself."""

    def _optimize_final_module(self) -> None:
        """Leave that to the library this one is linked into."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerKernel(NativeLowering):
    """Lower a function that Python calls, and make machine code of it."""

    _name = "featurewright_lower_kernel"

    def run_pass(self, state: Any) -> bool:
        """Lower the function."""
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        with _typing_by(state):
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerInline(NativeLowering):
    """Lower a function for those who call it, and make no machine code of it."""

    _name = "featurewright_lower_inline"

    def run_pass(self, state: Any) -> bool:
        """Lower the function and tell the compiler where to find it."""
        context = state.targetctx
        state.library = InlineLibrary(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        with _typing_by(state):
            super().run_pass(state)
        if getattr(state.func_id.func, "never_inline", False):
            lowered = state.library._final_module.get_function(state.cr.fndesc.llvm_func_name)
            lowered.add_function_attribute("noinline")
        # Compiled functions are known by what Python would call. Nothing does, so any built-in
        # method will do that is an object of its own and refuses every argument.
        nothing = [].clear
        context.insert_user_function(nothing, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=nothing)
        return True


class KernelCompiler(CompilerBase):
    """Numba's compiler with fewer passes."""

    lowering: type[NativeLowering] = LowerKernel

    def __init__(self, typing_context: Any, *others: Any) -> None:
        super().__init__(memoized_typing(typing_context), *others)

    def compile_extra(self, function: Any) -> Any:
        """Compile a function, and those it calls."""
        with collection_paused():
            return super().compile_extra(function)

    def define_pipelines(self) -> list[PassManager]:
        """Return the passes of a compilation."""
        passes = PassManager("featurewright")
        for step, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if step not in _UNUSED_PASSES:
                passes.add_pass(self.lowering if step is NativeLowering else step, description)
        passes.finalize()
        return [passes]


class InlineCompiler(KernelCompiler):
    """The compiler of functions that only kernels call."""

    lowering = LowerInline
