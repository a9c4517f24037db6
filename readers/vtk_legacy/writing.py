"""Writing the legacy VTK format: version 5.1, binary, an unstructured grid.

VTK 9.7 reads what stands here: arrays with a role under its keyword, all others in FIELD blocks,
in the mesh's own order. Ids are "int" or "vtktypeint64", the two widths VTK has a name for.

Source: VTK File Formats (legacy), and the files that VTK 9.7 writes and reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.mesh import Mesh
from meshkit.readers.ragged_rows import with_counts
from meshkit.readers.vtk import VtkArray, VtkData, from_mesh
from meshkit.readers.vtk_legacy.data import POLYHEDRON_POINTS, TRUE_NAMES
from meshkit.readers.vtk_legacy.words import NAMES, encoded
from meshkit.report import Ledger

_HEADER: Final = b"# vtk DataFile Version 5.1\nwritten by meshkit\nBINARY\n"
_LONGEST: Final = 255  # VTK reads words into char[256]
# Role -> keyword and the numbers of components that VTK takes it with (None: any).
_KEYWORDS: Final[dict[str, tuple[str, tuple[int, ...] | None]]] = {
    "scalars": ("SCALARS", None),
    "vectors": ("VECTORS", (3,)),
    "normals": ("NORMALS", (3,)),
    "tcoords": ("TEXTURE_COORDINATES", (1, 2, 3)),
    "tensors": ("TENSORS", (6, 9)),
    "global_ids": ("GLOBAL_IDS", (1,)),
    "pedigree_ids": ("PEDIGREE_IDS", (1,)),
}


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Write all of a mesh; what VTK has no place for rides in field arrays of our own.

    Reading the file back gives the same mesh bit for bit, id dtypes included.

    Raises:
        MeshError: an attribute is not JSON, or a tensor is sparse or quantized.
    """
    data = from_mesh(mesh, ledger)
    ledger.settle()
    connectivity, offsets = _streams(data)
    _stand_ins(data)
    with path.open("wb") as file:
        file.write(_HEADER + b"DATASET UNSTRUCTURED_GRID\n")
        _fields(file, data.field_arrays.items())
        points = data.points
        file.write(f"POINTS {len(points)} {NAMES[points.dtype.name]}\n".encode())
        _numbers(file, points)
        if len(data.types):
            file.write(f"CELLS {len(offsets)} {len(connectivity)}\n".encode())
            for key, ids in (("OFFSETS", offsets), ("CONNECTIVITY", connectivity)):
                file.write(f"{key} {NAMES[ids.dtype.name]}\n".encode())
                _numbers(file, ids)
            file.write(f"CELL_TYPES {len(data.types)}\n".encode())
            _numbers(file, data.types.astype(np.int32))
        _arrays(file, "CELL_DATA", len(data.types), data.cell_arrays)
        _arrays(file, "POINT_DATA", len(points), data.point_arrays)


def _streams(data: VtkData) -> tuple[NDArray[Any], NDArray[Any]]:
    """Connectivity and offsets with the face stream of each polyhedron in place of its points.

    The points of polyhedra go in an array of their own, each cell's with their count first: a
    face stream does not say in which order the cell lists them.
    """
    if data.polyhedra is None:
        return data.connectivity, data.offsets
    cell_faces, face_offsets, ids = (part.astype(np.int64) for part in data.polyhedra)
    stream = with_counts(face_offsets, ids)
    begins = face_offsets[cell_faces] + cell_faces
    stream = np.insert(stream, begins[:-1], np.diff(cell_faces))
    solid = data.types == POLYHEDRON
    sizes = np.diff(data.offsets).astype(np.int64)
    of_solid = np.repeat(solid, sizes)
    own = np.concatenate([[0], np.cumsum(sizes[solid])])
    listed = with_counts(own, data.connectivity[of_solid].astype(np.int64))
    data.field_arrays[POLYHEDRON_POINTS] = VtkArray(listed.reshape(-1, 1))
    sizes[solid] = np.diff(begins) + 1
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    connectivity = np.empty(offsets[-1], np.int64)
    of_stream = np.repeat(solid, sizes)
    connectivity[of_stream] = stream
    connectivity[~of_stream] = data.connectivity[~of_solid]
    return connectivity, offsets


def _stand_ins(data: VtkData) -> None:
    """Give names that VTK cannot read another; a table of pairs says which was which."""
    pairs: list[str] = []
    for home in ("field_arrays", "cell_arrays", "point_arrays"):
        arrays: dict[str, VtkArray] = getattr(data, home)
        made: dict[str, VtkArray] = {}
        for name, array in arrays.items():
            chosen = name
            if not _readable(name):
                chosen = next(
                    free
                    for i in range(len(arrays) + len(pairs) + 1)
                    if (free := f"meshkit_name_{i}") not in arrays and free not in pairs
                )
                pairs += [chosen, name]
            made[chosen] = array
        setattr(data, home, made)
    if pairs:
        data.field_arrays[TRUE_NAMES] = VtkArray(pairs)


