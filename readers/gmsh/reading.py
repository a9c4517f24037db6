"""MSH files in: the mesh, what its parts are called, and its data over time.

Source: Gmsh reference manual, "MSH file format" (version 4.1) and "Legacy formats" (4.0 and 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.cells import Cells
from meshkit.errors import ReadError
from meshkit.fields import leaves
from meshkit.info import FieldInfo, FieldKey, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_cells
from meshkit.readers.gmsh.applying import applied, cells_of, renamed, with_paths
from meshkit.readers.gmsh.cells import Elements, elements_of
from meshkit.readers.gmsh.element_blocks import tables
from meshkit.readers.gmsh.entities import entities, physical_names
from meshkit.readers.gmsh.fields import fields_of
from meshkit.readers.gmsh.grouping import Groups, regions_of
from meshkit.readers.gmsh.links import ghosts, periodic
from meshkit.readers.gmsh.nodes import Nodes, nodes
from meshkit.readers.gmsh.note import SECTION, Note, checksum_of
from meshkit.readers.gmsh.sections import MshFile
from meshkit.readers.gmsh.tags import Tags
from meshkit.readers.gmsh.times import Times
from meshkit.readers.gmsh.views import KINDS, View, views
from meshkit.readers.texts import text_of
from meshkit.report import Ledger, Report
from meshkit.series import MeshSeries

NODE_TAG, NODE_ENTITY, NODE_PARAMETERS = "node_tag", "node_entity", "node_parameters"
ELEMENT_TAG: Final = "element_tag"
TAG_KIND: Final = "global_ids"
ATTRIBUTE: Final = "gmsh"

_COMMENTS: Final = ("Comments", "Comment")
_READ: Final = (
    *("PhysicalNames", "Entities", "PartitionedEntities", "Nodes", "ParametricNodes"),
    *("Elements", "Periodic", "GhostElements", SECTION, *KINDS, *_COMMENTS),
)
_REASONS: Final = {
    "InterpolationScheme": "the basis of high-order values; the values themselves are kept",
    "Parametrizations": "the parametrizations of discrete curves and surfaces",
}


def read(path: Path, ledger: Ledger) -> Mesh:
    """The mesh of a file, at its last time where its data have times.

    Points are float64 [n, 3], nodes and elements stay in the order of the file. Their tags are
    the fields "node_tag" and "element_tag" where they are not 1, 2, 3, ...; the entity of each
    node (dimension, tag) is "node_entity", its coordinates there "node_parameters". Physical
    groups and entities are cell regions of the kinds "physical" and "entity"; the entities'
    bounds, boundaries and groups stand in `info.attributes["gmsh"]`. Values at the nodes of
    elements are cell fields [n_cells, widest, ...].

    Raises:
        ReadError: the file breaks the format; the message names the line, or the byte if binary.
    """
    with path.open("rb") as file:
        msh = MshFile.opened(path, file)
        found = Times.of(views(msh))
        base = _base(msh)
        last = found.times[-1] if found.times else None
        mesh = _with_fields(base, msh, found.at(len(found.times) - 1), last, ledger)
    ledger.add(base.report)
    if found.times:
        mesh = mesh.replace(info=mesh.info.replace(time=found.times[-1]))
    return mesh


def series(path: Path) -> MeshSeries | None:
    """The mesh over the times of its data; None where no data has a time.

    Points and cells are read once, when a mesh is first asked for, and the data of each time
    when that is. Data without a time belong to all. Where a field has several steps of one time,
    the numbers of the steps are the times, and the report says so.

    Raises:
        ReadError: as `read`, and when the file has changed since.
    """
    with path.open("rb") as file:
        found = Times.of(views(MshFile.opened(path, file)))
    if not found.times:
        return None
    stamp = _stamp(path)
    held: list[_Base] = []

    def load(i: int) -> Mesh:
        if _stamp(path) != stamp:
            raise ReadError(path, "has changed since the series was opened", hint="open it again")
        ledger = Ledger()
        with path.open("rb") as file:
            msh = MshFile.opened(path, file)
            if not held:
                held.append(_base(msh))
            mesh = _with_fields(held[0], msh, found.at(i), found.times[i], ledger)
        if found.said is None:
            ledger.kept("time", "", 1)
        else:
            reason = f"times repeat: step {found.times[i]:g} has the time {found.said[i]:g}"
            ledger.converted("time", "", 1, reason)
        return mesh.replace(info=mesh.info.replace(report=held[0].report + ledger.report()))

    return MeshSeries(found.times, load)


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


# --- the mesh without its data --------------------------------------------------------------------


@dataclass
class _Base:
    """The mesh that all times share, and what finds its points and cells by their tags."""

    mesh: Mesh
    nodes: Tags
    elements: Elements
    taken: set[FieldKey] = field(default_factory=set)
    report: Report = field(default_factory=Report)
    note: Note | None = None


def _base(msh: MshFile) -> _Base:
    ledger = Ledger()
    names = physical_names(msh)
    rows, ghost_entities = entities(msh)
    found = nodes(msh)
    points = torch.from_numpy(found.points)
    ledger.kept("points", "", len(points))
    elements = elements_of(*tables(msh), msh.version)
    every = _cells(msh, elements, found.tags)
    note = _note(msh, every, ledger)
    cells = every if note is None else cells_of(every, note)
    keep_cells(cells, ledger)
    _count_cells(elements, ledger)
    groups = Groups(names, rows, elements, ghosts(msh), periodic(msh))
    # What our own note says of regions is not what the groups of the file would say.
    own = Ledger()
    regions = regions_of(groups, found.tags, own if note is not None else ledger)
    elements = elements.first(len(cells))
    point_data, cell_data, known = _own_fields(found, elements, own if note is not None else ledger)
    attributes = _attributes(msh, ledger)
    table: dict[str, Any] = {}
    if rows:
        table["entities"] = [row.to_json() for row in rows.values()]
        ledger.kept("info", "entities", len(rows))
    if ghost_entities:
        table["ghost_entities"] = [[tag, part] for (_, tag), part in ghost_entities.items()]
    if table:
        attributes[ATTRIBUTE] = table
    mesh = make_mesh(
        points,
        cells,
        point_data=point_data,
        cell_data=cell_data,
        regions=regions,
        info=MeshInfo(fields=known, attributes=attributes),
    )
    taken: set[FieldKey] = set(known)
    if note is not None:
        mesh = applied(mesh, note, ledger)
        taken = {key for key in known if key[-1] in note.own}
    return _Base(mesh, found.tags, elements, taken, ledger.report(), note)


def _note(msh: MshFile, cells: Cells, ledger: Ledger) -> Note | None:
    """What meshkit wrote beside the mesh, if it is still about this mesh."""
    section = msh.only(SECTION)
    if section is None:
        return None
    note = Note.from_bytes(msh.text(section))
    if note is None or note.checksum != checksum_of(cells):
        reason = "a note of meshkit on another mesh, or of a newer version"
        ledger.dropped("section", SECTION, 1, reason)
        return None
    return note


def _cells(msh: MshFile, elements: Elements, tags: Tags) -> Cells:
    """The cells, their points by place."""
    ids = elements.nodes
    elements.nodes = ids[:0]
    bad = tags.replace(ids)
    if bad is not None:
        cell = int(np.searchsorted(np.cumsum(elements.sizes), bad, side="right"))
        section = msh.only("Elements")
        raise msh.error(
            f"element {elements.own_tags[cell]} uses node {ids[bad]}",
            at=section.start if section else 0,
            expected="tags of $Nodes",
        )
    small = max(len(ids), len(tags.tags)) <= np.iinfo(np.int32).max
    dtype: type[np.signedinteger[Any]] = np.int32 if small else np.int64
    offsets = _offsets(elements.sizes, dtype)
    return Cells(
        torch.from_numpy(elements.types),
        torch.from_numpy(offsets),
        torch.from_numpy(ids.astype(dtype, copy=False)),
    )


def _offsets(sizes: NDArray[np.int32], dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Where each cell begins, and the end."""
    n, k = len(sizes), int(sizes[0]) if len(sizes) else 0
    if n and int(sizes.min()) == int(sizes.max()):
        return np.arange(0, (n + 1) * k, k).astype(dtype, copy=False)
    offsets = np.zeros(n + 1, dtype)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _count_cells(elements: Elements, ledger: Ledger) -> None:
    for number, count in elements.dropped.items():
        ledger.dropped("cells", f"element type {number}", count, "there is no such cell here")
    for number, count in elements.clipped.items():
        reason = "there is no such cell here; the corners stay, as linear cells"
        ledger.dropped("cells", f"inner points of element type {number}", count, reason)
    if elements.repeated:
        reason = "one cell in several groups, written once for each of them"
        ledger.converted("cells", "elements", elements.repeated, reason)


