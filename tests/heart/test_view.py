"""The one TensorDict of a mesh: there and back, through memory maps too."""

from __future__ import annotations

import json
from collections import UserDict
from collections.abc import ItemsView
from pathlib import Path as FilePath

import pytest
import torch
from hypothesis import given, settings
from tensordict import TensorDict
from torch import Tensor

from meshkit import Mesh, MeshError
from meshkit.fields import Path
from meshkit.regions import Region
from meshkit.view import mesh_of, parts_of, plain_name, safe_name
from tests.mesh_differences import differences
from tests.meshes import tetrahedron
from tests.random_meshes import NAMES, random_meshes


@given(random_meshes())
def test_there_and_back(mesh: Mesh) -> None:
    assert differences(Mesh.from_tensordict(mesh.to_tensordict()), mesh) == []


@settings(max_examples=25)
@given(random_meshes())
def test_through_a_memory_map(tmp_path_factory: pytest.TempPathFactory, mesh: Mesh) -> None:
    where = tmp_path_factory.mktemp("map")
    mesh.to_tensordict().memmap(where)
    assert differences(Mesh.from_tensordict(TensorDict.load_memmap(where)), mesh) == []
    outside = [p for p in where.rglob("*") if where not in p.parents]
    assert not outside and not list(where.rglob("*.pkl")) and not list(where.rglob("*.pickle"))


def test_meta_is_json_and_tensors_are_shared() -> None:
    mesh = tetrahedron()
    view = mesh.to_tensordict()
    assert json.loads(view["meta"])["version"] == 1
    assert view["points"].data_ptr() == mesh.points.data_ptr()


def test_names_become_safe_and_come_back() -> None:
    for name in NAMES:
        safe = safe_name(name)
        assert plain_name(safe) == name
        assert FilePath(safe).name == safe and safe not in ("", ".", "..")


def test_refuses_what_is_no_mesh() -> None:
    with pytest.raises(MeshError, match="JSON text under 'meta'"):
        Mesh.from_tensordict(TensorDict({"points": torch.zeros(1, 3)}, batch_size=[]))
    view = tetrahedron().to_tensordict()
    with pytest.raises(MeshError, match="a part of the mesh is missing: points"):
        Mesh.from_tensordict(view.exclude("points"))


def test_the_work_does_not_grow_with_regions_times_parts() -> None:
    """The parts are looked through as often with a hundred regions as with one."""

    class Counted(UserDict[Path, Tensor]):
        looks = 0

        def items(self) -> ItemsView[Path, Tensor]:
            Counted.looks += 1
            return super().items()

    def looks(n: int) -> int:
        regions = [Region(f"r{i}", "point", [0], data={"T": torch.zeros(1)}) for i in range(n)]
        flat, meta = parts_of(tetrahedron().replace(regions=regions))
        Counted.looks = 0
        assert len(mesh_of(Counted(flat), meta).regions) == n
        return Counted.looks

    assert looks(1) == looks(100) > 0
