"""The table of high-order elements: where their nodes are, and which polynomials they span.

A row names a reference shape, the corners whose mean each further node is, and the powers that are
spanned; `shape_functions` makes the rest of it. So a new element is a new row.

Source: VTK 9.7 cell classes for nodes and spaces (the tests hold both against vtk); Exodus II for
the order of TET14's face nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Final

from meshkit.celltypes import CellType
from meshkit.errors import MeshError
from meshkit.operators.measure import lagrange_nodes
from meshkit.operators.measure.lagrange_nodes import Nodes
from meshkit.operators.measure.shape_functions import SIMPLEX_AXES, Bubble, Element, Power

_CORNERS: Final[dict[str, Nodes]] = {
    "line": [(0.0,), (1.0,)],
    "triangle": [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)],
    "quad": [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)],
    "tetra": [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)],
    "hexahedron": [
        (x, y, z) for z in (0.0, 1.0) for x, y in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    ],
    "wedge": [(x, y, z) for z in (0.0, 1.0) for x, y in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))],
}


def _complete(p: int, axes: int) -> tuple[Power, ...]:
    """All powers of total degree up to p."""
    return tuple(e for e in product(range(p + 1), repeat=axes) if sum(e) <= p)


def _box(*degrees: int) -> tuple[Power, ...]:
    """All powers up to a degree an axis."""
    return tuple(product(*(range(p + 1) for p in degrees)))


def _serendipity(axes: int) -> tuple[Power, ...]:
    """Quadratic serendipity: powers of total degree up to 2, not counting axes of power 1."""
    every = product(range(3), repeat=axes)
    return tuple(e for e in every if sum(x for x in e if x > 1) <= 2)


def _times(inside: Iterable[Power], along: Iterable[int]) -> tuple[Power, ...]:
    return tuple((*e, n) for e in inside for n in along)


_TRIANGLE_EDGES: Final = ((0, 1), (1, 2), (2, 0))
_QUAD_EDGES: Final = ((0, 1), (1, 2), (2, 3), (3, 0))
_TETRA_EDGES: Final = (*_TRIANGLE_EDGES, (0, 3), (1, 3), (2, 3))
_HEX_EDGES: Final = (
    *_QUAD_EDGES,
    *((4, 5), (5, 6), (6, 7), (7, 4)),
    *((0, 4), (1, 5), (2, 6), (3, 7)),
)
_HEX_SIDES: Final = ((0, 3, 4, 7), (1, 2, 5, 6), (0, 1, 4, 5), (2, 3, 6, 7))
_HEX_ENDS: Final = ((0, 1, 2, 3), (4, 5, 6, 7))
_WEDGE_RIMS: Final = (*_TRIANGLE_EDGES, (3, 4), (4, 5), (5, 3))
_WEDGE_POSTS: Final = ((0, 3), (1, 4), (2, 5))
_WEDGE_SIDES: Final = ((0, 1, 3, 4), (1, 2, 4, 5), (0, 2, 3, 5))
_TRIANGLE_BUBBLE: Final = (((0, 1, 2), 0),)
_FACE_BUBBLES: Final = (((0, 1, 2), 0), ((1, 2, 3), 0), ((0, 2, 3), 0), ((0, 1, 3), 0))


def _row(
    shape: str,
    further: Iterable[tuple[int, ...]],
    powers: tuple[Power, ...],
    bubbles: tuple[Bubble, ...] = (),
) -> Element:
    """An element whose nodes after the corners are means of corners."""
    ends = _CORNERS[shape]
    middles = [
        tuple(sum(ends[c][a] for c in some) / len(some) for a in range(len(ends[0])))
        for some in further
    ]
    return Element(shape, [*ends, *middles], powers, bubbles)


_ELEMENTS: Final[dict[str, Element]] = {
    "quadratic_edge": _row("line", [(0, 1)], _box(2)),
    "cubic_line": Element("line", lagrange_nodes.curve(3), _box(3)),
    "quadratic_triangle": _row("triangle", _TRIANGLE_EDGES, _complete(2, 2)),
    "biquadratic_triangle": _row(
        "triangle", [*_TRIANGLE_EDGES, (0, 1, 2)], _complete(2, 2), _TRIANGLE_BUBBLE
    ),
    "quadratic_quad": _row("quad", _QUAD_EDGES, _serendipity(2)),
    "biquadratic_quad": _row("quad", [*_QUAD_EDGES, (0, 1, 2, 3)], _box(2, 2)),
    "quadratic_linear_quad": _row("quad", [(0, 1), (2, 3)], _box(2, 1)),
    "quadratic_tetra": _row("tetra", _TETRA_EDGES, _complete(2, 3)),
    "tetra14": _row(
        "tetra", [*_TETRA_EDGES, *(f for f, _ in _FACE_BUBBLES)], _complete(2, 3), _FACE_BUBBLES
    ),
    "quadratic_hexahedron": _row("hexahedron", _HEX_EDGES, _serendipity(3)),
    "biquadratic_quadratic_hexahedron": _row(
        "hexahedron", [*_HEX_EDGES, *_HEX_SIDES], _times(_serendipity(2), range(3))
    ),
    "triquadratic_hexahedron": _row(
        "hexahedron", [*_HEX_EDGES, *_HEX_SIDES, *_HEX_ENDS, tuple(range(8))], _box(2, 2, 2)
    ),
    "quadratic_wedge": _row(
        "wedge",
        [*_WEDGE_RIMS, *_WEDGE_POSTS],
        (*_times(_complete(2, 2), range(2)), *_times(_complete(1, 2), [2])),
    ),
    "quadratic_linear_wedge": _row("wedge", _WEDGE_RIMS, _times(_complete(2, 2), range(2))),
    "biquadratic_quadratic_wedge": _row(
        "wedge", [*_WEDGE_RIMS, *_WEDGE_POSTS, *_WEDGE_SIDES], _times(_complete(2, 2), range(3))
    ),
}

# VTK's Lagrange cells of these sizes are not of a full degree but quadratic with bubbles.
_ENRICHED: Final[dict[tuple[str, int], Element]] = {
    ("triangle", 7): _ELEMENTS["biquadratic_triangle"],
    ("tetra", 15): _row(
        "tetra",
        [*_TETRA_EDGES, (0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3), (0, 1, 2, 3)],
        _complete(2, 3),
        (*_FACE_BUBBLES, ((0, 1, 2, 3), 0)),
    ),
    ("wedge", 21): _row(
        "wedge",
        [
            *(*_WEDGE_RIMS, *_WEDGE_POSTS, (0, 1, 2), (3, 4, 5)),
            *(*_WEDGE_SIDES, tuple(range(6))),
        ],
        _times(_complete(2, 2), range(3)),
        tuple(((0, 1, 2), n) for n in range(3)),
    ),
}


@cache
def element(
    name: str, shape: str, size: int, degrees: tuple[int, int, int] | None = None
) -> Element | None:
    """The element of a cell type; None where it is linear or its shape functions are not ours.

    Args:
        name, shape: of the type's row in the cell table.
        size: how many points the cell has.
        degrees: of a Lagrange cell along its axes, where the mesh says them.

    Raises:
        MeshError: a Lagrange cell of that many points has no such degrees.
    """
    if not name.startswith("lagrange_"):
        return _ELEMENTS.get(name)
    if shape not in SIMPLEX_AXES:
        return None
    given = degrees is not None and any(degrees)
    if given and degrees is not None and _lagrange_size(shape, *degrees) == size:
        return _lagrange(shape, *degrees)
    if (shape, size) in _ENRICHED:
        return _ENRICHED[shape, size]
    if given:
        raise MeshError(f"a {name} of degrees {degrees} does not have {size} points")
    for p in range(1, _HIGHEST + 1):
        if _lagrange_size(shape, p, p, p) == size:
            return _lagrange(shape, p, p, p)
    raise MeshError(
        f"a {name} does not have {size} points at any one degree up to {_HIGHEST}; name its degrees"
    )


def has_element(row: CellType) -> bool:
    """Whether cells of a type are integrated as the curved cells they are, by `element`."""
    if row.order == 1 or row.corners is None:
        return False
    return row.name in _ELEMENTS or (row.name.startswith("lagrange_") and row.shape in SIMPLEX_AXES)


_HIGHEST: Final = 12
"""The highest degree along an axis; VTK's own shape functions end at 10."""


