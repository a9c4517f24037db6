"""numba, brought in late and in two steps: what loading kept code needs, and what compiling needs.

The second step costs as much as the first, and a process that finds all its kernels kept never
takes it. Both make half a million objects and no garbage. Python looked for some among them, and
among all of torch's, often enough to take more than half of the time.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any


@cache
def numba() -> Any:
    """numba, ready to load what is kept."""
    with _uncollected():
        import numba

        if not numba.config.DISABLE_JIT:
            _let_linear_algebra_wait()
    _no_fork_while_numba_compiles()
    return numba


def lock() -> Any:
    """What numba holds while it loads and compiles; a thread that has it may take it again."""
    return numba().core.compiler_lock.global_compiler_lock


@contextmanager
def loading(target: Any) -> Iterator[None]:
    """Within, numba's `target` takes kept code as it is.

    numba readies itself for compiling before it loads, and once more before it compiles. All that
    loading needs of that is the code which counts references to arrays.
    """
    from numba.core.runtime import rtsys

    with _uncollected():
        rtsys.initialize(target)
        target.refresh = lambda: None
        try:
            yield
        finally:
            del target.refresh


@cache
def ready() -> None:
    """Ready numba for compiling."""
    if numba().config.DISABLE_JIT:
        return
    from numba.core.registry import cpu_target

    with lock(), _uncollected():
        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


@cache
def unaliased_compiler() -> Any:
    """numba's compiler, told what `kernels.unaliased` says; none of its options does."""
    from numba.core.compiler import CompilerBase, DefaultPassBuilder

    class Unaliased(CompilerBase):  # type: ignore[misc]
        def define_pipelines(self) -> list[Any]:
            self.state.flags.noalias = True
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    return Unaliased


@contextmanager
def _uncollected() -> Iterator[None]:
    """Within, Python looks for no garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _let_linear_algebra_wait() -> None:
    """Keep numba from importing scipy.linalg, as long as no one compiles a product of matrices.

    numba asks once for scipy to learn whether it has BLAS, and again before it uses any. The first
    time it is enough to know that scipy is installed.
    """
    from numba.np import linalg

    asks = getattr(linalg, "ensure_blas", None)
    if asks is None or "numba.np.arraymath" in sys.modules or find_spec("scipy") is None:
        return
    first = [True]

    def ensure_blas() -> None:
        if first:
            first.clear()
        else:
            asks()

    linalg.ensure_blas = ensure_blas


def _no_fork_while_numba_compiles() -> None:
    """A process forked from under a compiling thread would wait for numba's lock for ever."""
    from numba.core.compiler_lock import global_compiler_lock as lock

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
