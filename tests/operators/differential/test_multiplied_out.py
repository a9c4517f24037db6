"""Operators by Gauss' theorem multiplied out, against torch's maps one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest
import torch

from meshkit import operators as ops
from meshkit.mesh import Mesh
from meshkit.operators import kernels
from meshkit.operators.differential import flux_map
from meshkit.operators.differential.composition import Product, Sum
from meshkit.operators.differential.mesh_operator import MeshOperator
from meshkit.operators.differential.sparse_map import SparseMap
from tests import meshes
from tests.meshes import shaken
from tests.operators.kinds import KINDS
from tests.operators.surfaces import icosphere, torus

MESHES: Final[dict[str, Callable[[], Mesh]]] = {
    **{name: partial(make, 3) for name, make in KINDS.items()},
    "one of each": meshes.one_of_each,
    "l_prism": meshes.l_prism_polyhedron,
    "two tets": meshes.two_tetrahedra,
    "one layer": lambda: meshes.cube_hexes(4).select(torch.arange(16)),
    "plane triangles": lambda: meshes.square_triangles(3),
    "plane quads": lambda: meshes.square_quads(3),
    "sphere": lambda: icosphere(1),
    "torus": lambda: torus(8, 5, quads=True),
    "skin": lambda: ops.boundary(KINDS["agglomerated"](2)),
}

OPERATORS: Final[dict[str, Any]] = {
    "gradient": partial(ops.gradient_operator, method="green_gauss"),
    "divergence": partial(ops.divergence_operator, method="green_gauss"),
    "plain gradient": partial(ops.gradient_operator, method="green_gauss_plain"),
    "laplacian": partial(ops.laplacian_operator, method="finite_volume"),
}


def both(name: str, mesh: Mesh, every: int = 0) -> tuple[MeshOperator, MeshOperator]:
    """Multiplied out, and one after the other; with a value on one boundary face of so many."""
    known = None
    if every:
        known = torch.arange(len(ops.faces(mesh).boundary)) % every == 0
    followed = mesh.replace(points=mesh.points.clone().requires_grad_())
    one, other = (OPERATORS[name](m, on="cells", boundary=known) for m in (mesh, followed))
    assert isinstance(one.map, SparseMap)
    if name != "plain gradient":
        assert isinstance(other.map, Sum) and isinstance(other.map.second, Product)
    return one, other


def stencil(operator: MeshOperator, mesh: Mesh) -> set[tuple[int, int]]:
    """Row and column of what an answer depends on, of cells that have faces."""
    found = operator.stencil
    row = torch.repeat_interleave(torch.arange(mesh.n_cells), found.offsets.diff())
    held = (mesh.cells.dims == mesh.dim)[row]
    return set(zip(row[held].tolist(), found.indices[held].tolist(), strict=True))


@pytest.mark.parametrize("every", [0, 3])
@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.parametrize("name", OPERATORS)
def test_the_product_is_the_same_operator(name: str, kind: str, every: int) -> None:
    mesh = shaken(MESHES[kind]())
    one, other = both(name, mesh, every)
    assert torch.equal(one.determined, other.determined)
    found, want = one.matrix().to_dense(), other.matrix().detach().to_dense()
    size = max(1.0, float(want.abs().max()))
    torch.testing.assert_close(found, want, rtol=0, atol=1e-13 * size)
    assert stencil(one, mesh) == stencil(other, mesh)


@pytest.mark.parametrize("name", OPERATORS)
def test_columns_come_once_and_not_the_row_itself(name: str) -> None:
    mesh = shaken(KINDS["hanging"](3))
    operator, _ = both(name, mesh, 3)
    assert isinstance(operator.map, SparseMap)
    seen = torch.zeros(mesh.n_cells, dtype=torch.int64)
    for part in operator.map.parts:
        rows = torch.arange(part.cols.shape[1]) if part.rows is None else part.rows
        for r, row in enumerate(rows.tolist()):
            held = [c for c in part.cols[:, r].tolist() if c != row]
            assert len(held) == len(set(held))
            seen[row] += len(held)
    assert torch.equal(seen, operator.stencil.offsets.diff() - 1)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_cell_without_a_place_spoils_no_cell_beyond_a_sound_face(name: str) -> None:
    mesh = shaken(meshes.kuhn_cube(3))
    points = mesh.points.clone()
    points[0] = torch.nan
    one, other = both(name, mesh.replace(points=points))
    assert torch.equal(one.determined, other.determined)
    assert not one.determined[(mesh.cells.dense == 0).any(1)].any()
    takes = one.map.form.takes
    x = torch.rand(mesh.n_cells, *takes, dtype=torch.float64)
    found = one.apply(x)
    torch.testing.assert_close(
        found, other.apply(x).detach(), rtol=1e-10, atol=1e-10, equal_nan=True
    )
    assert torch.equal(found.reshape(mesh.n_cells, -1).isfinite().all(1), one.determined)


@pytest.mark.parametrize("name", OPERATORS)
def test_threads_and_the_bound_of_terms_change_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = shaken(KINDS["hanging"](4)).to(dtype=torch.float32)
    one, _ = both(name, mesh)
    monkeypatch.setattr(kernels, "ROWS_PER_THREAD", 8)
    monkeypatch.setattr(kernels, "threads", lambda: 3)
    monkeypatch.setattr(flux_map, "FEW", 0)
    other, _ = both(name, mesh)
    assert isinstance(one.map, SparseMap) and isinstance(other.map, SparseMap)
    for a, b in zip(one.map.parts, other.map.parts, strict=True):
        assert torch.equal(a.cols, b.cols) and torch.equal(a.coefs, b.coefs)
