"""What is wrong, or worth knowing, about the values of a mesh."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from meshkit import csr
from meshkit.celltypes import cell_type
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import sides
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.soundness import topology
from meshkit.operators.soundness.fields import of_fields
from meshkit.operators.soundness.finding import Finding
from meshkit.operators.soundness.geometry import of_shapes
from meshkit.operators.soundness.own_faces import of_own_faces
from meshkit.operators.soundness.points import of_points, of_unused_points
from meshkit.operators.soundness.polyhedra import of_polyhedra
from meshkit.operators.soundness.regions import of_regions
from meshkit.operators.soundness.usable import usable_cells

__all__ = ["Finding", "check"]


@of_mesh
def check(mesh: Mesh) -> list[Finding]:
    """Look at all values of a mesh; [] when it is sound. Never raises on what it finds.

    | code | severity | what |
    |---|---|---|
    | point_nan, point_inf | error | points with NaN or infinite coordinates |
    | duplicate_point | warning | points with the coordinates of an earlier one, bit for bit |
    | offsets_not_ascending | error | offsets that fall; no topology is looked at then |
    | unknown_type | error | cells of no type in the cell table |
    | wrong_size | error | cells that do not have as many points as their type or degrees |
    | no_faces | warning | convex point sets, which do not say what their faces are |
    | polyhedra_count | error | not as many lists of faces as cells of type 42 |
    | id_out_of_range | error | cells, or given faces, that use points that are not there |
    | unused_point | info | points of no cell and no face, in a mesh with cells |
    | repeated_point | warning | cells that use a point twice (polylines and strips may) |
    | duplicate_cell | warning | cells with the type and points of an earlier one |
    | open_polyhedron | error | polyhedra with an edge that is not on exactly two faces |
    | polyhedron_orientation | error | polyhedra whose faces disagree about what is outside |
    | polyhedron_points | warning | polyhedra that list other points than their faces |
    | zero_cell | warning | measure at most 1e-12 (float32: 2 eps) of the extent to its power |
    | inverted_cell | error | solids of negative volume |
    | not_star_shaped | warning | solids of positive volume with inside-out parts in their fan |
    | nonmanifold | warning, info on curves | faces that more than two cells share |
    | faces_out_of_range | error | given faces with an owner or neighbour that is no cell |
    | faces_not_of_cell | error | given faces that are no side of their owner or neighbour |
    | faces_missing | error | cells with a side that no given face covers |
    | faces_orientation | error | given faces of solids that look into their owner |
    | field_nan, field_inf | info | fields with NaN or infinite values, one finding a field |
    | code_out_of_range | error | fields of texts with codes beyond their vocabulary |
    | region_out_of_range | error | regions that name what is not there |
    | region_repeated | warning | regions that name something twice |

    Cells that an earlier line makes meaningless (of an unknown type, a wrong size, out of range)
    are left out of the later ones. NaN coordinates are a finding of their own and no other.

    Returns:
        A `Finding` for each thing that was found, with how many there are and the first few ids;
        a row of the table may give several (one a field, one a region). Plain numbers.
    """
    with torch.no_grad():
        findings = [*of_points(mesh)]
        broken = list(topology.of_offsets(mesh))
        findings += broken
        counts: Tensor | None = None
        if not broken:
            part, ids, about_cells = usable_cells(mesh)
            findings += [*about_cells, *of_unused_points(mesh), *_cells(mesh, part, ids)]
            counts = _side_counts(mesh, part, ids)
        return [*findings, *of_fields(mesh), *of_regions(mesh, counts)]


def _cells(mesh: Mesh, part: Mesh, ids: Tensor) -> Iterator[Finding]:
    yield from topology.of_repeats(part.cells, ids)
    yield from of_polyhedra(part.cells, ids)
    yield from of_shapes(part, ids)
    yield from topology.of_manifold(part, ids)
    if mesh.faces is not None:
        yield from of_own_faces(mesh, part, ids)


def _side_counts(mesh: Mesh, part: Mesh, ids: Tensor) -> Tensor:
    """int64 [n_cells]: how many sides a cell has; -1 for cells of lower dimension or no use."""
    counts = torch.full((mesh.n_cells,), -1, dtype=torch.int64, device=mesh.device)
    kind = None if part.cells.uniform is None else cell_type(part.cells.uniform)
    if kind is not None and kind.size is not None and kind.faces:
        some = torch.full_like(ids, len(kind.faces))  # without the sides themselves
    else:
        some = csr.lengths_of(sides(part.cells).of_cell)
    counts[ids] = torch.where(part.cells.dims == part.dim, some, -1)
    return counts
