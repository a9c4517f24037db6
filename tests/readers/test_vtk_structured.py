"""VTI, VTR, VTS: lattices written out as cells, in one piece or several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit.errors import ReadError
from meshkit.info import Grid
from meshkit.mesh import Mesh
from meshkit.operators import cell_measures
from meshkit.readers.reading import read
from tests.mesh_differences import differences
from tests.readers.mutations import survives
from tests.readers.vtk_saving import ENCODINGS, by_vtk, saved
from tests.readers.vtk_views import assert_same_as_vtk, seen_by_vtk

DIMS = (3, 4, 2)


def _with_arrays(dataset: Any) -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk

    for name, attributes, n in (
        ("p", dataset.GetPointData(), dataset.GetNumberOfPoints()),
        ("c", dataset.GetCellData(), dataset.GetNumberOfCells()),
    ):
        array = numpy_to_vtk(np.arange(n) + 0.5, deep=1)
        array.SetName(name)
        attributes.SetScalars(array)
    return dataset


def image(dims: tuple[int, ...] = DIMS, first: tuple[int, ...] = (0, 0, 0)) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkImageData

    out = vtkImageData()
    extent = [x for a, d in zip(first, dims, strict=True) for x in (a, a + d - 1)]
    out.SetExtent(*extent)
    out.SetOrigin(1.0, 2.0, 3.0)
    out.SetSpacing(0.5, 1.0, 2.0)
    return _with_arrays(out)


def rectilinear() -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkRectilinearGrid

    out = vtkRectilinearGrid()
    out.SetDimensions(*DIMS)
    for axis, n in zip("XYZ", DIMS, strict=True):
        getattr(out, f"Set{axis}Coordinates")(numpy_to_vtk(np.arange(n) ** 2.0, deep=1))
    return _with_arrays(out)


def structured() -> Any:
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonCore import vtkPoints
    from vtkmodules.vtkCommonDataModel import vtkStructuredGrid

    out = vtkStructuredGrid()
    out.SetDimensions(*DIMS)
    z, y, x = np.meshgrid(*(np.arange(n) * 1.0 for n in reversed(DIMS)), indexing="ij")
    points = vtkPoints()
    bent = np.stack([(x + 0.1 * y * y), y, z], -1).reshape(-1, 3)
    points.SetData(numpy_to_vtk(bent, deep=1))
    out.SetPoints(points)
    return _with_arrays(out)


SETS = {"vti": image, "vtr": rectilinear, "vts": structured}
VOLUMES = {"vti": 6.0, "vtr": 36.0, "vts": 6.0}


@pytest.mark.parametrize("suffix", SETS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_gives_what_vtk_sees(tmp_path: Path, suffix: str, encoding: str) -> None:
    file = saved(SETS[suffix](), tmp_path / f"a.{suffix}", encoding)
    mesh = read(file)
    assert_same_as_vtk(mesh, seen_by_vtk(by_vtk(file)))
    assert mesh.info.report.lossless
    assert mesh.info.grid is not None
    assert mesh.info.grid.dims == DIMS
    assert float(cell_measures(mesh).sum()) == pytest.approx(VOLUMES[suffix])


def in_pieces(suffix: str, path: Path, encoding: str, cuts: list[tuple[int, int]]) -> Path:
    """A file of pieces that reach from a to b along the second axis; the data are inline."""
    from vtkmodules.vtkFiltersExtraction import vtkExtractGrid, vtkExtractRectilinearGrid
    from vtkmodules.vtkImagingCore import vtkExtractVOI

    kinds: dict[str, Any] = {
        "vti": vtkExtractVOI,
        "vtr": vtkExtractRectilinearGrid,
        "vts": vtkExtractGrid,
    }
    made = []
    for a, b in cuts:
        extract = kinds[suffix]()
        extract.SetInputData(SETS[suffix]())
        extract.SetVOI(0, 2, a, b, 0, 1)
        extract.Update()
        part = saved(extract.GetOutput(), path.with_name(f"part.{suffix}"), encoding).read_text()
        made.append(part[part.index("<Piece") : part.index("</Piece>") + 8])
    text = saved(SETS[suffix](), path, encoding).read_text()
    stop = text.index("</Piece>") + 8
    path.write_text(text[: text.index("<Piece")] + "".join(made) + text[stop:])
    return path


@pytest.mark.parametrize("suffix", SETS)
@pytest.mark.parametrize("encoding", ["ascii", "inline zlib"])
def test_pieces_are_put_together(tmp_path: Path, suffix: str, encoding: str) -> None:
    whole = read(saved(SETS[suffix](), tmp_path / f"a.{suffix}", encoding))
    parts = read(in_pieces(suffix, tmp_path / f"b.{suffix}", encoding, [(2, 3), (0, 1), (1, 2)]))
    assert differences(whole, parts) == []
    assert parts.info.report.lossless
    assert not parts.info.report.dropped
    twice = read(in_pieces(suffix, tmp_path / f"c.{suffix}", encoding, [(0, 2), (1, 3)]))
    assert differences(whole, twice) == []
    assert [(e.name, e.count) for e in twice.info.report.dropped] == [("overlap", 2)]


@pytest.mark.parametrize("suffix", SETS)
def test_pieces_that_leave_holes(tmp_path: Path, suffix: str) -> None:
    for cuts in ([(0, 1), (2, 3)], [(0, 2), (0, 2)]):
        file = in_pieces(suffix, tmp_path / f"a.{suffix}", "ascii", cuts)
        with pytest.raises(ReadError, match="its 2 pieces leave holes; expected 6 cells in all"):
            read(file)


def _read_image(tmp_path: Path, dims: tuple[int, ...], first: tuple[int, ...]) -> Mesh:
    return read(saved(image(dims, first), tmp_path / "a.vti"))


@pytest.mark.parametrize(
    ("dims", "cells"),
    [
        ((3, 4, 2), {"voxel": 6}),
        ((3, 4, 1), {"pixel": 6}),
        ((1, 4, 2), {"pixel": 3}),
        ((1, 1, 5), {"line": 4}),
        ((1, 1, 1), {"vertex": 1}),
    ],
)
def test_axes_of_one_point(tmp_path: Path, dims: tuple[int, ...], cells: dict[str, int]) -> None:
    mesh = _read_image(tmp_path, dims, (0, 0, 0))
    assert mesh.cells.counts == cells
    assert_same_as_vtk(mesh, seen_by_vtk(by_vtk(tmp_path / "a.vti")))


def test_an_image_may_begin_elsewhere(tmp_path: Path) -> None:
    mesh = _read_image(tmp_path, DIMS, (2, -1, 4))
    assert mesh.points[0].tolist() == [2.0, 1.0, 11.0]
    assert mesh.info.grid == Grid(
        DIMS, (2.0, 1.0, 11.0), (0.5, 1.0, 2.0), (1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0)
    )


def test_an_image_may_be_turned(tmp_path: Path) -> None:
    dataset = image(DIMS, (1, 0, 0))
    dataset.SetDirectionMatrix(0, -1, 0, 1, 0, 0, 0, 0, 1)
    file = saved(dataset, tmp_path / "a.vti")
    mesh = read(file)
    assert_same_as_vtk(mesh, seen_by_vtk(by_vtk(file)))
    assert mesh.points[0].tolist() == [1.0, 2.5, 3.0]
    assert mesh.info.grid is not None
    assert mesh.info.grid.origin == (1.0, 2.5, 3.0)
    assert mesh.info.grid.direction == (0, -1, 0, 1, 0, 0, 0, 0, 1)


def test_hidden_cells_stay_with_their_mark(tmp_path: Path) -> None:
    dataset = structured()
    dataset.BlankCell(2)
    mesh = read(saved(dataset, tmp_path / "a.vts"))
    assert mesh.n_cells == 6
    assert mesh.cell_data["vtkGhostType"].tolist() == [0, 0, 32, 0, 0, 0]
    assert [(e.name, e.count) for e in mesh.info.report.converted] == [("hidden", 1)]


def test_samples(samples: Path) -> None:
    mesh = read(samples / "vts/StructuredGrid.vts")
    assert (mesh.n_points, mesh.cells.counts) == (648, {"hexahedron": 440})
    assert set(mesh.point_data.keys()) == {"Density", "Momentum", "StagnationEnergy"}
    assert float(cell_measures(mesh).sum()) == pytest.approx(281.05, abs=5e-3)
    assert mesh.info.field("point_data", "Momentum").kind == "vectors"


@pytest.mark.parametrize(
    ("suffix", "old", "new", "says"),
    [
        ("vti", 'WholeExtent="0 2 0', 'WholeExtent="0 9 0', r"leave holes; expected 27 cells"),
        ("vti", 'WholeExtent="0 2 0', 'WholeExtent="0 1 0', r"piece 0: extent .* inside of the"),
        ("vti", 'WholeExtent="0 2 0', 'WholeExtent="0 2x 0', r"WholeExtent of <ImageData> is"),
        ("vti", 'WholeExtent="0 2 0', 'WholeExtent="3 2 0', r"line 3: WholeExtent of <Im"),
        ("vtr", 'Piece Extent="0 2 ', 'Piece Extent="9 2 ', r"expected from first to last along"),
        ("vti", 'Piece Extent="0 2', 'Piece Extent="0 1', r"array 'p' .* holds 24 values"),
        ("vti", 'Spacing="0.5', 'Spacing="x', r"<ImageData>: Spacing is 'x 1 2'; expected 3"),
        ("vtr", "Coordinates>", "Kordinates>", r"Coordinates hold 0 arrays; expected three"),
        ("vtr", 'Extent="0 2 ', 'Extent="0 3 ', r"holds"),
        ("vts", "Points>", "Pointz>", r"Points hold 0 arrays; expected one"),
    ],
)  # fmt: skip
def test_refusals(tmp_path: Path, suffix: str, old: str, new: str, says: str) -> None:
    file = saved(SETS[suffix](), tmp_path / f"a.{suffix}")
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ReadError, match=says):
        read(file)


def test_an_image_of_nothing_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "a.vti").write_text(
        '<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian">'
        '<ImageData WholeExtent="0 99999 0 99999 0 99999" Origin="0 0 0" Spacing="1 1 1">'
        '<Piece Extent="0 99999 0 99999 0 99999"/></ImageData></VTKFile>'
    )
    with pytest.raises(ReadError, match="a lattice of 1000000000000000 points without any data"):
        read(tmp_path / "a.vti")


@pytest.mark.parametrize("suffix", SETS)
@pytest.mark.parametrize("encoding", ["ascii", "inline", "raw lz4 blocks"])
def test_damage_is_refused_or_harmless(tmp_path: Path, suffix: str, encoding: str) -> None:
    file = saved(SETS[suffix](), tmp_path / f"a.{suffix}", encoding)
    assert survives(file, file.read_bytes(), 100) > 50


@pytest.mark.parametrize("suffix", SETS)
@pytest.mark.parametrize("encoding", ["ascii", "raw"])
def test_empty_grids(tmp_path: Path, suffix: str, encoding: str) -> None:
    mesh = read(saved(SETS[suffix]().NewInstance(), tmp_path / f"a.{suffix}", encoding))
    assert (mesh.n_points, mesh.n_cells) == (0, 0)


def test_points_of_float32_axes_are_float32(tmp_path: Path) -> None:
    from vtkmodules.util.numpy_support import numpy_to_vtk

    dataset = rectilinear()
    for axis, n in zip("XYZ", DIMS, strict=True):
        getattr(dataset, f"Set{axis}Coordinates")(numpy_to_vtk(np.arange(n, dtype="f4"), deep=1))
    assert read(saved(dataset, tmp_path / "a.vtr")).points.dtype == torch.float32
