"""PhysicsNeMo's meshes: against a stand-in of the same shape, and the real one if it is there."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from meshkit.errors import MeshError, MissingPackage
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.interop.physicsnemo import from_physicsnemo, to_physicsnemo
from meshkit.regions import Region
from meshkit.report import Ledger
from tests.mesh_differences import differences
from tests.meshes import kuhn_cube, one_of_each, square_triangles, tetrahedron, two_tetrahedra


class Simplices:
    """What `physicsnemo.mesh.Mesh` is to us: its arguments, its attributes, its batch sizes."""

    def __init__(
        self,
        points: torch.Tensor,
        cells: torch.Tensor | None = None,
        point_data: Any = None,
        cell_data: Any = None,
        global_data: Any = None,
    ) -> None:
        self.points = points
        self.cells = torch.zeros(0, 1, dtype=torch.long) if cells is None else cells
        rows: tuple[list[int], ...] = ([len(points)], [len(self.cells)], [])
        names = ("point_data", "cell_data", "global_data")
        for name, data, size in zip(names, (point_data, cell_data, global_data), rows, strict=True):
            made = data if isinstance(data, TensorDict) else TensorDict(data or {}, batch_size=size)
            made.batch_size = torch.Size(size)  # it does so too, and a locked one would refuse
            setattr(self, name, made)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = ModuleType("physicsnemo"), ModuleType("physicsnemo.mesh")
    module.Mesh = Simplices  # type: ignore[attr-defined]
    package.mesh = module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "physicsnemo", package)
    monkeypatch.setitem(sys.modules, "physicsnemo.mesh", module)


def fielded(mesh: Mesh) -> Mesh:
    n, m = mesh.n_points, mesh.n_cells
    return mesh.replace(
        point_data={"flow": {"p": torch.arange(float(n))}, "U": torch.rand(n, 3)},
        cell_data={"id": torch.arange(m)},
        global_data={"Re": torch.tensor(1e6)},
        regions=[
            Region("tip", "point", torch.tensor([n - 1])),
            Region("first", "cell", torch.tensor([0])),
        ],
    )


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    "mesh", [kuhn_cube(2), square_triangles(2), square_triangles(2, 3), tetrahedron()], ids=str
)
def test_there_and_back(mesh: Mesh) -> None:
    mesh = fielded(mesh)
    made = to_physicsnemo(mesh)
    assert made.cells.dtype == torch.int64
    assert made.points.data_ptr() == mesh.points.data_ptr()
    assert made.point_data["flow", "p"].data_ptr() == mesh.point_data["flow", "p"].data_ptr()
    assert differences(mesh, from_physicsnemo(made)) == []


@pytest.mark.usefixtures("stand_in")
def test_a_cloud() -> None:
    cloud = make_mesh(torch.rand(4, 3), point_data={"p": torch.arange(4)})
    made = to_physicsnemo(cloud)
    assert made.cells.shape == (0, 1)
    assert differences(cloud, from_physicsnemo(made)) == []


@pytest.mark.usefixtures("stand_in")
def test_the_mesh_is_not_written_into() -> None:
    mesh = fielded(tetrahedron())
    made = to_physicsnemo(mesh)
    made.point_data["new"] = torch.zeros(4)
    assert "new" not in mesh.point_data
    assert mesh.point_data.is_locked


@pytest.mark.usefixtures("stand_in")
def test_what_it_lacks_is_counted() -> None:
    mesh = two_tetrahedra().replace(
        face_data={"phi": torch.zeros(7)},
        regions=[
            Region("wall", "face", torch.tensor([1])),
            Region("zone", "cell", torch.tensor([0]), kind="cellZone"),
        ],
        info=MeshInfo(length_unit="mm"),
    )
    ledger = Ledger()
    to_physicsnemo(mesh, ledger)
    assert {(e.what, e.name) for e in ledger.report().losses} == {
        ("faces", ""),
        ("field", "face_data/phi"),
        ("info", "length_unit"),
        ("region", "wall"),
        ("region", "zone: kind"),
    }


@pytest.mark.parametrize(
    ("mesh", "hint"),
    [
        (one_of_each(), r"take operators\.simplices\(mesh\) first"),
        (one_of_each().select([5]), r"take operators\.simplices\(mesh\) first"),
        (one_of_each().select([2, 4]), "select those of one kind first"),
    ],
)
def test_other_cells_say_what_to_do(mesh: Mesh, hint: str) -> None:
    with pytest.raises(MeshError, match=rf"expected simplices of one kind.*{hint}"):
        to_physicsnemo(mesh)


def test_what_is_no_mesh() -> None:
    with pytest.raises(MeshError, match=r"to_physicsnemo: expected a meshkit\.Mesh, found None"):
        to_physicsnemo(None)  # type: ignore[arg-type]
    with pytest.raises(MeshError, match=r"expected a physicsnemo\.mesh\.Mesh, found NoneType"):
        from_physicsnemo(None)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "physicsnemo", None)
    monkeypatch.setitem(sys.modules, "physicsnemo.mesh", None)
    with pytest.raises(MissingPackage, match=r"pip install 'meshkit\[physicsnemo\]'"):
        to_physicsnemo(tetrahedron())


def test_simplices_of_five_points() -> None:
    odd = Simplices(torch.zeros(5, 3), torch.zeros(1, 5, dtype=torch.long))
    with pytest.raises(MeshError, match="simplices of 5 points; expected 1 to 4"):
        from_physicsnemo(odd)


def test_the_real_one() -> None:
    real = pytest.importorskip(
        "physicsnemo.mesh", reason="nvidia-physicsnemo is not installed: meshkit[physicsnemo]"
    )
    mesh = fielded(kuhn_cube(2))
    made = to_physicsnemo(mesh)
    assert isinstance(made, real.Mesh)
    assert differences(mesh, from_physicsnemo(made)) == []


@pytest.mark.parametrize("wrong", [3, -1])
def test_ids_that_name_no_point_are_refused(wrong: int) -> None:
    made = Simplices(torch.rand(3, 3), torch.tensor([[0, 1, 2], [0, 1, wrong]]))
    with pytest.raises(MeshError, match=rf"^cell 1: expected point ids from 0 to 2, found {wrong}"):
        from_physicsnemo(made)
