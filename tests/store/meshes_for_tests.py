"""The meshes that the tests of the store share."""

from __future__ import annotations

import torch

from meshkit.info import FieldInfo, Grid, MeshInfo
from meshkit.mesh import Mesh
from meshkit.regions import Region
from tests.meshes import two_tetrahedra


def rich() -> Mesh:
    """Something of everything, small."""
    mesh = two_tetrahedra()
    return mesh.replace(
        point_data={"flow": {"p": torch.arange(5.0), "a/b": torch.ones(5, 3, 3)}},
        cell_data={"": torch.tensor([2**53 + 1, -1]), "material": ["acier", "cuivre"]},
        face_data={"phi": torch.arange(7.0)},
        global_data={"Re": torch.tensor(1e6)},
        regions=[
            Region("wall", "face", torch.tensor([1, 2]), flip=torch.tensor([True, False])),
            Region("wall", "point", [0, 3], data={"T": torch.tensor([1.0, 2.0])}),
        ],
        info=MeshInfo(
            length_unit="mm",
            frame="body axes",
            time=0.1,
            fields={("face_data", "phi"): FieldInfo(unit="m^3/s", oriented=True)},
            grid=Grid((5, 1, 1)),
            attributes={"solver": {"name": "ünicode", "cfl": 0.5}},
        ),
    )
