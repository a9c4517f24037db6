"""Reading an OpenFOAM case of polyhedra, in bytes and as text, beside VTK's own reader.

"the bytes alone" reads the same files and makes nothing of them: what memory and disk allow.
Peaks are those of a process that did a small case before, above what it then held. Polyhedra's own
lists of faces are made on first use, which is a row of its own.

foamlib is left out: its licence is the GPL, and what it reads of a mesh are arrays, no cells.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apart import Cost, apart
from benchmarks.timing import Comparison

Array = np.ndarray[Any, np.dtype[Any]]

_VTK = """
reader = pyvista.OpenFOAMReader({path!r})
reader.cell_to_point_creation = False
"""
_PLACES = """
from pathlib import Path
from meshkit.readers.openfoam.folder import Folder
from meshkit.readers.openfoam.poly_mesh import Places, read_points
"""
_POINTS = "read_points(Places(Folder(Path({path!r}), Path({path!r})), ('',)))"


def comparisons(n: int) -> Iterator[Comparison]:
    """About 6 n^3 truncated octahedra with p, U and phi; then a list of vectors as text."""
    import pyvista

    import meshkit as mk
    from meshkit.derived_polyhedra import DerivedPolyhedra
    from meshkit.operators.adjacency.polyhedra_of_faces import rings_of_cells

    side = round((3 * n**3) ** (1 / 3))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        size = write_octahedra(folder, side)
        path = str(folder / "case.foam")
        ours = f"import meshkit as mk; mk.Mesh\nmk.read({_small(folder)!r})"
        said = _said(
            size,
            apart(
                {
                    "meshkit": (ours, f"mesh = mk.read({path!r})"),
                    "vtk": ("import pyvista" + _VTK.format(path=path), "mesh = reader.read()"),
                }
            ),
        )

        def by_vtk() -> object:
            names = {"pyvista": pyvista}
            exec(_VTK.format(path=path), names)
            return names["reader"].read()  # type: ignore[attr-defined]

        yield Comparison(
            f"read {2 * side**3} polyhedra in bytes (apart: {said})",
            size,
            {"meshkit": lambda: mk.read(path), "vtk": by_vtk, "the bytes alone": _bytes_of(folder)},
            time.process_time,
        )
        solids = mk.read(path).cells.polyhedra
        if not isinstance(solids, DerivedPolyhedra):
            raise TypeError(f"the case has {solids!r}")
        basis = solids.basis
        yield Comparison(
            f"their own lists of faces ({solids.connectivity.numel()} points), on first use",
            4 * (basis[1].numel() + solids.connectivity.numel()),
            {"meshkit": lambda: rings_of_cells(*basis)},
            time.process_time,
        )
        text = folder / "text"
        size = _write_text(text, 300 * n**2)
        points = _POINTS.format(path=str(text))
        said = _said(size, apart({"meshkit": (ours + _PLACES, points)}))
        yield Comparison(
            f"read {size / 1e6:.0f} MB of points as text (apart: {said})",
            size,
            {"meshkit": lambda: exec(_PLACES + points, {}), "the bytes alone": _bytes_of(text)},
            time.process_time,
        )


def _said(size: int, costs: Mapping[str, Cost | None]) -> str:
    """Seconds, bytes of files a second, and peak memory beside the bytes of the files."""
    return ", ".join(
        f"{name} {cost.cpu:.2f} CPU s ({size / cost.cpu / 1e6:.0f} MB/s), peak "
        f"{cost.peak / 1e6:.0f} MB ({cost.peak / size:.2f} x the files)"
        for name, cost in costs.items()
        if cost is not None
    )


def _bytes_of(folder: Path) -> Callable[[], int]:
    files = [p for p in folder.rglob("*") if p.is_file() and "small" not in p.parts]
    return lambda: sum(len(p.read_bytes()) for p in files)


def _small(folder: Path) -> str:
    """A case that compiles the kernels."""
    write_octahedra(folder / "small", 2)
    return str(folder / "small")


def _write_text(folder: Path, count: int) -> int:
    folder.mkdir()
    points = np.random.default_rng(0).random((count, 3))
    body = "\n".join(f"({x:.9g} {y:.9g} {z:.9g})" for x, y, z in points)
    path = folder / "points"
    path.write_text(f"{_head('vectorField', 'points', 'ascii')}{count}\n(\n{body}\n)\n")
    return path.stat().st_size


# --- the case -------------------------------------------------------------------------------------


def _head(class_name: str, name: str, form: str = "binary") -> str:
    return (
        f'FoamFile\n{{\n version 2.0;\n format {form};\n arch "LSB;label=32;scalar=64";\n'
        f" class {class_name};\n object {name};\n}}\n\n"
    )


def _list(values: Array) -> bytes:
    return f"{len(values)}\n(".encode() + np.ascontiguousarray(values).tobytes() + b")"


def _save(path: Path, class_name: str, *parts: bytes, form: str = "binary") -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = _head(class_name, path.name, form).encode()
    path.write_bytes(head + b"\n".join(parts) + b"\n")
    return path.stat().st_size


def octahedra(side: int) -> dict[str, Array]:
    """2 side^3 truncated octahedra that fill space: 14 faces each, squares and hexagons.

    Points, offsets, rings, owner, neighbour; faces between two cells first, by owner and neighbour.
    """
    corner = np.arange(side)
    at = np.stack(np.meshgrid(corner, corner, corner, indexing="ij"), -1).reshape(-1, 3)
    centres = np.concatenate([4 * at, 4 * at + 2])

    def number(where: Array) -> Array:
        """The cell whose centre this is; -1 beyond the edge."""
        odd = ((where[:, 0] % 4) == 2).astype(int)
        cell = (where - 2 * odd[:, None]) // 4
        inside = ((cell >= 0) & (cell < side)).all(1)
        flat = (cell[:, 0] * side + cell[:, 1]) * side + cell[:, 2] + odd * side**3
        return np.where(inside, flat, -1)

    cells = np.arange(len(centres))
    owners, others, rings, sizes = [], [], [], []
    for ring in _template():
        middle = ring.mean(0)
        step = np.rint(middle / np.abs(middle).max() * (2 if len(ring) == 6 else 4)).astype(int)
        other = number(centres + step)
        mine = (other < 0) | (other > cells)
        owners.append(cells[mine])
        others.append(other[mine])
        corners = centres[mine][:, None, :] + ring[None]
        width = 4 * side + 8
        x, y, z = (corners[..., i] + 2 for i in range(3))
        rings.append((x * width + y) * width + z)
        sizes.append(np.full(int(mine.sum()), len(ring)))
    owner, neighbour = np.concatenate(owners), np.concatenate(others)
    size = np.concatenate(sizes)
    flat = np.concatenate([r.reshape(-1) for r in rings])
    keys, names = np.unique(flat, return_inverse=True)
    points = np.stack([keys // width**2, keys // width % width, keys % width], 1) - 2
    order = np.lexsort((neighbour, owner, neighbour < 0))
    starts = np.concatenate([[0], np.cumsum(size)])
    offsets = np.concatenate([[0], np.cumsum(size[order])])
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], size[order])
    ring_ids = names[np.repeat(starts[:-1][order], size[order]) + place]
    return {
        "points": points.astype(np.float64),
        "offsets": offsets.astype(np.int32),
        "rings": ring_ids.astype(np.int32),
        "owner": owner[order].astype(np.int32),
        "neighbour": neighbour[order].astype(np.int32),
    }


def _template() -> list[Array]:
    """The 14 faces of a truncated octahedron around 0, seen from outside."""
    corners = np.array(
        [p for p in itertools.product(range(-2, 3), repeat=3) if sorted(map(abs, p)) == [0, 1, 2]]
    )
    normals = [s * np.eye(3, dtype=int)[i] for i in range(3) for s in (-1, 1)]
    normals += [np.array(s) for s in itertools.product((-1, 1), repeat=3)]
    out = []
    for normal in normals:
        reach = corners @ normal
        face = corners[reach == reach.max()]
        u = face[0] - face.mean(0)
        v = np.cross(normal, u)
        spread = face - face.mean(0)
        angle = np.arctan2(spread @ v / np.linalg.norm(v), spread @ u / np.linalg.norm(u))
        out.append(face[np.argsort(angle)])
    return out


def write_octahedra(folder: Path, side: int) -> int:
    """The case in binary, 32-bit labels; the bytes of its files."""
    mesh = octahedra(side)
    inner = int((mesh["neighbour"] >= 0).sum())
    n_faces, n_cells = len(mesh["owner"]), 2 * side**3
    poly = folder / "constant" / "polyMesh"
    rng = np.random.default_rng(0)
    size = _save(poly / "points", "vectorField", _list(mesh["points"]))
    size += _save(poly / "faces", "faceCompactList", _list(mesh["offsets"]), _list(mesh["rings"]))
    size += _save(poly / "owner", "labelList", _list(mesh["owner"]))
    size += _save(poly / "neighbour", "labelList", _list(mesh["neighbour"][:inner]))
    patch = f"1\n(\nwalls {{ type wall; nFaces {n_faces - inner}; startFace {inner}; }}\n)"
    _save(poly / "boundary", "polyBoundaryMesh", patch.encode(), form="ascii")
    for name, kind, width, count in (
        ("p", "volScalarField", 1, n_cells),
        ("U", "volVectorField", 3, n_cells),
        ("phi", "surfaceScalarField", 1, inner),
    ):
        of = "vector" if width == 3 else "scalar"
        zero = "(0 0 0)" if width == 3 else "0"
        values = _list(rng.standard_normal((count, width)))
        size += _save(
            folder / "0" / name,
            kind,
            f"dimensions [0 0 0 0 0 0 0];\ninternalField nonuniform List<{of}> ".encode() + values,
            f"; boundaryField {{ walls {{ type fixedValue; value uniform {zero}; }} }}".encode(),
        )
    control = b"application none; startTime 0; endTime 0; deltaT 1; writeInterval 1;"
    _save(folder / "system" / "controlDict", "dictionary", control, form="ascii")
    (folder / "case.foam").touch()
    return size
