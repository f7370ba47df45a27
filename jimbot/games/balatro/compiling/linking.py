"""How kernels are compiled and linked: each once, instead of once per level of the call graph (see `kernels.py`).

`InnerCompiler` stops after lowering: the kernel's LLVM code is kept, without optimisation, wrapper or machine code.
`OuterCompiler` makes the one Python-callable function: it gathers the code of all kernels below, links each once and
hands the whole to Numba's usual optimiser and cache.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba import _dynfunc  # ty: ignore[import-not-found]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import IRLegalization, NativeLowering, NoPythonBackend


def lowered(name: str) -> None:
    """Hears of every kernel that is lowered; `kernels` puts a line of progress in its place."""


class InnerLibrary(JITCodeLibrary):
    """The code of one kernel, waiting to be linked; it never becomes machine code by itself."""

    def finalize(self) -> None:
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"  # merged or dropped as the optimiser sees fit
            self._shared_module = self._final_module
        return self._shared_module


class OuterLibrary(JITCodeLibrary):
    """The code of a Python-callable kernel with all kernels below it."""

    def finalize(self) -> None:
        seen: set[int] = set()
        gathered = []
        waiting = list(self._linking_libraries)
        while waiting:
            library = waiting.pop()
            if id(library) in seen:
                continue
            seen.add(id(library))
            gathered.append(library)
            if isinstance(library, InnerLibrary):
                waiting.extend(library._linking_libraries)
        self._linking_libraries = gathered
        super().finalize()


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):
    _name = "jimbot_inner_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        result = state["cr"]
        lowered(state.func_id.func_qualname)
        # Numba finds the code of a callee by its callable, so each kernel needs one, though it is never called.
        module = result.fndesc.lookup_module()
        handle = _dynfunc.make_function(
            module, result.fndesc.qualname, "a kernel without machine code", _NEVER_CALLED, result.env, ()
        )
        state.targetctx.insert_user_function(handle, result.fndesc, [state.library])
        state["cr"] = _LowerResult(result.fndesc, result.call_helper, cfunc=handle, env=result.env)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _OuterLowering(NativeLowering):
    _name = "jimbot_outer_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = OuterLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_cfunc_wrapper = True
        return super().run_pass(state)


_NEVER_CALLED = 1  # an address for handles that are never called


def _pipeline(state: Any, lowering: type[NativeLowering]) -> PassManager:
    manager = PassManager("kernel")
    for part in (DefaultPassBuilder.define_untyped_pipeline(state), DefaultPassBuilder.define_typed_pipeline(state)):
        manager.passes.extend(part.passes)
    manager.add_pass(IRLegalization, "ensure IR is legal prior to lowering")
    manager.add_pass(lowering, "lowering")
    manager.add_pass(NoPythonBackend, "nopython mode backend")
    manager.finalize()
    return manager


class InnerCompiler(CompilerBase):
    """Compiles a kernel as far as its own LLVM code."""

    def define_pipelines(self) -> list[PassManager]:
        return [_pipeline(self.state, _InnerLowering)]


class OuterCompiler(CompilerBase):
    """Compiles a kernel for calls from Python."""

    def define_pipelines(self) -> list[PassManager]:
        return [_pipeline(self.state, _OuterLowering)]
