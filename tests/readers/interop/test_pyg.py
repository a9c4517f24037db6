"""PyTorch Geometric: the graph of a mesh, by hand, and that batching leaves values alone."""

from __future__ import annotations

import builtins
import json
from typing import Any

import pytest
import torch

from meshkit.errors import MeshError, MissingPackage
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.interop.pyg import to_pyg
from meshkit.regions import Region
from tests.meshes import kuhn_cube, square_quads, tetrahedron, two_tetrahedra


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("torch_geometric"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingPackage, match=r"pip install 'meshkit\[pyg\]'"):
        to_pyg(tetrahedron())


@pytest.fixture
def pyg() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "ignore")
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pytest.importorskip(
                "torch_geometric", reason="torch_geometric is not installed: meshkit[pyg]"
            )


def test_two_triangles_by_hand(pyg: Any) -> None:
    mesh = make_mesh(
        torch.tensor([[0.0, 0], [1, 0], [1, 1], [0, 1]]), torch.tensor([[0, 1, 2], [0, 2, 3]])
    )
    data = to_pyg(mesh)
    assert data.edge_index.tolist() == [
        [0, 0, 0, 1, 1, 2, 2, 2, 3, 3],
        [1, 2, 3, 0, 2, 0, 1, 3, 0, 2],
    ]
    assert data.edge_index.dtype == torch.int64
    assert data.face.tolist() == [[0, 0], [1, 2], [2, 3]]
    assert data.pos.data_ptr() == mesh.points.data_ptr()
    assert data.num_nodes == 4
    assert data.validate()


def test_edges_of_a_cube_both_ways(pyg: Any) -> None:
    data = to_pyg(kuhn_cube(3))
    pairs = data.edge_index.T.tolist()
    assert len(pairs) == len({tuple(p) for p in pairs})
    assert {(b, a) for a, b in pairs} == {(a, b) for a, b in pairs}
    # n^3 cubes: 3 n (n+1)^2 along the axes, 3 n^2 (n+1) on the faces, n^3 inside
    assert len(pairs) == 2 * (3 * 3 * 16 + 3 * 9 * 4 + 27)
    assert "face" not in data


def test_a_quad_has_no_diagonal(pyg: Any) -> None:
    assert to_pyg(square_quads(1)).edge_index.shape == (2, 8)


def test_a_cloud(pyg: Any) -> None:
    data = to_pyg(make_mesh(torch.rand(5, 3)))
    assert data.edge_index.shape == (2, 0)
    assert data.num_nodes == 5


def fielded() -> Mesh:
    return two_tetrahedra().replace(
        point_data={"flow": {"p": torch.arange(5.0)}, "x": torch.ones(5, 2)},
        cell_data={"flow_p": torch.arange(2), "cell_index": torch.tensor([7, 8])},
        global_data={"Re": torch.tensor(3.0), "batch": torch.tensor([1])},
        face_data={"phi": torch.zeros(7)},
        regions=[
            Region("wall", "face", torch.tensor([1])),
            Region("tip", "point", torch.tensor([3])),
            Region("upper", "cell", torch.tensor([0])),
        ],
    )


def test_fields_are_attributes(pyg: Any) -> None:
    data = to_pyg(fielded())
    assert data.flow_p.tolist() == [0, 1, 2, 3, 4]
    assert data.point_x.shape == (5, 2)
    assert data.cell_flow_p.tolist() == [0, 1]
    assert data.cell_ids.tolist() == [7, 8]
    assert data.group.tolist() == [1]
    assert data["region:tip"].tolist() == [False, False, False, True, False]
    assert data["region:upper"].tolist() == [True, False]
    said = json.loads(data.meshkit)
    assert said["fields"]["cell_ids"] == ["cell_data", "cell_index"]
    lost = [(e["what"], e["name"]) for e in said["info"]["report"] if e["loss"]]
    assert lost == [("faces", ""), ("field", "face_data/phi"), ("region", "wall")]


def test_batching_changes_no_value(pyg: Any) -> None:
    from torch_geometric.data import Batch

    batch = Batch.from_data_list([to_pyg(fielded()), to_pyg(fielded())])
    assert batch.cell_ids.tolist() == [7, 8, 7, 8]
    assert batch.group.tolist() == [1, 1]
    assert batch.flow_p.tolist() == [0, 1, 2, 3, 4] * 2
    assert int(batch.edge_index.max()) == 9
    assert len(batch.meshkit) == 2


def test_gradients_reach_the_mesh(pyg: Any) -> None:
    mesh = tetrahedron()
    points = mesh.points.clone().requires_grad_()
    to_pyg(mesh.replace(points=points)).pos.sum().backward()
    assert points.grad is not None


@pytest.mark.usefixtures("pyg")
def test_regions_with_data_are_masks_and_the_data_counted() -> None:
    region = Region("r", "cell", [0], data={"q": torch.ones(1)})
    made = to_pyg(tetrahedron().replace(regions=[region]))
    assert made["region:r"].tolist() == [True]
    report = json.loads(made.meshkit)["info"]["report"]
    assert [e["name"] for e in report if e["outcome"] == "dropped"] == ["r: data"]


@pytest.mark.usefixtures("pyg")
def test_ids_that_name_nothing() -> None:
    good = tetrahedron()
    for bad, problem in (
        (good.replace(points=good.points[:3]), "cell 0: expected point ids from 0 to 2"),
        (good.replace(regions=[Region("r", "point", [4])]), "region 'r': expected point ids"),
        (good.replace(regions=[Region("r", "cell", [-1])]), "region 'r': expected cells"),
    ):
        with pytest.raises(MeshError, match=problem):
            to_pyg(bad)


def test_what_is_no_mesh() -> None:
    with pytest.raises(MeshError, match=r"to_pyg: expected a meshkit\.Mesh, found str"):
        to_pyg("mesh")  # type: ignore[arg-type]
