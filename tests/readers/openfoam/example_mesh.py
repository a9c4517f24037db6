"""A box of hexahedra, polyhedra, prisms, pyramids and tetrahedra, with zones and fields."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.readers.openfoam.case_writer import FoamField, FoamMesh, FoamPatch, FoamZone

N = 3  # cubes along x and y
LAYERS = ("hex", "split", "prism", "tet")
"""From below: hexahedra (one of them six pyramids), hexahedra whose top is two triangles, prisms,
tetrahedra."""

_TETS = [(0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)]
_HEX = [(0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7)]
Ring = tuple[Any, ...]


def _cells() -> Iterator[list[tuple[Any, ...]]]:
    """The faces of each cell as rings of corners, seen from outside."""
    for k, what in enumerate(LAYERS):
        for j, i in itertools.product(range(N), range(N)):
            at = [
                (i + a, j + b, k + c) for c in (0, 1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))
            ]
            yield from _of_cube(at, what if (k, i, j) != (0, 1, 1) else "pyramids")


def _of_cube(at: list[Any], what: str) -> Iterator[list[tuple[Any, ...]]]:
    if what == "hex":
        yield [tuple(at[p] for p in face) for face in _HEX]
    elif what == "split":
        five = [tuple(at[p] for p in face) for face in _HEX[:5]]
        yield [*five, (at[4], at[5], at[6]), (at[4], at[6], at[7])]
    elif what == "prism":
        for a, b, c in ((0, 1, 2), (0, 2, 3)):
            low, high = [at[p] for p in (a, b, c)], [at[p + 4] for p in (a, b, c)]
            ends: list[Ring] = [(low[0], low[2], low[1]), (high[0], high[1], high[2])]
            for i in range(3):
                ends.append((low[i], low[(i + 1) % 3], high[(i + 1) % 3], high[i]))
            yield ends
    elif what == "tet":
        for a, b, c, d in _TETS:
            p = [at[x] for x in (a, b, c, d)]
            yield [(p[0], p[2], p[1]), (p[0], p[1], p[3]), (p[1], p[2], p[3]), (p[2], p[0], p[3])]
    else:
        middle = tuple(np.mean(at, axis=0))
        for face in _HEX:
            ring = tuple(at[p] for p in face)
            sides = [(ring[(i + 1) % 4], ring[i], middle) for i in range(4)]
            yield [ring, *sides]


def example(bent: float = 0.0) -> FoamMesh:
    """The mesh; `bent` moves its points smoothly."""
    number: dict[Any, int] = {}
    sides: dict[frozenset[int], list[tuple[int, tuple[int, ...]]]] = {}
    for cell, faces in enumerate(_cells()):
        for ring in faces:
            ids = tuple(number.setdefault(p, len(number)) for p in ring)
            sides.setdefault(frozenset(ids), []).append((cell, ids))
    points = np.array(list(number), float) * [0.5, 0.25, 0.125]
    inner = sorted((s for s in sides.values() if len(s) == 2), key=lambda s: (s[0][0], s[1][0]))
    outer = [s[0] for s in sides.values() if len(s) == 1]
    top, low = points[:, 2].max(), points[:, 2].min()
    kinds: dict[str, list[tuple[int, tuple[int, ...]]]] = {"inlet": [], "outlet": [], "walls": []}
    for cell, ids in outer:
        height = points[list(ids), 2]
        name = "outlet" if (height == top).all() else "inlet" if (height == low).all() else "walls"
        kinds[name].append((cell, ids))
    boundary = [side for faces in kinds.values() for side in faces]
    settings = {
        "inlet": {"type": "patch", "inGroups": "List<word> 2(openings inflow)"},
        "outlet": {"type": "patch", "physicalType": "outlet", "inGroups": "1(openings)"},
        "walls": {"type": "wall", "inGroups": "1(wall)"},
    }
    rings = [list(s[0][1]) for s in inner] + [list(ids) for _, ids in boundary]
    n_cells = 1 + max(s[-1][0] for s in sides.values())
    rng = np.random.default_rng(5)
    some = sorted(rng.choice(len(rings), 30, replace=False).tolist())
    zones = [
        FoamZone("porous", "cellZone", list(range(0, n_cells, 3))),
        FoamZone("heater", "cellZone", list(range(5, 20))),
        FoamZone("baffle", "faceZone", some, [bool(i % 3 == 0) for i in range(30)]),
        FoamZone("probes", "pointZone", [0, 3, 11]),
        FoamZone("porous", "cellSet", list(range(1, n_cells, 4))),
    ]
    x = points
    moved = x + bent * np.sin(7 * x[:, [1, 2, 0]] + 1) / 20
    return FoamMesh(
        moved,
        rings,
        [s[0][0] for s in inner] + [cell for cell, _ in boundary],
        [s[1][0] for s in inner],
        [FoamPatch(name, len(kinds[name]), settings[name]) for name in kinds],
        zones,
    )


def fields(mesh: FoamMesh, seed: int) -> list[FoamField]:
    """U, p, phi, T and more, with a boundary condition of every kind."""
    rng = np.random.default_rng(seed)
    n, m, k = max(mesh.owner) + 1, len(mesh.neighbour), len(mesh.points)
    size = {p.name: p.size for p in mesh.patches}

    def some(*shape: int) -> Any:
        return rng.standard_normal(shape)

    def on(*widths: int) -> dict[str, dict[str, Any]]:
        return {name: {"type": "calculated", "value": some(size[name], *widths)} for name in size}

    velocity: dict[str, dict[str, Any]] = {
        "inlet": {"type": "fixedValue", "value": some(size["inlet"], 3)},
        "outlet": {
            "type": "inletOutlet",
            "phi": "phi",
            "inletValue": (0.0, 0.0, 0.0),
            "value": some(size["outlet"], 3),
        },
        "walls": {"type": "noSlip"},
    }
    pressure: dict[str, dict[str, Any]] = {
        "inlet": {"type": "zeroGradient"},
        "outlet": {"type": "totalPressure", "p0": (1.5,), "value": (1.5,)},
        "walls": {
            "type": "fixedFluxPressure",
            "gradient": some(size["walls"]),
            "value": some(size["walls"]),
        },
    }
    temperature: dict[str, dict[str, Any]] = {
        "inlet": {"type": "fixedValue", "value": (350.0,)},
        "outlet": {
            "type": "mixed",
            "refValue": (300.0,),
            "refGradient": (0.0,),
            "valueFraction": rng.random(size["outlet"]),
            "value": some(size["outlet"]),
        },
        "walls": {"type": "fixedGradient", "gradient": (2.5,)},
    }
    no_value: dict[str, dict[str, Any]] = {name: {"type": "calculated"} for name in size}
    return [
        FoamField("U", "volVectorField", "[0 1 -1 0 0 0 0]", some(n, 3), velocity),
        FoamField("p", "volScalarField", "[0 2 -2 0 0 0 0]", some(n), pressure),
        FoamField("phi", "surfaceScalarField", "[0 3 -1 0 0 0 0]", some(m), on()),
        FoamField("T", "volScalarField", "[0 0 0 1 0 0 0]", (300.0,), temperature),
        FoamField("R", "volSymmTensorField", "[0 2 -2 0 0 0 0]", some(n, 6)),
        FoamField("gradU", "volTensorField", "[0 0 -1 0 0 0 0]", some(n, 9)),
        FoamField("Q", "volScalarField::Internal", "[1 -1 -3 0 0 0 0]", some(n)),
        FoamField("D", "pointVectorField", "[0 1 0 0 0 0 0]", some(k, 3), no_value),
        FoamField("Uf", "surfaceVectorField", "[0 1 -1 0 0 0 0]", some(m, 3), on(3)),
    ]
