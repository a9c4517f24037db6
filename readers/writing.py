"""The door for files out: whole or not at all, and no loss that nobody allowed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from meshkit.errors import LossError, MeshError, WriteError
from meshkit.fields import empty_groups
from meshkit.mesh import DATA, Mesh
from meshkit.operators.soundness.structure import need_structure
from meshkit.places import Place, place_of
from meshkit.readers.formats import writer_for
from meshkit.readers.placing import placed
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

    The file appears whole or not at all: it is written beside its place and moved in, after its
    parts where it has some. Folders above it are made.

    Args:
        mesh: a mesh, or a series where the format holds times (else a series of one time).
        path: the file, or the directory or remote place ("s3://...") of a store; what is there
            of the same format is replaced.
        format: a name in `FORMATS`; None goes by the suffix.
        allow_loss: write although the format cannot hold everything.

    Raises:
        LossError: the format cannot hold everything; nothing is written, the list is in it.
        UnknownFormat: no writer has that name or suffix.
        WriteError: the file cannot be written, or cells, faces or regions name what is not there
            (formats of meshkit's own take them as they are).
        MeshError: it is no mesh.
    """
    if not isinstance(mesh, Mesh | MeshSeries):
        raise MeshError(f"write: expected a Mesh or a MeshSeries, found {type(mesh).__name__}")
    path = place_of(path)
    row = writer_for(path, format)
    if isinstance(mesh, MeshSeries) and row.series_writer is None:
        if len(mesh) != 1:
            raise WriteError(path, f"{row.name} holds one time, found a series of {len(mesh)}")
        mesh = mesh[0]
    if not row.native:
        mesh = _sound(mesh, path)
    ledger = Ledger(None if allow_loss else lambda report: LossError(path, row.name, report))
    if not row.groups:
        mesh = _counting_groups(mesh, ledger)
    # A store knows how to put itself in its place, which may be remote.
    with (
        nullcontext(path)
        if isinstance(path, str) or row.store
        else placed(path, parts=row.parts) as place
    ):
        try:
            if isinstance(mesh, MeshSeries):
                row.load_series_writer()(mesh, place, ledger)
            else:
                row.load_writer()(mesh, place, ledger)
        except WriteError as why:
            if why.path != place:
                raise
            # The writer knows only the place; the caller wants the name that they gave.
            raise WriteError(
                path, why.problem, place=why.place, expected=why.expected, hint=why.hint
            ) from None
        except MeshError as why:
            raise WriteError(path, f"the mesh cannot be written: {why}") from None
        ledger.settle()
    return ledger.report()


def _sound(mesh: Mesh | MeshSeries, path: Place) -> Mesh | MeshSeries:
    """The mesh, if its ids name what is there; a series whose meshes are looked at when read."""
    return _looked_at(mesh, lambda one, when: _need_sound(one, path, when))


def _counting_groups(mesh: Mesh | MeshSeries, ledger: Ledger) -> Mesh | MeshSeries:
    """The same, its groups of no fields counted as lost: once each, for a series when read."""
    known: set[str] = set()

    def count(one: Mesh, _: str) -> None:
        places: list[tuple[tuple[str, ...], Any]] = [((home,), getattr(one, home)) for home in DATA]
        places += [
            (("regions", r.name, r.entity), r.data) for r in one.regions if r.data is not None
        ]
        for home, fields in places:
            for path, _before in empty_groups(fields):
                name = "/".join((*home, *path))
                if name not in known:
                    known.add(name)
                    reason = "it holds no field; the format knows groups by their fields alone"
                    ledger.dropped("group", name, 1, reason)

    return _looked_at(mesh, count)


def _looked_at(mesh: Mesh | MeshSeries, look: Callable[[Mesh, str], None]) -> Mesh | MeshSeries:
    """The mesh after a look at it; a series whose meshes are looked at when read."""
    if isinstance(mesh, Mesh):
        look(mesh, "")
        return mesh
    series = mesh

    def load(i: int) -> Mesh:
        one = series[i]
        look(one, f"time {series.times[i]:g}: ")
        return one

    return MeshSeries(series.times, load)


def _need_sound(mesh: Mesh, path: Place, when: str) -> None:
    try:
        need_structure(mesh)
    except MeshError as why:
        hint = "meshkit.check finds all; npz and zarr hold the mesh as it is"
        raise WriteError(path, f"{when}{why}", hint=hint) from None
