"""Writes OpenFOAM cases for tests: any mesh with faces, in every encoding OpenFOAM knows.

Written from the user guide's description and independent of the reader: plain loops, small meshes.
"""

from __future__ import annotations

import gzip
import itertools
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from meshkit import Mesh, operators as ops

Array = Any
KINDS = {1: "scalar", 3: "vector", 6: "symmTensor", 9: "tensor"}


@dataclass(frozen=True)
class Style:
    """How files are written."""

    binary: bool = False
    packed: bool = False
    label: int = 32
    scalar: int = 64
    compact: bool = True  # faces as faceCompactList, where binary
    minus_ones: bool = False  # neighbours of boundary faces are -1, not left out
    arch: bool = True

    @property
    def ints(self) -> np.dtype[Any]:
        return np.dtype(f"<i{self.label // 8}")

    @property
    def floats(self) -> np.dtype[Any]:
        return np.dtype(f"<f{self.scalar // 8}")


@dataclass(frozen=True)
class FoamPatch:
    name: str
    size: int
    settings: Mapping[str, str] = field(default_factory=lambda: {"type": "patch"})


@dataclass(frozen=True)
class FoamZone:
    name: str
    kind: str  # "cellZone", "faceZone", "pointZone", or "cellSet", ...
    ids: Sequence[int]
    flip: Sequence[bool] | None = None


@dataclass(frozen=True)
class FoamMesh:
    """Faces between two cells first, then those of each patch."""

    points: Array
    faces: Sequence[Sequence[int]]
    owner: Sequence[int]
    neighbour: Sequence[int]
    patches: Sequence[FoamPatch]
    zones: Sequence[FoamZone] = ()

    def starts(self) -> list[int]:
        out, at = [], len(self.neighbour)
        for patch in self.patches:
            out.append(at)
            at += patch.size
        return out


@dataclass(frozen=True)
class FoamField:
    """`inner` and the values in `patches` are arrays, or a tuple: one value for all."""

    name: str
    class_name: str
    dims: str
    inner: Array
    patches: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    more: str = ""


def header(style: Style, class_name: str, name: str, note: str = "", binary: bool = True) -> bytes:
    said = "binary" if style.binary and binary else "ascii"
    arch = f'    arch        "LSB;label={style.label};scalar={style.scalar}";\n'
    arch = arch if style.arch else ""
    noted = f'    note        "{note}";\n' if note else ""
    return (
        "/*------*- C++ -*------*\\\n  written by a test\n\\*------*/\nFoamFile\n{\n"
        f"    version     2.0;\n    format      {said};\n{arch}{noted}"
        f"    class       {class_name};\n    object      {name};\n}}\n// * * * //\n\n"
    ).encode()


def save(path: Path, data: bytes, style: Style) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if style.packed:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(data, 1))
    else:
        path.write_bytes(data)


def number(x: Any) -> str:
    return repr(float(x)) if isinstance(x, float | np.floating) else str(int(x))


def value(x: Any) -> str:
    x = np.asarray(x)
    return number(x[()]) if x.ndim == 0 else f"({' '.join(number(y) for y in x)})"


def rows(x: Array, style: Style, dtype: np.dtype[Any]) -> bytes:
    """A list with its count: labels, scalars or rows of several numbers."""
    x = np.asarray(x)
    if style.binary:
        if len(x) == 0:
            return b"0"
        return f"{len(x)}\n(".encode() + np.ascontiguousarray(x, dtype).tobytes() + b")"
    shown = x.astype(dtype) if dtype.kind == "f" else x
    return f"{len(x)}\n(\n".encode() + "".join(f"{value(v)}\n" for v in shown).encode() + b")"


def faces_text(faces: Sequence[Sequence[int]], style: Style) -> tuple[str, bytes]:
    """Class and content of a file of faces."""
    if style.binary and style.compact:
        ends = np.cumsum([0, *map(len, faces)])
        flat = np.array([p for face in faces for p in face])
        content = rows(ends, style, style.ints) + b"\n" + rows(flat, style, style.ints)
        return "faceCompactList", content
    if style.binary:
        each = b"\n".join(rows(face, style, style.ints) for face in faces)
        return "faceList", f"{len(faces)}\n(\n".encode() + each + b"\n)"
    each = "\n".join(f"{len(f)}({' '.join(map(str, f))})" for f in faces).encode()
    return "faceList", f"{len(faces)}\n(\n".encode() + each + b"\n)"