def _own_fields(
    found: Nodes, elements: Elements, ledger: Ledger
) -> tuple[dict[str, Any], dict[str, Any], dict[FieldKey, FieldInfo]]:
    """Tags where they say something, entities and parameters of nodes."""
    point_data: dict[str, Any] = {}
    cell_data: dict[str, Any] = {}
    known: dict[FieldKey, FieldInfo] = {}
    if not found.tags.counted:
        point_data[NODE_TAG] = found.tags.tags
        known["point_data", NODE_TAG] = FieldInfo(kind=TAG_KIND)
    if found.entity is not None:
        point_data[NODE_ENTITY] = found.entity
        known["point_data", NODE_ENTITY] = FieldInfo(components=("dimension", "tag"))
    if found.parameters is not None:
        point_data[NODE_PARAMETERS] = found.parameters
        known["point_data", NODE_PARAMETERS] = FieldInfo(components=("u", "v", "w"))
    own = elements.own_tags
    if len(own) and not Tags(own).counted:
        cell_data[ELEMENT_TAG] = own.astype(np.int64)
        known["cell_data", ELEMENT_TAG] = FieldInfo(kind=TAG_KIND)
    for home, data in (("point_data", point_data), ("cell_data", cell_data)):
        for name, values in data.items():
            ledger.kept("field", f"{home}/{name}", len(values))
    return point_data, cell_data, known


