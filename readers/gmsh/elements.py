"""Gmsh's table of element types, and which cell of ours each is: data, worked out on first use.

An element of second order and above lists its nodes in gmsh's order, a cell in VTK's; a row of the
table says which node stands at each point of the cell. Where VTK has no such cell (incomplete
elements above second order, pyramids above second order) the corners make the linear one.

Source: Gmsh reference manual, "MSH file format" and "Node ordering"; GmshDefines.h for numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from meshkit.celltypes import CELL_TYPES, cell_type
from meshkit.operators.measure.elements import element
from meshkit.readers.gmsh.node_order import SHAPES, lattice

POLYTOPES: Final = {34: 2, 35: 3, 69: 2}
"""Polygons, polyhedra and polygons on a border, of any number of nodes, and their dimension."""


@dataclass(frozen=True)
class ElementType:
    """One row: gmsh's number and size, and the cell of ours.

    `order[i]` is the node that stands at point i of the cell; shorter than `size` where only the
    corners make a cell, empty where there is none (`cell` None).
    """

    number: int
    dim: int
    size: int
    cell: int | None
    order: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether the cell has all nodes."""
        return len(self.order) == self.size

    @property
    def as_it_is(self) -> bool:
        """Whether points stand in the order of the nodes."""
        return self.order == tuple(range(self.size))

    @property
    def reverse(self) -> tuple[int, ...]:
        """Which point stands at each node of the element."""
        return tuple(sorted(range(self.size), key=self.order.__getitem__))


# By degree, from 1 on.
_COMPLETE: Final[dict[str, tuple[int, ...]]] = {
    "line": (1, 8, 26, 27, 28, 62, 63, 64, 65, 66),
    "triangle": (2, 9, 21, 23, 25, 42, 43, 44, 45, 46),
    "quad": (3, 10, 36, 37, 38, 47, 48, 49, 50, 51),
    "tetra": (4, 11, 29, 30, 31, 71, 72, 73, 74, 75),
    "hexahedron": (5, 12, 92, 93, 94, 95, 96, 97, 98),
    "wedge": (6, 13, 90, 91, 106, 107, 108, 109, 110),
    "pyramid": (7, 14, 118, 119, 120, 121, 122, 123, 124),
}
_SERENDIPITY: Final = {"quad": 16, "hexahedron": 17, "wedge": 18, "pyramid": 19}
# Elements that VTK has no cell for: number -> size.
_INCOMPLETE: Final[dict[str, dict[int, int]]] = {
    "triangle": {20: 9, 22: 12, 24: 15, 52: 18, 53: 21, 54: 24, 55: 27, 56: 30, 138: 4},
    "quad": {39: 12, 40: 16, 41: 20, 57: 24, 58: 28, 59: 32, 60: 36, 61: 40},
    "tetra": {32: 22, 33: 28, 79: 34, 80: 40, 81: 46, 82: 52, 83: 58, 137: 16, 139: 5},
    "hexahedron": {99: 32, 100: 44, 101: 56, 102: 68, 103: 80, 104: 92, 105: 104},
    "wedge": {111: 24, 112: 33, 113: 42, 114: 51, 115: 60, 116: 69, 117: 78},
    "pyramid": {125: 21, 126: 29, 127: 37, 128: 45, 129: 53, 130: 61, 131: 69},
}
# Elements of no order, borders and parts of cut elements: number -> (dimension, size).
_NO_CELL: Final[dict[int, tuple[int, int]]] = {
    84: (1, 1),
    85: (2, 1),
    86: (2, 1),
    87: (3, 1),
    88: (3, 1),
    89: (3, 1),
    132: (3, 1),
    67: (1, 2),
    68: (2, 3),
    70: (1, 2),
    133: (0, 1),
    134: (1, 2),
    135: (2, 3),
    136: (3, 4),
    140: (2, 4),
}

