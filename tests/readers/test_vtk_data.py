"""A mesh as VTK's arrays and back; and what becomes of arrays that others wrote or changed."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given

from meshkit import Cells, FieldInfo, Mesh, MeshInfo, ReadError, Region, make_mesh
from meshkit.cells import Polyhedra
from meshkit.faces import Faces
from meshkit.operators import cell_measures
from meshkit.readers.vtk import (
    MARKER,
    VtkArray,
    VtkData,
    from_mesh,
    json_array,
    json_of,
    to_mesh,
)
from meshkit.readers.vtk.seals import sealed
from meshkit.report import Ledger
from tests.mesh_differences import differences
from tests.meshes import hanging_polyhedron, one_of_each, tetrahedron
from tests.random_meshes import random_meshes

FILE = Path("a.vtu")


def back(data: VtkData, ledger: Ledger | None = None) -> Mesh:
    return to_mesh(data, FILE, ledger or Ledger())


@given(random_meshes())
def test_any_mesh_comes_back_bit_for_bit(mesh: Mesh) -> None:
    ledger = Ledger()
    assert differences(mesh, back(from_mesh(mesh, ledger))) == []
    assert ledger.report().lossless


def foreign(mesh: Mesh, **arrays: VtkArray) -> VtkData:
    """A data set as someone else writes it: no marker."""
    data = from_mesh(mesh, Ledger())
    data.field_arrays = arrays
    return data


def test_what_another_reader_sees() -> None:
    mesh = tetrahedron().with_data(
        point={"flow": {"U": torch.ones(4, 3)}, "on": torch.tensor([True, False, True, False])},
        cell={"material": ["steel"], "half": torch.ones(1, dtype=torch.float16)},
    )
    mesh = mesh.replace(info=mesh.info.replace(time=2.5))
    data = from_mesh(mesh, Ledger())
    assert data.point_arrays["flow/U"].values.shape == (4, 3)  # type: ignore[union-attr]
    assert data.cell_arrays["material"].values == ["steel"]
    on, half = data.point_arrays["on"].values, data.cell_arrays["half"].values
    assert isinstance(on, np.ndarray) and on.dtype == np.uint8
    assert isinstance(half, np.ndarray) and half.dtype == np.float32
    time = data.field_arrays["TimeValue"].values
    assert isinstance(time, np.ndarray) and time.tolist() == [[2.5]]


def test_arrays_of_others_keep_name_shape_dtype_and_role() -> None:
    data = foreign(tetrahedron(), TimeValue=VtkArray(np.array([[0.25]])))
    data.point_arrays = {
        "a/b": VtkArray(np.arange(4, dtype=np.int64)[:, None] + 2**53, "global_ids"),
        "sigma": VtkArray(np.zeros((4, 9), np.float32), None, tuple("123456789"), "Pa"),
        "zone": VtkArray(["a", "b", "a", ""]),
    }
    ledger = Ledger()
    mesh = back(data, ledger)
    assert mesh.point_data["a/b"].tolist() == [2**53 + i for i in range(4)]
    assert mesh.point_data["sigma"].shape == (4, 9)
    assert mesh.info.field("point_data", "a/b").kind == "global_ids"
    assert mesh.info.field("point_data", "sigma") == FieldInfo("Pa", components=tuple("123456789"))
    assert mesh.point_data["zone"].tolist() == [0, 1, 0, 2]
    assert mesh.info.field("point_data", "zone").vocabulary == ("a", "b", "")
    assert mesh.info.time == 0.25 and mesh.global_data["TimeValue"].tolist() == [0.25]
    assert [e.name for e in ledger.report().converted] == ["point_data/zone"]


def test_wedges_of_others_by_majority_and_of_ours_never() -> None:
    mesh = one_of_each().select([6])
    swapped = mesh.replace(
        cells=mesh.cells.apply(lambda x: x[[0, 2, 1, 3, 5, 4]] if len(x) == 6 else x)
    )
    assert cell_measures(swapped).tolist() == [-0.5]
    ledger = Ledger()
    assert cell_measures(back(foreign(swapped), ledger)).tolist() == [0.5]
    assert [(e.name, e.count) for e in ledger.report().converted] == [("wedge", 1)]
    assert cell_measures(back(from_mesh(swapped, Ledger()))).tolist() == [-0.5]


def test_polyhedra_of_others_are_turned_outward() -> None:
    data = foreign(hanging_polyhedron())
    assert data.polyhedra is not None
    faces, offsets, ids = data.polyhedra
    data.polyhedra = (faces, offsets, np.concatenate([ids[:4][::-1], ids[4:]]))
    ledger = Ledger()
    mesh = back(data, ledger)
    assert float(cell_measures(mesh).sum()) == pytest.approx(2, rel=1e-12)
    assert [(e.name, e.count) for e in ledger.report().converted] == [("polyhedron", 1)]


def test_arrays_added_since_meshkit_wrote_it_join_the_mesh() -> None:
    mesh = tetrahedron().replace(regions=[Region("tip", "point", [3])])
    data = from_mesh(mesh, Ledger())
    data.point_arrays["speed"] = VtkArray(np.ones((4, 1)))
    again = back(data)
    assert again.point_data["speed"].tolist() == [1, 1, 1, 1]
    assert again.region("tip").ids.tolist() == [3]


def test_cells_changed_since_meshkit_wrote_them_lose_what_named_them() -> None:
    mesh = tetrahedron().replace(regions=[Region("tip", "point", [3])])
    data = from_mesh(mesh, Ledger())
    data.connectivity = data.connectivity[[1, 0, 2, 3]]
    ledger = Ledger()
    again = back(data, ledger)
    assert len(again.regions) == 0
    assert [e.what for e in ledger.report().losses] == ["regions"]
    assert not [n for n in again.global_data.keys() if n.startswith("meshkit")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "written by a newer meshkit"),
        ({"arrays": 3}, "meshkit's own arrays are damaged"),
        ({"parts": {}}, "expected version 1"),
    ],
)
def test_a_damaged_note_is_refused(change: dict[str, Any], message: str) -> None:
    data = from_mesh(tetrahedron(), Ledger())
    note = json_of(data.field_arrays[MARKER])
    data.field_arrays[MARKER] = json_array(sealed(note | change))
    with pytest.raises(ReadError, match=message):
        back(data)
    data.field_arrays[MARKER] = json_array(note | {"points": [2, "float64"]})
    with pytest.raises(ReadError, match="damaged: the note is not as it was written"):
        back(data)


def numbers(array: VtkArray) -> np.ndarray[Any, Any]:
    assert isinstance(array.values, np.ndarray)
    return array.values


def curved() -> Mesh:
    """A solid of 14 points and one of 10, a polyhedron, a curved quad of its degrees."""
    points = torch.arange(90.0).reshape(30, 3) ** 1.5
    cells = Cells(
        torch.tensor([200, 24, 42, 70], dtype=torch.uint8),
        torch.tensor([0, 14, 24, 28, 34]),
        torch.tensor([*range(14), *range(10), 0, 1, 2, 3, *range(6)]),
        Polyhedra(
            torch.tensor([0, 4]),
            torch.tensor([0, 3, 6, 9, 12]),
            torch.tensor([0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]),
        ),
        torch.tensor([[0] * 3, [0] * 3, [0] * 3, [2, 1, 1]], dtype=torch.uint8),
    )
    faces = Faces(
        torch.tensor([0, 3]), torch.tensor([0, 1, 2]), torch.tensor([2]), torch.tensor([-1])
    )
    return make_mesh(points, cells).replace(
        faces=faces,
        regions=[
            Region("r", "cell", [1, 2]),
            Region("s", "side", [[0, 1]], flip=torch.tensor([True])),
        ],
    )


def test_no_change_of_what_ours_says_goes_unseen() -> None:
    """Every whole number of our own is changed in turn: refused, or read like anyone's."""
    whole = from_mesh(curved(), Ledger())
    assert differences(curved(), back(deepcopy(whole))) == []
    own = [name for name in whole.field_arrays if name.startswith("meshkit_") and name != MARKER]
    assert {"meshkit_cells/offsets", "meshkit_faces/owner", "meshkit_regions/1/ids"} < {*own}
    for name in own:
        for at in range(len(numbers(whole.field_arrays[name]))):
            data = deepcopy(whole)
            numbers(data.field_arrays[name])[at] ^= 1
            with pytest.raises(ReadError, match="the ids of regions, faces or cells are not as"):
                back(data)
    for part in (0, 1, 2):
        data = deepcopy(whole)
        assert data.polyhedra is not None
        data.polyhedra[part][1] ^= 1
        try:
            mesh = back(data)
        except ReadError:
            continue
        assert len(mesh.regions) == 0
    data = deepcopy(whole)
    numbers(data.cell_arrays["HigherOrderDegrees"])[3] = [1, 2, 1]
    assert len(back(data).regions) == 0


