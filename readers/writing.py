"""The door for files out: whole or not at all, and no loss that nobody allowed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshkit.errors import LossError, MeshError, WriteError
from meshkit.mesh import Mesh
from meshkit.readers.formats import writer_for
from meshkit.report import Ledger, Report
from meshkit.series import MeshSeries


def write(
    mesh: Mesh | MeshSeries,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    allow_loss: bool = False,
) -> Report:
    """Write a mesh; the report says what was kept, converted and dropped.

    The file appears whole or not at all: it is written beside its place and moved in.

    Args:
        mesh: a mesh, or a series where the format holds times (else a series of one time).
        path: the file; an existing one is replaced.
        format: a name in `FORMATS`; None goes by the suffix.
        allow_loss: write although the format cannot hold everything.

    Raises:
        LossError: the format cannot hold everything; nothing is written, the list is in it.
        UnknownFormat: no writer has that name or suffix.
        WriteError: the file cannot be written.
        MeshError: it is no mesh.
    """
    if not isinstance(mesh, Mesh | MeshSeries):
        raise MeshError(f"write: expected a Mesh or a MeshSeries, found {type(mesh).__name__}")
    path = Path(path)
    row = writer_for(path, format)
    if isinstance(mesh, MeshSeries):
        if len(mesh) != 1:
            raise WriteError(path, f"{row.name} holds one time, found a series of {len(mesh)}")
        mesh = mesh[0]
    ledger = Ledger(None if allow_loss else lambda report: LossError(path, row.name, report))
    with _placed(path) as place:
        try:
            row.load_writer()(mesh, place, ledger)
        except WriteError as why:
            if why.path != place:
                raise
            # The writer knows only the place; the caller wants the name that they gave.
            raise WriteError(
                path, why.problem, place=why.place, expected=why.expected, hint=why.hint
            ) from None
        ledger.settle()
    return ledger.report()


@contextmanager
def _placed(path: Path) -> Iterator[Path]:
    """A name in a fresh sibling directory; what is written there moves into place at the end.

    A writer may make files beside its own (the blocks of a vtm); its own is moved last.
    """
    if path.is_dir():
        raise WriteError(path, "is a directory", expected="a file name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    try:
        yield work / path.name
        others = sorted(p for p in work.iterdir() if p.name != path.name)
        for made in others:
            _need_own(path, made)
        for made in (*others, work / path.name):
            target = path.parent / made.name
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(made, target)
    except OSError as why:
        raise WriteError(path, f"cannot be written: {why.strerror or why}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _need_own(path: Path, made: Path) -> None:
    """Refuse to replace a directory that holds anything a writer would not have made."""
    target = path.parent / made.name
    if not made.is_dir() or not target.is_dir():
        return
    suffixes = {p.suffix for p in made.iterdir()}
    for found in target.iterdir():
        if not found.name.startswith(f"{made.name}_") or found.suffix not in suffixes:
            raise WriteError(
                path,
                f"its parts go into {target}, which holds {found.name!r}",
                hint="choose another name, or move what is there",
            )