def _readable(name: str) -> bool:
    """Whether VTK's reader takes the name for what it is."""
    # NULL_ARRAY is a keyword of FIELD; VTK looks for METADATA wherever an array ends.
    return (
        0 < len(encoded(name)) <= _LONGEST
        and "\0" not in name
        and name != "NULL_ARRAY"
        and not name.lower().startswith("metadata")
    )


def _arrays(file: BinaryIO, header: str, rows: int, arrays: dict[str, VtkArray]) -> None:
    """The arrays of points or cells, in their order; runs without a role share a FIELD."""
    if not arrays:
        return
    file.write(f"{header} {rows}\n".encode())
    for keyword, run in groupby(_with_keywords(arrays), key=lambda entry: entry[0]):
        if keyword is None:
            _fields(file, [(name, array) for _, name, array in run])
        else:
            for _, name, array in run:
                _attribute(file, keyword, name, array)


def _with_keywords(
    arrays: dict[str, VtkArray],
) -> Iterator[tuple[str | None, str, VtkArray]]:
    """Each array with its keyword; None for one that goes in a FIELD.

    VTK has one array of a role, so the first has it.
    """
    taken = set()
    for name, array in arrays.items():
        keyword, widths = _KEYWORDS.get(array.role or "", (None, None))
        c = _width(array)
        texts = isinstance(array.values, list)
        if (
            keyword in taken
            or (widths is not None and c not in widths)
            or (texts and keyword != "PEDIGREE_IDS")
        ):
            keyword = None
        if keyword is not None:
            taken.add(keyword)
        yield keyword, name, array


def _width(array: VtkArray) -> int:
    values = array.values
    return values.shape[1] if not isinstance(values, list) and values.ndim == 2 else 1


def _type(array: VtkArray) -> str:
    return "string" if isinstance(array.values, list) else NAMES[array.values.dtype.name]


def _attribute(file: BinaryIO, keyword: str, name: str, array: VtkArray) -> None:
    c, type_name = _width(array), _type(array)
    words = {
        "SCALARS": f"{type_name} {c}\nLOOKUP_TABLE default",
        "TEXTURE_COORDINATES": f"{c} {type_name}",
    }.get(keyword, type_name)
    if keyword == "TENSORS" and c == 6:
        keyword = "TENSORS6"
    file.write(f"{keyword} ".encode() + encoded(name) + f" {words}\n".encode())
    _values(file, array)


def _fields(file: BinaryIO, arrays: Iterable[tuple[str, VtkArray]]) -> None:
    found = list(arrays)
    if not found:
        return
    file.write(f"FIELD FieldData {len(found)}\n".encode())
    for name, array in found:
        words = f" {_width(array)} {len(array.values)} {_type(array)}\n"
        file.write(encoded(name) + words.encode())
        _values(file, array)


def _values(file: BinaryIO, array: VtkArray) -> None:
    """The values, and what METADATA can say of them."""
    if isinstance(array.values, list):
        for text in array.values:
            raw = text.encode("utf-8", "surrogatepass")
            file.write(_length(len(raw)) + raw)
        file.write(b"\n")
    else:
        _numbers(file, array.values)
    names = [encoded(name) for name in array.components or ()]
    names = names if len(names) == _width(array) else []
    unit = encoded(array.unit or "")
    # VTK reads these lines into char[256] too; ours stand in meshkit's own array as well.
    if any(len(name) > _LONGEST for name in names) or len(unit) > _LONGEST - len("DATA "):
        return
    if names or unit:
        file.write(b"METADATA\n")
        if names:
            file.write(b"COMPONENT_NAMES\n" + b"\n".join(names) + b"\n")
        if unit:
            file.write(b"INFORMATION 1\nNAME UNITS_LABEL LOCATION vtkDataArray\nDATA %s\n" % unit)
        file.write(b"\n")


def _numbers(file: BinaryIO, values: NDArray[Any]) -> None:
    big = np.ascontiguousarray(values).astype(values.dtype.newbyteorder(">"), copy=False)
    file.write(big.tobytes() + b"\n")


def _length(n: int) -> bytes:
    """A text's length: in the top two bits how many bytes it takes, as VTK writes it."""
    for width, mark in ((1, 3), (2, 2), (4, 1)):
        if n < 1 << (8 * width - 2):
            return (n | mark << (8 * width - 2)).to_bytes(width, "big")
    return n.to_bytes(8, "big")
