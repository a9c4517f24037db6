"""Meshes that the tests share: small exact ones, refinable ones, and random ones.

All builders give float64 points and int64 ids, and cells of positive measure. What each measures
stands in its docstring, so that a test can hold an answer against it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from hypothesis import strategies as st
from tensordict import TensorDictBase
from torch import Tensor

from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import CELL_TYPES, cell_type
from meshkit.faces import Faces
from meshkit.fields import empty_groups, leaves
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import DATA, Mesh
from meshkit.regions import ENTITIES, Region

# --- small and exact -----------------------------------------------------------------------------


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


# --- changed, so that no symmetry flatters us ----------------------------------------------------


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


# --- random --------------------------------------------------------------------------------------

NAMES: Final = (
    *("p", "U", "Temperature", "a b", "a/b c.d", "Température °C", "名前", ".hidden", "..", ""),
    *("<&>'\"", "x\ty\nz", " lead", "trail ", "a%2Fb", "%", "meta", "points", "cells", "0", "a\\b"),
    *("keys", "batch_size", "*", "?", "a:b", "🙂", "\x01", "NUL"),
)
"""Names of fields and regions that have broken one format or another."""

PLAIN_DTYPES: Final = (
    *(torch.float32, torch.float64, torch.int8, torch.uint8, torch.int16, torch.int32),
    torch.int64,
)
"""Dtypes that any scientific format holds."""

OTHER_DTYPES: Final = (
    *(torch.bool, torch.float16, torch.bfloat16, torch.complex32, torch.complex64),
    *(torch.complex128, torch.uint16, torch.uint32, torch.uint64),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
    torch.float8_e8m0fnu,
)
"""Dtypes that most formats lack."""

# Varying sizes are drawn; Lagrange cells carry their degrees.
_LAGRANGE: Final = {"lagrange_quadrilateral": (2, 1, 0), "lagrange_hexahedron": (1, 1, 2)}
_TYPES: Final = tuple(
    row.name
    for row in CELL_TYPES.values()
    if row.number not in (0, 41, 42) and not 68 <= row.number < 100
)


def random_values(rng: np.random.Generator, dtype: torch.dtype, shape: Sequence[int]) -> Tensor:
    """Any bits at all: NaN payloads, infinities, denormals, -0.0; booleans are 0 or 1."""
    count = int(np.prod(shape))
    raw = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    if dtype == torch.bool:
        raw &= 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ComplexHalf")  # said once, when the first is made
        if count == 0:
            return torch.empty(tuple(shape), dtype=dtype)
        return torch.from_numpy(raw).view(dtype).reshape(tuple(shape))


def _fields(
    draw: st.DrawFn,
    rng: np.random.Generator,
    rows: int | None,
    dtypes: Sequence[torch.dtype],
    names: Sequence[str],
    depth: int,
    empty: bool,
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)):
        if depth and draw(st.integers(0, 3)) == 0:
            below = _fields(draw, rng, rows, dtypes, names, depth - 1, empty)
            if below or empty:
                out[name] = below
            continue
        tail = draw(st.sampled_from([(), (1,), (3,), (9,), (2, 2), (0,)]))
        shape = tail if rows is None else (rows, *tail)
        out[name] = random_values(rng, draw(st.sampled_from(dtypes)), shape)
    return out


def _random_cells(
    draw: st.DrawFn, rng: np.random.Generator, n_points: int, polyhedra: bool, types: Sequence[str]
) -> Cells:
    dtype = draw(st.sampled_from([torch.int32, torch.int64]))
    n = draw(st.integers(0, 8)) if n_points else 0
    names = draw(st.lists(st.sampled_from(types), min_size=1, max_size=4, unique=True))
    if polyhedra and draw(st.booleans()):
        names.append("polyhedron")
    rows: list[list[int]] = []
    kinds: list[int] = []
    solids: list[list[list[int]]] = []
    degrees: list[tuple[int, int, int]] = []
    for _ in range(n):
        row = cell_type(draw(st.sampled_from(names)))
        kinds.append(row.number)
        degrees.append(_LAGRANGE.get(row.name, (0, 0, 0)))
        if row.name == "polyhedron":
            shape = cell_type(draw(st.sampled_from(["tetra", "wedge", "pyramid", "hexahedron"])))
            k = shape.size or 0
            ids = rng.choice(n_points, k, replace=n_points < k).tolist()
            solids.append([[ids[i] for i in face] for face in shape.faces])
            rows.append(rng.permutation(np.unique(ids)).tolist())
            continue
        size: int | None = row.size
        if row.name in _LAGRANGE:
            size = int(np.prod([k + 1 for k in _LAGRANGE[row.name]]))
        elif row.name == "quadratic_polygon":
            size = 2 * draw(st.integers(3, 5))
        elif size is None:
            size = draw(st.integers(3, 6))
        rows.append(rng.integers(0, n_points, size).tolist())

    def ends(parts: Sequence[Sequence[Any]]) -> Tensor:
        return torch.tensor([0, *itertools.accumulate(map(len, parts))], dtype=dtype)

    def flat(parts: Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor([i for part in parts for i in part], dtype=dtype)

    held = None
    if solids:
        rings = [face for solid in solids for face in solid]
        held = Polyhedra(ends(solids), ends(rings), flat(rings))
    table = (
        torch.tensor(degrees, dtype=torch.uint8).reshape(-1, 3) if any(map(any, degrees)) else None
    )
    return Cells(torch.tensor(kinds, dtype=torch.uint8), ends(rows), flat(rows), held, table)


def _random_faces(rng: np.random.Generator, n_points: int, n_cells: int) -> Faces:
    """Rows of the right shapes; they make no sense as faces, and nothing may depend on that."""
    n = int(rng.integers(1, 6))
    sizes = rng.integers(3, 6, n)
    return Faces(
        torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)])),
        torch.from_numpy(rng.integers(0, n_points, int(sizes.sum()))),
        torch.from_numpy(rng.integers(0, n_cells, n)),
        torch.from_numpy(rng.integers(-1, n_cells, n)),
    )


def _random_region(
    draw: st.DrawFn,
    rng: np.random.Generator,
    name: str,
    entity: Any,
    counts: Mapping[str, int],
    dtypes: Sequence[torch.dtype],
    names: Sequence[str],
    empty: bool,
) -> Region:
    top = counts[entity]
    n = draw(st.integers(0, min(top, 4)))
    ids = rng.choice(top, n, replace=False) if n else np.zeros(0, np.int64)
    if entity == "side":
        ids = np.stack([ids, rng.integers(0, 2, n)], 1)
    elif entity == "edge":
        ids = np.stack([ids, rng.integers(0, top, n) if n else ids], 1)
    flip = random_values(rng, torch.bool, (n,)) if entity in ("side", "face") else None
    data = _fields(draw, rng, n, dtypes, names, 1, empty) if draw(st.booleans()) else None
    return Region(
        name,
        entity,
        torch.from_numpy(ids).to(draw(st.sampled_from([torch.int32, torch.int64]))),
        flip=flip if draw(st.booleans()) else None,
        kind=draw(st.sampled_from([None, "wall", "cellZone"])),
        data=data,
        attributes=draw(st.sampled_from([{}, {"type": "fixedValue", "value": [1.5, None]}])),
        source_id=draw(st.sampled_from([None, 0, 7, -1])),
        parent=draw(st.sampled_from([None, "all"])),
    )


@st.composite
def random_meshes(
    draw: st.DrawFn,
    *,
    dims: Sequence[int] = (1, 2, 3),
    dtypes: Sequence[torch.dtype] = PLAIN_DTYPES + OTHER_DTYPES,
    point_dtypes: Sequence[torch.dtype] = (torch.float32, torch.float64),
    names: Sequence[str] = NAMES,
    types: Sequence[str] = (*_TYPES, *_LAGRANGE),
    polyhedra: bool = True,
    faces: bool = True,
    regions: Sequence[str] = ENTITIES,
    depth: int = 2,
    empty: bool = True,
) -> Mesh:
    """Small meshes that hold anything a mesh can hold; arguments take away what a format lacks.

    Mixed cell types and sizes, polyhedra, Lagrange degrees, fields of any bits, nested names,
    regions of each entity with data, faces, info; also no points, no cells, no fields. They are
    not geometrically sensible (`tetrahedron` and the like are).

    Args:
        dims: how many coordinates a point may have.
        dtypes, point_dtypes: of fields and of points.
        names: of fields and regions.
        types: of cells, beside polyhedra.
        polyhedra: whether there may be some.
        faces: whether the mesh may bring its own faces.
        regions: entities that regions may have.
        depth: how deep names nest.
        empty: whether groups of fields may hold nothing.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_points = draw(st.integers(0, 12))
    d = draw(st.sampled_from(dims))
    points = torch.from_numpy(rng.standard_normal((n_points, d)))
    points = points.to(draw(st.sampled_from(point_dtypes)))
    if n_points and draw(st.integers(0, 3)) == 0:
        points[0] = random_values(rng, points.dtype, (d,))
    cells = _random_cells(draw, rng, n_points, polyhedra, types)
    own = None
    if faces and len(cells) and draw(st.booleans()):
        own = _random_faces(rng, n_points, len(cells))
    n_faces = 0 if own is None else len(own)
    rows = dict(zip(DATA, (n_points, len(cells), n_faces, None), strict=True))
    data = {
        home: _fields(draw, rng, n, dtypes, names, depth, empty)
        for home, n in rows.items()
        if home != "face_data" or own is not None
    }
    n_sided = len(cells) if cells.dim else 0  # a vertex has no sides
    counts = {"point": n_points, "cell": len(cells), "side": n_sided, "edge": n_points}
    counts["face"] = n_faces
    entities = [e for e in regions if e != "face" or own is not None]
    keys = (
        st.tuples(st.sampled_from(names), st.sampled_from(entities)) if entities else st.nothing()
    )
    chosen = draw(st.lists(keys, max_size=3, unique=True)) if entities else []
    parts = [_random_region(draw, rng, n, e, counts, dtypes, names, empty) for n, e in chosen]
    known = {}
    for home, fields in data.items():
        for path in _paths(fields):
            if draw(st.integers(0, 3)) == 0:
                known[home, *path] = FieldInfo(unit="m/s", components=("x", "ÿ"), statistic="mean")
    info = MeshInfo(
        length_unit=draw(st.sampled_from([None, "m", "mm"])),
        frame=draw(st.sampled_from([None, "body axes"])),
        time=draw(st.sampled_from([None, 0.0, 0.1, 1e-300])),
        fields=known,
        attributes=draw(st.sampled_from([{}, {"matériau": {"E": 2.1e11, "names": ["a", "b"]}}])),
    )
    return make_mesh(points, cells, faces=own, regions=parts, info=info, **data)


