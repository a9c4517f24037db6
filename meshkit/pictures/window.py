"""A window that nobody sees, opened without a word on the terminal."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from meshkit.pictures.errors import NoWindow

_CHOICE: Final = "VTK_DEFAULT_OPENGL_WINDOW"
_EGL: Final = "vtkEGLRenderWindow"
# Which window vtk opens is decided by the environment, and it complains to the terminal: both
# belong to the whole process.
_ONE_AT_A_TIME: Final = threading.RLock()


@contextmanager
def window(size: tuple[int, int]) -> Iterator[Any]:
    """A `pyvista.Plotter` off screen without lights or anything else in it, closed at the end.

    On Linux it draws through EGL, which needs no X server (OSMesa where EGL is missing);
    $VTK_DEFAULT_OPENGL_WINDOW, when set, is what vtk opens instead.

    Raises:
        NoWindow: the machine has neither.
    """
    plotter = _opened(size)
    try:
        yield plotter
    finally:
        plotter.close()


def _opened(size: tuple[int, int]) -> Any:
    import pyvista

    with _ONE_AT_A_TIME, _off_screen_choice(), _captured_stderr() as said:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about X, which is not used
            plotter = pyvista.Plotter(
                off_screen=True,
                notebook=False,
                window_size=list(size),
                lighting="none",
                theme=pyvista.themes.Theme(),
            )
        kind = plotter.render_window.GetClassName()
    # vtk gives such a window also where it can do nothing, and crashes when it is used.
    if kind == "vtkOSOpenGLRenderWindow" and b"OSMesa not found" in said[0]:
        plotter.close()
        raise NoWindow(
            "this machine cannot draw off screen: vtk found neither EGL nor OSMesa; "
            "on Debian or Ubuntu: apt-get install libegl1 libgl1-mesa-dri"
        )
    return plotter


@contextmanager
def _off_screen_choice() -> Iterator[None]:
    """Let vtk open an EGL window, unless the user has chosen another."""
    before = os.environ.get(_CHOICE)
    if before or not sys.platform.startswith("linux"):
        yield
        return
    os.environ[_CHOICE] = _EGL
    try:
        yield
    finally:
        if before is None:
            del os.environ[_CHOICE]
        else:
            os.environ[_CHOICE] = before


@contextmanager
def _captured_stderr() -> Iterator[list[bytes]]:
    """What C libraries write to stderr meanwhile, complete at the end; none is printed."""
    said: list[bytes] = [b""]
    try:
        kept = os.dup(2)
    except OSError:  # there is no stderr
        yield said
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            held.seek(0)
            said[0] = held.read()
