"""What the tests integrate: linear fields, on kinds of cells shaken and stretched, over all."""

from __future__ import annotations

import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.mesh import Mesh
from meshkit.regions import Region
from tests import meshes
from tests.operators.kinds import KINDS

SLOPE = torch.tensor([[1.5, -0.3, 0.2], [0.7, -0.4, 0.1], [-0.2, 0.9, 0.6]], dtype=torch.float64)
SHIFT = torch.tensor([0.3, -2.0, 5.0], dtype=torch.float64)


def linear(x: Tensor) -> Tensor:
    d = x.shape[1]
    return x @ SLOPE[:d, :d].to(x) + SHIFT[:d].to(x)


def kind(name: str, stretch: float = 1.0, n: int = 2) -> Mesh:
    return meshes.stretched(meshes.shaken(KINDS[name](n), 0.2), 1.0, 1.0, 1 / stretch)


def all_cells(mesh: Mesh) -> Region:
    return Region("all", "cell", torch.arange(mesh.n_cells))


def with_faces(mesh: Mesh) -> Mesh:
    return mesh.replace(faces=ops.faces(mesh))


def boundary_regions(mesh: Mesh) -> list[Region]:
    """The whole boundary as faces and as sides."""
    faces = ops.faces(mesh)
    skin = ops.boundary(mesh)
    pairs = torch.stack([skin.cell_data["parent_cell"], skin.cell_data["local_face"]], 1)
    return [Region("skin", "face", faces.boundary), Region("skin", "side", pairs)]
