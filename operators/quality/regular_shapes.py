"""What the regular solids and rings are, which measures are held against; a table a measure."""

from __future__ import annotations

import math
from typing import Final

_PRISM: Final = {3: "wedge", 5: "pentagonal_prism", 6: "hexagonal_prism"}

REGULAR: Final[dict[str, float]] = {
    "tetra": 6 * math.sqrt(6),
    "hexahedron": 6.0,
    "pyramid": 6 * (1 + math.sqrt(3)) / math.sqrt(2),
    "polyhedron": 6.0,
    **{name: 2 + 4 * math.tan(math.pi / n) for n, name in _PRISM.items()},
}
"""Longest edge times surface over volume of the solid whose edges all have one length (of a
polyhedron: a cube)."""

IDEAL: Final = {
    "triangle": 2 / math.sqrt(3),
    "quad": 1.0,
    "tetra": math.sqrt(2),
    "hexahedron": 1.0,
    "wedge": 2 / math.sqrt(3),
    "pyramid": math.sqrt(2),
}
"""What makes the scaled Jacobian of the regular shape 1."""

HEX_CORNERS: Final = [
    *((0, 1, 3, 4), (1, 2, 0, 5), (2, 3, 1, 6), (3, 0, 2, 7)),
    *((4, 7, 5, 0), (5, 4, 6, 1), (6, 5, 7, 2), (7, 6, 4, 3)),
]
WEDGE_CORNERS: Final = [
    *((0, 1, 2, 3), (1, 2, 0, 4), (2, 0, 1, 5)),
    *((3, 5, 4, 0), (4, 3, 5, 1), (5, 4, 3, 2)),
]
PYRAMID_CORNERS: Final = [(0, 1, 3, 4), (1, 2, 0, 4), (2, 3, 1, 4), (3, 0, 2, 4)]

CORNERS: Final = {
    "tetra": [(0, 1, 2, 3), (1, 2, 0, 3), (2, 0, 1, 3), (3, 0, 2, 1)],
    "hexahedron": HEX_CORNERS,
    "wedge": WEDGE_CORNERS,
    "pyramid": PYRAMID_CORNERS,
}
"""Each corner, and the three it has an edge to."""
