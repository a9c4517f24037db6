"""Topology by one of its twins: compiled, torch alone or CUDA, and shapes to try them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators import kernels
from meshkit.operators.adjacency import pairing
from tests import meshes

NEVER = 1 << 60


@contextmanager
def answered_by(twin: str) -> Iterator[Callable[[Mesh], Mesh]]:
    """Topology by one of the twins; gives what takes a mesh there, with nothing worked out yet."""
    before = kernels._fewest_worth, pairing.at_hand
    try:
        fewest = 0 if twin.startswith("compiled") else NEVER
        kernels._fewest_worth = lambda: fewest
        pairing.at_hand = lambda table, highest: twin == "compiled"
        device = "cuda" if twin == "cuda" else "cpu"

        def there(mesh: Mesh) -> Mesh:
            moved = mesh.to(device)
            own = None if moved.faces is None else moved.faces.apply(lambda x: x)
            return moved.replace(cells=moved.cells.apply(lambda x: x), faces=own)

        yield there
    finally:
        kernels._fewest_worth, pairing.at_hand = before


def permuted(mesh: Mesh) -> Mesh:
    """Points and cells in random order."""
    to = torch.randperm(mesh.n_points)
    order = torch.randperm(mesh.n_cells)
    cells = mesh.cells.renumbered(to).take(order)
    return mesh.replace(points=mesh.points[torch.argsort(to)], cells=cells)


def with_ids(mesh: Mesh, dtype: torch.dtype) -> Mesh:
    """Ids and offsets of this dtype."""
    return mesh.replace(
        cells=mesh.cells.apply(lambda x: x if x.dtype == torch.uint8 else x.to(dtype))
    )


def fan(n: int) -> Mesh:
    """n triangles around one point, all in one bucket, and the first edge shared by three."""
    ring = torch.arange(n) + 1
    rows = torch.stack([torch.zeros(n, dtype=torch.int64), ring, ring.roll(-1)], 1)
    rows = torch.cat([rows, torch.tensor([[1, n + 1, 0]])])
    return make_mesh(torch.rand(n + 2, 3), rows)


SHAPES: dict[str, Callable[[], Mesh]] = {
    "tets": lambda: meshes.kuhn_cube(3),
    "hexes": lambda: meshes.cube_hexes(3),
    "triangles": lambda: meshes.square_triangles(4),
    "quads": lambda: meshes.square_quads(4),
    "wedges": lambda: meshes.wedge_column(5),
    "pyramids": meshes.pyramids,
    "hanging nodes": meshes.hanging_polyhedron,
    "each type": meshes.one_of_each,
    "a full bucket": lambda: fan(700),
    "a full star": lambda: make_mesh(torch.rand(801, 3), [[0, i] for i in range(1, 801)]),
}
