"""VTKHDF: what no file may do, and what is refused."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from meshkit.info import MeshInfo
from meshkit.readers.formats import reader_for
from meshkit.readers.reading import read
from meshkit.readers.vtkhdf import heaps
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from tests.meshes import hanging_polyhedron, one_of_each, tetrahedron
from tests.readers.by_hand import refused
from tests.readers.vtk_saving import plain_vtk
from tests.readers.vtkhdf_files import changed, moving, replaced
from tests.readers.vtkhdf_saving import foreign, saved


def test_content_decides(tmp_path: Path) -> None:
    file = foreign(tmp_path / "a.vtkhdf")
    for name in ("a.h5", "a.cgns", "a.vtu", "a"):
        (tmp_path / name).write_bytes(file.read_bytes())
        assert reader_for(tmp_path / name).name == "vtkhdf"
    with h5py.File(tmp_path / "b.med", "w") as other:
        other["ENS_MAA/x"] = np.arange(3)
    assert reader_for(tmp_path / "b.med").name == "meshio"
    (tmp_path / "b.vtkhdf").write_bytes((tmp_path / "b.med").read_bytes())
    refused(tmp_path / "b.vtkhdf", "is HDF5 without a group 'VTKHDF'")
    (tmp_path / "c.vtkhdf").write_bytes(b"x" * 2000)
    refused(tmp_path / "c.vtkhdf", "has no HDF5 signature")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (replaced("Points", np.zeros((5, 3))), "/VTKHDF/Points: holds 5 rows; expected 6"),
        (replaced("Points", np.zeros((6, 2))), r"/VTKHDF/Points: holds float64 \[6, 2\]"),
        (replaced("Types", np.zeros(2, "u1")), "/VTKHDF/Types: holds 2 rows"),
        (replaced("Types", np.full(3, 300)), "/VTKHDF/Types: says 300 to 300; expected cell types"),
        (replaced("Types", np.full(3, 42, "u1")), "0 polyhedra have faces; expected 3"),
        (replaced("Types", np.full(3, 12, "u1")), "cell 0: a hexahedron of 4 points; expected 8"),
        (replaced("Offsets", np.array([0, 4, 8, 13])), "offsets do not span"),
        (replaced("Offsets", np.array([0, 9, 8, 12])), "offsets descend at 1"),
        (replaced("Offsets", np.array([0, 4, 8])), "/VTKHDF/Offsets: holds 3 rows"),
        (replaced("Offsets", np.zeros(4)), "/VTKHDF/Offsets: holds float64"),
        (replaced("Connectivity", np.full(12, 6)), "point id 6; expected ids from 0 to 5"),
        (replaced("Connectivity", np.full(12, -1)), "point id -1"),
        (replaced("Connectivity", np.full(12, 2**40)), "point id 1099511627776"),
        (replaced("Connectivity", np.full(12, 2**64 - 1, "u8")), "/VTKHDF/Connectivity: says 1844"),
        (replaced("NumberOfCells", [-3]), "/VTKHDF/NumberOfCells: says -3"),
        (replaced("NumberOfPoints", [2**59]), "/VTKHDF/Points: holds 6 rows"),
        (replaced("NumberOfPoints", ["x"]), "/VTKHDF/NumberOfPoints: holds"),
        (replaced("PointData/p", np.zeros(7)), "/VTKHDF/PointData/p: holds 7 rows; expected 6"),
        (replaced("CellData", np.zeros(3)), "/VTKHDF/CellData: is no group"),
        (lambda g: g.pop("Offsets"), "/VTKHDF/Offsets: is missing"),
        (lambda g: g.attrs.pop("Type"), "holds a data set of type 'None'"),
        (lambda g: g.attrs.pop("Version"), "attribute 'Version' is missing; expected 2 numbers"),
        (lambda g: g.attrs.modify("Version", [3, 0]), "is of version 3; expected version 1 to 2"),
        (
            lambda g: g.attrs.modify("Type", np.bytes_("HyperTreeGrid")),
            "holds a data set of type 'HyperTreeGrid'; expected one of UnstructuredGrid, PolyData",
        ),
        (lambda g: g.create_group("Steps"), "/VTKHDF/Steps/Values: is missing"),
        (
            lambda g: g.attrs.update(Type=np.bytes_("StructuredGrid"), Dimensions=[3, 2, 2]),
            r"/VTKHDF/Points: holds float64 \[6, 3\]; expected points \[2, 2, 3, 3\]",
        ),
        (
            lambda g: g.attrs.update(Type=np.bytes_("RectilinearGrid"), Dimensions=[3, 2, 1]),
            "/VTKHDF/XCoordinates: is missing",
        ),
        (
            lambda g: g.attrs.update(Type=np.bytes_("RectilinearGrid"), Dimensions=[3, -2, 1]),
            "/VTKHDF: Dimensions are 3 -2 1",
        ),
        (replaced("meshkit", 1), None),
        (replaced("FieldData/meshkit_vtkhdf", np.frombuffer(b"{]", "u1")), "own table is damaged"),
    ],
)
def test_contradictions(change: Callable[[Any], None], said: str | None, tmp_path: Path) -> None:
    file = changed(foreign(tmp_path / "a.vtkhdf"), change)
    if said is None:
        assert read(file).n_cells == 3
    else:
        refused(file, said)


def test_times_that_contradict_the_data(tmp_path: Path) -> None:
    file, whole = tmp_path / "a.vtkhdf", tmp_path / "whole.vtkhdf"
    write(MeshSeries.of(moving(3)), whole)
    for change, said in (
        (lambda g: g["Steps"].attrs.modify("NSteps", 4), "declares 4 times; expected 1 to 3"),
        (replaced("Steps/NSteps", 1), None),
        (replaced("Steps/Values", np.zeros((3, 2))), "Steps/Values: holds float64"),
        (replaced("Steps/PartOffsets", [0, 0, 1]), "time 2 has parts 1 to 1; expected at most 1"),
        (replaced("Steps/NumberOfParts", [1, 1, 2]), "time 2 has parts 0 to 1; expected at most 1"),
        (replaced("Steps/PointOffsets", [0, 0, 64]), "Points: holds 64 rows; expected 64 from"),
        (replaced("Steps/PointOffsets", [0, 0, -1]), r"PointOffsets: says \[-1\] for time 2"),
        (replaced("Steps/PointDataOffsets/p", [0, 64, 192]), "PointData/p: holds 192 rows"),
        (replaced("Steps/PointOffsets", [0, 0]), "PointOffsets: holds 2 rows"),
    ):
        file.write_bytes(whole.read_bytes())
        changed(file, change)
        if said is None:
            assert read(file).info.time == 0.5
        else:
            refused(file, said)


def test_nothing_leaves_the_file(tmp_path: Path) -> None:
    other = foreign(tmp_path / "other.vtkhdf")
    (tmp_path / "raw").write_bytes(np.zeros((6, 3)).tobytes())

    def external(group: Any) -> None:
        del group["Points"]
        group["Points"] = h5py.ExternalLink(str(other), "/VTKHDF/Points")

    def virtual(group: Any) -> None:
        del group["Points"]
        layout = h5py.VirtualLayout((6, 3), "f8")
        layout[:] = h5py.VirtualSource(str(other), "VTKHDF/Points", (6, 3))
        group.create_virtual_dataset("Points", layout)

    def raw(group: Any) -> None:
        del group["Points"]
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_external(str(tmp_path / "raw").encode(), 0, 144)
        space = h5py.h5s.create_simple((6, 3))
        h5py.h5d.create(group.id, b"Points", h5py.h5t.NATIVE_DOUBLE, space, plan)

    def soft(group: Any) -> None:
        group.move("Points", "P")
        group["Points"] = h5py.SoftLink("/VTKHDF/P")

    for i, (change, said) in enumerate(
        [
            (external, "/VTKHDF/Points: is a link to another file; expected all data in this one"),
            (virtual, "/VTKHDF/Points: has its data in other files"),
            (raw, "/VTKHDF/Points: has its data in other files"),
            (soft, "/VTKHDF/Points: is a symbolic link; expected these only below Assembly"),
        ]
    ):
        refused(changed(foreign(tmp_path / f"{i}.vtkhdf"), change), said)


def test_blocks_that_lead_astray(tmp_path: Path) -> None:
    from vtkmodules.vtkCommonDataModel import vtkMultiBlockDataSet

    top = vtkMultiBlockDataSet()
    top.SetBlock(0, plain_vtk(tetrahedron()))
    whole = saved(top, tmp_path / "whole.vtkhdf")
    file = tmp_path / "a.vtkhdf"

    def circle(group: Any) -> None:
        group["Assembly/again"] = group["Assembly"]

    def elsewhere(group: Any) -> None:
        group["Assembly/x"] = h5py.SoftLink("/VTKHDF/../etc")

    def itself(group: Any) -> None:
        group["Assembly/x"] = h5py.SoftLink("/VTKHDF/Assembly/x")

    def nested(group: Any) -> None:
        group["Block_1"].attrs["Type"] = np.bytes_("MultiBlockDataSet")

    for change, said in (
        (circle, "is nested too deeply; expected 20 levels at most"),
        (elsewhere, "/VTKHDF/Assembly/x: points to '/VTKHDF/../etc'; expected a block below"),
        (itself, "/VTKHDF/Assembly/x: points to"),
        (nested, "/VTKHDF/Block_1: holds a data set of type 'MultiBlockDataSet'"),
    ):
        file.write_bytes(whole.read_bytes())
        refused(changed(file, change), said)


def test_sizes_that_the_file_does_not_hold(tmp_path: Path) -> None:
    def unwritten(shape: tuple[int, ...], chunks: tuple[int, ...] | None) -> Any:
        def change(group: Any) -> None:
            del group["Points"], group["NumberOfPoints"]
            group["NumberOfPoints"] = [shape[0]]
            group.create_dataset("Points", shape, "f8", chunks=chunks)

        return change

    def bomb(group: Any) -> None:
        del group["Points"], group["NumberOfPoints"], group["PointData"]
        group["NumberOfPoints"] = [2**21]
        more = {"compression": "gzip", "compression_opts": 9, "chunks": (2**21, 3)}
        group.create_dataset("Points", data=np.zeros((2**21, 3)), **more)

    def hollow(group: Any) -> None:
        del group["Points"], group["NumberOfPoints"]
        group["NumberOfPoints"] = [2**21]
        group["padding"] = np.zeros(20_000)
        more = {"compression": "gzip", "chunks": (2**21, 3)}
        points = group.create_dataset("Points", (2**21, 3), "f8", **more)
        points.id.write_direct_chunk((0, 0), b"12345678")

    def odd(group: Any) -> None:
        del group["Connectivity"]
        group.create_dataset("Connectivity", data=np.arange(12), scaleoffset=0, chunks=(4,))

    def lattice(group: Any) -> None:
        group.attrs["Type"] = np.bytes_("ImageData")
        group.attrs["WholeExtent"] = [0, 2**20, 0, 2**20, 0, 2**20]
        for name in ("Origin", "Spacing"):
            group.attrs[name] = np.ones(3)

    for i, (change, said) in enumerate(
        [
            (unwritten((10**12, 3), (1000, 3)), "/VTKHDF/Points: declares 24000000000000 bytes"),
            (unwritten((10**12, 3), None), "/VTKHDF/Points: declares 24000000000000 bytes"),
            (unwritten((6, 3), (2, 3)), "/VTKHDF/Points: .*never written"),
            (unwritten((6, 3), None), "/VTKHDF/Points: .*never written"),
            (hollow, r"/VTKHDF/Points: .*its chunk at \(0, 0\) cannot hold 50331648 bytes"),
            (odd, "/VTKHDF/Connectivity: .*packed by scaleoffset; only gzip"),
            (lattice, "/VTKHDF: declares 1152924803144876033 points and no array of them"),
        ]
    ):
        refused(changed(foreign(tmp_path / f"{i}.vtkhdf"), change), said)
    # What deflate can really do is read: 48 MiB of zeros are 48 KiB.
    assert read(changed(foreign(tmp_path / "b.vtkhdf"), bomb)).n_points == 2**21


def test_texts_that_share_one_long_one(tmp_path: Path) -> None:
    """10 000 texts of 1 MB that are one and the same text in the file."""
    file = tmp_path / "a.vtkhdf"

    def long(group: Any) -> None:
        texts = np.array(["y" * 10**6] + ["x"] * 9999, dtype=object)
        group.create_dataset("FieldData/t", data=texts, dtype=h5py.string_dtype())

    changed(foreign(file), long)
    with h5py.File(file) as opened:
        start = opened["VTKHDF/FieldData/t"].id.get_offset()
    data = bytearray(file.read_bytes())
    data[start : start + 160_000] = data[start : start + 16] * 10_000
    file.write_bytes(data)
    refused(file, "/VTKHDF/FieldData/t: .*its texts are longer than the file")


@pytest.mark.parametrize("where", ["dataset", "attribute"])
def test_a_heap_that_libhdf5_would_walk_for_ever(where: str, tmp_path: Path) -> None:
    file = tmp_path / "a.vtkhdf"

    def texts(group: Any) -> None:
        if where == "dataset":
            group["FieldData/t"] = np.array(["two"], dtype=object)
        else:
            group.attrs["Type"] = "UnstructuredGrid"

    assert read(changed(foreign(file), texts)).n_cells == 3
    data = bytearray(file.read_bytes())
    word = b"two" if where == "dataset" else b"UnstructuredGrid"
    heap = data.index(b"GCOL")
    free = data.index(word, heap) + -(-len(word) // 8) * 8  # number 0, and how much is free
    assert data[free : free + 2] == b"\0\0" and data[free + 8 : free + 16] != bytes(8)
    data[free + 8 : free + 16] = bytes(8)
    file.write_bytes(data)
    refused(file, "0 free bytes at byte")


def test_heaps_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many attributes are texts; each look goes through the whole file."""

    def looks(n: int) -> int:
        def texts(group: Any) -> None:
            for i in range(n):
                array = group.create_dataset(f"PointData/f{i}", data=np.zeros(len(group["Points"])))
                array.attrs["Attribute"] = "None"

        looked.clear()
        mesh = read(changed(foreign(tmp_path / f"{n}.vtkhdf"), texts))
        assert f"f{n - 1}" in mesh.point_data.keys()
        return len(looked)

    looked: list[int] = []
    walk = heaps._objects

    def counted(data: Any, at: int) -> dict[int, tuple[int, int]]:
        looked.append(at)
        return walk(data, at)

    monkeypatch.setattr(heaps, "_objects", counted)
    assert looks(9) == looks(1) > 0


