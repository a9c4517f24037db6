"""Cells that hang together."""

from __future__ import annotations

import math
from numbers import Real

import torch
from torch import Tensor

from meshkit import csr
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency import row_kernels as compiled
from meshkit.operators.adjacency.faces import face_table
from meshkit.operators.adjacency.neighbours import Through, face_links
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.kernels import array, worth_compiling
from meshkit.operators.measure.cell_normals import cell_normals
from meshkit.operators.measure.need_surface import need_surface
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.values import need_choice, shown


@of_mesh
def components(mesh: Mesh, *, through: Through = "faces") -> Tensor:
    """Which connected part of the mesh each cell of dimension `mesh.dim` belongs to.

    Args:
        through: "faces": cells that share a face hang together (also one that more than two
            share); "points": cells that list a point in common do.

    Returns:
        int64 [n_cells]: parts numbered from 0 on by their lowest cell; -1 for cells of lower
        dimension. `components(mesh).max() + 1` is how many there are. Exact; runs where the mesh
        lies.

    Raises:
        MeshError: as `faces`, or `through` is neither.
    """
    need_choice("components: expected through", through, ("faces", "points"))
    n = mesh.n_cells
    if through == "faces":
        return _numbered(mesh, joined(n, *face_links(face_table(mesh))))
    need_point_ids(mesh)
    cells = mesh.cells
    cell = csr.row_of_each(cells.offsets)
    top = cells.dims[cell] == cells.dim
    # Points stand behind the cells, each linked with the cells that list it.
    least = joined(n + mesh.n_points, cell[top], n + cells.connectivity.long()[top])
    return _numbered(mesh, least[:n])


@of_mesh
def feature_patches(mesh: Mesh, *, angle: float = 30.0) -> Tensor:
    """The smooth patches of a surface: cells grown together across edges that bend little.

    Two cells that share an edge belong to one patch when their normals differ by at most `angle`;
    orientation plays no role (where two neighbours run the same way along their edge, one of them
    is seen from behind). Edges of more than two cells separate. The patch that grows from cell i
    is `feature_patches(mesh) == feature_patches(mesh)[i]`; the patches of a solid's skin are those
    of `boundary(mesh)`.

    Args:
        mesh: its cells of highest dimension are surface cells.
        angle: degrees, from 0 to 180; edges that bend more are features.

    Returns:
        int64 [n_cells]: patches numbered from 0 on by their lowest cell; -1 for cells of lower
        dimension. A cell without area has no normal and is a patch of its own.

    Raises:
        MeshError: as `faces`; the mesh is no surface; or the angle is not one.
    """
    need_surface("feature_patches", mesh)
    if not (isinstance(angle, Real) and 0 <= angle <= 180):
        expected = "an angle from 0 to 180 degrees"
        raise MeshError(f"feature_patches: expected {expected}, found {shown(angle)}")
    table = face_table(mesh)
    inner = torch.nonzero(table.faces.neighbour >= 0).squeeze(1)
    owner, neighbour = table.faces.owner[inner].long(), table.faces.neighbour[inner].long()
    normals = cell_normals(mesh)
    start = table.sides.offsets[:-1]
    rings = table.sides.connectivity
    one, other = table.owner_side[inner].clamp(min=0), table.neighbour_side[inner].clamp(min=0)
    same_way = rings[start[one]] == rings[start[other]]
    a, b = normals[owner], normals[neighbour]
    b = torch.where(same_way[:, None], -b, b)
    bend = torch.atan2(torch.linalg.cross(a, b).norm(dim=1), (a * b).sum(1))
    # Flat is flat to rounding: normals are unit vectors, good to a few eps.
    smooth = bend <= math.radians(angle) + 8 * torch.finfo(normals.dtype).eps
    return _numbered(mesh, joined(mesh.n_cells, owner[smooth], neighbour[smooth]))


def joined(n: int, one: Tensor, other: Tensor) -> Tensor:
    """int64 [n]: the least member of the set of each, where one[i] and other[i] hang together."""
    if worth_compiling(len(one), one.device):
        return joined_by_kernels(n, one, other)
    return joined_by_lowering(n, one, other)


def joined_by_kernels(n: int, one: Tensor, other: Tensor) -> Tensor:
    """By union and find, in compiled code: on the CPU."""
    parent = torch.arange(n, device="cpu")
    compiled.join(array(parent), array(one), array(other))
    compiled.settle(array(parent))
    return parent


def joined_by_lowering(n: int, one: Tensor, other: Tensor) -> Tensor:
    """By handing the lower label on, and following it, until nothing changes: on any device."""
    label = torch.arange(n, device=one.device)
    while True:
        low = torch.minimum(label[one], label[other])
        new = label.scatter_reduce(0, label[one], low, "amin")
        new = new.scatter_reduce(0, label[other], low, "amin")
        new = new[new]
        if torch.equal(new, label):
            return label
        label = new


def _numbered(mesh: Mesh, least: Tensor) -> Tensor:
    """Parts numbered by their lowest cell, and -1 for cells of lower dimension."""
    top = mesh.cells.dims == mesh.dim
    out = torch.full((mesh.n_cells,), -1, dtype=torch.int64, device=least.device)
    out[top] = torch.unique(least[top], return_inverse=True)[1]
    return out