def write_mesh(folder: Path, mesh: FoamMesh, style: Style, points: bool = True) -> None:
    """A polyMesh folder."""
    n_cells = max([*mesh.owner, *mesh.neighbour], default=-1) + 1
    note = (
        f"nPoints:{len(mesh.points)}  nCells:{n_cells}  nFaces:{len(mesh.faces)}  "
        f"nInternalFaces:{len(mesh.neighbour)}"
    )
    if points:
        write_points(folder, mesh.points, style)
    class_name, content = faces_text(mesh.faces, style)
    save(folder / "faces", header(style, class_name, "faces") + content + b"\n", style)
    neighbour = list(mesh.neighbour)
    if style.minus_ones:
        neighbour += [-1] * (len(mesh.faces) - len(neighbour))
    for name, labels in (("owner", mesh.owner), ("neighbour", neighbour)):
        content = rows(labels, style, style.ints)
        save(folder / name, header(style, "labelList", name, note) + content + b"\n", style)
    lines = []
    for patch, start in zip(mesh.patches, mesh.starts(), strict=True):
        said = "".join(f"        {k} {v};\n" for k, v in patch.settings.items())
        lines.append(
            f"    {patch.name}\n    {{\n{said}        nFaces {patch.size};\n"
            f"        startFace {start};\n    }}\n"
        )
    text = f"{len(mesh.patches)}\n(\n{''.join(lines)})\n".encode()
    save(
        folder / "boundary", header(style, "polyBoundaryMesh", "boundary", "", False) + text, style
    )
    write_zones(folder, mesh.zones, style)


def write_points(folder: Path, points: Array, style: Style) -> None:
    content = rows(points, style, style.floats)
    save(folder / "points", header(style, "vectorField", "points") + content + b"\n", style)


def write_zones(folder: Path, zones: Sequence[FoamZone], style: Style) -> None:
    for entity in ("cell", "face", "point"):
        mine = [z for z in zones if z.kind == f"{entity}Zone"]
        parts = [f"{len(mine)}\n(\n".encode()]
        for zone in mine:
            labels = b"List<label> " + rows(zone.ids, style, style.ints)
            parts.append(f"{zone.name}\n{{\n type {zone.kind};\n {entity}Labels ".encode() + labels)
            if zone.flip is not None:
                bits = np.array(zone.flip, np.uint8)
                parts.append(b";\n flipMap List<bool> " + rows(bits, style, np.dtype(np.uint8)))
            parts.append(b";\n}\n")
        if mine:
            name = f"{entity}Zones"
            save(
                folder / name, header(style, "regIOobject", name) + b"".join(parts) + b")\n", style
            )
        for zone in zones:
            if zone.kind == f"{entity}Set":
                content = header(style, zone.kind, zone.name) + rows(zone.ids, style, style.ints)
                save(folder / "sets" / zone.name, content + b"\n", style)


def field_bytes(one: FoamField, style: Style) -> bytes:
    out = [header(style, one.class_name, one.name)]
    key = "value" if "::" in one.class_name else "internalField"
    out.append(f"dimensions {one.dims};\n{one.more}\n{key} ".encode() + given(one.inner, style))
    out.append(b";\n\nboundaryField\n{\n")
    for name, entries in one.patches.items():
        out.append(f"    {name}\n    {{\n".encode())
        for k, v in entries.items():
            said = v.encode() if isinstance(v, str) else given(v, style)
            out.append(f"        {k} ".encode() + said + b";\n")
        out.append(b"    }\n")
    out.append(b"}\n")
    return b"".join(out)


def given(x: Any, style: Style) -> bytes:
    """uniform or nonuniform."""
    if isinstance(x, tuple):
        row = np.asarray(x, style.floats)
        return f"uniform {value(row[0] if len(row) == 1 else row)}".encode()
    x = np.asarray(x)
    kind = KINDS[1 if x.ndim == 1 else x.shape[1]]
    return f"nonuniform List<{kind}> ".encode() + rows(x, style, style.floats)


def write_field(folder: Path, one: FoamField, style: Style) -> None:
    save(folder / one.name, field_bytes(one, style), style)


def write_case(
    folder: Path,
    mesh: FoamMesh,
    times: Mapping[str, Sequence[FoamField]],
    style: Style,
    *,
    moved: Mapping[str, Array] | None = None,
    region: str = "",
) -> Path:
    """A case: constant/polyMesh, times with fields, points of times where the mesh moves."""
    write_mesh(folder / "constant" / region / "polyMesh", mesh, style)
    for time, fields in times.items():
        for one in fields:
            write_field(folder / time / region, one, style)
    for time, points in (moved or {}).items():
        write_points(folder / time / region / "polyMesh", points, style)
    dictionary(
        folder / "system" / "controlDict", "application pimpleFoam;\ndeltaT 0.5;\nendTime 1;"
    )
    dictionary(folder / "constant" / "transportProperties", "transportModel Newtonian;\nnu 1e-05;")
    return folder


