"""The arrays of a data set in the form that VTKHDF has them in.

Source: VTK File Formats (VTKHDF 2.6), and what vtkHDFReader of VTK 9.7 reads.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.readers.vtk import VtkData

Numbers = NDArray[Any]


def topology_arrays(data: VtkData, *, wide: bool) -> dict[str, Numbers]:
    """The cells as VTKHDF has them; offsets and ids of one width, as vtk wants them."""
    offsets, ids = _alike(data.offsets, data.connectivity, wide=wide)
    arrays = {"Types": data.types, "Offsets": offsets, "Connectivity": ids}
    if data.polyhedra is not None:
        of_cell, ends, rings = data.polyhedra
        counts = np.zeros(len(data.types), np.int64)
        counts[data.types == POLYHEDRON] = np.diff(of_cell)
        places = np.concatenate([[0], np.cumsum(counts)])
        face_offsets, face_ids = _alike(ends, rings, wide=wide)
        arrays |= {
            "FaceOffsets": face_offsets,
            "FaceConnectivity": face_ids,
            "PolyhedronOffsets": places,
            "PolyhedronToFaces": np.arange(places[-1]),
        }
    return arrays


def no_solids(n_cells: int) -> dict[str, Numbers]:
    """What `topology_arrays` has of polyhedra, where there are none among the cells."""
    none = np.zeros(0, np.int64)
    return {
        "FaceOffsets": np.zeros(1, np.int64),
        "FaceConnectivity": none,
        "PolyhedronOffsets": np.zeros(n_cells + 1, np.int64),
        "PolyhedronToFaces": none,
    }


def _alike(offsets: Numbers, ids: Numbers, *, wide: bool) -> tuple[Numbers, Numbers]:
    kind = np.dtype(np.int64) if wide else np.result_type(offsets, ids)
    return offsets.astype(kind, copy=False), ids.astype(kind, copy=False)


def for_hdf5(values: Numbers | list[str]) -> Numbers:
    """[n] for one component, as vtk has it; texts in UTF-8, called ASCII, which vtk wants."""
    if isinstance(values, list):
        import h5py

        texts = np.empty(len(values), h5py.string_dtype("ascii"))
        texts[:] = [text.encode("utf-8", "surrogateescape") for text in values]
        return texts
    flat = values.ndim == 2 and values.shape[1] == 1
    return values.reshape(-1) if flat else values


def digest_of(values: Numbers | list[str]) -> bytes:
    """What tells whether two blocks of one dataset are the same."""
    digest = hashlib.blake2b(digest_size=20)
    if isinstance(values, list):
        for text in values:
            raw = text.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little") + raw)
    else:
        digest.update(f"{len(values)} ".encode())
        digest.update(np.ascontiguousarray(values).data.cast("B") if values.size else b"")
    return digest.digest()
