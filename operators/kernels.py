"""The one door to compiled code: loops over ids and rows that torch has no good word for.

A kernel is a plain function over numpy arrays, compiled on its first call and kept on disk for the
next process. Kernels are serial and let go of the interpreter lock; `over_rows` runs one on as many
threads as torch would use, each on a range of rows that it alone writes, so that the answer does
not depend on how many there are. Compiled code with threads of its own is not used: such threads
die when a data loader forks, or abort when two Python threads call at once.

    @kernel
    def _row_sums(lo: int, hi: int, offsets: Array, values: Array, out: Array) -> None:
        for row in range(lo, hi):
            total = 0.0
            for i in range(offsets[row], offsets[row + 1]):
                total += values[i]
            out[row] = total

    over_rows(_row_sums, len(out), array(offsets), array(values), array(out))

What to keep in mind when writing one: ids are checked before, since a kernel that reads out of
bounds gives nonsense or dies; a sum has the same order whatever the range; int64 with uint64 gives
float64; each combination of dtypes is compiled anew (0.2 to 2 s), so few are used. A kernel calls
others, of its own file or imported, and reads constants of any: kept code is renewed when one of
these changes, or how it is compiled (`kept_code`).
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from types import FunctionType
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from meshkit.operators import compiler
from meshkit.operators.kept_code import closure_stamp, globals_of, keep, stamp

P = ParamSpec("P")
R = TypeVar("R")
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

ROWS_PER_THREAD: Final = 1 << 14
"""Fewer rows than this are not worth a thread of their own."""

WORTH_COMPILING: Final = 1 << 15
"""Below as many ids the answer comes sooner by sorting than numba and a kernel are loaded."""

PATIENCE: Final = 500
"""How often it is asked whether compiled code is worth it before it is loaded anyway: sorting has
then cost as much as loading does."""


class Kernel(Generic[P, R]):
    """A function that is compiled when it is first called, once for each combination of dtypes.

    `python` is the function as it is written. With NUMBA_DISABLE_JIT=1 it is what runs.
    """

    def __init__(self, python: Callable[P, R], *, unaliased: bool = False, **options: bool) -> None:
        self.python = python
        self._unaliased = unaliased
        self._options = options  # numba's
        self.__doc__ = python.__doc__
        self.__name__ = python.__name__
        self._compiled: Callable[P, R] | None = None  # once it was needed

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it, compiled for these dtypes."""
        compiled = self._compiled or self.compiled()
        try:
            return compiled(*args, **kwargs)
        except OSError:
            # It could not be kept: the disk is full, or the folder went away. So it is not.
            self._compiled = self._jit()
            return self._compiled(*args, **kwargs)

    def compiled(self) -> Callable[P, R]:
        """What numba makes of it, for kernels that call this one."""
        if self._compiled is None:
            with compiler.lock():
                if self._compiled is None:
                    made = self._dispatcher()
                    kept = keep(made, self.stamp, self._before_compiling)
                    self._compiled = made if kept else self._jit()
        return self._compiled

    def _jit(self) -> Any:
        """It, compiled in each process that calls it."""
        self._before_compiling()
        return self._dispatcher()

    def _dispatcher(self) -> Any:
        numba, options = compiler.numba(), dict[str, Any](self._options)
        if self._unaliased and not numba.config.DISABLE_JIT:
            options["pipeline_class"] = compiler.unaliased_compiler()
        return numba.njit(nogil=True, error_model="numpy", **options)(self._to_compile())

    def _before_compiling(self) -> None:
        """What loading needs none of: numba's tables, and compiled functions for its kernels."""
        compiler.ready()
        self._scope.update({name: other.compiled() for name, other in self._callees.items()})

    @cached_property
    def stamp(self) -> str:
        """What its compiled code follows from; what its closure holds numba tells apart itself."""
        callees = {
            name: other.stamp + closure_stamp(cast(Any, other.python))
            for name, other in self._callees.items()
        }
        how = (self._unaliased, *sorted(self._options.items()), *_HOW)
        return stamp(cast(Any, self.python), callees, *how)

    @cached_property
    def _callees(self) -> dict[str, Kernel[Any, Any]]:
        function: FunctionType = cast(Any, self.python)
        scope = function.__globals__
        names = sorted(globals_of(function.__code__))
        return {name: v for name in names if isinstance(v := scope.get(name), Kernel)}

    @cached_property
    def _scope(self) -> dict[str, Any]:
        """Globals of its own, in which compiled functions shall take the place of kernels."""
        return dict(cast(FunctionType, self.python).__globals__)

    def _to_compile(self) -> FunctionType:
        """The function as numba shall see it."""
        function: FunctionType = cast(Any, self.python)
        if not self._callees:
            return function
        made = FunctionType(
            function.__code__,
            self._scope,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        made.__qualname__, made.__kwdefaults__ = function.__qualname__, function.__kwdefaults__
        return made


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """A function over numpy arrays and numbers as a kernel; nothing is compiled or imported yet."""
    return Kernel(function, no_cfunc_wrapper=True)


def bare_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """A kernel that makes no arrays, so that references to arrays need not be counted.

    For those that hand arrays to others for each id: the counting would cost far more than the
    work.
    """
    return Kernel(function, _nrt=False)


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """A bare kernel for other kernels only, written into them wherever they call it."""
    return Kernel(function, _nrt=False, forceinline=True, **_INNER)


def unaliased(function: Callable[P, R]) -> Kernel[P, R]:
    """A kernel none of whose arrays that it writes shares memory with another argument.

    Only so may a loop that reads at given ids do several rows at once.
    """
    return Kernel(function, unaliased=True)


def unaliased_inner(function: Callable[P, R]) -> Kernel[P, R]:
    """An unaliased kernel for other kernels only: nothing is compiled for Python to call, which
    would take longer than a short loop does."""
    return Kernel(function, unaliased=True, **_INNER)


_INNER: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Without what Python would call it through."""


def worth_compiling(n: int, device: torch.device) -> bool:
    """Whether compiled code is the faster way through n ids on this device."""
    return device.type == "cpu" and n >= _fewest_worth()


_ASKED: Final = itertools.count()


def _fewest_worth() -> int:
    """How many ids are worth compiled code: any where this process has it, or should by now.

    A process that asks about one small mesh so does not wait for numba, and one that loops over
    many, or measures them, does not go on sorting. Without compiling (NUMBA_DISABLE_JIT) kernels
    are slower than sorting.
    """
    if compiler.numba.cache_info().currsize:
        return WORTH_COMPILING if compiler.numba().config.DISABLE_JIT else 0
    return WORTH_COMPILING if next(_ASKED) < PATIENCE else 0


def readable(x: Tensor) -> bool:
    """Whether kernels can read it: on the CPU, and none of those that torch.func works with."""
    return x.device.type == "cpu" and not is_functorch_wrapped_tensor(x)


def array(x: Tensor) -> Array:
    """A tensor on the CPU as a numpy array that shares its memory (a copy where it has gaps).

    Raises:
        ValueError: the tensor lies on another device, where kernels do not run.
    """
    if x.device.type != "cpu":
        raise ValueError(f"kernels run on the CPU, this tensor lies on {x.device}")
    return cast(Array, x.contiguous().numpy(force=True))


def unset(n: int, dtype: torch.dtype) -> Tensor:
    """A tensor [n] on the CPU for a kernel to fill.

    Its memory is numpy's, which asks for large pages where torch does not: the first write into a
    large one takes half the time.
    """
    return torch.from_numpy(np.empty(n, numpy_dtype(dtype)))


@cache
def numpy_dtype(dtype: torch.dtype) -> np.dtype[Any]:
    """What numpy calls it."""
    return array(torch.empty(0, dtype=dtype, device="cpu")).dtype


def over_rows(
    function: Kernel[Concatenate[int, int, P], None], n: int, *args: P.args, **kwargs: P.kwargs
) -> None:
    """Run `function(lo, hi, *args)` over ranges that make up 0 to n, on threads where it pays.

    Each call must write only what belongs to its own rows. The number of threads is torch's
    (`torch.set_num_threads`, one in a data loader's worker) and at most that of the CPUs this
    process may use.

    Raises:
        Whatever the first failing range raises, after all have ended.
    """
    parts = min(threads(), n // ROWS_PER_THREAD)
    if parts <= 1:
        function(0, n, *args, **kwargs)
        return
    # Smaller ranges than one a thread, so that a thread that is held up does not hold up all.
    ends = [n * i // (4 * parts) for i in range(4 * parts + 1)]
    spans = itertools.pairwise(ends)
    taking = threading.Lock()

    def work() -> None:
        while True:
            with taking:
                span = next(spans, None)
            if span is None:
                return
            function(*span, *args, **kwargs)

    helping = [_pool().submit(work) for _ in range(parts - 1)]
    try:
        work()
    finally:
        failed = [error for error in (h.exception() for h in helping) if error is not None]
    for error in failed:
        raise error


def threads() -> int:
    """How many threads a kernel may use: torch's number, and no more than there are CPUs for us."""
    return max(1, min(torch.get_num_threads(), _cpus()))


def _cpus() -> int:
    # Linux alone says which CPUs a process may use.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- the threads ---------------------------------------------------------------------------------

_POOL: ThreadPoolExecutor | None = None
_POOLING = threading.Lock()


def _pool() -> ThreadPoolExecutor:
    """The threads that help; made on first use, and anew in a process that was forked."""
    global _POOL
    with _POOLING:
        if _POOL is None:
            most = max(1, os.cpu_count() or 1)
            _POOL = ThreadPoolExecutor(most, thread_name_prefix="meshkit-kernel")
        return _POOL


def _after_fork() -> None:
    """Threads do not live on in a forked process, and a lock that one held is never let go."""
    global _POOL, _POOLING
    _POOL, _POOLING = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_HOW: Final = (Kernel._dispatcher.__code__, compiler.unaliased_compiler.__wrapped__.__code__)
"""The code that says how kernels are compiled."""