def dictionary(path: Path, text: str, class_name: str = "dictionary") -> None:
    save(path, header(Style(), class_name, path.name) + text.encode() + b"\n", Style())


# --- decomposing ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A processor's mesh and where its cells, faces (id + 1, signed), points, patches come from."""

    mesh: FoamMesh
    cells: list[int]
    faces: list[int]
    points: list[int]
    patches: list[int]


def decompose(mesh: FoamMesh, processor: Sequence[int]) -> list[Piece]:
    """As decomposePar: the owner's side of a cut face keeps its direction, the other turns it."""
    return [_piece(mesh, list(processor), rank) for rank in range(max(processor) + 1)]


def _piece(mesh: FoamMesh, processor: list[int], rank: int) -> Piece:
    cells = [c for c, p in enumerate(processor) if p == rank]
    local = {c: i for i, c in enumerate(cells)}
    n_inner = len(mesh.neighbour)
    inner: list[int] = []
    cut: dict[int, list[int]] = {}
    for f in range(n_inner):
        a, b = processor[mesh.owner[f]], processor[mesh.neighbour[f]]
        if a == b == rank:
            inner.append(f + 1)
        elif rank in (a, b):
            cut.setdefault(b if a == rank else a, []).append(f + 1 if a == rank else -f - 1)
    faces = list(inner)
    patches, numbers = [], []
    for number_, (patch, start) in enumerate(zip(mesh.patches, mesh.starts(), strict=True)):
        mine = [f + 1 for f in range(start, start + patch.size) if mesh.owner[f] in local]
        faces += mine
        patches.append(replace(patch, size=len(mine)))
        numbers.append(number_)
    for other, mine in sorted(cut.items()):
        faces += mine
        settings = {
            "type": "processor", "inGroups": "1(processor)", "matchTolerance": "0.0001",
            "myProcNo": str(rank), "neighbProcNo": str(other),
        }  # fmt: skip
        patches.append(FoamPatch(f"procBoundary{rank}to{other}", len(mine), settings))
        numbers.append(-1)
    rings = [mesh.faces[f - 1] if f > 0 else _turned(mesh.faces[-f - 1]) for f in faces]
    points = sorted({p for ring in rings for p in ring})
    new = {p: i for i, p in enumerate(points)}
    owner = [local[mesh.owner[f - 1] if f > 0 else mesh.neighbour[-f - 1]] for f in faces]
    neighbour = [local[mesh.neighbour[f - 1]] for f in inner]
    at = {abs(f) - 1: i for i, f in enumerate(faces)}
    zones = []
    for zone in mesh.zones:
        where = {"cell": local, "face": at, "point": new}[
            zone.kind.removesuffix("Zone").removesuffix("Set")
        ]
        kept = [i for i, x in enumerate(zone.ids) if x in where]
        ids = [where[zone.ids[i]] for i in kept]
        flip = None
        if zone.flip is not None:
            flip = [bool(zone.flip[i]) ^ (faces[where[zone.ids[i]]] < 0) for i in kept]
        zones.append(replace(zone, ids=ids, flip=flip))
    part = FoamMesh(
        np.asarray(mesh.points)[points],
        [[new[p] for p in ring] for ring in rings],
        owner, neighbour, patches, zones,
    )  # fmt: skip
    return Piece(part, cells, faces, points, numbers)


def _turned(ring: Sequence[int]) -> list[int]:
    return [ring[0], *reversed(ring[1:])]


def field_of(piece: Piece, mesh: FoamMesh, one: FoamField) -> FoamField:
    """A processor's part of a field; scalar surface fields are fluxes and change sign."""
    home = one.class_name[:3]
    uniform = isinstance(one.inner, tuple)
    ids = np.abs(np.asarray(piece.faces, int)) - 1  # a processor may have no cells
    patches: dict[str, Mapping[str, Any]] = {}
    inner = one.inner
    if home == "vol":
        inner = one.inner if uniform else np.asarray(one.inner)[np.asarray(piece.cells, int)]
    elif home == "poi":
        inner = one.inner if uniform else np.asarray(one.inner)[np.asarray(piece.points, int)]
    sign = np.sign(piece.faces) if one.class_name == "surfaceScalarField" else np.ones(len(ids))
    if home == "sur" and not uniform:
        inner = np.asarray(one.inner)[ids[: len(piece.mesh.neighbour)]]
    for patch, start, whole in zip(
        piece.mesh.patches, piece.mesh.starts(), piece.patches, strict=True
    ):
        rows_ = slice(start, start + patch.size)
        if whole < 0:
            if home == "sur":
                full = _filled(one.inner, len(mesh.neighbour))[ids[rows_]]
                shape = (-1, *[1] * (full.ndim - 1))
                patches[patch.name] = {
                    "type": "processor",
                    "value": full * sign[rows_].reshape(shape),
                }
            elif home == "vol":
                full = _filled(one.inner, len(mesh.neighbour))
                beyond = [
                    mesh.neighbour[f - 1] if f > 0 else mesh.owner[-f - 1]
                    for f in piece.faces[rows_]
                ]
                patches[patch.name] = {"type": "processor", "value": full[beyond]}
            else:
                patches[patch.name] = {"type": "processor"}
            continue
        first = mesh.starts()[whole]
        said = {}
        for k, v in one.patches.get(patch.name, {}).items():
            if isinstance(v, str | tuple):
                said[k] = v
            else:
                said[k] = np.asarray(v)[ids[rows_] - first]
        if one.patches.get(patch.name):
            patches[patch.name] = said
    return replace(one, inner=inner, patches=patches)


