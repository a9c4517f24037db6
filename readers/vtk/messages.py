"""What vtk says of errors, caught instead of printed."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from meshkit.words import one_line

# vtk reports through one window for the whole process.
_WINDOW: Final = threading.RLock()
_ERROR: Final = re.compile(
    r"ERROR: In [^\n]*\n(?:\w+ \((?:0x)?[0-9a-fA-F]+\): )?(.*?)(?:\n\n|\Z)", re.S
)


@contextmanager
def vtk_messages() -> Iterator[list[str]]:
    """The errors that vtk reports while the block runs, complete at its end; none is printed."""
    from vtkmodules.vtkCommonCore import vtkLogger, vtkOutputWindow, vtkStringOutputWindow

    messages: list[str] = []
    with _WINDOW:
        window, before = vtkStringOutputWindow(), vtkOutputWindow.GetInstance()
        verbosity = vtkLogger.GetCurrentVerbosityCutoff()
        vtkOutputWindow.SetInstance(window)
        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
        try:
            yield messages
        finally:
            vtkOutputWindow.SetInstance(before)
            vtkLogger.SetStderrVerbosity(verbosity)
            messages += [one_line(said) for said in _ERROR.findall(window.GetOutput())]