def _attributes(msh: MshFile, ledger: Ledger) -> dict[str, Any]:
    """Comments; sections that are not read are counted."""
    comments = []
    for section in msh.sections:
        if section.name in _COMMENTS:
            comments.append(text_of(msh.text(section)).strip("\r\n"))
        elif section.name not in _READ:
            size = section.end - section.start
            reason = _REASONS.get(section.name, "it is unknown here")
            ledger.dropped("section", section.name, 1, f"{reason} ({size} bytes)")
    if not comments:
        return {}
    ledger.kept("info", "attributes/comments", len(comments))
    return {"comments": comments}


def _with_fields(
    base: _Base, msh: MshFile, some: Sequence[View], time: float | None, ledger: Ledger
) -> Mesh:
    """The mesh with the data of one time."""
    found = fields_of(msh, some, base.nodes, base.elements, base.taken, ledger)
    if base.note is not None:
        homes, others = renamed(found.values, found.known, base.note)
        whole = base.mesh.with_data(global_=base.note.at(time))
        for path, x in leaves(whole.global_data):
            ledger.kept("field", f"global_data/{'/'.join(path)}", len(x) if x.ndim else 1)
        return with_paths(whole, homes, others)
    point = {name: x for (home, name), x in found.values.items() if home == "point_data"}
    cell = {name: x for (home, name), x in found.values.items() if home == "cell_data"}
    mesh = base.mesh.with_data(
        point={name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in point.items()},
        cell={name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in cell.items()},
    )
    return mesh.replace(info=mesh.info.with_fields(found.known))