def test_notes_without_seals_are_held_to_what_is_there() -> None:
    """The first version of the note had a checksum of the cells alone."""
    data = from_mesh(curved(), Ledger())
    note = json_of(data.field_arrays[MARKER])
    for key in ("crc32c", "more_crc32c", "ids", "ids_crc32c"):
        del note[key]
    data.field_arrays[MARKER] = json_array(note | {"version": 1})
    assert differences(curved(), back(deepcopy(data))) == []
    numbers(data.field_arrays["meshkit_regions/0/ids"])[0] = 4
    with pytest.raises(ReadError, match=r"own arrays are damaged: region 'r': expected cells"):
        back(data)


def test_a_missing_array_of_ours_is_refused() -> None:
    data = from_mesh(tetrahedron().with_data(point={"u": torch.zeros(4)}), Ledger())
    del data.point_arrays["u"]
    with pytest.raises(ReadError, match="array 'u' is missing"):
        back(data)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("connectivity", np.array([0, 1, 2, 9]), "cell 0: point id 9; expected ids from 0 to 3"),
        ("connectivity", np.array([0, 1, 2, -1]), "point id -1"),
        ("types", np.array([99], np.uint8), "unknown cell type 99"),
        ("types", np.array([12], np.uint8), "cell 0: a hexahedron of 4 points; expected 8"),
        ("types", np.array([42], np.uint8), "0 polyhedra have faces; expected 1"),
        ("offsets", np.array([0, 3]), "offsets do not span"),
        ("offsets", np.array([0, 2, 4]), "2 cells have offsets; expected 1"),
        ("point_arrays", {"p": VtkArray(np.zeros((3, 1)))}, "point array 'p': 3 rows; expected 4"),
    ],
)
def test_arrays_that_make_no_mesh_are_refused(part: str, value: Any, message: str) -> None:
    data = foreign(tetrahedron())
    setattr(data, part, value)
    with pytest.raises(ReadError, match=message):
        back(data)


def test_a_field_may_be_called_as_vtk_calls_degrees() -> None:
    mesh = one_of_each().select([5])
    degrees = torch.tensor([[1, 1, 1]], dtype=torch.uint8)
    types = torch.tensor([72], dtype=torch.uint8)
    cells = Cells(types, mesh.cells.offsets, mesh.cells.connectivity, None, degrees)
    curved = mesh.replace(cells=cells).with_data(cell={"HigherOrderDegrees": torch.ones(1)})
    assert differences(curved, back(from_mesh(curved, Ledger()))) == []


def test_names_and_missing_texts_that_clash_are_told_apart() -> None:
    mesh = make_mesh(
        torch.zeros(2, 3),
        point_data={"a/b": torch.zeros(2), "a": {"b": torch.ones(2)}},
        global_data={"meshkit_format": torch.tensor(1), "meshkit_": torch.tensor([2])},
    ).with_data(point={"t": torch.tensor([-1, 0], dtype=torch.int16)})
    key = ("point_data", "t")
    for words in (("x",), ("",), ("x", "x")):
        coded = mesh.replace(info=MeshInfo(fields={key: FieldInfo(vocabulary=words)}))
        assert differences(coded, back(from_mesh(coded, Ledger()))) == []
