"""What our PLY writer says in comments, so that a mesh comes back as it was.

Lines "comment meshkit ..." hold one JSON text, cut into pieces: the shapes and dtypes of the
fields by their properties, the dtypes of the ids, and the info of the mesh.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit.cells import Cells
from meshkit.errors import ReadError
from meshkit.fields import nested
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_all
from meshkit.readers.ply.body import Column
from meshkit.readers.ply.cells import ENDS, INDICES, Block, cells_of
from meshkit.report import Ledger
from meshkit.words import words_of

VERSION: Final = 1
TYPE: Final = "meshkit_type"
"""The face property that holds cell types, where sizes do not tell them."""
PLACE: Final = "meshkit_cell"
"""The property that holds the place of a cell, where elements mix the order."""

WRITTEN_BY: Final = "written by meshkit"
"""The first comment of a file that meshkit wrote."""

_WORD: Final = "meshkit "
_PIECE: Final = 400  # VTK reads lines into char[4096]


def comments_of(said: Mapping[str, Any]) -> Iterator[str]:
    """The comments that hold a note.

    Raises:
        TypeError, ValueError: it is not JSON.
    """
    text = json.dumps({"version": VERSION, **said}, separators=(",", ":"))
    # No blank at the end of a line, where a text editor would take it away.
    text = text.replace(" ", "\\u0020")
    for start in range(0, len(text), _PIECE):
        yield _WORD + text[start : start + _PIECE]


def is_note(comment: str) -> bool:
    """Whether a comment would be taken for a piece of a note."""
    return comment.startswith(_WORD)


def comments_said(mesh: Mesh) -> list[str]:
    """The comments of a mesh's info, each on one line, but for those that we write anyway."""
    given = mesh.info.attributes.get("comments", ())
    lines = [" ".join(words_of(str(text))) for text in given if isinstance(given, list | tuple)]
    return [text for text in lines if not is_note(text) and text != WRITTEN_BY]


def comments_beside(comments: Iterable[str], mesh: Mesh) -> list[str]:
    """The comments of a file that another program has added since meshkit wrote the mesh."""
    ours = Counter(comments_said(mesh))
    added = []
    for text in comments:
        line = " ".join(words_of(text))
        if is_note(text) or line in (WRITTEN_BY, ""):
            continue
        if ours[line]:
            ours[line] -= 1
        else:
            added.append(text)
    return added


def found_note(path: Path, comments: Iterable[str]) -> Note | None:
    """The note among the comments of a file.

    Raises:
        ReadError: it is damaged, or of a newer meshkit.
    """
    text = "".join(c[len(_WORD) :].strip() for c in comments if is_note(c))
    if not text.startswith("{"):
        return None
    try:
        said = json.loads(text)
        version = said["version"]
        if version == VERSION:
            return Note(said)
    except (ValueError, KeyError, TypeError, RecursionError) as why:
        raise ReadError(path, f"is damaged: {why}", place="comment meshkit") from None
    raise ReadError(
        path,
        f"written by another meshkit (version {version} of its comment)",
        place="comment meshkit",
        expected=f"version {VERSION}",
        hint="update meshkit",
    )


class Note:
    """What was said of a mesh when it was written."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.said = said
        self.fields: list[dict[str, Any]] = list(said["fields"])
        self.names = {
            home: {name for f in self.fields if f["home"] == home for name in f["names"]}
            for home in ("point_data", "cell_data")
        }

    def fits(self, tables: Mapping[str, Mapping[str, Column]]) -> bool:
        """Whether every property it tells of is there, and no other."""
        vertex = {k for k in tables.get("vertex", {}) if k not in ("x", "y", "z")}
        if vertex != self.names["point_data"]:
            return False
        own = {TYPE, PLACE, *INDICES, *ENDS}
        return all(
            name == "vertex" or columns.keys() - own == self.names["cell_data"]
            for name, columns in tables.items()
        )

    def mesh(
        self,
        path: Path,
        points: NDArray[Any],
        blocks: list[Block],
        vertex: Mapping[str, Column],
        ledger: Ledger,
    ) -> Mesh:
        """The mesh as it was.

        Raises:
            ReadError: the note does not fit the file.
        """
        try:
            mesh = self._mesh(points, blocks, vertex)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError) as why:
            raise ReadError(
                path, f"does not fit the file: {why}", place="comment meshkit"
            ) from None
        keep_all(mesh, ledger)
        return mesh

    def _mesh(
        self, points: NDArray[Any], blocks: list[Block], vertex: Mapping[str, Column]
    ) -> Mesh:
        d, dtype = self.said["points"]
        cells, columns = self._cells(blocks)
        data: dict[str, dict[tuple[str, ...], Tensor]] = {"point_data": {}, "cell_data": {}}
        for said in self.fields:
            home = said["home"]
            source = vertex if home == "point_data" else columns
            rows = len(points) if home == "point_data" else len(cells)
            data[home][tuple(said["path"])] = _field(said, source, rows)
        return make_mesh(
            torch.from_numpy(points[:, :d].copy()).to(getattr(torch, dtype)),
            cells,
            point_data=nested(data["point_data"]),
            cell_data=nested(data["cell_data"]),
            info=MeshInfo.from_json(self.said["info"]),
        )

    def _cells(self, blocks: list[Block]) -> tuple[Cells, dict[str, Column]]:
        """The cells in their types and order, and their columns."""
        for block in blocks:
            kinds = block.columns.get(TYPE)
            if isinstance(kinds, np.ndarray):
                block.types = kinds.astype(np.uint8)
                block.ids = _pixels_back(block)
        cells = cells_of(blocks)
        own = [name for name in (TYPE, PLACE) if any(name in b.columns for b in blocks)]
        names = [*self.names["cell_data"], *own]
        columns: dict[str, Column] = {}
        for name in names if blocks else ():
            have = [np.asarray(b.columns[name]) for b in blocks if name in b.columns]
            columns[name] = np.concatenate(have)
        if PLACE in columns:
            order = torch.from_numpy(np.argsort(np.asarray(columns[PLACE]), kind="stable"))
            cells = cells.take(order)
            columns = {
                name: np.asarray(x)[order.numpy()] for name, x in columns.items() if name != TYPE
            }
        offsets, ids = (getattr(torch, name) for name in self.said["ids"])
        return Cells(cells.types, cells.offsets.to(offsets), cells.connectivity.to(ids)), columns


def _pixels_back(block: Block) -> NDArray[np.int64]:
    """Pixels stand as rings in the file."""
    which = block.types == 8
    if not which.any():
        return block.ids
    first = (np.cumsum(block.sizes) - block.sizes)[which]
    ids = block.ids.copy()
    ids[first + 2], ids[first + 3] = block.ids[first + 3], block.ids[first + 2]
    return ids


def _field(said: Mapping[str, Any], source: Mapping[str, Column], rows: int) -> Tensor:
    dtype = getattr(torch, said["dtype"])
    shape = [rows, *said["shape"]]
    columns = [np.asarray(source[name]) for name in said["names"]] if rows else []
    if not columns:
        return torch.zeros(shape, dtype=dtype, device="cpu")
    x = torch.from_numpy(np.stack(columns, 1))
    return x.to(dtype).reshape(shape)
