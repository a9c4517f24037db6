"""High-order elements as data: where their nodes are, and which polynomials they span.

A row of the table names a reference shape, the corners whose mean each further node is, and the
powers that are spanned. Shape functions follow by solving for those that are 1 at one node and 0
at all others; so a new element is a new row.

Source: VTK 9.7 cell classes for nodes and spaces (the tests hold both against vtk); Exodus II for
the order of TET14's face nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

import torch
from torch import Tensor

from meshkit.celltypes import CellType
from meshkit.errors import MeshError
from meshkit.operators.measure import lagrange_nodes
from meshkit.operators.measure.lagrange_nodes import Nodes

Power = tuple[int, ...]
Bubble = tuple[tuple[int, ...], int]
"""A product of barycentric coordinates of the simplex axes, times a power of the last axis."""

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

SIMPLEX_AXES: Final = {
    "line": 0,
    "triangle": 2,
    "quad": 0,
    "tetra": 3,
    "hexahedron": 0,
    "wedge": 2,
}
"""How many leading axes of a reference shape run over a simplex; the others over [0, 1]."""


@dataclass(frozen=True, eq=False)
class Element:
    """One element: its nodes in the reference shape, and what its shape functions span."""

    shape: str
    nodes: Nodes
    powers: tuple[Power, ...]
    bubbles: tuple[Bubble, ...] = ()

    @property
    def degrees(self) -> tuple[int, int]:
        """The highest total degree in the simplex axes, and the highest one along another axis."""
        k = SIMPLEX_AXES[self.shape]
        inside = [sum(p[:k]) for p in self.powers] + [len(f) for f, _ in self.bubbles]
        along = [max(p[k:], default=0) for p in self.powers] + [c for _, c in self.bubbles]
        return max(inside), max(along)

    def functions(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Shape functions [q, k] and their derivatives [q, k, dim] at float64 points [q, dim]."""
        nodes, _ = self._spanning(torch.tensor(self.nodes, dtype=torch.float64))
        values, slopes = self._spanning(at)
        inverse = torch.linalg.inv(nodes)
        return values @ inverse, torch.einsum("qmd,mk->qkd", slopes, inverse)

    def _spanning(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """The spanning polynomials [q, m] and their derivatives [q, m, dim].

        Powers stand for products of Legendre polynomials, which span the same (each set holds
        with a power all lower ones) and keep the solve well conditioned.
        """
        top = max(max(p) for p in self.powers)
        value, slope = _legendre(at, top)
        columns, slopes = [], []
        for power in self.powers:
            columns.append(_product([value[:, i, n] for i, n in enumerate(power)]))
            slopes.append(
                torch.stack(
                    [
                        _product(
                            [(slope if i == d else value)[:, i, n] for i, n in enumerate(power)]
                        )
                        for d in range(at.shape[1])
                    ],
                    1,
                )
            )
        for factors, n in self.bubbles:
            column, derivative = self._bubble(at, factors, value, slope, n)
            columns.append(column)
            slopes.append(derivative)
        return torch.stack(columns, 1), torch.stack(slopes, 1)

    def _bubble(
        self, at: Tensor, factors: tuple[int, ...], value: Tensor, slope: Tensor, n: int
    ) -> tuple[Tensor, Tensor]:
        k, dim = SIMPLEX_AXES[self.shape], at.shape[1]
        barycentric = torch.cat([1 - at[:, :k].sum(1, keepdim=True), at[:, :k]], 1)
        toward = torch.zeros(k + 1, dim, dtype=at.dtype)  # derivatives of the coordinates
        toward[0, :k] = -1
        toward[torch.arange(1, k + 1), torch.arange(k)] = 1
        bubble = _product([barycentric[:, f] for f in factors])
        derivative = torch.zeros_like(at)
        for f in factors:
            rest = _product([barycentric[:, g] for g in factors if g != f])
            derivative = derivative + rest[:, None] * toward[f]
        if dim == k:
            return bubble, derivative
        along, steep = value[:, k, n], slope[:, k, n]
        derivative = derivative * along[:, None]
        derivative[:, k] = bubble * steep
        return bubble * along, derivative


def _product(parts: Iterable[Tensor]) -> Tensor:
    first, *rest = parts
    for part in rest:
        first = first * part
    return first


def _legendre(at: Tensor, top: int) -> tuple[Tensor, Tensor]:
    """Legendre polynomials of 2 x - 1 up to a degree, and their derivatives, [q, dim, top + 1]."""
    x = 2 * at - 1
    value, slope = [torch.ones_like(x), x], [torch.zeros_like(x), torch.full_like(x, 2.0)]
    for n in range(1, top):
        value.append(((2 * n + 1) * x * value[n] - n * value[n - 1]) / (n + 1))
        slope.append(((2 * n + 1) * (2 * value[n] + x * slope[n]) - n * slope[n - 1]) / (n + 1))
    return torch.stack(value[: top + 1], -1), torch.stack(slope[: top + 1], -1)


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
