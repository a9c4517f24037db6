"""Compiled code that is kept on disk, and the word that tells whether it still holds.

The word is made of what the functions are, not of when or where their files were written: of their
instructions and constants, of the values of the globals that they read, and of the same of each
kernel that they call. So it makes no difference in which file a kernel or a constant stands, nor
whether that is a file, an archive or text written at run time; and what was compiled from code that
a process loaded before its file changed is never taken for the new.
"""

from __future__ import annotations

import dis
import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from meshkit.operators.compiler import loading

_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), type(...))
"""Types whose values their `repr` tells."""

_KNOWN: Final = ("math", "numpy")
"""Modules that change with the compiler and its version alone."""


def keep(dispatcher: Any, stamp: str, before_compiling: Callable[[], None]) -> bool:
    """Let numba keep the compiled code beside the source, else for the user, else in a temporary
    folder of the user's own; and use it for as long as the stamp holds.

    False where none of these places will do, or where numba, which has no word for that, has
    changed so that it cannot be told the stamp.

    Args:
        before_compiling: called before numba compiles what it has not kept.
    """
    if not hasattr(dispatcher, "enable_caching"):  # NUMBA_DISABLE_JIT
        return False
    import numba

    try:
        dispatcher.enable_caching()
    except RuntimeError:  # "cannot cache function: no locator available"
        folder = _own_temporary_folder()
        if folder is not None:
            before = numba.config.CACHE_DIR
            numba.config.CACHE_DIR = str(folder)
            try:
                with suppress(RuntimeError):  # a source in an archive
                    dispatcher.enable_caching()
            finally:
                numba.config.CACHE_DIR = before
    try:
        kept = dispatcher._cache
        if kept.cache_path is None:
            return False
        kept._cache_file._source_stamp  # noqa: B018, it must be there
        kept._cache_file._source_stamp = stamp
        kept.load_overload = _loader(kept.load_overload, before_compiling)
    except AttributeError:
        warnings.warn(
            f"kernels are compiled anew in each process: numba {numba.__version__} has changed how "
            "it keeps compiled code",
            RuntimeWarning,
            stacklevel=4,
        )
        return False
    return True


def _loader(load: Callable[..., Any], before_compiling: Callable[[], None]) -> Callable[..., Any]:
    """A way to load that makes nothing ready for compiling, unless there is nothing to load."""

    def loaded(signature: Any, target: Any) -> Any:
        with loading(target):
            found = load(signature, target)
        if found is None:
            before_compiling()
        return found

    return loaded


def _own_temporary_folder() -> Path | None:
    """A folder that only this user can write: kept code is run, so no one else may leave any."""
    if not hasattr(os, "getuid"):
        return None
    try:
        folder = Path(tempfile.gettempdir()) / f"meshkit-kernels-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return folder if private and found.st_uid == os.getuid() else None


# --- what compiled code follows from --------------------------------------------------------------


def stamp(function: FunctionType, callees: Mapping[str, str], *more: Any) -> str:
    """A word that changes with what a function is compiled to.

    Args:
        function: as it is written.
        callees: the stamps of the kernels that it calls, by the name it has for each.
        more: plain values or code that tell how it is compiled.

    Raises:
        TypeError: it reads a global of which one cannot tell whether it changed.
    """
    scope = function.__globals__
    read = {name: scope[name] for name in sorted(globals_of(function.__code__)) if name in scope}
    told: list[Any] = [_told(function.__code__), _told(function.__defaults__), _told(more)]
    for name, value in read.items():
        try:
            told.append((name, callees[name] if name in callees else _told(value)))
        except TypeError:
            if name not in _loaded(function.__code__):
                continue  # the name of an attribute
            raise TypeError(
                f"{function.__module__}.{function.__name__}: kept code would not see {name}, "
                f"{type(value)}, change: a kernel reads numbers, text, tuples and arrays of these, "
                "and calls kernels"
            ) from None
    return hashlib.sha256(repr(told).encode()).hexdigest()


def closure_stamp(function: FunctionType) -> str:
    """A word for the values that a function brings along from where it was made."""
    return repr(_told(tuple(cell.cell_contents for cell in function.__closure__ or ())))


def globals_of(code: CodeType) -> set[str]:
    """The names that code, and functions inside it, may read globals by (attributes among them)."""
    return {name for part in _parts(code) for name in part.co_names}


def _loaded(code: CodeType) -> set[str]:
    """Those that it does read globals by."""
    steps = (step for part in _parts(code) for step in dis.get_instructions(part))
    return {str(step.argval) for step in steps if step.opname in {"LOAD_GLOBAL", "LOAD_NAME"}}


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def _told(value: Any) -> Any:
    """A value as something whose `repr` is the same in each process, and for no other value."""
    if isinstance(value, _PLAIN):
        return (type(value).__name__, value)
    if isinstance(value, tuple):
        return tuple(_told(part) for part in value)
    if isinstance(value, frozenset):
        return ("frozenset", sorted(repr(_told(part)) for part in value))
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, CodeType):
        return _told_code(value)
    if isinstance(value, ModuleType) and value.__name__ in _KNOWN:
        return value.__name__
    raise TypeError(type(value))


def _told_code(code: CodeType) -> Any:
    """All but its name and its place, which kept code is found by."""
    return (
        code.co_code,
        code.co_exceptiontable,
        code.co_flags,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars),
        _told(code.co_consts),
    )
