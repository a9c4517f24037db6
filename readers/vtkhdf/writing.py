"""VTKHDF files out: one unstructured grid, of one time or of many.

Source: VTK File Formats (VTKHDF 2.6), and what vtkHDFReader of VTK 9.7 reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from meshkit.errors import WriteError
from meshkit.mesh import Mesh
from meshkit.readers.accounting import added_up
from meshkit.readers.vtk import from_mesh
from meshkit.readers.vtkhdf.data_set_writer import DataSetWriter, new_group
from meshkit.report import Ledger
from meshkit.series import MeshSeries
from meshkit.words import one_line

_VERSION: Final = (2, 6)


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Everything a mesh holds; what VTK has no place for rides in field arrays.

    vtkHDFReader sees the points, the cells and every array: texts of the whole as texts, texts
    of points and cells as numbers and beside them the words that they stand for.

    Raises:
        WriteError: the file cannot be written.
    """
    data = from_mesh(mesh, ledger)
    ledger.settle()
    with _made(path) as root:
        DataSetWriter(root, path, growing=False).add(data)


def write_series(series: MeshSeries, path: Path, ledger: Ledger) -> None:
    """Every mesh of a series; what does not change is written once.

    The times are float64. A field may be absent at some times, and points, cells and fields may
    change; only the dtype of the points may not.

    Raises:
        WriteError: the file cannot be written, the series has no times, or its points change
            their dtype.
    """
    if len(series) == 0:
        raise WriteError(path, "a series of no times", expected="one at least")
    reports = []
    with _made(path) as root:
        writer = DataSetWriter(root, path, growing=True)
        for mesh in series:
            own = Ledger()
            # The time stands with the times; without it the note of each mesh is the same.
            writer.add(from_mesh(mesh.replace(info=mesh.info.replace(time=None)), own))
            reports.append(own.report())
        writer.finish(series.times)
    added_up(reports, ledger)
    ledger.kept("time", "", len(series))


@contextmanager
def _made(path: Path) -> Iterator[Any]:
    """A new file's group "VTKHDF"; no time of writing stands in it."""
    import h5py

    try:
        plan = h5py.h5p.create(h5py.h5p.FILE_CREATE)
        plan.set_obj_track_times(False)
        # Objects have checksums from here on, and vtk's HDF5 can read it.
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
        made = h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, plan, access)
        with h5py.File(made) as file:
            root = new_group(file, "VTKHDF")
            root.attrs["Type"] = np.bytes_("UnstructuredGrid")
            root.attrs["Version"] = np.array(_VERSION, np.int64)
            yield root
    except (OSError, RuntimeError) as why:
        raise WriteError(path, f"cannot be written: {one_line(str(why))}") from None
