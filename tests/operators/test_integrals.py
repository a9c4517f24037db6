"""Integrals over cells: exact classes and orders on every kind, averages, random subsets."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.operators.integral.values import On
from meshkit.regions import Region
from tests import meshes
from tests.operators.cells_for_tests import HIGH_ORDER, linear_cells, nodes_of, one_cell
from tests.operators.integrands import kind, linear
from tests.operators.kinds import KINDS


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("stretch", [1.0, 1000.0])
def test_linear_fields_on_every_kind(name: str, stretch: float) -> None:
    mesh = kind(name, stretch)
    volumes, centres = ops.cell_measures(mesh), ops.cell_centroids(mesh)
    want = (volumes[:, None] * linear(centres)).sum(0)
    size = (volumes[:, None] * linear(centres)).abs().sum(0)
    for values, on in ((linear(mesh.points), "points"), (linear(centres), "cells")):
        found = ops.integrate(mesh, values, on=on)  # type: ignore[arg-type]
        assert ((found - want).abs() <= 1e-14 * size).all()
    assert ops.integrate(mesh, torch.ones(mesh.n_points), on="points").item() == pytest.approx(
        1 / stretch, rel=1e-14
    )


@pytest.mark.parametrize("name", KINDS)
def test_other_fields_are_of_second_order(name: str) -> None:
    def field(x: Tensor) -> Tensor:
        return torch.sin(3 * x[:, 0]) * torch.cos(2 * x[:, 1]) * torch.exp(x[:, 2])

    exact = (1 - math.cos(3)) / 3 * math.sin(2) / 2 * (math.e - 1)

    def error(n: int, on: On) -> float:
        mesh = kind(name, n=n)
        at = mesh.points if on == "points" else ops.cell_centroids(mesh)
        return abs(ops.integrate(mesh, field(at), on=on).item() - exact)

    for on in ("points", "cells"):
        assert math.log2(error(3, on) / error(6, on)) > 1.8


@pytest.mark.parametrize("name", linear_cells())
def test_linear_fields_on_each_type(name: str) -> None:
    mesh = linear_cells()[name]
    want = ops.cell_measures(mesh)[0] * linear(ops.cell_centroids(mesh))[0]
    found = ops.integrate(mesh, linear(mesh.points), on="points")
    torch.testing.assert_close(found, want, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", HIGH_ORDER)
def test_high_order_cells_integrate_what_they_span(name: str) -> None:
    mesh = one_cell(name, nodes_of(name, len(nodes_of(name, _size(name)))))
    whole = ops.integrate(mesh, torch.ones(mesh.n_points, dtype=torch.float64), on="points")
    torch.testing.assert_close(whole, ops.cell_measures(mesh)[0], rtol=1e-13, atol=0)
    # x^2 over the reference cell, by hand.
    row = mesh.cells.present[0]
    shape = _shape(row)
    want = {"line": 1 / 3, "triangle": 1 / 12, "quad": 1 / 3, "tetra": 1 / 60}
    want |= {"hexahedron": 1 / 3, "wedge": 1 / 12}
    found = ops.integrate(mesh, mesh.points[:, 0] ** 2, on="points")
    assert found.item() == pytest.approx(want[shape], rel=1e-13)


def _size(name: str) -> int:
    from meshkit.celltypes import cell_type

    return cell_type(name).size or 0


def _shape(number: int) -> str:
    from meshkit.celltypes import CELL_TYPES

    return CELL_TYPES[number].shape


def test_mixed_dimensions_and_regions_of_cells() -> None:
    mesh = meshes.one_of_each()
    ones = torch.ones(mesh.n_cells, dtype=torch.float64)
    assert ops.integrate(mesh, ones, on="cells").item() == pytest.approx(1 / 6 + 1 + 1 / 2 + 1 / 3)
    measures = ops.cell_measures(mesh)
    for i in range(mesh.n_cells):
        region = Region("one", "cell", [i, i])  # named twice, counted once
        for on, n in (("cells", mesh.n_cells), ("points", mesh.n_points)):
            values = torch.full((n,), 2.0, dtype=torch.float64)
            found = ops.integrate(mesh, values, on=on, region=region)  # type: ignore[arg-type]
            assert found.item() == pytest.approx(2 * measures[i].item(), rel=1e-14)


def test_what_lies_outside_does_not_matter() -> None:
    mesh = kind("tets")
    values = torch.full((mesh.n_cells,), torch.nan, dtype=torch.float64)
    values[3] = 2.0
    found = ops.integrate(mesh, values, on="cells", region=Region("one", "cell", [3]))
    assert found.item() == pytest.approx(2 * ops.cell_measures(mesh)[3].item())
    loose = make_mesh([[0.0, 0], [1, 0], [0, 1], [torch.nan, 0]], [[0, 1, 2]])
    at = torch.tensor([1.0, 1, 1, torch.nan])
    assert ops.integrate(loose, at, on="points").item() == pytest.approx(0.5)


def test_points_and_edges() -> None:
    mesh = meshes.square_quads(2)
    values = mesh.points[:, 0]
    points = Region("some", "point", [0, 2, 2])
    assert ops.integrate(mesh, values, on="points", region=points).item() == 1.0
    edges = Region("bottom", "edge", [[0, 1], [2, 1], [1, 0]])
    assert ops.integrate(mesh, values, on="points", region=edges).item() == 0.5
    assert ops.average(mesh, values, on="points", region=edges).item() == 0.5
    with pytest.raises(MeshError, match=r"region 'some' of points holds no cells"):
        ops.integrate(mesh, torch.ones(4), on="cells", region=points)


@pytest.mark.parametrize("on", ["points", "cells", "faces"])
def test_random_subsets_estimate_without_bias(on: On) -> None:
    mesh = meshes.shaken(meshes.square_triangles(2), 0.2)
    n = {"points": mesh.n_points, "cells": mesh.n_cells, "faces": len(ops.faces(mesh))}[on]
    values = torch.arange(n, dtype=torch.float64) ** 2
    want = ops.integrate(mesh, values, on=on)
    weights = ops.integration_weights(mesh, on=on)
    torch.testing.assert_close((weights * values).sum(), want)
    draws = [torch.tensor(rows) for rows in itertools.combinations(range(n), 2)]
    found = [(ops.integration_weights(mesh, on=on, rows=r) * values[r]).sum() for r in draws]
    torch.testing.assert_close(torch.stack(found).mean(), want)
    # Drawn with unequal chances (Poisson sampling): every subset, weighted by how likely it is.
    some = torch.arange(4)
    region = Region("some", {"points": "point", "cells": "cell"}.get(on, "cell"), some)  # type: ignore[arg-type]
    if on == "faces":
        return
    chance = torch.tensor([0.2, 0.9, 0.5, 1.0], dtype=torch.float64)
    mean = torch.zeros((), dtype=torch.float64)
    for taken in itertools.product([False, True], repeat=4):
        mask = torch.tensor(taken)
        likely = torch.where(mask, chance, 1 - chance).prod()
        rows = some[mask]
        w = ops.integration_weights(mesh, on=on, region=region, rows=rows, chance=chance[mask])
        mean = mean + likely * (w * values[rows]).sum()
    torch.testing.assert_close(mean, ops.integrate(mesh, values, on=on, region=region))


def test_averages() -> None:
    mesh = kind("hexes")
    values = linear(mesh.points)
    want = ops.integrate(mesh, values, on="points") / ops.cell_measures(mesh).sum()
    torch.testing.assert_close(ops.average(mesh, values, on="points"), want)
    nothing = Region("none", "cell", [])
    assert torch.isnan(ops.average(mesh, values, on="points", region=nothing)).all()
    assert (ops.integrate(mesh, values, on="points", region=nothing) == 0).all()
