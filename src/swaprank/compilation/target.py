"""A Numba target of our own, beside Numba's, which compiles for a CPU level and optimizes every kernel once.

Numba optimizes a kernel, links it into each of its callers, optimizes it there again, and writes machine code and two
wrappers for each of them. Here, a kernel that is called from Python is linked with all kernels below it, and then
optimized: one module, one time. Other people's @njit functions are compiled as ever.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

import llvmlite.binding as llvm
from numba.core import codegen, compiler, cpu, externals, registry, sigutils, types, utils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher, _FunctionCompiler
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry

from swaprank.compilation.levels import LEVEL

_NAME = "swaprank"


@final
class KernelLibrary(codegen.JITCodeLibrary):
    """The LLVM code of a kernel; optimized only if it is called from Python."""

    _linked = False

    def _link(self) -> None:
        if not self._linked:
            self._linked = True
            for library in self._below():
                self._reload_init.update(library._reload_init)
                module = (
                    library._own_module() if isinstance(library, KernelLibrary) else library._get_module_for_linking()
                )
                self._final_module.link_in(module, preserve=True)

    def _below(self) -> dict[Any, None]:
        """The libraries of all kernels that this one calls, and that those call, each once."""
        found = dict.fromkeys(self._linking_libraries)
        waiting = list(found)
        while waiting:
            library = waiting.pop()
            if isinstance(library, KernelLibrary):
                waiting += [inner for inner in library._linking_libraries if inner not in found]
                found.update(dict.fromkeys(library._linking_libraries))
        return found

    def add_linking_library(self, library: Any) -> None:
        """Remember the library of a callee, and leave it as it is."""
        self._linking_libraries.append(library)

    def _get_module_for_linking(self) -> Any:
        self._link()
        return self._own_module()

    def _own_module(self) -> Any:
        for function in self._final_module.functions:
            # Several callees may bring a copy of the same function: one is kept.
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        return self._final_module

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Optimize, and make machine code."""
        self._codegen._check_llvm_bugs()
        self._raise_if_finalized()
        self._link()
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()

    def serialize_using_object_code(self) -> Any:
        """Machine code and the names that it defines. Numba adds LLVM code for callers; ours have the inner kernel."""
        self._ensure_finalized()
        names = [function.name for function in self.get_defined_functions()]
        return self.name, "object", (self._get_compiled_object(), names)

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, _, (machine_code, names) = state
        self = codegen.create_library(name)
        self.enable_object_caching()
        self._set_compiled_object(machine_code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(names)
        return self


@final
class KernelCodegen(codegen.JITCPUCodegen):
    """Generates code for the level."""

    _library_class = KernelLibrary

    def _get_host_cpu_name(self) -> str:
        return LEVEL.cpu

    def _get_host_cpu_features(self) -> str:
        return ""

    def _pass_builder(self, **options: Any) -> Any:
        # Sums in lanes (lanes.py) are straight-line code, which Numba does not vectorize by default.
        options.setdefault("slp_vectorize", True)
        return super()._pass_builder(**options)


@final
class KernelContext(cpu.CPUContext):
    """Numba's context for CPUs, with the code generator for the level."""

    @global_compiler_lock
    def init(self) -> None:
        """Called by Numba."""
        self.is32bit = utils.MACHINE_BITS == 32
        self._internal_codegen = KernelCodegen(_NAME)
        externals.c_math_functions.install(self)


@final
class KernelTarget(registry.CPUTarget):
    """Numba's target for CPUs, with the context for the level."""

    @utils.threadsafe_cached_property
    def _toplevel_target_context(self) -> KernelContext:
        return KernelContext(self.typing_context, self._target_name)


_TARGET = KernelTarget(_NAME)


@final
class _InnerCompiler(_FunctionCompiler):
    def _customize_flags(self, flags: Any) -> Any:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags


@final
class InnerKernel(Dispatcher):
    """A kernel as other kernels call it: without machine code or wrappers of its own."""

    targetdescr = _TARGET

    def __init__(
        self, py_func: Any, locals: Any = None, targetoptions: Any = None, pipeline_class: Any = compiler.Compiler
    ) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self._compiler = _InnerCompiler(py_func, self.targetdescr, self.targetoptions, self.locals, pipeline_class)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for the types of a call. Numba would compile a kernel again for every constant argument."""
        if self.typingctx is _TARGET.typing_context and self.__module__.startswith(_NAME):
            args = [types.unliteral(argument) for argument in args]
        return super().get_call_template(args, kws)

    def add_overload(self, cres: Any) -> None:
        """Make a compiled signature known to other kernels."""
        self.targetctx.insert_user_function(cres.fndesc, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres

    def get_overload(self, sig: Any) -> Any:
        """The descriptor by which the compiler knows a compiled signature."""
        return self.overloads[tuple(sigutils.normalize_signature(sig)[0])].fndesc


@contextmanager
def _no_search_for_garbage() -> Iterator[None]:
    """Compiling makes millions of objects and needs them to its end: a tenth of it would be a search among them."""
    searches = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searches:
            gc.enable()


@final
class Kernel(Dispatcher):
    """A kernel as Python calls it; kernels that call it get the inner one."""

    targetdescr = _TARGET

    def __init__(
        self, py_func: Any, locals: Any = None, targetoptions: Any = None, pipeline_class: Any = compiler.Compiler
    ) -> None:
        self.inner = InnerKernel(py_func, locals, targetoptions, pipeline_class)
        super().__init__(py_func, locals, targetoptions, pipeline_class)

    @property
    def _type(self) -> Any:
        return self.inner._type

    @_type.setter
    def _type(self, own_type: Any) -> None:
        """Numba sets it to a type whose calls would come here."""

    @property
    def _numba_type_(self) -> Any:
        return self._type

    def compile(self, sig: Any) -> Any:
        """Machine code for a signature, from the cache or compiled."""
        known = len(self.overloads)
        # Numba's own functions, such as np.empty, are compiled for the level, too.
        with global_compiler_lock, target_override(_NAME), self._cache.released_lock(), _no_search_for_garbage():
            entry_point = super().compile(sig)
        for compiled in list(self.overloads.values())[known:]:
            for environment in compiled._find_referenced_environments():
                compiled.library.codegen.set_env(environment.env_name, environment)
        return entry_point


def _inner_kernel(*functions: Any, **options: Any) -> Any:
    """The decorator by which Numba compiles its own functions for this target."""
    names = {"fastmath", "error_model", "inline", "forceinline", "nogil", "boundscheck"}
    options = {name: value for name, value in options.items() if name in names} | {"nopython": True}

    def decorate(function: Any) -> InnerKernel:
        return InnerKernel(function, targetoptions=options)

    return decorate(*functions) if functions else decorate


@final
class _Target(CPU):
    """The target's key in Numba's registries."""


target_registry[_NAME] = _Target
dispatcher_registry[_Target] = Kernel
jit_registry[_Target] = _inner_kernel
