"""Small files of large meshes are refused, in one line, where the memory has no room for them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit import memory
from meshkit.errors import ReadError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.objects import to_unstructured
from tests.meshes import square_triangles
from tests.readers import vtkhdf_saving
from tests.readers.openfoam.case_writer import Style, write_case
from tests.readers.openfoam.example_mesh import example
from tests.readers.vtk_saving import plain, saved

N = 60_000  # points; 1.4 MB as float64, a few kB packed


def cloud() -> Mesh:
    return make_mesh(torch.zeros(N, 3, dtype=torch.float64))


def packed_xml(path: Path) -> Path:
    return saved(to_unstructured(plain(cloud())), path / "a.vtu", "inline zlib")


def texts_in_xml(path: Path) -> Path:
    texts = VtkArray(["0123456789"] * N)
    return saved(to_unstructured(plain(cloud(), point={"t": texts})), path / "a.vtu", "raw lzma")


def image(path: Path) -> Path:
    """A byte a point, packed, of a lattice whose cells take 38 and whose points take 24."""
    from vtkmodules.util.numpy_support import numpy_to_vtk
    from vtkmodules.vtkCommonDataModel import vtkImageData

    made = vtkImageData()
    made.SetDimensions(40, 40, 40)
    values = numpy_to_vtk(np.zeros(40**3, np.uint8), deep=True)
    values.SetName("v")
    made.GetPointData().AddArray(values)
    return saved(made, path / "a.vti", "raw lzma")


def legacy_image(path: Path) -> Path:
    file = path / "a.vtk"
    head = "# vtk DataFile Version 3.0\nt\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS 40 40 40\n"
    more = "ORIGIN 0 0 0\nSPACING 1 1 1\nPOINT_DATA 64000\nSCALARS v unsigned_char\n"
    file.write_bytes((head + more + "LOOKUP_TABLE default\n").encode() + bytes(64000) + b"\n")
    return file


def legacy_text(path: Path) -> Path:
    file = path / "a.vtk"
    head = f"# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {N} double\n"
    file.write_text(head + "0 0 0\n" * N)
    return file


def packed_hdf(path: Path) -> Path:
    import h5py

    file = vtkhdf_saving.saved(to_unstructured(plain(square_triangles(1, 3))), path / "a.vtkhdf")
    with h5py.File(file, "r+") as h5:
        del h5["VTKHDF/Points"]
        zeros = np.zeros((N, 3))
        h5["VTKHDF"].create_dataset("Points", data=zeros, compression="gzip", chunks=(N, 3))
        h5["VTKHDF/NumberOfPoints"][0] = N
    return file


def gzipped_case(path: Path) -> Path:
    write_case(path, example(), {}, Style(binary=True))
    file = path / "constant" / "polyMesh" / "points"
    head = file.read_bytes().split(b"\n(", 1)[0].rsplit(b"\n", 1)[0]
    many = head + f"\n{N}\n(".encode() + bytes(24 * N) + b")\n"
    file.with_name("points.gz").write_bytes(gzip.compress(many))
    file.unlink()
    return path


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (packed_xml, "Points in piece 0"),
        (texts_in_xml, "'t'"),
        (image, "a lattice of 40 x 40 x 40"),
        (legacy_image, "a lattice of 40 x 40 x 40"),
        (legacy_text, "POINTS"),
        (packed_hdf, "Points"),
        (gzipped_case, "byte"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_has_no_room_is_refused_before_it_is_unpacked(
    make: Callable[[Path], Path], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path)
    read(path)
    (tmp_path / "proc").mkdir()
    least = 3_000_000 if make is texts_in_xml else 400_000
    free = max(least, path.stat().st_size + 1000) // 1000
    said = f"MemTotal: 9 kB\nMemAvailable: {free * 1000 // 1024} kB\n"
    (tmp_path / "proc" / "meminfo").write_text(said)
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path)
    monkeypatch.setattr(memory, "_WORTH_ASKING", 1000)
    with pytest.raises(ReadError) as caught:
        read(path)
    assert "GB of memory, and 0.0 GB are free" in str(caught.value)
    assert place in (caught.value.place or ""), caught.value
