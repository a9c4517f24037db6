"""Small sound files of every format, which the fuzz suite damages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meshkit import Mesh, Region, write
from tests.meshes import cube_hexes, cube_surface, hanging_polyhedron, one_of_each

Seeds = Iterator[Path]
Maker = Callable[[Path, str], Seeds]


def rich(mesh: Mesh) -> Mesh:
    """With fields of several kinds, texts and regions."""
    n, m = mesh.n_points, mesh.n_cells
    mesh = mesh.with_data(
        point={"T": torch.arange(n) / 7, "U": torch.arange(3.0 * n).reshape(n, 3)},
        cell={"p": torch.arange(float(m)), "name": [f"part {i % 2}" for i in range(m)]},
    )
    return mesh.replace(
        regions=[Region("fluid", "cell", torch.arange(m)), Region("tip", "point", [0])]
    )


def written(folder: Path, suffix: str, **meshes: Mesh) -> Seeds:
    """What our own writer makes of some meshes."""
    for name, mesh in meshes.items():
        path = folder / f"{name}{suffix}"
        write(mesh, path, allow_loss=True)
        yield path


def vtk_xml(folder: Path, suffix: str, make: Callable[[], Any], cls: str) -> Seeds:
    """What VTK writes, in each of its encodings."""
    from tests.readers.vtk_saving import ENCODINGS, saved

    for encoding in ENCODINGS:
        yield saved(make(), folder / f"{cls}_{encoding.replace(' ', '_')}{suffix}", encoding)


def _grid(cls: str) -> Any:
    import vtkmodules.vtkCommonDataModel as model
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import vtkPoints

    grid = getattr(model, cls)()
    grid.SetDimensions(3, 3, 2)
    if cls == "vtkRectilinearGrid":
        for axis, n in zip("XYZ", (3, 3, 2), strict=True):
            getattr(grid, f"Set{axis}Coordinates")(numpy_to_vtk(np.arange(n) * 1.5, deep=True))
    if cls == "vtkStructuredGrid":
        points = vtkPoints()
        for k in range(2):
            for j in range(3):
                for i in range(3):
                    points.InsertNextPoint(i, j + 0.1 * i, k)
        grid.SetPoints(points)
    values = numpy_to_vtk(np.linspace(0, 1, 18), deep=True)
    values.SetName("p")
    grid.GetPointData().AddArray(values)
    return grid


def _poly() -> Any:
    from vtkmodules.vtkFiltersSources import vtkCubeSource

    source = vtkCubeSource()
    source.Update()
    return source.GetOutput()


def _unstructured() -> Any:
    from tests.readers.vtk_saving import plain_vtk

    return plain_vtk(one_of_each())


def _polyhedra() -> Any:
    from tests.readers.vtk_saving import plain_vtk

    return plain_vtk(hanging_polyhedron())


def _pieces(folder: Path, suffix: str) -> Seeds:
    from tests.readers.vtk_saving import saved

    dataset, kind = (
        (_unstructured(), "PUnstructuredGrid") if suffix == ".pvtu" else (_poly(), "PPolyData")
    )
    names = []
    for i in range(2):
        name = f"piece_{i}{suffix.replace('p', '', 1)}"
        saved(dataset, folder / name, "raw")
        names.append(name)
    path = folder / f"all{suffix}"
    path.write_text(
        f'<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian"><{kind} GhostLevel="0">'
        + "".join(f'<Piece Source="{name}"/>' for name in names)
        + f"</{kind}></VTKFile>"
    )
    yield path


def _obj(folder: Path, suffix: str) -> Seeds:
    path = folder / f"a{suffix}"
    path.write_text(
        "# a square\nmtllib a.mtl\no one\n"
        "v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 1 1 0 0 0 1\nv 0 1 0 1 1 1\n"
        "vt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\ng a b\nusemtl red\ns 1\nf 1/1/1 2/2/1 3/3/1\n"
        "o two\nf -4//1 -2//1 -1//1\nl 1 2 3\np 4\nf 1 2 \\\n 3 4\n"
    )
    yield path


def _off(folder: Path, suffix: str) -> Seeds:
    path = folder / f"a{suffix}"
    path.write_text(
        "COFF\n# a pyramid\n5 5 0\n0 0 0 255 0 0 255\n1 0 0 0 255 0 255\n1 1 0 0 0 255 255\n"
        "0 1 0 9 9 9 255\n.5 .5 1 1 2 3 255\n"
        "4 3 2 1 0\n3 0 1 4 255 0 0\n3 1 2 4\n3 2 3 4\n3 3 0 4\n"
    )
    yield path


def _stl(folder: Path, suffix: str) -> Seeds:
    yield from written(folder, suffix, binary=cube_surface(1).to(dtype=torch.float32))
    yield from written(folder, suffix, text=rich(cube_surface(1)))


def _gltf(folder: Path, suffix: str) -> Seeds:
    import trimesh

    box = trimesh.creation.box()
    box.apply_translation([1, 2, 3])
    scene = trimesh.Scene({"box": box, "ball": trimesh.creation.icosphere(1)})
    path = folder / f"a{suffix}"
    path.write_bytes(scene.export(file_type="glb"))
    yield path


def _legacy(folder: Path, suffix: str) -> Seeds:
    yield from written(folder, suffix, ours=rich(one_of_each()), solids=rich(hanging_polyhedron()))
    from vtkmodules.vtkIOLegacy import vtkDataSetWriter

    image: Callable[[], Any] = lambda: _grid("vtkImageData")  # noqa: E731
    for i, make in enumerate((_unstructured, _polyhedra, _poly, image)):
        for binary in (False, True):
            for version in (42, 51):
                writer = vtkDataSetWriter()
                path = folder / f"vtk_{i}_{binary:d}_{version}{suffix}"
                writer.SetFileName(str(path))
                writer.SetInputData(make())
                writer.SetFileVersion(version)
                writer.SetFileType(2 if binary else 1)
                writer.Write()
                yield path


def _vtkhdf(folder: Path, suffix: str) -> Seeds:
    yield from written(folder, suffix, ours=rich(one_of_each()), solids=rich(hanging_polyhedron()))
    from vtkmodules.vtkIOHDF import vtkHDFWriter

    lattices = ("vtkImageData", "vtkRectilinearGrid", "vtkStructuredGrid")
    made = [_unstructured(), _polyhedra(), _poly(), *map(_grid, lattices)]
    for i, dataset in enumerate(made):
        for level in (0, 4):
            writer = vtkHDFWriter()
            path = folder / f"vtk_{i}_{level}{suffix}"
            writer.SetFileName(str(path))
            writer.SetInputData(dataset)
            writer.SetChunkSize(8)
            writer.SetCompressionLevel(level)
            writer.Write()
            yield path


def _ply(folder: Path, suffix: str) -> Seeds:
    yield from written(folder, suffix, ours=rich(cube_surface(1)))
    path = folder / f"text{suffix}"
    path.write_text(
        "ply\nformat ascii 1.0\ncomment hello\nelement vertex 4\n"
        "property float x\nproperty float y\nproperty float z\n"
        "property uchar red\nproperty uchar green\nproperty uchar blue\n"
        "element face 2\nproperty list uchar int vertex_indices\nelement edge 1\n"
        "property int vertex1\nproperty int vertex2\nend_header\n0 0 0 1 2 3\n1 0 0 1 2 3\n"
        "1 1 0 1 2 3\n0 1 0 1 2 3\n3 0 1 2\n4 0 1 2 3\n0 2\n"
    )
    yield path


def _xml(ours: Callable[[], Mesh] | None, *makers: Callable[[], Any]) -> Maker:
    def seeds(folder: Path, suffix: str) -> Seeds:
        if ours is not None:
            yield from written(folder, suffix, ours=ours())
        for i, make in enumerate(makers):
            yield from vtk_xml(folder, suffix, make, f"vtk{i}")

    return seeds


SEEDS: dict[str, Maker] = {
    ".vtu": _xml(lambda: rich(one_of_each()), _unstructured, _polyhedra),
    ".vtp": _xml(lambda: rich(cube_surface(1)), _poly),
    ".vti": _xml(None, lambda: _grid("vtkImageData")),
    ".vtr": _xml(None, lambda: _grid("vtkRectilinearGrid")),
    ".vts": _xml(None, lambda: _grid("vtkStructuredGrid")),
    ".pvtu": _pieces,
    ".pvtp": _pieces,
    ".vtm": lambda folder, suffix: written(folder, suffix, ours=rich(cube_hexes(2))),
    ".vtkhdf": _vtkhdf,
    ".vtk": _legacy,
    ".ply": _ply,
    ".stl": _stl,
    ".obj": _obj,
    ".off": _off,
    ".glb": _gltf,
    ".npz": lambda folder, suffix: written(
        folder,
        suffix,
        ours=rich(one_of_each()),
        solids=rich(hanging_polyhedron()),
    ),
}
"""By suffix, what makes the small files of a format in a folder."""