def _filled(x: Any, n: int) -> Array:
    if isinstance(x, tuple):
        return np.tile(np.array(x if len(x) > 1 else x[0], float), (10_000, *[1] * (len(x) > 1)))
    return np.asarray(x)


def write_decomposed(
    folder: Path,
    mesh: FoamMesh,
    times: Mapping[str, Sequence[FoamField]],
    processor: Sequence[int],
    style: Style,
    *,
    moved: Mapping[str, Array] | None = None,
    collated: bool = False,
) -> Path:
    """processorN, or the same collated into processors<N>."""
    pieces = decompose(mesh, processor)
    for rank, piece in enumerate(pieces):
        home = folder / f"processor{rank}"
        parts = {t: [field_of(piece, mesh, one) for one in fields] for t, fields in times.items()}
        write_case(
            home, piece.mesh, parts, style,
            moved={t: np.asarray(p)[piece.points] for t, p in (moved or {}).items()},
        )  # fmt: skip
        for name, labels in (
            ("cell", piece.cells), ("face", piece.faces), ("point", piece.points),
            ("boundary", piece.patches),
        ):  # fmt: skip
            what = f"{name}ProcAddressing"
            content = header(style, "labelList", what) + rows(labels, style, style.ints) + b"\n"
            save(home / "constant" / "polyMesh" / what, content, style)
    for file in ("system/controlDict", "constant/transportProperties"):
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / "processor0" / file).rename(target)
        for rank in range(1, len(pieces)):
            (folder / f"processor{rank}" / file).unlink()
    if collated:
        _collate(folder, len(pieces), style)
    return folder


def _collate(folder: Path, count: int, style: Style) -> None:
    first = folder / "processor0"
    names: set[Path] = set()
    for rank in range(count):
        below = folder / f"processor{rank}"
        names |= {p.relative_to(below) for p in below.rglob("*") if p.is_file()}
    for name in sorted(names):
        blocks = []
        for rank in range(count):
            path = folder / f"processor{rank}" / name
            data = path.read_bytes() if path.exists() else b""
            data = gzip.decompress(data) if style.packed and data else data
            if rank and b"FoamFile" in data:  # only the first block has a head
                data = data[data.index(b"// * * * //") + len(b"// * * * //") :]
            blocks.append(data)
        out = [header(Style(binary=True), "decomposedBlockData", name.name)]
        for rank, data in enumerate(blocks):
            out.append(f"\n// Processor{rank}\n{len(data)}\n(".encode() + data + b")\n")
        plain = name.with_name(name.name.removesuffix(".gz"))
        save(folder / f"processors{count}" / plain, b"".join(out), style)
    assert first.is_dir()
    for rank in range(count):
        shutil.rmtree(folder / f"processor{rank}")


def foam_of(mesh: Mesh, patches: Mapping[str, Sequence[int]] | None = None) -> FoamMesh:
    """Any mesh of solids as faces in OpenFOAM's order; the boundary in one patch, or by faces."""
    table = ops.faces(mesh)
    ends = table.offsets.tolist()
    rings = [table.connectivity[a:b].tolist() for a, b in itertools.pairwise(ends)]
    owner, neighbour = table.owner.tolist(), table.neighbour.tolist()
    inner = sorted(
        (f for f, n in enumerate(neighbour) if n >= 0), key=lambda f: (owner[f], neighbour[f])
    )
    outer = [f for f, n in enumerate(neighbour) if n < 0]
    groups = patches or {"walls": outer}
    order = [*inner, *(f for faces in groups.values() for f in faces)]
    return FoamMesh(
        mesh.points.numpy(),
        [rings[f] for f in order],
        [owner[f] for f in order],
        [neighbour[f] for f in inner],
        [FoamPatch(name, len(faces), {"type": "wall"}) for name, faces in groups.items()],
    )
