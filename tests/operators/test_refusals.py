"""What public operators make of wrong arguments: one line that says what was found."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import torch

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.regions import Region
from tests import meshes
from tests.operators.surfaces import icosphere

OF_MESH: Final = sorted(
    name
    for name in ops.__all__
    if inspect.isfunction(getattr(ops, name))
    and next(iter(inspect.signature(getattr(ops, name)).parameters)) == "mesh"
)
VALUES: Final = ("values", "vectors", "pressure")
TAKE_VALUES: Final = [
    name for name in OF_MESH if {*VALUES} & {*inspect.signature(getattr(ops, name)).parameters}
]


def needed(name: str, mesh: Mesh) -> dict[str, Any]:
    """Arguments without a default, as good as any."""
    given: dict[str, Any] = {
        "values": torch.rand(mesh.n_cells, 3),
        "vectors": torch.rand(mesh.n_cells, 3),
        "pressure": torch.rand(mesh.n_cells),
        "on": "cells",
        "region": "none",
    }
    parameters = inspect.signature(getattr(ops, name)).parameters.values()
    return {p.name: given[p.name] for p in parameters if p.name in given and p.default is p.empty}


def like_one_of(module: str) -> object:
    """An object whose class derives from one of this module."""
    base = type("Base", (), {"__module__": module})
    return type("Grid", (base,), {"__module__": "somewhere"})()


def refused(operator: Callable[..., object], *args: object, **given: object) -> str:
    """What the refusal says; nothing where there is an answer."""
    try:
        operator(*args, **given)
    except MeshError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", OF_MESH)
def test_what_is_no_mesh_is_refused(name: str) -> None:
    tets = meshes.kuhn_cube(1)
    operator = getattr(ops, name)
    for wrong, said in (
        (None, "NoneType"),
        ([tets], "list"),
        (tets.points, "Tensor"),
        (ops.domain(tets), r"DomainMesh; take its \.interior"),
        (Path("a.vtu"), r"PosixPath; take meshkit\.read"),
        (like_one_of("pyvista.core"), r"Grid; take meshkit\.from_pyvista\(mesh\)"),
        (like_one_of("meshio._mesh"), r"Grid; take meshkit\.from_meshio\(mesh\)"),
    ):
        with pytest.raises(MeshError, match=rf"^{name}: expected a Mesh, found {said}"):
            operator(wrong, **needed(name, tets))
    with pytest.raises(MeshError, match=rf"^{name}: the mesh is on the meta device"):
        operator(mesh=tets.to(device="meta"), **needed(name, tets))


@pytest.mark.parametrize("name", TAKE_VALUES)
def test_what_are_no_values_is_refused(name: str) -> None:
    tets = meshes.kuhn_cube(1)
    operator, given = getattr(ops, name), needed(name, tets)
    key = next(k for k in VALUES if k in given)
    right = given[key]
    for wrong, said in (
        ("p", "expected a tensor, found str"),
        (right.numpy(), r"expected a tensor, found ndarray; take torch.as_tensor\(...\) of it$"),
        (right.tolist(), r"expected a tensor, found list; take torch.as_tensor\(...\) of it$"),
        (right[:-1], r"expected (values on cells )?\[6"),
        (right.to_sparse(), "expected a dense tensor, found sparse_coo"),
        (right.to("meta"), "on meta, the mesh on cpu"),
    ):
        with pytest.raises(MeshError, match=said) as error:
            operator(tets, **{**given, key: wrong})
        assert "\n" not in str(error.value)


JUNK: Final[tuple[object, ...]] = (
    object(),
    "nonsense",
    -1,
    3.5,
    float("nan"),
    [],
    {},
    b"x",
    ("a", "b"),
    np.zeros(2),
)


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("name", OF_MESH)
def test_no_option_ends_in_a_traceback(name: str, surface: bool) -> None:
    tets = meshes.square_triangles(1, 3) if surface else meshes.kuhn_cube(1)
    operator, given = getattr(ops, name), needed(name, tets)
    for option in [*inspect.signature(operator).parameters][1:]:
        if option in VALUES:
            continue
        for junk in (*JUNK, torch.zeros(2)):
            said = refused(operator, tets, **{**given, option: junk})
            assert "\n" not in said


EMPTY: Final[dict[str, Callable[[], Mesh]]] = {
    "nothing": lambda: make_mesh(torch.zeros(0, 3)),
    "cloud": lambda: make_mesh(torch.rand(4, 3)),
    "no cells": lambda: make_mesh(torch.rand(4, 3), torch.zeros(0, 4, dtype=torch.int64)),
    "vertices": lambda: make_mesh(torch.rand(4, 3), [[0], [3]], types="vertex"),
    "line": lambda: make_mesh(torch.tensor([[0.0], [1.0], [3.0]]), [[0, 1], [1, 2]]),
    "half": lambda: meshes.kuhn_cube(1).to(dtype=torch.float16),
}


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("name", OF_MESH)
def test_meshes_of_little_have_an_answer_or_a_line(name: str, kind: str) -> None:
    mesh = EMPTY[kind]()
    assert "\n" not in refused(getattr(ops, name), mesh, **needed(name, mesh))


def with_unknown_type() -> Mesh:
    mesh = meshes.square_triangles(1)
    types = torch.tensor([5, 180], dtype=torch.uint8)
    return mesh.replace(cells=replace(mesh.cells, types=types))


def with_odd_edges() -> Mesh:
    """Edges of one point and of three, given to a triangle and to a vertex."""
    table = Faces(
        torch.tensor([0, 1, 4, 7]),
        torch.tensor([0, 1, 2, 0, 0, 1, 1]),
        torch.tensor([0, 1, 1]),
        torch.tensor([-1, -1, 0]),
    )
    return make_mesh(
        torch.rand(3, 3),
        torch.tensor([0, 1, 2, 0]),
        offsets=torch.tensor([0, 3, 4]),
        types=torch.tensor([5, 1], dtype=torch.uint8),
        faces=table,
        regions=[Region("all", "face", [0, 1, 2])],
    )


@pytest.mark.parametrize("make", [with_unknown_type, with_odd_edges])
@pytest.mark.parametrize("name", OF_MESH)
def test_unsound_cells_and_faces_have_an_answer_or_a_line(
    name: str, make: Callable[[], Mesh]
) -> None:
    mesh = make()
    assert "\n" not in refused(getattr(ops, name), mesh, **needed(name, mesh))


def test_arguments_of_worst() -> None:
    mesh = meshes.kuhn_cube(1)
    with pytest.raises(MeshError, match=r"found a Mesh; say worst\(quality\(mesh\)\)"):
        ops.worst(mesh)  # type: ignore[arg-type]
    with pytest.raises(MeshError, match=r"expected what quality.* found list"):
        ops.worst([1])  # type: ignore[arg-type]
    found = ops.quality(mesh)
    for count in (-1, 2.5, "3", True):
        with pytest.raises(MeshError, match="expected a count of 0 or more"):
            ops.worst(found, count)  # type: ignore[arg-type]
    assert all(w.ids == () for w in ops.worst(found, 0))


def test_arguments_of_weights() -> None:
    mesh = meshes.kuhn_cube(1)
    for rows, said in (
        (torch.tensor([6]), "rows from 0 to 5 .* found 6"),
        (torch.tensor([-1]), "found -1"),
        (torch.tensor([3, 1, 3]), "rows without repeats, found row 3 twice"),
        (torch.tensor([0, 0], dtype=torch.int32), "rows without repeats, found row 0 twice"),
        (torch.zeros(2), "expected int32 or int64"),
        ([1], "found list"),
    ):
        with pytest.raises(MeshError, match=said):
            ops.integration_weights(mesh, on="cells", rows=rows)  # type: ignore[arg-type]
    for chance, said in (
        (0.0, "above 0 and at most 1, found 0$"),
        (float("nan"), "above 0 and at most 1, found nan$"),
        (torch.tensor([0.5, 1.5]), "above 0 and at most 1, found 1.5$"),
        ("often", "expected a chance, .* found 'often'"),
    ):
        with pytest.raises(MeshError, match=said):
            ops.integration_weights(mesh, on="cells", rows=torch.tensor([1, 2]), chance=chance)  # type: ignore[arg-type]
    far = torch.tensor([0, 4799, 4799])  # few of many rows
    with pytest.raises(MeshError, match="found row 4799 twice"):
        ops.integration_weights(meshes.kuhn_cube(10), on="cells", rows=far[[1, 0, 2]])
    with pytest.raises(MeshError, match="expected a chance"):
        ops.integration_weights(mesh, on="cells", rows=torch.tensor([1, 2]), chance=torch.rand(3))


def test_fields_of_any_dtype_are_integrated_and_differentiated() -> None:
    mesh = meshes.kuhn_cube(2)
    for dtype in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.complex64):
        ones = torch.ones(mesh.n_points, dtype=dtype)
        assert complex(ops.integrate(mesh, ones, on="points")) == pytest.approx(1, rel=1e-6)
        if dtype != torch.bool:
            ramp = (2 * mesh.points[:, 0]).round().to(dtype)
            got = ops.gradient(mesh, ramp, on="points")
            want = torch.tensor([2.0, 0, 0]).to(got.dtype).expand_as(got)
            torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-2)


def test_a_field_that_is_followed_where_some_rows_are_not_determined() -> None:
    ball = icosphere(0)
    table = torch.cat([ball.cells.dense.reshape(-1), torch.tensor([0, 1])])
    offsets = torch.cat([ball.cells.offsets, torch.tensor([62])])
    types = torch.cat([ball.cells.types, torch.tensor([3], dtype=torch.uint8)])
    mixed = make_mesh(ball.points, table, offsets=offsets, types=types)
    values = torch.rand(mixed.n_cells, requires_grad=True)
    found = ops.gradient(mixed, values, on="cells")
    assert torch.isnan(found[-1]).all()
    (gradient,) = torch.autograd.grad(found[:-1].sum(), values)
    assert torch.isfinite(gradient).all()


BOUNDARY_VALUES: Final[tuple[tuple[object, str], ...]] = (
    (5, "expected a tensor, found int"),
    (np.zeros(12), "expected a tensor, found ndarray"),
    (torch.zeros(12, device="meta"), "on meta, the mesh on cpu"),
    (torch.zeros(12).to_sparse(), "expected a dense tensor, found sparse_coo"),
    (torch.zeros(12, dtype=torch.complex64), "real"),
    (torch.zeros(11), r"expected boundary values \[12"),
)


@pytest.mark.parametrize(("wrong", "said"), BOUNDARY_VALUES)
def test_what_are_no_boundary_values_is_refused(wrong: object, said: str) -> None:
    mesh, field = meshes.kuhn_cube(1), torch.rand(6)
    prepared = ops.gradient_operator(mesh, on="cells", boundary=torch.ones(12, dtype=torch.bool))
    assert re.search(said, refused(prepared.apply, field, wrong))
    if isinstance(wrong, torch.Tensor):
        assert re.search(said, refused(ops.gradient, mesh, field, on="cells", boundary=wrong))
        if not wrong.is_complex():
            assert re.search(said, refused(prepared.apply, field.to(torch.complex64), wrong))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("x", "expected numbers, found str"),
        (None, "expected numbers, found NoneType"),
        ([1.0, 2.0], r"expected values \[3, 3\], or one \[3\], found float64 \[2\]"),
        (torch.zeros(2, 3), r"expected values \[3, 3\], or one \[3\], found float32 \[2, 3\]"),
        (1j, "expected real values as the field's"),
        (torch.zeros(3, device="meta"), "on meta, the mesh on cpu"),
    ],
)
def test_what_are_no_values_of_a_region_is_refused(wrong: object, said: str) -> None:
    sides = torch.tensor([[0, 0], [0, 1], [0, 2]])
    mesh = meshes.tetrahedron().replace(regions=[Region("wall", "side", sides)])
    found = refused(ops.gradient, mesh, torch.rand(1, 3), on="cells", boundary={"wall": wrong})
    assert re.search(f"gradient: region 'wall': {said}", found)


def test_a_value_of_a_region_is_called_a_single_value() -> None:
    sides = torch.tensor([[0, 0], [0, 1], [0, 2]])
    mesh = meshes.tetrahedron().replace(regions=[Region("wall", "side", sides)])
    found = refused(ops.gradient, mesh, torch.rand(1), on="cells", boundary={"wall": [1.0, 2.0]})
    assert found.endswith("expected values [3], or a single value, found float64 [2]")


@pytest.mark.parametrize("name", ["mass_matrix", "stiffness_matrix"])
def test_only_operators_that_have_methods_advise_another(name: str) -> None:
    mesh = meshes.cube_hexes()
    assert refused(getattr(ops, name), mesh).endswith("of 8 points; take simplices(mesh)")
    found = refused(ops.gradient, mesh, torch.rand(8), on="points", method="fem")
    assert found.endswith('take simplices(mesh), or another method than "fem"')


def test_transposed_operators_take_what_operators_take() -> None:
    mesh = meshes.kuhn_cube(2)
    back = ops.gradient_operator(mesh, on="cells").transpose()
    given = torch.randint(-3, 4, (48, 3))
    assert back.apply(given.double()).abs().max() > 1
    for dtype in (torch.int32, torch.uint8, torch.float16, torch.float32, torch.complex64):
        here = given.abs() if dtype == torch.uint8 else given
        right = back.apply(here.double())
        got = back.apply(here.to(dtype))
        assert got.dtype == (
            dtype if dtype.is_floating_point or dtype.is_complex else torch.float64
        )
        torch.testing.assert_close(got, right.to(got.dtype), rtol=1e-2, atol=1e-2)
    for wrong, said in (
        (given.numpy(), "transposed gradient: values: expected a tensor, found ndarray"),
        (given.to("meta"), "transposed gradient: values: on meta, the mesh on cpu"),
        (given[:-1], r"transposed gradient: expected values on cells \[48, ..., 3\], found int64"),
    ):
        assert re.search(said, refused(back.apply, wrong))


def test_coefficients_are_floating() -> None:
    mesh = meshes.kuhn_cube(1)
    narrow = torch.float16, torch.bfloat16, torch.float8_e4m3fn
    for wrong in (torch.int32, torch.bool, "float32", torch.complex64, *narrow):
        said = refused(ops.gradient_operator, mesh, on="cells", dtype=wrong)
        assert "expected torch.float32 or torch.float64 as the dtype of the coefficients" in said


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_floats_of_one_byte_are_refused(dtype: torch.dtype) -> None:
    mesh = meshes.kuhn_cube(2)
    x = torch.ones(mesh.n_cells).to(dtype)
    said = rf"expected floats of two bytes or more, found {str(dtype)[6:]} .*; take .float\(\)"
    operator = ops.gradient_operator(mesh, on="cells", boundary=torch.ones(48, dtype=torch.bool))
    of_wall = torch.ones(48).to(dtype)
    for call, *given in (
        (ops.gradient_operator(mesh, on="cells").apply, x),
        (operator.apply, x.float(), of_wall),
        (operator.transpose().apply, x[:, None].expand(-1, 3)),
    ):
        assert re.search(said, refused(call, *given))
    vectors = x[:, None].expand(-1, 3)
    for name, field in (("gradient", x), ("laplacian", x), ("divergence", vectors)):
        assert re.search(said, refused(getattr(ops, name), mesh, field, on="cells"))
    for name, field in (("integrate", x), ("average", x), ("flux", vectors), ("force", x)):
        assert re.search(said, refused(getattr(ops, name), mesh, field, on="cells"))


SURFACE: Final = (
    "angle_defects",
    "gauss_curvature",
    "mean_curvature",
    "edge_angles",
    "feature_patches",
)
SURFACE_CELLS: Final = ("cell_normals", "point_normals", "corner_angles")


@pytest.mark.parametrize("name", [*SURFACE, *SURFACE_CELLS])
def test_what_surfaces_have_is_refused_to_others_with_the_way_there(name: str) -> None:
    operator = getattr(ops, name)
    expected = f"{name}: expected (a surface|surface cells)"
    solid = meshes.kuhn_cube(1)
    assert re.search(rf"^{expected}.*; take ops\.boundary\(mesh\)$", refused(operator, solid))
    assert len(operator(ops.boundary(solid)))
    for other in (
        make_mesh(torch.rand(3, 3), [[0, 1], [1, 2]]),
        make_mesh(torch.rand(3, 3), [[0]]),
    ):
        said = refused(operator, other)
        assert re.search(f"^{expected}", said) and "boundary" not in said


def solid_and_shell() -> Mesh:
    return make_mesh(
        meshes.tetrahedron().points, [[0, 1, 2, 3], [0, 1, 2]], types=["tetra", "triangle"]
    )


@pytest.mark.parametrize("name", SURFACE)
def test_the_surface_cells_of_a_solid_can_be_selected(name: str) -> None:
    mesh = solid_and_shell()
    advice = "mesh.select(cells=mesh.cells.dims == 2)"
    assert advice in refused(getattr(ops, name), mesh)
    getattr(ops, name)(mesh.select(cells=mesh.cells.dims == 2))


@pytest.mark.parametrize("name", SURFACE_CELLS)
def test_of_mixed_and_of_no_cells_there_is_an_answer(name: str) -> None:
    found = getattr(ops, name)(solid_and_shell())
    assert bool(torch.isnan(found).any()) and not bool(torch.isnan(found).all())
    empty = getattr(ops, name)(make_mesh(torch.rand(2, 3)))
    assert bool(torch.isnan(empty).all())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "green-gauss"}, "found 'green-gauss'; did you mean green_gauss?"),
        ({"method": "LSQ"}, "found 'LSQ'; did you mean lsq?"),
        ({"method": "gauss"}, "did you mean green_gauss or green_gauss_plain?"),
        ({"method": 3}, "expected a method of lsq, green_gauss, green_gauss_plain, fem, found 3"),
        ({"weights": float("nan")}, "expected a finite number for weights, found nan"),
        ({"weights": "1"}, "expected a finite number for weights, found '1'"),
        ({"on": "cell"}, "found 'cell'; did you mean cells?"),
    ],
)
def test_what_was_meant_is_said(given: dict[str, Any], said: str) -> None:
    mesh = meshes.kuhn_cube(1)
    whole = {"on": "cells", **given}
    assert refused(ops.gradient, mesh, torch.rand(6), **whole).endswith(said)


@pytest.mark.parametrize("name", ["integrate", "average", "flux", "force", "integration_weights"])
def test_a_wrong_place_names_the_operator(name: str) -> None:
    mesh = meshes.kuhn_cube(1)
    given = {**needed(name, mesh), "on": "Cells"}
    said = refused(getattr(ops, name), mesh, **given)
    assert said.startswith(f'{name}: expected on "points", "cells" or "faces", found \'Cells\'')
    assert said.endswith("; did you mean cells?")


def test_a_cloud_has_no_force() -> None:
    cloud = make_mesh(torch.rand(4, 3))
    said = refused(ops.force, cloud, torch.rand(4), on="points")
    assert said.startswith("force: expected cells of dimension 3 or 2 in 3-D, found Cells(")
    assert "give a region" in said