# Quadratic cells by shape; of third degree and above they are Lagrange's.
_QUADRATIC: Final = {
    "line": "quadratic_edge",
    "triangle": "quadratic_triangle",
    "quad": "biquadratic_quad",
    "tetra": "quadratic_tetra",
    "hexahedron": "triquadratic_hexahedron",
    "wedge": "biquadratic_quadratic_wedge",
    "pyramid": "pyramid14",
}
_LAGRANGE: Final = {
    "line": "curve",
    "triangle": "triangle",
    "quad": "quadrilateral",
    "tetra": "tetrahedron",
    "hexahedron": "hexahedron",
    "wedge": "wedge",
}
# Which of gmsh's edges stands at each edge of VTK's quadratic pyramid.
_PYRAMID_EDGES: Final = (5, 8, 10, 6, 7, 9, 11, 12)


@cache
def element_types() -> dict[int, ElementType]:
    """The whole table, by gmsh's number."""
    rows = [ElementType(15, 0, 1, cell_type("vertex").number, (0,))]
    for shape, numbers in _COMPLETE.items():
        rows += [_complete(shape, number, p) for p, number in enumerate(numbers, 1)]
    for shape, number in _SERENDIPITY.items():
        rows.append(_serendipity(shape, number))
    for shape, sizes in _INCOMPLETE.items():
        rows += [_corners(shape, number, size) for number, size in sizes.items()]
    rows += [ElementType(n, dim, size, None, ()) for n, (dim, size) in _NO_CELL.items()]
    return {row.number: row for row in rows}


@cache
def sizes() -> tuple[int, ...]:
    """How many nodes an element of each number has; 0 where that is not known."""
    table = element_types()
    return tuple(table[n].size if n in table else 0 for n in range(max(table) + 1))


@cache
def element_of_cell(number: int, size: int) -> ElementType | None:
    """The element that holds a cell of this type and size, all its points; None if none does."""
    alike = cell_type(number).name.startswith("lagrange_")
    shape = cell_type(number).shape
    for row in element_types().values():
        if row.cell is None or not row.whole or row.size != size:
            continue
        if row.cell == number or (alike and CELL_TYPES[row.cell].shape == shape):
            if row.cell != number and not _same_nodes(number, row.cell, size):
                continue
            return row
    return None


def _same_nodes(a: int, b: int, size: int) -> bool:
    """Whether two cell types list the same nodes in the same order."""
    one, other = (element(CELL_TYPES[n].name, CELL_TYPES[n].shape, size) for n in (a, b))
    if one is None or other is None:
        return size == len(CELL_TYPES[b].corners or ()) and CELL_TYPES[b].order == 1
    return one.nodes == other.nodes


def _complete(shape: str, number: int, p: int) -> ElementType:
    if p == 1:
        row = cell_type(shape)
        return ElementType(number, row.dim, row.size or 0, row.number, tuple(range(row.size or 0)))
    if shape == "pyramid":
        if p > 2:
            return _corners(shape, number, (p + 1) * (p + 2) * (2 * p + 3) // 6)
        order = (*range(5), *_PYRAMID_EDGES, 13)
        return ElementType(number, 3, 14, cell_type(_QUADRATIC[shape]).number, order)
    if p == 2:
        name = _QUADRATIC[shape]
    elif p == 3 and shape == "line":
        name = "cubic_line"
    else:
        name = f"lagrange_{_LAGRANGE[shape]}"
    return _matched(shape, number, name, lattice(shape, p), p)


def _serendipity(shape: str, number: int) -> ElementType:
    if shape == "pyramid":
        order = (*range(5), *_PYRAMID_EDGES)
        return ElementType(number, 3, 13, cell_type("quadratic_pyramid").number, order)
    nodes = lattice(shape, 2, complete=False)
    return _matched(shape, number, f"quadratic_{shape}", nodes, 2)


def _matched(
    shape: str, number: int, name: str, nodes: list[tuple[int, ...]], p: int
) -> ElementType:
    """The row of an element whose nodes are a cell's, in another order."""
    cell = cell_type(name)
    made = element(cell.name, cell.shape, len(nodes))
    if made is None:
        raise LookupError(f"the points of a {name} are not known")
    place = {node: i for i, node in enumerate(nodes)}
    order = tuple(place[tuple(round(p * x) for x in at)] for at in made.nodes)
    return ElementType(number, cell.dim, len(nodes), cell.number, order)


def _corners(shape: str, number: int, size: int) -> ElementType:
    cell = cell_type(shape)
    return ElementType(
        number, cell.dim, size, cell.number, tuple(range(len(SHAPES[shape].corners)))
    )
