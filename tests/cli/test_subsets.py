"""Fields and regions asked for by name: what stays, what goes, and that it is counted."""

from collections.abc import Sequence

import pytest
import torch

from meshkit.cli.subsets import only_fields, only_regions
from meshkit.errors import MeshError
from meshkit.fields import leaves
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import DATA, Mesh
from meshkit.regions import Region
from tests.meshes import two_tetrahedra


def case() -> Mesh:
    """Two tets with the face between them first; fields of one name in several homes."""
    mesh = two_tetrahedra()
    n = torch.arange
    return make_mesh(
        mesh.points,
        mesh.cells,
        faces=mesh.faces,
        point_data={"p": n(5.0), "flow": {"U": torch.ones(5, 3), "T": n(5.0)}, "a/b": n(5.0)},
        cell_data={"p": n(2.0), "mat": ["steel", "air"]},
        face_data={"phi": n(7.0)},
        global_data={"p": torch.tensor(3.0)},
        regions=[
            Region("upper", "cell", [0]),
            Region("lower", "cell", [1]),
            Region("both", "side", [[0, 1], [1, 2]]),
            Region("between", "face", [0]),
            Region("outside", "face", [4, 5]),
            Region("top", "point", [0, 1, 2, 3]),
            Region("corner", "point", [0, 1]),
            Region("rim", "edge", [[0, 1]]),
            Region("twice", "cell", [1]),
            Region("twice", "side", [[0, 1]]),
            Region("cell/odd", "cell", [1]),
        ],
        info=MeshInfo(fields={("cell_data", "p"): FieldInfo(unit="Pa")}),
    )


def names(mesh: Mesh) -> list[str]:
    return ["/".join((h, *path)) for h in DATA for path, _ in leaves(getattr(mesh, h))]


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        (["p"], ["point_data/p", "cell_data/p", "global_data/p"]),
        (["cell_data/p"], ["cell_data/p"]),
        (["flow"], ["point_data/flow/U", "point_data/flow/T"]),
        (["flow/U"], ["point_data/flow/U"]),
        (["point_data/flow/T", "phi"], ["point_data/flow/T", "face_data/phi"]),
        (["a/b"], ["point_data/a/b"]),
        (["cell_data"], []),
    ],
)
def test_fields(asked: Sequence[str], kept: Sequence[str]) -> None:
    if not kept:
        with pytest.raises(MeshError, match=r"no field 'cell_data'; there are .*cell_data/p"):
            only_fields(case(), asked)
        return
    mesh = only_fields(case(), asked)
    assert names(mesh) == kept
    dropped = {entry.name for entry in mesh.info.report.dropped}
    assert dropped == set(names(case())) - set(kept)
    assert mesh.info.report.lossless


def test_fields_keep_what_is_known_of_them() -> None:
    mesh = only_fields(case(), ["mat"])
    assert mesh.info.field("cell_data", "mat").vocabulary == ("steel", "air")
    assert set(mesh.info.fields) == {("cell_data", "mat")}
    assert only_fields(case(), ["cell_data/p"]).info.field("cell_data", "p").unit == "Pa"
    assert len(mesh.regions) == len(case().regions)


@pytest.mark.parametrize(
    ("asked", "cells"),
    [
        (["upper"], [0]),
        (["upper", "lower"], [0, 1]),
        (["both"], [0, 1]),
        (["between"], [0, 1]),
        (["outside"], [1]),
        (["top"], [0]),
        (["side/twice"], [0]),
        (["cell/twice"], [1]),
        (["cell/odd"], [1]),
    ],
)
def test_regions(asked: Sequence[str], cells: Sequence[int]) -> None:
    mesh = only_regions(case(), asked)
    assert mesh.cell_data["p"].tolist() == cells
    gone = {entry.what: entry.count for entry in mesh.info.report.dropped}
    assert gone == ({} if len(cells) == 2 else {"cells": 1, "faces": 3})
    assert mesh.info.report.lossless
    assert mesh.n_points == (5 if len(cells) == 2 else 4)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wal", "no region 'wal'; the mesh has 'upper', "),
        ("rim", "region 'rim' of edges has no cells; expected one of cells, sides, faces or"),
        ("corner", "no cell lies in 'corner'"),
        ("twice", "region 'twice' exists for cell, side; name the entity"),
    ],
)
def test_region_refused(name: str, said: str) -> None:
    with pytest.raises(MeshError, match=said):
        only_regions(case(), [name])


def test_a_region_of_cells_that_are_not_there() -> None:
    mesh = two_tetrahedra().replace(regions=[Region("far", "cell", [7])])
    with pytest.raises(MeshError, match="region 'far': expected cells from 0 to 1, found 7 to 7"):
        only_regions(mesh, ["far"])


def test_an_empty_cell_lies_in_no_region() -> None:
    mesh = make_mesh(
        torch.zeros(1, 3),
        torch.tensor([0]),
        types=torch.tensor([0, 1], dtype=torch.uint8),
        offsets=torch.tensor([0, 0, 1]),
        regions=[Region("all", "point", [0])],
    )
    assert only_regions(mesh, ["all"]).cells.counts == {"vertex": 1}


def test_a_point_region_of_a_mesh_without_cells() -> None:
    mesh = make_mesh(torch.zeros(3, 3), regions=[Region("all", "point", [0, 1, 2])])
    with pytest.raises(MeshError, match="no cell lies in 'all'"):
        only_regions(mesh, ["all"])
