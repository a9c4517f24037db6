"""Everything meshkit raises on purpose.

MeshkitError
├── MeshError          the arrays do not make a mesh
├── FileError          something about a file: path, place, found, expected, what to do
│   ├── ReadError          the file is not what its format promises
│   │   └── UnknownFormat      no reader claims it
│   └── WriteError         the mesh cannot be written there
│       └── LossError          the format cannot hold all of it, and nobody allowed the loss
├── UnitError          units contradict each other or cannot be understood
└── MissingPackage     an optional package is not installed
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from meshkit.words import one_line

if TYPE_CHECKING:
    from meshkit.report import Report


class MeshkitError(Exception):
    """Base of all errors a caller may want to catch."""


class MeshError(MeshkitError, ValueError):
    """Points, cells, fields or regions contradict each other."""


class UnitError(MeshkitError, ValueError):
    """Units contradict each other or cannot be understood."""


class MissingPackage(MeshkitError, ImportError):
    """An optional package is not installed; says what to install.

    Args:
        what: what needs the package, for example "to_pyg".
        install: what pip should be given, for example "meshkit[pyg]".
    """

    def __init__(self, what: str, install: str) -> None:
        self.what, self.install = what, install
        super().__init__(f"{what} needs a package that is not installed: pip install '{install}'")


class FileError(MeshkitError):
    """One line: file, place, what was found, what was expected, what to do.

    Args:
        path: the file, as the caller named it.
        problem: what is wrong, in one clause.
        place: where in the file: "line 12", "byte 300", "array 'p'".
        expected: what would have been right.
        hint: what the user can do.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        problem: str,
        *,
        place: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.path, self.problem = path, problem
        self.place, self.expected, self.hint = place, expected, hint
        parts = [str(path)] + ([place] if place else []) + [problem]
        text = ": ".join(parts)
        if expected:
            text += f"; expected {expected}"
        if hint:
            text += f"; {hint}"
        super().__init__(one_line(text))

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call the class with the message alone; errors cross process borders.
        return _rebuilt, (type(self), str(self), self.__dict__.copy())


def _rebuilt(kind: type[FileError], text: str, state: dict[str, object]) -> FileError:
    error = kind.__new__(kind, text)
    error.args = (text,)
    error.__dict__.update(state)
    return error


class ReadError(FileError):
    """The file is not what its format promises."""


class UnknownFormat(ReadError):
    """No reader claims the file, or no writer the name."""


class WriteError(FileError):
    """The mesh cannot be written there."""


class LossError(WriteError):
    """The format cannot hold all of the mesh; `report` lists what would be lost."""

    def __init__(self, path: str | PathLike[str], format: str, report: Report) -> None:
        self.report = report
        losses = report.losses
        listed = ", ".join(f"{e.what} {e.name!r} ({e.reason})" for e in losses[:8])
        more = f" and {len(losses) - 8} more" if len(losses) > 8 else ""
        super().__init__(
            path,
            f"{format} cannot hold {listed}{more}",
            hint="choose another format or allow the loss (allow_loss=True, --allow-loss)",
        )
