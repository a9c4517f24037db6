"""Random meshes for Hypothesis: cells of every type, fields of every dtype, names to annoy."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from meshkit.cells import Cells, Polyhedra
from meshkit.celltypes import CELL_TYPES, cell_type
from meshkit.faces import Faces
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import DATA, Mesh
from meshkit.regions import ENTITIES, Region

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
