"""The unit cube in every kind of cell, refinable: what calculus, integrals and quality are held to.

Each builder takes n, about the number of cells along an axis, and gives float64 points, int64 ids
and cells that fill the unit cube: volume 1, surface 6. `shaken` and `stretched` of `tests.meshes`
take the symmetry away.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import torch

from meshkit.cells import Cells
from meshkit.celltypes import cell_type
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from tests.meshes import cube_hexes, kuhn_cube

Site = tuple[int, int, int]


def wedge_cube(n: int = 1) -> Mesh:
    """2 n^3 wedges, two to a cube."""
    hexes = cube_hexes(n)
    ids = hexes.cells.dense
    halves = [[0, 1, 2, 4, 5, 6], [0, 2, 3, 4, 6, 7]]
    return make_mesh(hexes.points, ids[:, halves].reshape(-1, 6), types="wedge")


def pyramid_cube(n: int = 1) -> Mesh:
    """6 n^3 pyramids, six to a cube around its centre; the centres come after the lattice."""
    hexes = cube_hexes(n)
    ids = hexes.cells.dense
    centres = hexes.points[ids].mean(1)
    inward = torch.tensor([face[::-1] for face in cell_type("hexahedron").faces])
    apex = len(hexes.points) + torch.arange(len(ids))
    bases = ids[:, inward]  # [cubes, 6, 4]
    cells = torch.cat([bases, apex[:, None, None].expand(-1, 6, 1)], 2)
    return make_mesh(torch.cat([hexes.points, centres]), cells.reshape(-1, 5), types="pyramid")


def hanging_cube(n: int = 2) -> Mesh:
    """A lattice of n^3 cubes of which about a third are cut in 8 hexahedra.

    The other cubes are polyhedra: a face toward a cut cube is four quads, another one a polygon
    with the middles of those edges that a cut cube also uses: hanging nodes of both sorts.
    """

    def cut(site: Site) -> bool:
        return all(0 <= i < n for i in site) and sum(site) % 3 == 0

    sites: list[Site] = [_site(at) for at in itertools.product(range(n), repeat=3)]
    corners: dict[Site, int] = {}

    def point(at: Site) -> int:
        return corners.setdefault(at, len(corners))

    hexes = []
    for site in filter(cut, sites):
        for part in itertools.product((0, 1), repeat=3):
            low = [2 * i + k for i, k in zip(site, part, strict=True)]
            hexes.append([point(_up(low, step)) for step in _HEX])
    solids = []
    for site in sites:
        if not cut(site):
            low = [2 * i for i in site]
            solids.append(
                [[point(at) for at in ring] for ring in _coarse_faces(site, low, cut)],
            )
    order = np.array(list(corners), dtype=np.float64) / (2 * n)
    made = make_mesh(order, polyhedra=solids).cells
    fine = Cells.of("hexahedron", torch.tensor(hexes).reshape(-1, 8))
    cells = Cells(
        torch.cat([fine.types, made.types]),
        torch.cat([fine.offsets, made.offsets[1:] + len(fine.connectivity)]),
        torch.cat([fine.connectivity, made.connectivity]),
        made.polyhedra,
    )
    return make_mesh(order, cells)


_HEX: Final = (
    (0, 0, 0),
    (1, 0, 0),
    (1, 1, 0),
    (0, 1, 0),
    (0, 0, 1),
    (1, 0, 1),
    (1, 1, 1),
    (0, 1, 1),
)


def _up(low: list[int], step: Site) -> Site:
    a, b, c = (x + s for x, s in zip(low, step, strict=True))
    return a, b, c


def _coarse_faces(site: Site, low: list[int], cut: Callable[[Site], bool]) -> Iterator[list[Site]]:
    """The faces of a cube that is not cut, outward, on the lattice of half cubes."""
    for ring in cell_type("hexahedron").faces:
        steps = np.array([_HEX[i] for i in ring])
        axis = int(np.flatnonzero((steps == steps[0]).all(0))[0])
        beyond = list(site)
        beyond[axis] += 1 if steps[0, axis] else -1
        at = 2 * steps + np.array(low)
        middles = (at + np.roll(at, -1, 0)) // 2
        if cut((beyond[0], beyond[1], beyond[2])):
            centre = at.sum(0) // 4
            for i in range(4):
                yield [_site(x) for x in (at[i], middles[i], centre, middles[i - 1])]
            continue
        whole = []
        for a, m in zip(at, middles, strict=True):
            whole.append(_site(a))
            if _edge_is_cut(m, cut):
                whole.append(_site(m))
        yield whole


def _site(x: Any) -> Site:
    return int(x[0]), int(x[1]), int(x[2])


def _edge_is_cut(middle: Any, cut: Callable[[Site], bool]) -> bool:
    """Whether one of the cubes around an edge is cut; the middle has one odd coordinate."""
    around = [(x // 2,) if x % 2 else (x // 2 - 1, x // 2) for x in map(int, middle)]
    return any(cut(_site(site)) for site in itertools.product(*around))


def agglomerated_cube(n: int = 2) -> Mesh:
    """n^3 polyhedra of 2 x 2 x 2 small cubes each, of which every other one gives a corner to the
    next along x: notched or with a bump, warped once shaken, and not star-shaped.

    Two of them share several quads.
    """
    fine = cube_hexes(2 * n)
    at = torch.round(fine.points[fine.cells.dense].amin(1) * 2 * n).long()
    block, part = at // 2, at % 2
    turned = block % 2
    gives = (block.sum(1) % 2 == 0) & (block[:, 0] < n - 1)
    gives &= (part[:, 0] == 1) & (part[:, 1:] == turned[:, 1:]).all(1)
    block[:, 0] += gives
    group = (block * torch.tensor([1, n, n * n])).sum(1)
    rings = fine.cells.dense[:, list(cell_type("hexahedron").faces)]  # [cubes, 6, 4]
    keys = torch.sort(rings, 2).values.reshape(-1, 4)
    _, face = torch.unique(keys, dim=0, return_inverse=True)
    owner = group.repeat_interleave(6)
    low = torch.full((int(face.max()) + 1,), len(group)).scatter_reduce(0, face, owner, "amin")
    high = torch.full_like(low, -1).scatter_reduce(0, face, owner, "amax")
    alone = torch.bincount(face) == 1
    outside = ((low != high) | alone)[face]
    solids: list[list[list[int]]] = [[] for _ in range(int(group.max()) + 1)]
    for g_, ring in zip(
        owner[outside].tolist(), rings.reshape(-1, 4)[outside].tolist(), strict=True
    ):
        solids[g_].append(ring)
    mesh = make_mesh(fine.points, polyhedra=solids)
    return mesh.select(torch.arange(mesh.n_cells))  # drops the points inside


KINDS: Final[dict[str, Callable[[int], Mesh]]] = {
    "tets": kuhn_cube,
    "hexes": cube_hexes,
    "wedges": wedge_cube,
    "pyramids": pyramid_cube,
    "hanging": hanging_cube,
    "agglomerated": agglomerated_cube,
}
"""Every kind of solid cell."""


def shaken_throughout(mesh: Mesh, amount: float = 0.2, seed: int = 0) -> Mesh:
    """As `shaken`, but points on a side of the cube move within it, and points on its edges along
    them: no layer of regular cells is left at the boundary.
    """
    points = mesh.points
    gaps = [torch.unique(points[:, a]).diff() for a in range(points.shape[1])]
    h = min(float(g.min()) for g in gaps if len(g))
    noise = torch.rand(points.shape, generator=torch.Generator().manual_seed(seed)).to(points)
    free = (points > points.amin(0)) & (points < points.amax(0))
    return mesh.replace(points=points + free * (2 * noise - 1) * amount * h)
