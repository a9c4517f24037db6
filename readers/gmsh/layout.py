"""How a mesh is laid out in an MSH file: its entities, and the order of its blocks."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.fields import leaves
from meshkit.mesh import Mesh
from meshkit.readers.gmsh.carried import carried
from meshkit.readers.gmsh.elements import element_of_cell
from meshkit.readers.gmsh.entities import Entity, Key
from meshkit.readers.gmsh.grouping import DIMENSION, ENTITY, PERIODIC, PHYSICAL, is_link
from meshkit.readers.gmsh.labels import Labels, boxes, labelled, runs
from meshkit.readers.gmsh.note import Note, checksum_of, own_fields, region_row
from meshkit.readers.gmsh.packed import dtype_name
from meshkit.readers.gmsh.reading import (
    ATTRIBUTE,
    ELEMENT_TAG,
    NODE_ENTITY,
    NODE_PARAMETERS,
    NODE_TAG,
)
from meshkit.readers.gmsh.tags import Tags
from meshkit.report import Ledger

_AT_ONCE: Final = 1 << 15  # numbers that are put together before they are written
_LONGEST_NAME: Final = 120  # bytes; gmsh reads a name into 128
REORDERED: Final = {8: 9, 11: 12}
"""Pixels and voxels: quadrangles and hexahedra, their corners in another order."""


def own_arrays(mesh: Mesh) -> dict[str, NDArray[Any]]:
    """Tags, entities and parameters of nodes and elements, where they are what reading makes."""
    out: dict[str, NDArray[Any]] = {}
    for home, name, tail, dtype in (
        ("point_data", NODE_TAG, (), torch.int64),
        ("cell_data", ELEMENT_TAG, (), torch.int64),
        ("point_data", NODE_ENTITY, (2,), torch.int32),
        ("point_data", NODE_PARAMETERS, (3,), torch.float64),
    ):
        x = dict(leaves(getattr(mesh, home))).get((name,))
        if x is not None and x.dtype == dtype and tuple(x.shape[1:]) == tail:
            values = x.detach().cpu().numpy()
            if tail or _are_tags(values):
                out[name] = values
    return out


def _are_tags(values: NDArray[Any]) -> bool:
    """Whether numbers are positive, different and of 32 bits, as data need them.

    Those that count from 1 need to be a field of their own: tags do not show that they are there.
    """
    if not len(values) or Tags(values).counted:
        return False
    sound = int(values.min()) > 0 and int(values.max()) < 1 << 31
    return sound and len(np.unique(values)) == len(values)


class Layout:
    """How a mesh is laid out in a file."""

    def __init__(self, mesh: Mesh, ledger: Ledger) -> None:
        self.mesh = mesh
        self.links = [r for r in mesh.regions if is_link(r)]
        found = carried(mesh, [r.name for r in self.links], ledger)
        self.cells, self.groups = found.cells, found.groups
        self.labels: Labels = labelled(found.cells, found.groups, ledger)
        self.own = own_arrays(mesh)
        self.node_tags = self.own.get(NODE_TAG, np.arange(1, mesh.n_points + 1))
        self.element_tags = _tags_for(self.own.get(ELEMENT_TAG), len(found.cells))
        self.rows = self._entity_rows()
        self.names = self._names(ledger)
        for region in mesh.regions:
            ledger.kept("region", region.name, len(region))

    def _entity_rows(self) -> dict[Key, Entity]:
        """Each entity of the file: those that cells have, and those that only the info knows."""
        known: dict[Key, Entity] = {}
        table = self.mesh.info.attributes.get(ATTRIBUTE)
        for row in table.get("entities", []) if isinstance(table, dict) else []:
            entity = _sound_entity(row)
            if entity is not None:
                known[entity.key] = entity
        out = dict(known)
        points = self.mesh.points.detach().cpu().double().numpy()
        found = boxes(self.labels.of_cell, len(self.labels.entities), self.cells, points)
        for label, box in zip(self.labels.entities, found, strict=True):
            key = (label.dim, label.tag)
            before = known.get(key)
            bounds = tuple(box.tolist()[: 6 if label.dim else 3])
            if before is not None and label.tag == label.origin:
                bounds = before.bounds or bounds
            boundary = before.boundary if before is not None else ()
            out[key] = Entity(*key, bounds, tuple(label.groups), boundary)
        if NODE_ENTITY in self.own:
            for dim, tag in np.unique(self.own[NODE_ENTITY], axis=0).tolist():
                if dim in range(4) and tag > 0:
                    out.setdefault((dim, tag), Entity(dim, tag))
        if not out and self.mesh.n_points:
            out[3, 1] = Entity(3, 1, (0.0,) * 6)
        return out

    def _names(self, ledger: Ledger) -> dict[tuple[int, int], bytes]:
        """The names of groups in a form that gmsh reads."""
        out: dict[tuple[int, int], bytes] = {}
        for region, keys in self.labels.groups:
            if region.kind == PERIODIC and not len(region):
                continue
            name = _readable(region.name)
            if name.decode("utf-8", "surrogatepass") != region.name:
                reason = f"called {name.decode('utf-8', 'replace')!r} for other programs"
                ledger.converted("region", region.name, len(region), reason)
            if len(keys) > 1:
                reason = f"as {len(keys)} groups, one a dimension"
                ledger.converted("region", region.name, len(region), reason)
            out.update(dict.fromkeys(keys, name))
        return out

    def note(
        self, time: float | None, fields: list[dict[str, Any]], whole: list[dict[str, Any]]
    ) -> bytes:
        """Our own section."""
        mesh, labels = self.mesh, self.labels
        groups = {id(group): (keys, PHYSICAL) for group, keys in labels.groups}
        groups |= {id(group): (keys, ENTITY) for group, keys in labels.kept}
        rows = []
        for region, group in zip(mesh.regions, self.groups, strict=True):
            keys, kind = groups[id(group)]
            rows.append(region_row(region, keys, PERIODIC if region in self.links else kind))
        held = {key for _, keys in labels.kept for key in keys}
        made = [(e.dim, e.tag) for e in labels.entities if (e.dim, e.tag) not in held]
        return Note(
            checksum_of(self.cells),
            mesh.n_cells,
            (mesh.points.shape[1], dtype_name(mesh.points.dtype)),
            mesh.info.replace(time=time),
            rows,
            made,
            fields,
            own_fields(mesh, self.own),
            whole,
        ).to_bytes()

    def write(self, file: BinaryIO) -> None:
        """Everything but data and the note."""
        file.write(b"$MeshFormat\n4.1 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n")
        if self.names:
            file.write(b"$PhysicalNames\n%d\n" % len(self.names))
            for (dim, tag), name in self.names.items():
                file.write(b'%d %d "%s"\n' % (dim, tag, name))
            file.write(b"$EndPhysicalNames\n")
        self._write_entities(file)
        self._write_nodes(file)
        self._write_elements(file)
        self._write_links(file)

    def _write_entities(self, file: BinaryIO) -> None:
        if not self.rows:
            return
        by_dim: list[list[Entity]] = [[], [], [], []]
        for row in self.rows.values():
            by_dim[row.dim].append(row)
        file.write(b"$Entities\n" + struct.pack("<4Q", *map(len, by_dim)))
        for rows in by_dim:
            for row in rows:
                wide = 6 if row.dim else 3
                bounds = (*row.bounds, *(0.0,) * wide)[:wide]
                file.write(struct.pack(f"<i{wide}d", row.tag, *bounds))
                file.write(_listed(row.physical) + (_listed(row.boundary) if row.dim else b""))
        file.write(b"\n$EndEntities\n")

    def _node_entities(self) -> NDArray[np.int64]:
        """Dimension, tag, and whether it has parameters, of each node."""
        n = self.mesh.n_points
        top = max(self.rows, default=(3, 1))
        out = np.tile(np.array([*top, 0]), (n, 1))
        if NODE_ENTITY in self.own:
            given = self.own[NODE_ENTITY].astype(np.int64)
            known = np.array(list(self.rows), np.int64).reshape(-1, 2)
            there = np.isin(
                given[:, 0] * (1 << 33) + given[:, 1], known[:, 0] * (1 << 33) + known[:, 1]
            )
            out[there, :2] = given[there]
            if NODE_PARAMETERS in self.own:
                out[:, 2] = there & ~np.isnan(self.own[NODE_PARAMETERS][:, 0]) & (given[:, 0] > 0)
        return out

    def _write_nodes(self, file: BinaryIO) -> None:
        n, tags = self.mesh.n_points, self.node_tags
        points = np.zeros((n, 3))
        points[:, : self.mesh.points.shape[1]] = self.mesh.points.detach().double().cpu().numpy()
        keys = self._node_entities()
        ends = runs(*keys.T)
        ends_of_tags = (int(tags.min()), int(tags.max())) if n else (0, 0)
        file.write(b"$Nodes\n" + struct.pack("<4Q", len(ends) - 1, n, *ends_of_tags))
        for start, stop in itertools.pairwise(ends.tolist()):
            dim, tag, parametric = keys[start].tolist()
            file.write(struct.pack("<3iQ", dim, tag, parametric, stop - start))
            file.write(tags[start:stop].astype("<u8").tobytes())
            rows = points[start:stop]
            if parametric:
                rows = np.concatenate([rows, self.own[NODE_PARAMETERS][start:stop, :dim]], 1)
            file.write(np.ascontiguousarray(rows).astype("<f8", copy=False).data)
        file.write(b"\n$EndNodes\n")

    def _write_elements(self, file: BinaryIO) -> None:
        cells, tags = self.cells, self.element_tags
        n = len(cells)
        types, sizes = cells.types.cpu().numpy(), cells.sizes.cpu().numpy()
        offsets, flat = cells.offsets.cpu().numpy(), cells.connectivity.cpu().numpy()
        ends = runs(self.labels.of_cell, types, sizes)
        ends_of_tags = (int(tags.min()), int(tags.max())) if n else (0, 0)
        file.write(b"$Elements\n" + struct.pack("<4Q", len(ends) - 1, n, *ends_of_tags))
        for start, stop in itertools.pairwise(ends.tolist()):
            entity = self.labels.entities[self.labels.of_cell[start]]
            number, k = int(types[start]), int(sizes[start])
            kind, order = _element(number, k)
            file.write(struct.pack("<3iQ", entity.dim, entity.tag, kind, stop - start))
            step = max(_AT_ONCE // (1 + k), 1)
            buffer = np.empty((min(step, stop - start), 1 + k), "<u8")
            for low in range(start, stop, step):
                high = min(low + step, stop)
                rows = buffer[: high - low]
                rows[:, 0] = tags[low:high]
                ids = flat[offsets[low] : offsets[high]].reshape(-1, k)
                ids = ids if order is None else ids[:, order]
                if NODE_TAG in self.own:
                    rows[:, 1:] = self.node_tags[ids]
                else:  # they count from 1
                    np.add(ids, 1, out=rows[:, 1:], casting="unsafe")
                file.write(rows.data)
        file.write(b"\n$EndElements\n")

    def _write_links(self, file: BinaryIO) -> None:
        if not self.links:
            return
        file.write(b"$Periodic\n" + struct.pack("<Q", len(self.links)))
        for region in self.links:
            said = region.attributes
            file.write(struct.pack("<3i", said[DIMENSION], region.source_id, said["master"]))
            affine = [float(x) for x in said["affine"]]
            file.write(struct.pack(f"<Q{len(affine)}d", len(affine), *affine))
            pairs = self.node_tags[region.ids.cpu().numpy()].astype("<u8")
            file.write(struct.pack("<Q", len(pairs)) + pairs.tobytes())
        file.write(b"\n$EndPeriodic\n")


def _tags_for(own: NDArray[Any] | None, count: int) -> NDArray[Any]:
    """The tags of all elements: those that cells have, then the least that nobody has."""
    if own is None:
        return np.arange(1, count + 1)
    free = np.setdiff1d(np.arange(1, count + 1), own)
    return np.concatenate([own, free[: count - len(own)]])


def _element(number: int, size: int) -> tuple[int, list[int] | None]:
    """gmsh's type of a cell, and which point stands at each of its nodes."""
    kind = element_of_cell(REORDERED.get(number, number), size)
    if kind is None:
        raise LookupError(f"no element for cells of type {number}")
    if number in REORDERED:
        return kind.number, [0, 1, 3, 2, 4, 5, 7, 6][:size]
    return kind.number, None if kind.as_it_is else list(kind.reverse)


def _listed(tags: Sequence[int]) -> bytes:
    return struct.pack(f"<Q{len(tags)}i", len(tags), *tags)


def _sound_entity(row: Any) -> Entity | None:
    """An entity of the info, if it can be written."""
    try:
        entity = Entity.from_json(row)
        struct.pack(f"<{len(entity.bounds)}d", *entity.bounds)
        _listed((entity.tag, *entity.physical, *entity.boundary))
    except (KeyError, TypeError, struct.error):
        return None
    return entity if entity.dim in range(4) else None


def _readable(name: str) -> bytes:
    """A name as gmsh reads it: one line, no quotes, not too long."""
    plain = "".join("_" if c in '"' or ord(c) < 32 or ord(c) == 127 else c for c in name)
    raw = plain.encode("utf-8", "replace")[:_LONGEST_NAME]
    return raw.decode("utf-8", "ignore").encode("utf-8")
