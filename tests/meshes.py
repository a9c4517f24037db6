"""Meshes that the tests share: small exact ones and refinable ones.

All builders give float64 points and int64 ids, and cells of positive measure. What each measures
stands in its docstring, so that a test can hold an answer against it.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from meshkit.cells import Cells
from meshkit.celltypes import cell_type
from meshkit.faces import Faces
from meshkit.making import make_mesh
from meshkit.mesh import Mesh


def tetrahedron() -> Mesh:
    """The corner of the unit cube: volume 1/6, centroid (1/4, 1/4, 1/4), surface (3 + sqrt 3)/2."""
    return make_mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])


def two_tetrahedra() -> Mesh:
    """Two tets of volume 1/6 on both sides of the triangle (0, 1, 2), with all 7 faces given.

    Face 0 lies between them, owner 0, neighbour 1; the other 6 are the boundary.
    """
    mesh = make_mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]], [[0, 1, 2, 3], [0, 2, 1, 4]]
    )
    rings = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3], [0, 4, 1], [1, 4, 2], [2, 4, 0]]
    faces = Faces(
        torch.arange(0, 22, 3),
        torch.tensor(rings).reshape(-1),
        torch.tensor([0, 0, 0, 0, 1, 1, 1]),
        torch.tensor([1, -1, -1, -1, -1, -1, -1]),
    )
    return mesh.replace(faces=faces)


def _lattice(*counts: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Points [.., d] of a unit lattice and their ids [counts + 1], first axis fastest."""
    axes = [np.linspace(0.0, 1.0, n + 1) for n in counts]
    grids = np.meshgrid(*axes, indexing="ij")
    points = np.stack([g.ravel(order="F") for g in grids], 1)
    shape = [n + 1 for n in counts]
    return points, np.arange(int(np.prod(shape))).reshape(shape, order="F")


def square_quads(n: int = 1, d: int = 2) -> Mesh:
    """The unit square of n^2 quads in d = 2 or 3 dimensions (z = 0): area 1."""
    points, at = _lattice(n, n)
    quads = np.stack([at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]], -1).reshape(-1, 4)
    return make_mesh(np.pad(points, ((0, 0), (0, d - 2))), quads, types="quad")


def square_triangles(n: int = 1, d: int = 2) -> Mesh:
    """The unit square of 2 n^2 triangles in d = 2 or 3 dimensions (z = 0): area 1."""
    quads = square_quads(n, d)
    corners = quads.cells.dense
    return make_mesh(quads.points, torch.cat([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]]))


def cube_surface(n: int = 1) -> Mesh:
    """The six sides of the unit cube, 12 n^2 triangles facing outward: closed, area 6."""
    points, at = _lattice(n, n, n)
    rings = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for end, turn in ((0, -1), (-1, 1)):
            side = np.take(at, end, axis)
            side = side if (u, v) == tuple(sorted((u, v))) else side.T
            a, b = side[:-1, :-1], side[1:, :-1]
            c, d = side[1:, 1:], side[:-1, 1:]
            for ring in ((a, b, c), (a, c, d)):
                rings.append(np.stack(ring, -1).reshape(-1, 3)[:, ::turn])
    mesh = make_mesh(points, np.concatenate(rings))
    return mesh.select(torch.arange(mesh.n_cells))  # drops the points inside


def cube_hexes(n: int = 1) -> Mesh:
    """The unit cube of n^3 hexahedra: (n + 1)^3 points, volume 1."""
    points, at = _lattice(n, n, n)
    return make_mesh(points, _hexes(at), types="hexahedron")


