"""Where the nodes of Lagrange cells of any degree lie in the reference cell, in VTK's order.

Always corners first, then edges, faces and the body. Coordinates run from 0 to 1.

Source: VTK 9.7, vtkHigherOrderTriangle, -Tetra, -Quadrilateral, -Hexahedron, -Wedge (the tests
hold these lists against vtk's own).
"""

from __future__ import annotations

from collections.abc import Sequence

Lattice = tuple[int, ...]
Nodes = list[tuple[float, ...]]

_TETRA_EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
_TETRA_FACES = ((0, 1, 3), (2, 3, 1), (0, 3, 2), (0, 2, 1))


def curve(p: int) -> Nodes:
    """Both ends, then what lies between."""
    return [(i / p,) for i in (0, p, *range(1, p))]


def triangle(p: int) -> Nodes:
    """Degree p; coordinates (r, s)."""
    return [(b / p, c / p) for _, b, c in _triangle(p)]


def tetra(p: int) -> Nodes:
    """Degree p; coordinates (r, s, t)."""
    return [(b / p, c / p, d / p) for _, b, c, d in _tetra(p)]


def quad(p: int, q: int) -> Nodes:
    """Degrees p along r and q along s: corners, edges, then the inside with r fastest."""
    return [(i / p, j / q) for i, j in _quad(p, q)]


def hexahedron(p: int, q: int, r: int) -> Nodes:
    """Degrees along each axis: corners, edges, faces (-r, +r, -s, +s, -t, +t), body."""
    level = _edges_of_quad(p, q)
    out: list[Lattice] = [(i, j, k) for k in (0, r) for i, j in _corners(p, q)]
    out += [(i, j, k) for k in (0, r) for i, j in level]
    out += [(i, j, k) for i, j in _corners(p, q) for k in range(1, r)]
    out += [(i, j, k) for i in (0, p) for k in range(1, r) for j in range(1, q)]
    out += [(i, j, k) for j in (0, q) for k in range(1, r) for i in range(1, p)]
    out += [(i, j, k) for k in (0, r) for j in range(1, q) for i in range(1, p)]
    out += [(i, j, k) for k in range(1, r) for j in range(1, q) for i in range(1, p)]
    return [(i / p, j / q, k / r) for i, j, k in out]


def wedge(p: int, q: int) -> Nodes:
    """Degree p in the triangle (r, s), q along t: corners, edges, both triangles, quads, body."""
    ends = ((0, 0), (p, 0), (0, p))
    rims = [_between(ends[a], ends[b]) for a, b in ((0, 1), (1, 2), (2, 0))]
    inside = [(i, j) for j in range(1, p) for i in range(1, p - j)]
    out: list[Lattice] = [(i, j, k) for k in (0, q) for i, j in ends]
    out += [(*x, k) for k in (0, q) for rim in rims for x in rim]
    out += [(i, j, k) for i, j in ends for k in range(1, q)]
    out += [(i, j, k) for k in (0, q) for i, j in inside]
    out += [(*x, k) for rim in rims for k in range(1, q) for x in rim]
    out += [(i, j, k) for k in range(1, q) for i, j in inside]
    return [(i / p, j / p, k / q) for i, j, k in out]


def _between(a: Lattice, b: Lattice) -> list[Lattice]:
    """The lattice points strictly between two others, from a to b."""
    n = max(abs(y - x) for x, y in zip(a, b, strict=True))
    return [tuple(x + (y - x) * m // n for x, y in zip(a, b, strict=True)) for m in range(1, n)]


def _corner(which: int, p: int, n: int) -> Lattice:
    return tuple(p if i == which else 0 for i in range(n))


def _triangle(p: int) -> list[Lattice]:
    """Barycentric lattice points (to corner 0, 1, 2), the inside as a triangle of degree p - 3."""
    if p == 0:
        return [(0, 0, 0)]
    ends = [_corner(i, p, 3) for i in range(3)]
    rims = [x for a, b in ((0, 1), (1, 2), (2, 0)) for x in _between(ends[a], ends[b])]
    inside = [(a + 1, b + 1, c + 1) for a, b, c in _triangle(p - 3)] if p >= 3 else []
    return [*ends, *rims, *inside]


def _tetra(p: int) -> list[Lattice]:
    """Barycentric lattice points, the inside as a tetrahedron of degree p - 4."""
    if p == 0:
        return [(0, 0, 0, 0)]
    ends = [_corner(i, p, 4) for i in range(4)]
    rims = [x for a, b in _TETRA_EDGES for x in _between(ends[a], ends[b])]
    faces = [_spread(x, face) for face in _TETRA_FACES if p >= 3 for x in _triangle(p - 3)]
    inside = [tuple(x + 1 for x in at) for at in _tetra(p - 4)] if p >= 4 else []
    return [*ends, *rims, *faces, *inside]


def _spread(inner: Lattice, face: Sequence[int]) -> Lattice:
    """A point inside a face as one of the tetrahedron."""
    at = [0, 0, 0, 0]
    for corner, weight in zip(face, inner, strict=True):
        at[corner] = weight + 1
    return tuple(at)


def _corners(p: int, q: int) -> list[Lattice]:
    return [(0, 0), (p, 0), (p, q), (0, q)]


def _edges_of_quad(p: int, q: int) -> list[Lattice]:
    """The insides of the four edges, each along its growing coordinate."""
    along, across = range(1, p), range(1, q)
    return [
        *((i, 0) for i in along),
        *((p, j) for j in across),
        *((i, q) for i in along),
        *((0, j) for j in across),
    ]


def _quad(p: int, q: int) -> list[Lattice]:
    inside = [(i, j) for j in range(1, q) for i in range(1, p)]
    return [*_corners(p, q), *_edges_of_quad(p, q), *inside]
