"""Meshes and series into the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshkit.accounting import keep_all
from meshkit.errors import WriteError
from meshkit.mesh import Mesh
from meshkit.places import Place
from meshkit.report import Ledger
from meshkit.series import MeshSeries
from meshkit.store.array_writing import encoder
from meshkit.store.mesh_writing import parts_of, write_mesh
from meshkit.store.placing import placed
from meshkit.store.remote import remotely_placed
from meshkit.store.sample_writing import SampleWriter
from meshkit.store.series_writing import SeriesWriter

Filling = Callable[[SampleWriter], dict[str, Any]]
"""Writes arrays and gives what the top group says."""


def write(mesh: Mesh, path: Place, ledger: Ledger) -> None:
    """Write all of a mesh but the report of how it came about.

    The sample appears whole or not at all, and is on the disk when this returns. Tensors on
    another device are copied to the CPU; a mesh is read back on the CPU.

    Raises:
        WriteError: the place holds what meshkit did not write, the disk refuses, JSON cannot say
            an attribute, or a tensor is sparse or quantized. What was there stays as it was.
    """
    parts, meta = parts_of(mesh, str(path), ledger)
    keep_all(mesh, ledger)
    ledger.settle()
    _into(path, lambda sample: write_mesh(parts, meta, sample))


def write_series(series: MeshSeries, path: Place, ledger: Ledger) -> None:
    """Write every mesh of a series, one in memory at a time; what repeats is written once.

    The report counts each thing once, and says where it is not there at all times.

    Raises:
        WriteError: as `write`, and when there is no time at all.
    """
    if len(series) == 0:
        raise WriteError(path, "a series of no times", expected="at least one")

    def fill(sample: SampleWriter) -> dict[str, Any]:
        writer = SeriesWriter(sample)
        counts = _Counts()
        for mesh in series:
            writer.add(*parts_of(mesh, str(path), Ledger()))
            counts.add(mesh)
        counts.report(len(series), ledger)
        return writer.finish()

    _into(path, fill)


class _Counts:
    """At how many steps there is what, and how much of it."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[int]] = {}

    def add(self, mesh: Mesh) -> None:
        ledger = Ledger()
        keep_all(mesh, ledger)
        for entry in ledger.report():
            self._found.setdefault((entry.what, entry.name), []).append(entry.count)

    def report(self, n_steps: int, ledger: Ledger) -> None:
        ledger.kept("times", "", n_steps)
        for (what, name), counts in self._found.items():
            some = f"at {len(counts)} of {n_steps} times" if len(counts) < n_steps else ""
            ledger.kept(what, name, max(counts), some)


def _into(path: Place, fill: Filling) -> None:
    if isinstance(path, str):
        with remotely_placed(path) as (folder, root), encoder() as encode:
            sample = SampleWriter(folder, encode, str(path))
            sample.finish(fill(sample), root=root, durable=False)
        return
    with placed(path) as folder, encoder() as encode:
        sample = SampleWriter(folder, encode, str(path))
        sample.finish(fill(sample))