def _hexes(at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    def corner(i: int, j: int, k: int) -> np.ndarray[Any, Any]:
        span = [slice(1, None) if up else slice(None, -1) for up in (i, j, k)]
        return at[tuple(span)].ravel(order="F")

    ring = ((0, 0), (1, 0), (1, 1), (0, 1))
    return np.stack([corner(i, j, k) for k in (0, 1) for i, j in ring], 1)


def kuhn_cube(n: int = 1) -> Mesh:
    """The unit cube of n^3 small cubes, 6 tets each: conforming, volume 1.

    n = 12 has 13428 edges, 21600 faces, 1728 of them on the boundary.
    """
    points, at = _lattice(n, n, n)
    hexes = _hexes(at)
    # local corner by (i, j, k), along the ring of _hexes
    local = {(0, 0, 0): 0, (1, 0, 0): 1, (1, 1, 0): 2, (0, 1, 0): 3}
    local |= {(i, j, 1): c + 4 for (i, j, _), c in local.items()}
    tets = []
    for order in itertools.permutations(range(3)):
        step, path = [0, 0, 0], [0]
        for axis in order:
            step[axis] = 1
            path.append(local[step[0], step[1], step[2]])
        odd = sum(order[a] > order[b] for a, b in ((0, 1), (0, 2), (1, 2))) % 2
        tets.append(hexes[:, path if not odd else [path[0], path[2], path[1], path[3]]])
    return make_mesh(points, np.stack(tets, 1).reshape(-1, 4))


def wedge_column(n: int = 2) -> Mesh:
    """n wedges on top of each other, each half of a unit cube: volume n / 2."""
    base = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    points = np.concatenate([base + np.array([0, 0, k]) for k in range(n + 1)])
    cells = np.arange(6) + 3 * np.arange(n)[:, None]
    return make_mesh(points, cells, types="wedge")


def pyramids() -> Mesh:
    """The unit cube of 6 pyramids around its centre: volume 1/6 each."""
    cube = cube_hexes(1)
    inward = [tuple(reversed(face)) for face in cell_type("hexahedron").faces]
    ids = cube.cells.dense[0]
    rows = [[*(int(ids[i]) for i in ring), 8] for ring in inward]
    points = torch.cat([cube.points, torch.full((1, 3), 0.5, dtype=torch.float64)])
    return make_mesh(points, rows, types="pyramid")


def l_prism_polyhedron() -> Mesh:
    """One polyhedron of 8 faces: an L of three unit squares, one high: volume 3, surface 14."""
    ring = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    points = [[float(x), float(y), float(z)] for z in (0, 1) for x, y in ring]
    sides = [[i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6] for i in range(6)]
    return make_mesh(points, polyhedra=[[[5, 4, 3, 2, 1, 0], [6, 7, 8, 9, 10, 11], *sides]])


def split_cube_polyhedron() -> Mesh:
    """The unit cube as one polyhedron whose face x = 0 is split in four: volume 1.

    13 points, 9 faces (four quads, the opposite one, four pentagons with a hanging node).
    """
    hanging = hanging_polyhedron()
    cube = hanging.select([8])
    shift = torch.tensor([1.0, 0, 0], dtype=torch.float64)
    return cube.replace(points=cube.points - shift)


def hanging_polyhedron() -> Mesh:
    """8 hexahedra on [0, 1]^3 and, beside them on [1, 2] x [0, 1]^2, one polyhedron.

    The polyhedron has 9 faces and meets four of the hexahedra's: 31 points, 9 cells, volume 2, and
    41 faces, 25 of them on the boundary.
    """
    points, at = _lattice(2, 2, 2)
    far = np.array([[2.0, 0, 0], [2, 1, 0], [2, 1, 1], [2, 0, 1]])
    points = np.concatenate([points, far])
    p00, p10, p11, p01 = 27, 28, 29, 30  # at x = 2, by (y, z)
    s = at[2]  # ids at x = 1, by (y, z)
    quads = [
        [int(s[j, k]), int(s[j, k + 1]), int(s[j + 1, k + 1]), int(s[j + 1, k])]
        for j in (0, 1)
        for k in (0, 1)
    ]
    faces = [
        *quads,
        [p00, p10, p11, p01],
        [int(s[0, 0]), p00, p01, int(s[0, 2]), int(s[0, 1])],  # y = 0
        [int(s[2, 0]), int(s[2, 1]), int(s[2, 2]), p11, p10],  # y = 1
        [int(s[0, 0]), int(s[1, 0]), int(s[2, 0]), p10, p00],  # z = 0
        [int(s[0, 2]), p01, p11, int(s[2, 2]), int(s[1, 2])],  # z = 1
    ]
    solid = make_mesh(points, polyhedra=[faces]).cells
    hexes = Cells.of("hexahedron", torch.from_numpy(_hexes(at)))
    cells = Cells(
        torch.cat([hexes.types, solid.types]),
        torch.cat([hexes.offsets, solid.offsets[1:] + len(hexes.connectivity)]),
        torch.cat([hexes.connectivity, solid.connectivity]),
        solid.polyhedra,
    )
    return make_mesh(points, cells)


def one_of_each() -> Mesh:
    """One vertex, line, triangle, quad, tetra, hexahedron, wedge, pyramid, side by side along x.

    Measures by cell: 0, 1, 1/2, 1, 1/6, 1, 1/2, 1/3; no point is shared.
    """
    shapes: dict[str, list[list[int]]] = {
        "vertex": [[0, 0, 0]],
        "line": [[0, 0, 0], [1, 0, 0]],
        "triangle": [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
        "quad": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]],
        "tetra": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "hexahedron": [[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))],
        "wedge": [[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (0, 1))],
        "pyramid": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]],
    }
    points: list[list[int]] = []
    rows = []
    for i, corners in enumerate(shapes.values()):
        rows.append(list(range(len(points), len(points) + len(corners))))
        points += [[x + 2 * i, y, z] for x, y, z in corners]
    return make_mesh(points, rows, types=list(shapes))


def shaken(mesh: Mesh, amount: float = 0.2, seed: int = 0) -> Mesh:
    """Points strictly inside the bounding box moved at random by up to `amount` of h.

    h is the least distance that separates coordinates along an axis, so lattice cells stay valid
    up to an amount of about 0.25.
    """
    points = mesh.points
    gaps = [torch.unique(points[:, a]).diff() for a in range(points.shape[1])]
    h = min(float(g.min()) for g in gaps if len(g))
    noise = torch.rand(points.shape, generator=torch.Generator().manual_seed(seed)).to(points)
    inside = ((points > points.amin(0)) & (points < points.amax(0))).all(1, keepdim=True)
    return mesh.replace(points=points + inside * (2 * noise - 1) * amount * h)


def stretched(mesh: Mesh, *factors: float) -> Mesh:
    """Each axis scaled by its factor."""
    return mesh.replace(points=mesh.points * mesh.points.new_tensor(factors))