def _paths(fields: Mapping[str, Any]) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    for name, value in fields.items():
        below = _paths(value) if isinstance(value, Mapping) else [()]
        out += [(name, *path) for path in below]
    return out


# --- compared ------------------------------------------------------------------------------------


def differences(a: Mesh, b: Mesh, *, id_dtypes: bool = True) -> list[str]:
    """What differs between two meshes, bit for bit; [] when nothing does.

    Everything counts: dtypes, shapes and bytes of points, cells, faces, fields, regions, and
    their order; info without its source and report.

    Args:
        a: what it should be.
        b: what it is.
        id_dtypes: whether int32 and int64 ids of equal value differ.
    """
    found: list[str] = []

    def bits(what: str, x: Tensor | None, y: Tensor | None) -> None:
        if x is None or y is None:
            if (x is None) != (y is None):
                found.append(f"{what}: {_brief(x)} became {_brief(y)}")
        elif x.dtype != y.dtype or x.shape != y.shape:
            found.append(f"{what}: {_brief(x)} became {_brief(y)}")
        elif not torch.equal(_bytes(x), _bytes(y)):
            changed = int((_bytes(x) != _bytes(y)).sum())
            found.append(f"{what}: {changed} bytes of {_bytes(x).numel()} differ")

    def ids(what: str, x: Tensor | None, y: Tensor | None) -> None:
        if not id_dtypes and x is not None and y is not None:
            x, y = x.long(), y.long()
        bits(what, x, y)

    def fields(what: str, x: TensorDictBase | None, y: TensorDictBase | None) -> None:
        mine = {} if x is None else dict(leaves(x))
        theirs = {} if y is None else dict(leaves(y))
        if (x is None) != (y is None):
            found.append(f"{what}: {'none' if x is None else 'some'} became the other")
        if list(mine) != list(theirs):
            found.append(f"{what}: names {list(mine)} became {list(theirs)}")
        empty = [[] if part is None else empty_groups(part) for part in (x, y)]
        if empty[0] != empty[1]:
            found.append(f"{what}: empty groups {empty[0]} became {empty[1]}")
        for path in mine.keys() & theirs.keys():
            bits(f"{what} {path}", mine[path], theirs[path])

    def each(what: str, names: Sequence[str], x: Any, y: Any, how: Callable[..., None]) -> None:
        if x is None or y is None:
            if (x is None) != (y is None):
                found.append(f"{what}: {'none' if x is None else 'some'} became the other")
            return
        for name in names:
            how(f"{what}.{name}", getattr(x, name), getattr(y, name))

    bits("points", a.points, b.points)
    bits("cells.types", a.cells.types, b.cells.types)
    each("cells", ("offsets", "connectivity"), a.cells, b.cells, ids)
    bits("cells.degrees", a.cells.degrees, b.cells.degrees)
    parts = ("faces", "offsets", "connectivity")
    each("cells.polyhedra", parts, a.cells.polyhedra, b.cells.polyhedra, ids)
    each("faces", ("offsets", "connectivity", "owner", "neighbour"), a.faces, b.faces, ids)
    for home in DATA:
        fields(home, getattr(a, home), getattr(b, home))
    keys = [[(r.name, r.entity) for r in m.regions] for m in (a, b)]
    if keys[0] != keys[1]:
        found.append(f"regions: {keys[0]} became {keys[1]}")
    for name, entity in keys[0]:
        if (name, entity) not in keys[1]:
            continue
        mine, theirs = a.region(name, entity), b.region(name, entity)
        what = f"region {name!r} of {entity}s"
        ids(f"{what} ids", mine.ids, theirs.ids)
        bits(f"{what} flip", mine.flip, theirs.flip)
        fields(f"{what} data", mine.data, theirs.data)
        for trait in ("kind", "attributes", "source_id", "parent"):
            x, y = getattr(mine, trait), getattr(theirs, trait)
            if x != y:
                found.append(f"{what} {trait}: {x!r} became {y!r}")
    for trait in ("length_unit", "frame", "time", "fields", "grid", "attributes"):
        x, y = getattr(a.info, trait), getattr(b.info, trait)
        if x != y:
            found.append(f"info.{trait}: {x!r} became {y!r}")
    return found


def _bytes(x: Tensor) -> Tensor:
    flat = x.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8) if len(flat) else torch.empty(0, dtype=torch.uint8)


def _brief(x: Tensor | None) -> str:
    return "none" if x is None else f"{x.dtype} {list(x.shape)}"
