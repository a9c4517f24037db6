"""The faces of polyhedra in a VTK XML file, in the layout of old and of new files.

Up to version 2.2: `faces` lists for each polyhedron its number of faces, then of each its size and
its points; `faceoffsets` is for each cell the end of its faces in there, -1 for no polyhedron.
From 2.3 on: the points of each face as rows, and for each cell its faces as rows.

Source: VTK File Formats (XML).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.celltypes import POLYHEDRON
from meshkit.readers.vtk.markup import Element
from meshkit.readers.vtk.objects import solids_of
from meshkit.readers.vtk.xml_arrays import Sections

Numbers = NDArray[Any]
Faces = tuple[Numbers, Numbers, Numbers, Numbers]
"""Starts of each cell's faces, which faces; starts of each face's points, which points."""

OLD: Final = ("faces", "faceoffsets")
NEW: Final = ("face_connectivity", "face_offsets", "polyhedron_to_faces", "polyhedron_offsets")
_FEW: Final = 32


def solids(
    file: Sections, arrays: dict[str, Element], types: Numbers, where: str
) -> tuple[Numbers, Numbers, Numbers] | None:
    """The faces of the polyhedra among cells of these types, as `VtkData` has them.

    Args:
        file: what is read.
        arrays: the arrays of the cells, by name.
        types: uint8 [n_cells].
        where: what messages call the cells.

    Raises:
        ReadError: faces are missing, contradict each other or reach beyond what is there.
    """
    complete = []
    for names in (NEW, OLD):
        held = [name for name in names if name in arrays]
        if held and len(held) < len(names):
            missing = next(name for name in names if name not in arrays)
            raise file.fail(f"has {held[0]!r} without {missing!r}", where)
        if held:
            complete.append(names)
    if not (types == POLYHEDRON).any():
        return None
    if not complete:
        place = f"array 'types' of {where}"
        raise file.fail("holds polyhedra whose faces are missing", place, "faces")
    read = _new_faces if complete[0] is NEW else _old_faces
    return solids_of(types, *read(file, arrays, types, f"of {where}"))


def _new_faces(file: Sections, arrays: dict[str, Element], types: Numbers, where: str) -> Faces:
    points, ends, rows, row_ends = (arrays[name] for name in NEW)
    places = {name: f"array {name!r} {where}" for name in NEW}
    n = file.payload.count(ends, places["face_offsets"])
    offsets = file.starts(ends, points, n, places["face_offsets"], places["face_connectivity"])
    of_cell = file.starts(
        *(row_ends, rows, len(types)),
        *(places["polyhedron_offsets"], places["polyhedron_to_faces"]),
    )
    used = np.empty(of_cell[-1], file.ids_dtype(rows, n))
    low, high = file.payload.whole_numbers(rows, places["polyhedron_to_faces"], used)
    if low < 0 or high >= n:
        bad = low if low < 0 else high
        place = places["polyhedron_to_faces"]
        raise file.fail(f"face {bad}", place, f"faces from 0 to {n - 1}")
    connectivity = file.point_ids(points, offsets, places["face_connectivity"], "face")
    return of_cell, used, offsets, connectivity


def _old_faces(file: Sections, arrays: dict[str, Element], types: Numbers, where: str) -> Faces:
    place, of = f"array 'faceoffsets' {where}", f"array 'faces' {where}"
    n = file.payload.count(arrays["faces"], of)
    stream = np.empty(n, file.ids_dtype(arrays["faces"], max(n, file.n_points)))
    low, high = file.payload.whole_numbers(arrays["faces"], of, stream)
    said = np.empty(len(types), np.int64)
    file.payload.whole_numbers(arrays["faceoffsets"], place, said)
    held = said >= 0
    ends = said[held]
    starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
    if (ends <= starts).any() or (ends[-1:] > n).any():
        raise file.fail("do not ascend within the faces", place, f"up to {n}")
    if (types[~held] == POLYHEDRON).any():
        raise file.fail("holds polyhedra whose faces are missing", place, "an end for each")
    sizes_at = None
    if low >= 0 and high <= np.iinfo(stream.dtype).max:
        sizes_at = _faces_at(stream, starts, ends)
    if sizes_at is None:
        raise file.fail("do not fill their cells", of, "sizes, then points")
    rows = np.zeros(len(types) + 1, np.int64)
    rows[1:][held] = stream[starts]
    points = np.ones(ends[-1] if len(ends) else 0, np.bool_)
    points[starts] = points[sizes_at] = False
    offsets = np.concatenate([[0], np.cumsum(stream[sizes_at], dtype=np.int64)])
    connectivity = stream[: len(points)][points]
    offsets = offsets.astype(file.ids_dtype(arrays["faceoffsets"], len(connectivity)))
    return np.cumsum(rows), np.arange(len(sizes_at)), offsets, connectivity


def _faces_at(stream: Numbers, starts: Numbers, ends: Numbers) -> Numbers | None:
    """Where the size of each face stands; None unless faces fill the stretch of each polyhedron.

    Args:
        stream: whole numbers from 0 on.
        starts: where the number of faces of each polyhedron stands.
        ends: where its stretch ends.
    """
    found: list[Numbers] = []
    left = stream[starts].astype(np.int64)
    at = starts + 1
    if (left > ends - starts).any():
        return None
    while len(left):
        done = left == 0
        if (at[done] != ends[done]).any():
            return None
        left, at, ends = left[~done], at[~done], ends[~done]
        if (at >= ends).any():
            return None
        if len(left) <= _FEW:  # those with very many faces: going on with arrays would be slow
            for low, high, faces in zip(at.tolist(), ends.tolist(), left.tolist(), strict=True):
                walked = _walk(stream[low:high], faces)
                if walked is None:
                    return None
                found.append(np.array(walked, np.int64) + low)
            break
        found.append(at)
        sizes = stream[at]
        # A size beyond the stretch is caught before it can overflow.
        if (sizes > ends - at).any():
            return None
        at, left = at + sizes + 1, left - 1
    return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _walk(stream: Numbers, faces: int) -> list[int] | None:
    """Where the sizes of these faces stand, if these fill the stream."""
    words = stream.tolist()
    found = []
    at = 0
    for _ in range(faces):
        if at >= len(words):
            return None
        found.append(at)
        at += words[at] + 1
    return found if at == len(words) else None
