"""Which cell, face, point and patch of the whole case each one of a processor's is.

Source: OpenFOAM's decomposePar and processorMeshes: cellProcAddressing, faceProcAddressing,
pointProcAddressing, boundaryProcAddressing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meshkit.errors import ReadError
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.lists import Array
from meshkit.readers.openfoam.poly_mesh import Places, RawMesh, read_labels


@dataclass(frozen=True)
class Addressing:
    """A processor's numbering in that of the whole case.

    `faces` are ids + 1, negative where the processor's face looks the other way.
    """

    cells: Array
    faces: Array
    points: Array
    patches: Array  # -1 for what decomposing made

    @property
    def turned(self) -> Array:
        """bool [n_faces]: faces that look the other way than in the whole case."""
        found: Array = self.faces < 0
        return found

    @property
    def face_ids(self) -> Array:
        """Ids of the whole case's faces."""
        return np.abs(self.faces) - 1


def read_addressing(places: Places, mesh: RawMesh) -> Addressing:
    """The four lists of a processor.

    Raises:
        ReadError: one is missing, or as long as the processor's mesh is not.
    """
    wanted = {
        "cell": mesh.n_cells,
        "face": mesh.n_faces,
        "point": mesh.n_points,
        "boundary": len(mesh.patches),
    }
    lists = [_list(places, f"{what}ProcAddressing", n) for what, n in wanted.items()]
    return Addressing(*lists)


def _list(places: Places, name: str, count: int) -> Array:
    folder = places.folder
    where = places.find(name)
    if where is None:
        raise folder.missing(
            f"{places.below[-1]}/{name}",
            "without it processors cannot be put together; run reconstructParMesh and "
            "reconstructPar, or read one of the processors' directories by itself",
        )
    found, _ = read_labels(folder, where)
    if len(found) != count:
        raise ReadError(
            folder.path / where, f"has {len(found)} entries", place=folder.label or None,
            expected=str(count),
        )  # fmt: skip
    return found


def need_whole(
    what: str, lists: Sequence[Array], folders: Sequence[Folder], *, once: bool, turned: Any = None
) -> int:
    """Refuse numbers that leave a gap, or stand twice where they must not; how many there are.

    Raises:
        ReadError: the message names a processor and the number.
    """
    total = sum(map(len, lists))
    count = 0
    for ids, folder in zip(lists, folders, strict=True):
        if len(ids) and int(ids.min()) < 0:
            raise ReadError(
                folder.path, f"{folder.label}: a {what} has number {ids.min()}",
                expected="numbers of the whole case",
            )  # fmt: skip
        count = max(count, int(ids.max(initial=-1)) + 1)
    if count > total:
        raise ReadError(
            folders[0].path.parent, f"{what} {count - 1} is named, but processors have {total}",
            expected=f"every {what} on some processor",
        )  # fmt: skip
    uses = np.zeros(count, np.int32)
    for ids in lists:
        uses += np.bincount(ids, minlength=count).astype(np.int32)
    wrong = np.flatnonzero((uses == 0) | ((uses > 1) if once else False))
    if len(wrong):
        said = "no processor" if uses[wrong[0]] == 0 else f"{uses[wrong[0]]} processors"
        raise ReadError(
            folders[0].path.parent, f"{what} {wrong[0]} is on {said}",
            expected="one" if once else "one at least",
        )  # fmt: skip
    return count