def _lagrange_size(shape: str, p: int, q: int, r: int) -> int:
    """How many nodes the Lagrange element of these degrees has; 0 where there is none.

    An axis that is used needs a degree of 1 to `_HIGHEST`.
    """
    axes = len(_CORNERS[shape][0])
    if not all(1 <= n <= _HIGHEST for n in (p, q, r)[:axes]):
        return 0
    triangle = (p + 1) * (p + 2) // 2
    return {
        "line": p + 1,
        "triangle": triangle,
        "tetra": triangle * (p + 3) // 3,
        "quad": (p + 1) * (q + 1),
        "hexahedron": (p + 1) * (q + 1) * (r + 1),
        "wedge": triangle * (r + 1),
    }[shape]


def _lagrange(shape: str, p: int, q: int, r: int) -> Element:
    """The Lagrange element of these degrees."""
    if shape == "line":
        return Element(shape, lagrange_nodes.curve(p), _box(p))
    if shape == "triangle":
        return Element(shape, lagrange_nodes.triangle(p), _complete(p, 2))
    if shape == "tetra":
        return Element(shape, lagrange_nodes.tetra(p), _complete(p, 3))
    if shape == "quad":
        return Element(shape, lagrange_nodes.quad(p, q), _box(p, q))
    if shape == "hexahedron":
        return Element(shape, lagrange_nodes.hexahedron(p, q, r), _box(p, q, r))
    return Element(shape, lagrange_nodes.wedge(p, r), _times(_complete(p, 2), range(r + 1)))
