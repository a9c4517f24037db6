"""What a user sets for all of torch changes no answer: default device, default dtype, modes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from torch import Tensor

import meshkit as mk
from meshkit import operators as ops
from meshkit.memo import constant
from meshkit.mesh import Mesh
from meshkit.regions import Region
from tests import meshes
from tests.meshes import shaken
from tests.operators.kinds import KINDS
from tests.operators.surfaces import icosphere

ROOT: Final = Path(__file__).parent.parent
MESHES: Final[dict[str, Callable[[], Mesh]]] = {
    "tets": lambda: shaken(meshes.kuhn_cube(2)),
    "one of each": meshes.one_of_each,
    "quads": lambda: shaken(meshes.square_quads(3)),
    "polyhedra": lambda: shaken(KINDS["hanging"](2)),
    "sphere": lambda: icosphere(1),
}


def _rows(mesh: Mesh, on: str) -> Tensor:
    n = mesh.n_cells if on == "cells" else mesh.n_points
    return torch.linspace(0, 1, n, dtype=torch.float64, device="cpu").square()


def _differential(name: str, on: str, method: str) -> Callable[[Mesh], Any]:
    return lambda mesh: getattr(ops, name)(mesh, _rows(mesh, on), on=on, method=method)


def _known(mesh: Mesh) -> Any:
    known = torch.full((int((ops.faces(mesh).neighbour < 0).sum()),), 2.0, device="cpu")
    return ops.gradient(mesh, _rows(mesh, "cells"), on="cells", boundary=known.double())


PLAIN: Final = [
    *("cell_measures", "cell_centroids", "quality", "dual_measures", "dihedral_angles"),
    *("faces", "edges", "cell_cells", "cell_faces", "point_cells", "point_points", "boundary"),
    *("components", "face_area_vectors", "face_centroids", "face_quality", "simplices", "check"),
    *("cell_normals", "corner_angles", "edge_angles", "angle_defects", "mean_curvature"),
    *("gauss_curvature", "point_normals"),
    *("stiffness_matrix", "mass_matrix", "feature_patches"),
]
METHODS: Final = [
    *(("gradient", "cells", method) for method in ("lsq", "green_gauss", "green_gauss_plain")),
    *(("gradient", "points", method) for method in ("lsq", "fem")),
    ("laplacian", "cells", "finite_volume"),
    ("laplacian", "points", "fem"),
]
OPERATORS: Final[dict[str, Callable[[Mesh], Any]]] = {
    **{name: getattr(ops, name) for name in PLAIN},
    **{f"{what} {method} {on}": _differential(what, on, method) for what, on, method in METHODS},
    "boundary values": _known,
    "matrix": lambda mesh: ops.gradient_operator(mesh, on="cells").matrix(),
    "stencil": lambda mesh: ops.gradient_operator(mesh, on="cells").stencil,
    "integrate": lambda mesh: ops.integrate(mesh, _rows(mesh, "points"), on="points"),
    "average": lambda mesh: ops.average(mesh, _rows(mesh, "cells"), on="cells"),
    "weights": lambda mesh: ops.integration_weights(mesh, on="cells", rows=_few(mesh)),
    "flux": lambda mesh: ops.flux(mesh, mesh.points, on="points"),
    "force": lambda mesh: ops.force(mesh, _rows(mesh, "points"), on="points", about=mesh.points[0]),
    "average of points": lambda mesh: ops.average(mesh, mesh.points, on="points"),
}


def _few(mesh: Mesh) -> Tensor:
    return torch.arange(0, mesh.n_cells, 7, device="cpu")


def _numbers(found: Any) -> Iterator[Tensor]:
    """Every tensor in an answer, in one order."""
    if isinstance(found, Tensor):
        yield found.to_dense() if found.is_sparse else found
    elif isinstance(found, Mesh):
        yield from (found.points, found.cells.types, found.cells.offsets, found.cells.connectivity)
        if found.faces is not None:
            yield from found.faces.sources
    elif is_dataclass(found):
        for field in fields(found):
            yield from _numbers(getattr(found, field.name))
    elif isinstance(found, tuple | list):
        for part in found:
            yield from _numbers(part)
    elif hasattr(found, "items"):
        for _, part in sorted(found.items()):
            yield from _numbers(part)


def _answer(operator: Callable[[Mesh], Any], mesh: Mesh) -> list[Tensor] | str:
    """The numbers, or the one line that refuses the mesh."""
    try:
        return list(_numbers(operator(mesh)))
    except mk.MeshError as error:
        return str(error)


@contextmanager
def _default(device: str | None = None, dtype: torch.dtype | None = None) -> Iterator[None]:
    before = torch.get_default_dtype()
    if dtype is not None:
        torch.set_default_dtype(dtype)
    if device is not None:
        torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        torch.set_default_device(None)


@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.parametrize("given", [{"device": "meta"}, {"dtype": torch.float64}], ids=str)
def test_defaults_change_no_answer(given: dict[str, Any], kind: str) -> None:
    mesh, again = MESHES[kind](), MESHES[kind]()
    answered = 0
    for name, operator in OPERATORS.items():
        expected = _answer(operator, mesh)
        with _default(**given):
            found = _answer(operator, again)
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected, name
            continue
        answered += len(expected) > 0
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True, msg=name)
    assert answered > len(OPERATORS) / 3


@pytest.mark.parametrize("given", [{"device": "meta"}, {"dtype": torch.float64}], ids=str)
def test_defaults_change_no_file(given: dict[str, Any], tmp_path: Path) -> None:
    mesh = meshes.one_of_each().replace(
        regions=[Region("some", "cell", torch.tensor([0, 2]))],
        cell_data={"t": torch.rand(meshes.one_of_each().n_cells)},
    )
    for name in ("a.vtu", "a.npz"):
        with _default(**given):
            mk.write(mesh, tmp_path / name)
            found = mk.read(tmp_path / name)
        assert found.device.type == "cpu"
        assert torch.equal(found.points, mesh.points)
        assert torch.equal(found.cell_data["t"], mesh.cell_data["t"])
        assert torch.equal(found.regions["some"].ids.long(), mesh.regions["some"].ids)


MAKERS: Final = (
    *("arange", "as_tensor", "asarray", "empty", "eye", "full", "linspace", "ones", "rand"),
    *("randint", "randn", "randperm", "scalar_tensor", "sparse_coo_tensor", "tensor", "zeros"),
)


@pytest.mark.parametrize("room", ["meshkit", "operators", "readers"])
def test_what_makes_tensors_names_the_device(room: str) -> None:
    silent = []
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
            named = any(given.arg == "device" for given in node.keywords)
            if of_torch and node.func.attr in MAKERS and not named:
                silent.append(f"{path.relative_to(ROOT)}:{node.lineno}: torch.{node.func.attr}")
    assert silent == []


@pytest.mark.parametrize("kind", MESHES)
def test_what_was_validated_can_be_trained(kind: str) -> None:
    mesh, fresh = MESHES[kind](), MESHES[kind]()
    for name, operator in OPERATORS.items():
        with torch.inference_mode():
            _answer(operator, mesh)
        points = mesh.points.clone().requires_grad_()
        expected = _slope(operator, fresh, fresh.points.clone().requires_grad_())
        torch.testing.assert_close(
            _slope(operator, mesh, points), expected, rtol=0, atol=0, equal_nan=True, msg=name
        )


def _slope(operator: Callable[[Mesh], Any], mesh: Mesh, points: Tensor) -> Tensor | None:
    found = _answer(operator, mesh.replace(points=points))
    if isinstance(found, str):
        return None
    followed = [torch.nan_to_num(x).square().sum() for x in found if x.requires_grad]
    if not followed:
        return None
    (slope,) = torch.autograd.grad(torch.stack(followed).sum(), points, allow_unused=True)
    return slope


@pytest.mark.parametrize("kind", MESHES)
def test_a_mesh_of_inference_tensors_is_answered(kind: str) -> None:
    expected = {name: _answer(operator, MESHES[kind]()) for name, operator in OPERATORS.items()}
    with torch.inference_mode():
        mesh = MESHES[kind]()
        assert mesh.points.is_inference()
        inside = {name: _answer(operator, mesh) for name, operator in OPERATORS.items()}
    for name, operator in OPERATORS.items():
        for found in (inside[name], _answer(operator, mesh)):
            torch.testing.assert_close(
                found, expected[name], rtol=0, atol=0, equal_nan=True, msg=name
            ) if not isinstance(found, str) else None
            assert isinstance(found, str) == isinstance(expected[name], str), name


@pytest.mark.parametrize("what", ["gradient", "laplacian"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_operators_prepared_for_validation_can_be_trained_through(
    what: str, dtype: torch.dtype
) -> None:
    mesh = MESHES["polyhedra"]()
    maker = getattr(ops, f"{what}_operator")
    field, n = _rows(mesh, "cells").to(dtype), int((ops.faces(mesh).neighbour < 0).sum())
    with torch.inference_mode():
        operator = maker(mesh, on="cells", boundary=torch.ones(n, dtype=torch.bool))
        operator.apply(field, field.new_ones(n))
    x, skin = field.clone().requires_grad_(), field.new_ones(n).requires_grad_()
    fresh = maker(mesh, on="cells", boundary=torch.ones(n, dtype=torch.bool))
    expected = fresh.apply(field, skin.detach())
    answer = operator.apply(x, skin)
    torch.testing.assert_close(answer, expected, rtol=0, atol=0)
    answer.square().sum().backward()
    for grad in (x.grad, skin.grad):
        assert grad is not None and bool(grad.abs().sum() > 0)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_coefficients_cast_without_derivatives_have_them_later(mode: Callable[[], Any]) -> None:
    mesh = shaken(meshes.cube_hexes(3))
    points = mesh.points.clone().requires_grad_()
    operator = ops.gradient_operator(mesh.replace(points=points), on="cells")
    field = _rows(mesh, "cells").float()
    with mode():
        operator.apply(field)
    (slope,) = torch.autograd.grad(operator.apply(field).square().sum(), points)
    assert bool(slope.abs().sum() > 0)


def test_constants_are_normal_tensors_made_once() -> None:
    made: list[int] = []

    @constant
    def table(n: int) -> Tensor:
        made.append(n)
        return torch.zeros(n)

    with torch.inference_mode():
        first = table(2)
    assert not first.is_inference() and table(2) is first and made == [2]
