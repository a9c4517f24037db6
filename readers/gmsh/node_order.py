"""Where the nodes of gmsh's elements of any degree lie, in gmsh's order: lattices of integers.

Corners first, then the inside of each edge and of each face, then the body. The inside of a
triangle, a quadrangle, a tetrahedron or a hexahedron is a smaller one of the same kind. A lattice
point is given by its coordinates in the reference element, from 0 to the degree along each axis.

Source: Gmsh reference manual, "Node ordering" (the tests hold these lattices against gmsh's own).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

Point = tuple[int, ...]
Ring = tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """A linear element: its corners (in units of the degree), edges and faces, as gmsh has them."""

    corners: tuple[Point, ...]
    edges: tuple[tuple[int, int], ...] = ()
    faces: tuple[Ring, ...] = ()


SHAPES: Final[dict[str, Shape]] = {
    "line": Shape(((0,), (1,)), ((0, 1),)),
    "triangle": Shape(((0, 0), (1, 0), (0, 1)), ((0, 1), (1, 2), (2, 0)), ((0, 1, 2),)),
    "quad": Shape(
        ((0, 0), (1, 0), (1, 1), (0, 1)), ((0, 1), (1, 2), (2, 3), (3, 0)), ((0, 1, 2, 3),)
    ),
    "tetra": Shape(
        ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((0, 1), (1, 2), (2, 0), (3, 0), (3, 2), (3, 1)),
        ((0, 2, 1), (0, 1, 3), (0, 3, 2), (3, 1, 2)),
    ),
    "hexahedron": Shape(
        tuple((x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))),
        (
            *((0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3)),
            *((2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7)),
        ),
        ((0, 3, 2, 1), (0, 1, 5, 4), (0, 4, 7, 3), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7)),
    ),
    "wedge": Shape(
        tuple((x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (0, 1))),
        ((0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)),
        ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (0, 3, 5, 2), (1, 2, 5, 4)),
    ),
    "pyramid": Shape(
        ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)),
        ((0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)),
        ((0, 1, 4), (3, 0, 4), (1, 2, 4), (2, 3, 4), (0, 3, 2, 1)),
    ),
}


def lattice(shape: str, degree: int, *, complete: bool = True) -> list[Point]:
    """The nodes of an element of a degree; without the insides of faces if not `complete`.

    A pyramid's are known up to the insides of its faces.
    """
    row = SHAPES[shape]
    corners = [tuple(degree * x for x in corner) for corner in row.corners]
    out = list(corners)
    for a, b in row.edges:
        out += _between(corners[a], corners[b], degree)
    if not complete:
        return out
    for face in row.faces:
        out += _inside_face([corners[i] for i in face], degree)
    return out + _body(shape, degree)


def _between(a: Point, b: Point, n: int) -> list[Point]:
    """The lattice points strictly between two others, from a to b."""
    return [tuple(x + (y - x) * m // n for x, y in zip(a, b, strict=True)) for m in range(1, n)]


def _inside_face(ring: Sequence[Point], n: int) -> list[Point]:
    """The inside of a face whose corners are these, along the axes that its first corners span."""
    origin, first, last = ring[0], ring[1], ring[-1]
    u = [(y - x) // n for x, y in zip(origin, first, strict=True)]
    v = [(y - x) // n for x, y in zip(origin, last, strict=True)]
    inner = _triangle(n - 3) if len(ring) == 3 else _quad(n - 2)
    return [
        tuple(x + a * (i + 1) + b * (j + 1) for x, a, b in zip(origin, u, v, strict=True))
        for i, j in inner
    ]


def _body(shape: str, n: int) -> list[Point]:
    """The inside of a solid."""
    if shape == "tetra" and n >= 4:
        return [tuple(x + 1 for x in at) for at in _whole("tetra", n - 4)]
    if shape == "hexahedron" and n >= 2:
        return [tuple(x + 1 for x in at) for at in _whole("hexahedron", n - 2)]
    if shape == "wedge" and n >= 3:
        return [
            (i + 1, j + 1, k + 1) for i, j in _triangle(n - 3) for (k,) in _whole("line", n - 2)
        ]
    return []


@cache
def _triangle(n: int) -> list[Point]:
    return _whole("triangle", n)


@cache
def _quad(n: int) -> list[Point]:
    return _whole("quad", n)


def _whole(shape: str, n: int) -> list[Point]:
    """An element within another: of degree 0 it is one point, below it is nothing."""
    if n < 0:
        return []
    if n == 0:
        return [(0,) * len(SHAPES[shape].corners[0])]
    return lattice(shape, n)
