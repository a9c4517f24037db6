"""MSH files that our writer does not make: text, version 2, either byte order."""

from __future__ import annotations

import struct

import numpy as np

from meshkit import Mesh
from meshkit.readers.gmsh.elements import element_of_cell

_PARTS = (
    "$Entities\n1 0 0 1\n7 0 0 0 0\n1 0 0 0 1 1 1 2 4 -5 1 -3\n$EndEntities\n"
    "$PartitionedEntities\n1\n0\n0 0 0 1\n2 3 1 1 1 0 0 0 1 1 1 1 4 0\n$EndPartitionedEntities\n"
    "$Periodic\n1\n2 1 2\n3 1 0.5 -1\n2\n1 2\n3 4\n$EndPeriodic\n"
    "$GhostElements\n1\n1 1 2 2 3\n$EndGhostElements\n$Comments\nhello\n$EndComments\n"
)


def elements(mesh: Mesh) -> list[tuple[int, int, list[int]]]:
    """gmsh's type, the dimension and the tags of the nodes of each cell; tags count from 1."""
    out = []
    for i in range(mesh.n_cells):
        start, stop = mesh.cells.offsets[i : i + 2].tolist()
        ids = mesh.cells.connectivity[start:stop].tolist()
        kind = element_of_cell(int(mesh.cells.types[i]), len(ids))
        assert kind is not None
        out.append((kind.number, kind.dim, [ids[place] + 1 for place in kind.reverse]))
    return out


def version_4_text(mesh: Mesh, *, parts: bool = False, version: str = "4.1") -> str:
    """Version 4.1, or 4: one block of nodes, a block for each cell, all of entity 1."""
    n, m, new = mesh.n_points, mesh.n_cells, version == "4.1"
    rows = [" ".join(map(repr, x)) for x in mesh.points.double().tolist()]
    lines = [f"$MeshFormat\n{version} 0 8\n$EndMeshFormat\n{_PARTS if parts else ''}$Nodes"]
    if new:
        lines += [f"1 {n} 1 {n}", f"{mesh.dim} 1 0 {n}", *map(str, range(1, n + 1)), *rows]
    else:
        lines += [f"1 {n}", f"1 {mesh.dim} 0 {n}"]
        lines += [f"{i} {row}" for i, row in enumerate(rows, 1)]
    lines += ["$EndNodes", "$Elements", f"{m} {m} 1 {m}" if new else f"{m} {m}"]
    for i, (kind, dim, nodes) in enumerate(elements(mesh), 1):
        lines.append(f"{dim} 1 {kind} 1" if new else f"1 {dim} {kind} 1")
        lines.append(" ".join(map(str, (i, *nodes))))
    return "\n".join([*lines, "$EndElements\n"])


def version_2_text(mesh: Mesh) -> str:
    """Version 2.2: each cell is in the physical group 5 and the entity 6."""
    lines = ["$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes", str(mesh.n_points)]
    for i, row in enumerate(mesh.points.double().tolist(), 1):
        lines.append(" ".join(map(repr, (i, *row))))
    lines += ["$EndNodes", "$Elements", str(mesh.n_cells)]
    for i, (kind, _, nodes) in enumerate(elements(mesh), 1):
        lines.append(" ".join(map(str, (i, kind, 2, 5, 6, *nodes))))
    return "\n".join([*lines, "$EndElements\n"])


def version_2_bytes(mesh: Mesh, order: str = "<", *, together: bool = False) -> bytes:
    """The same in bytes; a head for each element as gmsh has it, or one for all of one type."""
    out = b"$MeshFormat\n2.2 1 8\n" + struct.pack(f"{order}i", 1) + b"\n$EndMeshFormat\n$Nodes\n"
    out += b"%d\n" % mesh.n_points
    for i, row in enumerate(mesh.points.double().tolist(), 1):
        out += struct.pack(f"{order}i3d", i, *row)
    out += b"\n$EndNodes\n$Elements\n%d\n" % mesh.n_cells
    found = elements(mesh)
    for i, (kind, _, nodes) in enumerate(found, 1):
        if not together or i == 1:
            out += struct.pack(f"{order}3i", kind, len(found) if together else 1, 2)
        out += struct.pack(f"{order}{3 + len(nodes)}i", i, 5, 6, *nodes)
    return out + b"\n$EndElements\n"


def version_4_bytes(mesh: Mesh, order: str = "<", width: int = 8) -> bytes:
    """Version 4.1 in bytes of either order, counts in 4 or 8 bytes: as `version_4_text`."""
    size = {4: "u4", 8: "u8"}[width]
    n, m = mesh.n_points, mesh.n_cells

    def sizes(*values: int) -> bytes:
        return np.array(values, f"{order}{size}").tobytes()

    def ints(*values: int) -> bytes:
        return np.array(values, f"{order}i4").tobytes()

    out = b"$MeshFormat\n4.1 1 %d\n" % width + ints(1) + b"\n$EndMeshFormat\n$Nodes\n"
    out += sizes(1, n, 1, n) + ints(mesh.dim, 1, 0) + sizes(n, *range(1, n + 1))
    out += mesh.points.double().numpy().astype(f"{order}f8").tobytes()
    out += b"\n$EndNodes\n$Elements\n" + sizes(m, m, 1, m)
    for i, (kind, dim, nodes) in enumerate(elements(mesh), 1):
        out += ints(dim, 1, kind) + sizes(1, i, *nodes)
    return out + b"\n$EndElements\n"
