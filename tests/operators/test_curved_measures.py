"""Measures of curved cells: by hand, by exact rules, straight ones, and elements as in VTK."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.celltypes import CELL_TYPES, cell_type
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.operators.measure.elements import element
from meshkit.operators.measure.quadrature import rule
from meshkit.operators.measure.shape_functions import SIMPLEX_AXES
from tests.operators.cells_for_tests import (
    HIGH_ORDER,
    LAGRANGE,
    SHEAR,
    linear_twin,
    nodes_of,
    one_cell,
)


@pytest.mark.parametrize("name", HIGH_ORDER)
def test_straight_high_order_cells_measure_as_their_corners(name: str) -> None:
    check_straight(name, cell_type(name).size or 0, None)


@pytest.mark.parametrize(("name", "size", "degrees"), LAGRANGE)
def test_straight_lagrange_cells_measure_as_their_corners(
    name: str, size: int, degrees: tuple[int, int, int] | None
) -> None:
    check_straight(name, size, degrees)


def check_straight(name: str, size: int, degrees: tuple[int, int, int] | None) -> None:
    mesh = one_cell(name, nodes_of(name, size, degrees) @ SHEAR + 0.3, degrees)
    twin = linear_twin(mesh)
    torch.testing.assert_close(ops.cell_measures(mesh), ops.cell_measures(twin), rtol=2e-14, atol=0)
    torch.testing.assert_close(
        ops.cell_centroids(mesh), ops.cell_centroids(twin), rtol=1e-14, atol=1e-14
    )
    assert ops.cell_measures(mesh).item() > 0


def bent(x: Tensor) -> Tensor:
    """A polynomial map of degree 2 with det = 1 + x + y: volumes by hand."""
    return torch.stack([x[:, 0] + x[:, 0] ** 2 / 2 + x[:, 0] * x[:, 1], x[:, 1], x[:, 2]], 1)


# The integral of 1 + x + y over the reference cell.
BENT = {"tetra": 1 / 6 + 2 / 24, "hexahedron": 2.0, "wedge": (1 / 2 + 2 / 6)}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("quadratic_tetra", 10),
        ("tetra14", 14),
        ("quadratic_hexahedron", 20),
        ("biquadratic_quadratic_hexahedron", 24),
        ("triquadratic_hexahedron", 27),
        ("quadratic_wedge", 15),
        ("quadratic_linear_wedge", 12),
        ("biquadratic_quadratic_wedge", 18),
        ("lagrange_tetrahedron", 20),
        ("lagrange_tetrahedron", 15),
        ("lagrange_hexahedron", 64),
        ("lagrange_wedge", 40),
        ("lagrange_wedge", 21),
    ],
)
def test_curved_volumes_by_hand(name: str, size: int) -> None:
    mesh = one_cell(name, bent(nodes_of(name, size)))
    shape = CELL_TYPES[mesh.cells.present[0]].shape
    assert ops.cell_measures(mesh).item() == pytest.approx(BENT[shape], rel=1e-13)
    # z is not bent: its mean is the integral of z (1 + x + y), by hand.
    moment = {"tetra": 1 / 24 + 2 / 120, "hexahedron": 1.0, "wedge": BENT["wedge"] / 2}[shape]
    centre = ops.cell_centroids(mesh)[0, 2].item()
    assert centre == pytest.approx(moment / BENT[shape], rel=1e-13)


@pytest.mark.parametrize(
    ("name", "size"), [("biquadratic_quad", 9), ("lagrange_quadrilateral", 16)]
)
def test_curved_areas_by_hand(name: str, size: int) -> None:
    at = nodes_of(name, size)
    plane = bent(at)
    assert ops.cell_measures(one_cell(name, plane)).item() == pytest.approx(2, rel=1e-14)
    # A parabolic gutter z = x^2: its area is the length of a parabola.
    gutter = torch.stack([at[:, 0], at[:, 1], at[:, 0] ** 2], 1)
    exact = math.sqrt(5) / 2 + math.asinh(2) / 4
    assert ops.cell_measures(one_cell(name, gutter)).item() == pytest.approx(exact, rel=1e-5)


def test_curved_lengths_by_hand() -> None:
    for name, size in (("quadratic_edge", 3), ("cubic_line", 4), ("lagrange_curve", 6)):
        at = nodes_of(name, size)[:, 0]
        parabola = torch.stack([at, at**2], 1)
        exact = math.sqrt(5) / 2 + math.asinh(2) / 4
        found = ops.cell_measures(one_cell(name, parabola)).item()
        assert found == pytest.approx(exact, rel=1e-5)


def test_quadrature_of_a_curved_length_converges() -> None:
    # Circles of n quadratic edges: the error of the length falls with the fourth power.
    def error(n: int) -> float:
        angle = torch.linspace(0, 2 * math.pi, 2 * n + 1, dtype=torch.float64)
        points = torch.stack([torch.cos(angle), torch.sin(angle)], 1)
        rows = [[2 * i, 2 * i + 2, 2 * i + 1] for i in range(n)]
        length = ops.cell_measures(make_mesh(points, rows, types="quadratic_edge")).sum().item()
        return abs(length - 2 * math.pi)

    assert 3.8 < math.log2(error(16) / error(32)) < 4.2


@pytest.mark.parametrize(
    ("name", "size", "degrees"),
    [
        *((name, cell_type(name).size or 0, None) for name in HIGH_ORDER),
        *LAGRANGE,
    ],
)
def test_gauss_rules_are_exact_for_volumes(
    name: str, size: int, degrees: tuple[int, int, int] | None
) -> None:
    row = cell_type(name)
    made = element(name, row.shape, size, degrees)
    assert made is not None
    if row.dim < 3:
        return
    nodes = nodes_of(name, size, degrees)
    x = nodes + 0.1 * torch.rand(nodes.shape, dtype=torch.float64)
    mesh = one_cell(name, x, degrees)
    # The same integrals by a rule of far more points.
    inside, along = made.degrees
    at, weights = rule(made.shape, 3, 8 * inside, 8 * along)
    values, slopes = made.functions(at)
    density = torch.linalg.det(torch.einsum("qkd,kc->qdc", slopes, x)) * weights
    volume, moment = density.sum(), (density[:, None] * (values @ x)).sum(0)
    torch.testing.assert_close(ops.cell_measures(mesh)[0], volume, rtol=1e-12, atol=0)
    torch.testing.assert_close(ops.cell_centroids(mesh)[0], moment / volume, rtol=1e-12, atol=0)


@pytest.mark.parametrize("shape", ["line", "triangle", "quad", "tetra", "hexahedron", "wedge"])
def test_rules_integrate_powers_by_hand(shape: str) -> None:
    axes = {"line": 1, "triangle": 2, "quad": 2}.get(shape, 3)
    k = SIMPLEX_AXES[shape]
    at, weights = rule(shape, axes, 4, 4)
    for power in ((0, 0, 0), (1, 2, 1), (2, 0, 2), (4, 0, 0)):
        exponents = torch.tensor(power[:axes])
        found = (weights * (at**exponents).prod(1)).sum().item()
        simplex, others = power[:axes][:k], power[:axes][k:]
        # Dirichlet's formula on the simplex, 1 / (n + 1) along an axis.
        want = math.prod(map(math.factorial, simplex)) / math.factorial(sum(simplex) + k)
        assert found == pytest.approx(want * math.prod(1 / (n + 1) for n in others), rel=1e-14)


def test_lagrange_cells_of_no_degree_are_refused() -> None:
    with pytest.raises(MeshError, match="cell 0: a lagrange_quadrilateral does not have 5 points"):
        ops.cell_measures(one_cell("lagrange_quadrilateral", torch.rand(5, 2)))
    with pytest.raises(MeshError, match=r"degrees \(2, 2, 0\) does not have 12"):
        ops.cell_measures(one_cell("lagrange_quadrilateral", torch.rand(12, 2), (2, 2, 0)))


@pytest.mark.parametrize("name", ["quadratic_pyramid", "bezier_hexahedron", "quadratic_polygon"])
def test_other_high_order_cells_go_through_their_corners(name: str) -> None:
    if name == "quadratic_pyramid":
        corners = torch.tensor([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]).double()
        mesh = one_cell(name, torch.cat([corners, torch.rand(8, 3).double()]))
        assert ops.cell_measures(mesh).item() == pytest.approx(1 / 3)
    elif name == "bezier_hexahedron":
        mesh = one_cell(name, torch.rand(27, 3).double())
        assert ops.cell_measures(mesh).item() == ops.cell_measures(linear_twin(mesh)).item()
    else:
        square = torch.tensor([[0.0, 0], [1, 0], [1, 1], [0, 1]]).double()
        mesh = one_cell(name, torch.cat([square, torch.rand(4, 2).double()]))
        assert ops.cell_measures(mesh).item() == pytest.approx(1)


def test_lagrange_hexahedron_of_a_file(samples: Path) -> None:
    vtk: Any = pytest.importorskip("vtk")
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(samples / "derived" / "lagrange_p3_hex.vtu"))
    reader.Update()
    from vtk.util.numpy_support import vtk_to_numpy

    grid = reader.GetOutput()
    points = torch.from_numpy(vtk_to_numpy(grid.GetPoints().GetData()).copy()).double()
    ids = vtk_to_numpy(grid.GetCells().GetConnectivityArray())
    mesh = one_cell("lagrange_hexahedron", points[torch.from_numpy(ids.copy()).long()])
    assert ops.cell_measures(mesh).item() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("name", HIGH_ORDER)
def test_fixed_elements_are_vtks(name: str) -> None:
    row = cell_type(name)
    if row.number >= 200:
        pytest.skip("VTK has no such cell")
    check_vtk(row.number, row.size or 0, None)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("number", range(68, 74), ids=lambda n: CELL_TYPES[n].name)
def test_lagrange_elements_are_vtks(number: int, p: int) -> None:
    size = {
        "line": p + 1,
        "triangle": (p + 1) * (p + 2) // 2,
        "quad": (p + 1) ** 2,
        "tetra": (p + 1) * (p + 2) * (p + 3) // 6,
        "hexahedron": (p + 1) ** 3,
        "wedge": (p + 1) ** 2 * (p + 2) // 2,
    }[CELL_TYPES[number].shape]
    check_vtk(number, size, None)


@pytest.mark.parametrize(
    ("number", "size", "degrees"),
    [
        *((69, 7, None), (71, 15, None), (73, 21, None), (70, 12, (2, 3, 0))),
        *((72, 60, (2, 3, 4)), (73, 24, (2, 2, 3)), (73, 20, (3, 3, 1))),
    ],
)
def test_uneven_lagrange_elements_are_vtks(
    number: int, size: int, degrees: tuple[int, int, int] | None
) -> None:
    check_vtk(number, size, degrees)


def check_vtk(number: int, size: int, degrees: tuple[int, int, int] | None) -> None:
    """Nodes and shape functions against vtk's own."""
    vtk: Any = pytest.importorskip("vtk")
    row = CELL_TYPES[number]
    cell = vtk.vtkGenericCell.InstantiateCell(number)
    if row.order == 0:
        cell.GetPointIds().SetNumberOfIds(size)
        cell.GetPoints().SetNumberOfPoints(size)
        for i in range(size):
            cell.GetPointIds().SetId(i, i)
            cell.GetPoints().SetPoint(i, 0, 0, 0)
        if degrees is None and hasattr(cell, "SetUniformOrderFromNumPoints"):
            cell.SetUniformOrderFromNumPoints(size)
        elif degrees is not None:
            more = {"quad": degrees[:2], "wedge": (*degrees, size)}.get(row.shape, degrees)
            cell.SetOrder(*more)
        cell.Initialize()
    made = element(row.name, row.shape, size, degrees)
    assert made is not None
    given = cell.GetParametricCoords()
    nodes = torch.tensor([given[i] for i in range(3 * size)], dtype=torch.float64).reshape(-1, 3)
    from_minus_one = row.name == "cubic_line"  # vtk's runs from -1 to 1
    nodes = (nodes + 1) / 2 if from_minus_one else nodes
    torch.testing.assert_close(
        torch.tensor(made.nodes, dtype=torch.float64), nodes[:, : row.dim], rtol=0, atol=1e-12
    )
    k = SIMPLEX_AXES[row.shape]
    for _ in range(3):
        at = torch.rand(row.dim, dtype=torch.float64)
        at[:k] /= at[:k].sum() + 0.5
        weights = [0.0] * size
        where = [*(2 * at - 1 if from_minus_one else at).tolist(), 0.0, 0.0][:3]
        cell.InterpolateFunctions(where, weights)
        found = made.functions(at[None])[0][0]
        torch.testing.assert_close(
            found, torch.tensor(weights, dtype=torch.float64), rtol=0, atol=1e-11
        )


def test_derivatives_of_shape_functions_are_those_of_their_values() -> None:
    for name, size in (("tetra14", 14), ("lagrange_wedge", 21), ("quadratic_hexahedron", 20)):
        row = cell_type(name)
        made = element(name, row.shape, size)
        assert made is not None
        at = torch.full((1, row.dim), 0.2, dtype=torch.float64)
        step = 1e-6
        _, slopes = made.functions(at)
        for axis in range(row.dim):
            e = torch.zeros_like(at)
            e[0, axis] = step
            rise = (made.functions(at + e)[0] - made.functions(at - e)[0]) / (2 * step)
            torch.testing.assert_close(slopes[..., axis], rise, rtol=0, atol=1e-8)
