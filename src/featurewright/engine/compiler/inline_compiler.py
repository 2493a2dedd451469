"""Kernels as parts of other kernels: typed and lowered once, optimised only with what calls them.

Numba makes every function that another one calls ready to run by itself: it is optimised,
translated to machine code, wrapped for Python and kept on disk, and then optimised again as part of
its caller. Of the hundreds of kernels that a fit compiles, Python calls a dozen. The others stop
after lowering here, which spares two fifths of the first use after installing.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


class InlineLibrary(JITCodeLibrary):
    """Code that is linked into other code and never run by itself."""

    def _optimize_final_module(self) -> None:
        """Leave that to the library this one is linked into."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerInline(NativeLowering):
    """Lower a function for those who call it, and make no machine code of it."""

    _name = "featurewright_lower_part"

    def run_pass(self, state: Any) -> bool:
        """Lower the function and tell the compiler where to find it."""
        context = state.targetctx
        state.library = InlineLibrary(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # Compiled functions are known by what Python would call. Nothing does, so any built-in
        # method will do that is an object of its own and refuses every argument.
        nothing = [].clear
        context.insert_user_function(nothing, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=nothing)
        return True


class InlineCompiler(CompilerBase):
    """Numba's compiler with another last step."""

    def define_pipelines(self) -> list[PassManager]:
        """Give the steps of a compilation."""
        steps = PassManager("part")
        for step, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            steps.add_pass(LowerInline if step is NativeLowering else step, description)
        steps.finalize()
        return [steps]
