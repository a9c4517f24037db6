"""Which field is meant, and the one number a row that is shown of it."""

import numpy as np
import pytest
import torch

from meshkit.errors import MeshError
from meshkit.fields import nested
from meshkit.info import FieldInfo, MeshInfo
from meshkit.mesh import Mesh
from meshkit.pictures.errors import PictureError
from meshkit.pictures.shades import chosen_key, shade
from meshkit.regions import Region
from tests.meshes import two_tetrahedra


def mesh(**fields: object) -> Mesh:
    return two_tetrahedra().with_data(**fields)  # type: ignore[arg-type]


def test_the_first_field_that_measures_something() -> None:
    ids = torch.arange(5)
    made = mesh(point={"id": ids}, cell={"p": torch.ones(2)})
    assert chosen_key(made, None) == ("cell_data", "p")
    made = mesh(point=nested({("flow", "T"): torch.ones(5)}), cell={"p": torch.ones(2)})
    assert chosen_key(made, None) == ("point_data", "flow", "T")
    assert chosen_key(mesh(point={"id": ids}), None) == ("point_data", "id")
    by_region = mesh(point={"id": ids}).replace(regions=[Region("r", "cell", [0])])
    assert chosen_key(by_region, None) is None
    assert chosen_key(mesh(), None) is None


def test_names_with_and_without_their_home() -> None:
    made = mesh(point={"T": torch.ones(5)}, cell={"T": torch.ones(2), "p": torch.ones(2)})
    assert chosen_key(made, "p") == ("cell_data", "p")
    assert chosen_key(made, "point_data/T") == ("point_data", "T")
    with pytest.raises(MeshError, match="could be point_data/T and cell_data/T"):
        chosen_key(made, "T")
    with pytest.raises(MeshError, match="no field 'q' on points or cells; there are point_data/T"):
        chosen_key(made, "q")


def test_components() -> None:
    u = torch.tensor([[3.0, -4, 0], [0, 0, 2]])
    made = mesh(cell={"U": u})
    made = made.replace(info=MeshInfo(fields={("cell_data", "U"): FieldInfo(unit="m/s")}))
    key = ("cell_data", "U")
    whole, y = shade(made, key, None), shade(made, key, "y")
    assert whole is not None and y is not None
    assert whole.values.tolist() == [5, 2]
    assert whole.title == "U magnitude [m/s]"
    assert y.values.tolist() == [-4, 0]
    assert y.title == "U y [m/s]"
    with pytest.raises(PictureError, match="no component 'w'; expected magnitude, x, y, z"):
        shade(made, key, "w")


def test_tensors_complex_numbers_and_named_components() -> None:
    stress = torch.arange(18.0).reshape(2, 3, 3)
    made = mesh(
        cell={"s": stress, "z": torch.tensor([3 + 4j, 1j]), "v": torch.eye(2)},
    )
    info = MeshInfo(fields={("cell_data", "v"): FieldInfo(components=("radial", "axial"))})
    made = made.replace(info=info)
    for key, component, wanted in (
        ("s", "xy", [1.0, 10.0]),
        ("s", "8", [8.0, 17.0]),
        ("s", None, torch.linalg.matrix_norm(stress).tolist()),
        ("z", None, [5.0, 1.0]),
        ("v", "axial", [0.0, 1.0]),
    ):
        found = shade(made, ("cell_data", key), component)
        assert found is not None
        assert found.values.tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_small_floats_keep_their_values(dtype: torch.dtype) -> None:
    found = shade(mesh(cell={"p": torch.tensor([0.5, -2.0]).to(dtype)}), ("cell_data", "p"), None)
    assert found is not None
    assert found.nature == "measure"
    assert found.values.tolist() == [0.5, -2]


def test_what_values_are() -> None:
    made = mesh(
        cell={"name": ["steel", "air"], "wet": torch.tensor([True, False]), "n": torch.arange(2)}
    )
    natures = {}
    for name in ("name", "wet", "n"):
        found = shade(made, ("cell_data", name), None)
        assert found is not None
        natures[name] = found.nature
        assert found.values.dtype == np.float64
    assert natures == {"name": "text", "wet": "truth", "n": "whole"}
    assert shade(made, ("cell_data", "absent"), None) is None
