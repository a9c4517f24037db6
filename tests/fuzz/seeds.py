"""Small sound files of every format, which the fuzz suite damages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meshkit import Mesh, MeshInfo, MeshSeries, Region, write
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
    """One of each encoding, of bodies that have the arrays of seams and ghosts."""
    from tests.readers.vtk_saving import saved

    surfaces = suffix == ".pvtp"
    kind, made = (
        ("PPolyData", [_poly]) if surfaces else ("PUnstructuredGrid", [_marked, _polyhedra])
    )
    for i, make in enumerate(made):
        for encoding in ("ascii", "raw", "inline zlib"):
            names = []
            for k in range(2):
                name = f"{i}_{encoding.replace(' ', '_')}_{k}{suffix.replace('p', '', 1)}"
                saved(make(), folder / name, encoding)
                names.append(name)
            path = folder / f"{i}_{encoding.replace(' ', '_')}{suffix}"
            path.write_text(
                f'<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian">'
                f'<{kind} GhostLevel="0"><PPointData><PDataArray type="Float64" Name="p"/>'
                "</PPointData>"
                + "".join(f'<Piece Source="{name}"/>' for name in names)
                + f"</{kind}></VTKFile>"
            )
            yield path


def _marked() -> Any:
    """With marks of ghosts and ids that tell which points are one."""
    from meshkit.readers.vtk import VtkArray
    from tests.readers.vtk_saving import column, plain_vtk

    mesh = cube_hexes(2)
    ids = VtkArray(np.arange(mesh.n_points).reshape(-1, 1), "global_ids")
    ghosts = column(*[0, 1] * 4, dtype="u1")
    return plain_vtk(mesh, point={"ids": ids}, cell={"vtkGhostType": ghosts})


def _blocks(folder: Path, suffix: str) -> Seeds:
    halves = [Region("a b", "cell", torch.arange(4)), Region("c", "cell", torch.arange(4, 8))]
    two = rich(cube_hexes(2)).replace(regions=halves)
    yield from written(folder, suffix, one=rich(one_of_each()), two=two)
    from vtkmodules.vtkIOXML import vtkXMLMultiBlockDataWriter

    top = _composite()
    top.SetBlock(2, _grid("vtkImageData"))
    path = folder / f"vtk{suffix}"
    writer = vtkXMLMultiBlockDataWriter()
    writer.SetFileName(str(path))
    writer.SetInputData(top)
    writer.Write()
    yield path


def _timed(*meshes: Mesh) -> MeshSeries:
    return MeshSeries.of([m.replace(info=MeshInfo(time=k / 2)) for k, m in enumerate(meshes)])


def _moving() -> MeshSeries:
    """Points and fields that change, on cells that stay; a field that comes late."""
    meshes = [rich(one_of_each())] * 3
    meshes[1] = meshes[1].replace(points=meshes[1].points * 2)
    meshes[2] = meshes[2].with_data(point={"late": torch.ones(meshes[2].n_points)})
    return _timed(*meshes)


def _changing() -> MeshSeries:
    return _timed(rich(cube_hexes(1)), rich(hanging_polyhedron()), rich(one_of_each()))


def _collection(folder: Path, suffix: str) -> Seeds:
    for name, series in {"moving": _moving(), "changing": _changing()}.items():
        path = folder / f"{name}{suffix}"
        write(series, path, allow_loss=True)
        yield path
    path = folder / f"parts{suffix}"
    rows = [(t, part, name) for t in (0, 0.5) for part, name in enumerate(("moving", "changing"))]
    path.write_text(
        '<VTKFile type="Collection" version="0.1"><Collection>'
        + "".join(
            f'<DataSet timestep="{t}" group="g" part="{k}" file="{name}/{name}_0000.vtu"/>'
            for t, k, name in rows
        )
        + "</Collection></VTKFile>"
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


def _file_series(folder: Path, suffix: str) -> Seeds:
    files = [*written(folder, ".vtu", a=rich(one_of_each()))]
    files += written(folder, ".vtm", b=rich(cube_hexes(2)))
    rows = [{"name": file.name, "time": k / 2} for k, file in enumerate(files)]
    path = folder / f"a.vtu{suffix}"
    path.write_text(json.dumps({"file-series-version": "1.0", "files": rows}))
    yield path


def _vtkhdf(folder: Path, suffix: str) -> Seeds:
    from tests.readers.vtkhdf_saving import foreign, parts_of, saved, saved_series

    yield from written(folder, suffix, ours=rich(one_of_each()), solids=rich(hanging_polyhedron()))
    for name, series in {"moving": _moving(), "changing": _changing()}.items():
        write(series, folder / f"{name}{suffix}", allow_loss=True)
        yield folder / f"{name}{suffix}"
    yield foreign(folder / f"old{suffix}")
    more: dict[str, Any] = {"compression": "gzip", "shuffle": True, "fletcher32": True}
    yield foreign(folder / f"packed{suffix}", libver="latest", **more)
    two = cube_hexes(2)
    ghosts = np.array([0, 1] * 4, "u1")
    yield parts_of(folder / f"parts{suffix}", [two] * 2, CellData__vtkGhostType=[ghosts] * 2)
    lattices = ("vtkImageData", "vtkRectilinearGrid", "vtkStructuredGrid")
    makers: list[Callable[[], Any]] = [_unstructured, _polyhedra, _poly]
    makers += [partial(_grid, name) for name in lattices]
    for i, make in enumerate(makers):
        yield saved(make(), folder / f"vtk_{i}{suffix}", CompressionLevel=4 * (i % 2))
        if i < len(makers) - 1:  # vtk writes no structured grids over time
            yield saved_series(lambda k: make(), [0.0, 1.0], folder / f"times_{i}{suffix}")  # noqa: B023
    yield saved(_composite(), folder / f"blocks{suffix}")


def _composite() -> Any:
    from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet

    top, inner = vtkMultiBlockDataSet(), vtkMultiBlockDataSet()
    inner.SetBlock(0, _polyhedra())
    inner.SetBlock(1, _poly())
    for i, block in enumerate((_unstructured(), inner)):
        top.SetBlock(i, block)
    return top


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


_MSH_2 = (
    '$PhysicalNames\n2\n2 1 "wall"\n3 2 "fluid"\n$EndPhysicalNames\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n'
    "3 0 1 0\n4 0 0 1\n9 1 1 1\n$EndNodes\n$Elements\n4\n1 2 2 1 7 1 2 3\n2 4 4 2 8 1 1 1 2 3 4\n"
    "3 4 2 2 8 2 3 4 9\n4 15 2 0 3 9\n$EndElements\n$Periodic\n1\n0 1 2\n1\n1 2\n$EndPeriodic\n"
    '$NodeData\n1\n"T"\n1\n0.5\n3\n0\n1\n2\n1 0.5\n9 nan\n$EndNodeData\n'
    '$ElementNodeData\n1\n"c"\n1\n1.5\n3\n0\n1\n1\n2 4 1 2 3 4\n$EndElementNodeData\n'
)


def _msh(folder: Path, suffix: str) -> Seeds:
    """Version 4.1 in bytes and in text, version 2.2 in text and in bytes."""
    from tests.readers.gmsh.saving import version_2_bytes, version_4_text

    mesh = rich(one_of_each())
    yield from written(folder, suffix, ours=mesh)
    text = folder / f"text{suffix}"
    text.write_text(version_4_text(cube_hexes(1), parts=True))
    yield text
    two = folder / f"two{suffix}"
    two.write_text(f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n{_MSH_2}")
    yield two
    two = folder / f"two_bytes{suffix}"
    two.write_bytes(version_2_bytes(one_of_each()))
    yield two


def _zarr(folder: Path, suffix: str) -> Seeds:
    """Meshes, and a series whose points move and whose topology changes once."""
    yield from written(folder, suffix, ours=rich(one_of_each()), solids=rich(hanging_polyhedron()))
    meshes = [rich(cube_hexes(1 + i // 2)) for i in range(4)]
    series = MeshSeries.of(
        [
            mesh.replace(points=mesh.points + i, info=mesh.info.replace(time=float(i)))
            for i, mesh in enumerate(meshes)
        ]
    )
    path = folder / f"series{suffix}"
    write(series, path)
    yield path


def _foam(folder: Path, suffix: str) -> Seeds:
    """Cases in text, bytes and gzip, decomposed, collated and of two regions."""
    from tests.readers.openfoam.case_writer import Style, write_case, write_decomposed
    from tests.readers.openfoam.example_mesh import example, fields

    mesh = example()
    times = {"0": fields(mesh, 1)[:4]}
    ranks = [cell % 2 for cell in range(max(mesh.owner) + 1)]
    text, binary = Style(), Style(binary=True)
    write_case(folder / "text", mesh, times, text)
    write_case(folder / "bytes", mesh, times, Style(binary=True, label=64, minus_ones=True))
    write_case(folder / "plain", mesh, times, Style(binary=True, scalar=32, compact=False))
    write_case(folder / "packed", mesh, times, Style(packed=True))
    write_decomposed(folder / "ranks", mesh, times, ranks, text)
    write_decomposed(folder / "collated", mesh, times, ranks, binary, collated=True)
    for region in ("air", "wall"):
        write_case(folder / "regions", mesh, times, text, region=region)
    for case in sorted(folder.iterdir()):
        (case / f"case{suffix}").touch()
        yield case / f"case{suffix}"


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
    ".vtm": _blocks,
    ".pvd": _collection,
    ".series": _file_series,
    ".vtkhdf": _vtkhdf,
    ".vtk": _legacy,
    ".ply": _ply,
    ".stl": _stl,
    ".obj": _obj,
    ".off": _off,
    ".glb": _gltf,
    ".msh": _msh,
    ".zarr": _zarr,
    ".foam": _foam,
    ".npz": lambda folder, suffix: written(
        folder,
        suffix,
        ours=rich(one_of_each()),
        solids=rich(hanging_polyhedron()),
    ),
}
"""By suffix, what makes the small files of a format in a folder."""