def test_faces_that_are_named_again_and_again(tmp_path: Path) -> None:
    file = tmp_path / "a.vtkhdf"
    write(hanging_polyhedron(), file)
    many = 200_000

    def change(group: Any) -> None:
        replaced("PolyhedronToFaces", np.zeros(many, np.int64))(group)
        replaced("NumberOfPolyhedronToFaceIds", [many])(group)
        replaced("PolyhedronOffsets", np.array([0] * 9 + [many]))(group)

    refused(changed(file, change), "PolyhedronToFaces: names faces again and again")


def test_a_truncated_file(tmp_path: Path) -> None:
    content = foreign(tmp_path / "whole.vtkhdf").read_bytes()
    file = tmp_path / "a.vtkhdf"
    for cut in range(100, len(content), len(content) // 20):
        file.write_bytes(content[:cut])
        refused(file, "HDF5 cannot read it|signature|is missing|without a group")


def test_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    """In a process of its own, because libhdf5 could take this one with it."""
    mesh = one_of_each().with_data(
        point={"p": torch.arange(33.0)}, cell={"mat": list("aabbccdd")}, global_={"s": ["x", "yz"]}
    )
    write(mesh, tmp_path / "ours.vtkhdf")
    timed = [mesh.replace(info=MeshInfo(time=t)) for t in (0.0, 1.0)]
    write(MeshSeries.of(timed), tmp_path / "times.vtkhdf")
    saved(plain_vtk(hanging_polyhedron()), tmp_path / "vtk.vtkhdf")
    foreign(tmp_path / "packed.vtkhdf", compression="gzip", shuffle=True, fletcher32=True)
    program = textwrap.dedent(
        f"""
        from pathlib import Path
        from tests.readers.mutations import survives
        folder = Path({str(tmp_path)!r})
        for name in ("ours", "times", "vtk", "packed"):
            n = survives(folder / "a.vtkhdf", (folder / f"{{name}}.vtkhdf").read_bytes(), 50, 1)
            print(name, n)
            assert n > 10
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_lossless_report(tmp_path: Path) -> None:
    assert write(hanging_polyhedron(), tmp_path / "a.vtkhdf").lossless
