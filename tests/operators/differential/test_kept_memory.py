"""Answers written into memory that the caller keeps: the same bits, and nothing silently wrong."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd.forward_ad import dual_level, make_dual

from meshkit import operators as ops
from meshkit.errors import MeshError
from meshkit.operators.differential.answers import _folded, _meet
from meshkit.operators.differential.mesh_operator import MeshOperator, TransposedOperator
from tests import meshes
from tests.meshes import shaken
from tests.operators.differential.test_derivatives import CASES, OPERATORS, made
from tests.operators.kinds import KINDS

Operator = MeshOperator | TransposedOperator


def strewn(like: Tensor, rows: str) -> Tensor:
    """Memory of the shape of an answer that holds nonsense, in this layout."""
    shape, last = tuple(like.shape), like.ndim - 1
    match rows:
        case "components":
            found = like.new_empty(*shape[1:], shape[0]).movedim(-1, 0)
        case "rows":
            found = like.new_empty(shape)
        case _:  # gaps between all
            found = like.new_empty(*shape[:last], 2 * shape[last])[..., ::2]
    return found.fill_(7 if like.is_complex() else torch.nan)


def same(operator: Operator, values: Tensor, *more: Tensor) -> None:
    """The answer in kept memory has the bits of a fresh one, in any layout."""
    fresh = operator.apply(values, *more)
    for rows in ("components", "rows", "gaps"):
        out = strewn(fresh, rows)
        found = operator.apply(values, *more, out=out)
        assert found is out
        assert torch.equal(out.isnan(), fresh.isnan()), rows
        assert torch.equal(out.nan_to_num(), fresh.nan_to_num()), rows


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_the_same_bits_as_fresh(name: str, kind: str) -> None:
    mesh = shaken(KINDS[kind](3))
    for of in (mesh, mesh.to(dtype=torch.float32)):
        operator = made(name, of)
        g = torch.Generator().manual_seed(0)
        x = torch.rand(operator.n_in, *OPERATORS[name][2], generator=g, dtype=of.points.dtype)
        same(operator, x)
        same(operator.transpose(), operator.apply(x).nan_to_num())


def test_a_gradient_by_hand_over_many_steps() -> None:
    mesh = meshes.cube_hexes(3)
    operator, middles = ops.gradient_operator(mesh, on="cells"), ops.cell_centroids(mesh)
    out = operator.apply(middles[:, 0])
    at = out.data_ptr()
    for slope in ([2.0, 0.0, 0.0], [0.0, -1.0, 3.0], [0.0, 0.0, 0.0]):
        wanted = torch.tensor(slope, dtype=torch.float64)
        assert operator.apply(middles @ wanted, out=out) is out
        torch.testing.assert_close(out, wanted.expand(27, 3), rtol=0, atol=1e-12)
    assert out.data_ptr() == at


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.complex64])
def test_narrow_whole_and_complex_fields(dtype: torch.dtype) -> None:
    operator = ops.gradient_operator(shaken(meshes.cube_hexes(3)), on="cells")
    x = 10 * torch.rand(27, 2, generator=torch.Generator().manual_seed(0))
    values = x.to(dtype) if not dtype.is_complex else torch.complex(x, x.flip(0))
    same(operator, values)
    same(operator.transpose(), operator.apply(values))


def test_rows_that_are_not_determined_and_boundary_values() -> None:
    lost = ops.gradient_operator(meshes.two_tetrahedra(), on="cells")
    assert lost.apply(torch.ones(2), out=torch.zeros(2, 3)).isnan().all()
    same(lost, torch.ones(2))
    same(lost.transpose(), torch.ones(2, 3))
    mesh = shaken(meshes.cube_hexes(3))
    known = torch.rand(54, generator=torch.Generator().manual_seed(0)) < 0.5
    for maker in (ops.gradient_operator, ops.laplacian_operator):
        operator = maker(mesh, on="cells", boundary=known)
        same(operator, torch.rand(27, 2).double(), torch.rand(54, 2).double())
        same(operator, torch.rand(27).to(torch.complex64), torch.rand(54).to(torch.complex64))
        same(operator.transpose(), operator.apply(torch.rand(27), torch.rand(54)))


def test_cells_without_neighbours_and_fields_of_no_component() -> None:
    for method in ("lsq", "green_gauss", "green_gauss_plain"):
        same(ops.gradient_operator(meshes.tetrahedron(), on="cells", method=method), torch.ones(1))
    same(ops.gradient_operator(meshes.cube_hexes(2), on="cells"), torch.zeros(8, 0).double())


def test_coefficients_that_need_derivatives_are_applied_without() -> None:
    mesh = shaken(meshes.cube_hexes(3))
    followed = mesh.replace(points=mesh.points.clone().requires_grad_())
    x = torch.rand(27).double().requires_grad_()
    for method in ("lsq", "green_gauss"):
        operator = ops.gradient_operator(followed, on="cells", method=method)
        with torch.no_grad():
            same(operator, x)
        with torch.inference_mode():
            same(operator, x.detach())


def test_what_was_there_is_missed_by_whose_derivatives_need_it() -> None:
    operator = ops.gradient_operator(meshes.cube_hexes(2), on="cells")
    out = operator.apply(torch.rand(8).double())
    scale = torch.ones(3, dtype=torch.float64, requires_grad=True)
    loss = (out * scale).sum()
    operator.apply(torch.rand(8).double(), out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()  # type: ignore[no-untyped-call]


def refusal(operator: Operator, *given: Tensor, out: Any) -> str:
    with pytest.raises(MeshError) as caught:
        operator.apply(*given, out=out)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_what_cannot_take_the_answer_is_refused() -> None:
    mesh = shaken(meshes.cube_hexes(2))
    operator = ops.gradient_operator(mesh, on="cells")
    x, good = torch.rand(8).double(), torch.zeros(8, 3).double()
    wrong: list[tuple[object, str]] = [
        ([0.0] * 8, r"^gradient: out: expected a tensor, found list$"),
        (good.to_sparse(), "out: expected a dense tensor, found sparse_coo"),
        (good.to("meta"), "out: on meta, the mesh on cpu"),
        (good[:, :2], r"expected out as the answer is, float64 \[8, 3\], found float64 \[8, 2\]"),
        (good.float(), r"expected out as the answer is, float64 \[8, 3\], found float32 \[8, 3\]"),
        (good[:1].expand(8, 3), r"elements of out may share memory, strides \[0, 1\] of \[8, 3\]"),
        (good.flatten().as_strided((8, 3), (1, 1)), "elements of out may share memory"),
        (good.flatten()[:10].unfold(0, 3, 1), "elements of out may share memory"),
        (good.clone().requires_grad_(), r"derivatives do not go through out, and out requires"),
    ]
    for out, said in wrong:
        assert re.search(said, refusal(operator, x, out=out))
        assert not x.isnan().any() and not good.any()
    assert re.search(
        r"^transposed gradient: expected out as the answer is, float64 \[8\], found float64 \[7\]",
        refusal(operator.transpose(), good, out=good[:7, 0]),
    )
    assert "expected out as the answer is, float32" in refusal(operator, x.half().float(), out=good)
    assert "expected out as the answer is, float64" in refusal(operator, x.long(), out=good.float())


def test_memory_of_what_is_read_is_refused() -> None:
    mesh = shaken(meshes.cube_hexes(2))
    both = torch.rand(4, 8).double()
    operator = ops.gradient_operator(mesh, on="cells")
    said = "out may lie in the memory of values; give it some of its own"
    assert said in refusal(operator, both[1], out=both[1:].T)
    assert said in refusal(operator, both[3], out=both[1:].T)
    same_memory = torch.from_numpy(both.numpy())
    assert said in refusal(operator, both[1], out=same_memory[1:].T)
    found = operator.apply(both[0], out=both[1:].T)
    assert torch.equal(found, operator.apply(both[0].clone()))
    assert said in refusal(operator.transpose(), both[1:].T, out=both[1])
    known = ops.gradient_operator(mesh, on="cells", boundary=torch.ones(24, dtype=torch.bool))
    given = torch.rand(24).double()
    message = refusal(known, both[0], given, out=given.reshape(8, 3))
    assert "out may lie in the memory of boundary values" in message


def test_columns_of_one_table() -> None:
    operator = ops.gradient_operator(shaken(meshes.cube_hexes(2)), on="cells")
    table = torch.rand(8, 6).double()
    right = operator.apply(table[:, 0].clone())
    for values, out in ((0, slice(1, 4)), (5, slice(1, 4)), (3, slice(0, 3)), (2, slice(3, 6))):
        fresh = table.clone()
        found = operator.apply(fresh[:, values], out=fresh[:, out])
        assert torch.equal(found, operator.apply(table[:, values].clone()))
        others = [i for i in range(6) if i not in range(6)[out]]
        assert torch.equal(fresh[:, others], table[:, others])
    turns = torch.cat([table[:, :3], table[:, :3]], 1).reshape(16, 3)
    turns[::2, 0] = table[:, 0]
    assert torch.equal(operator.apply(turns[::2, 0], out=turns[1::2]), right)
    said = "out may lie in the memory of values"
    for column in (1, 2, 3):
        assert said in refusal(operator, table[:, column], out=table[:, 1:4])
    assert said in refusal(operator, table.flatten()[5:45:5], out=table[:, 1:4])
    wide = table.flatten()[4:].as_strided((8, 3), (5, 2))  # a piece that goes into the next turn
    assert said in refusal(operator, table.flatten().as_strided((8,), (5,)), out=wide[:, :])


@pytest.mark.parametrize("shape", [(3, 2), (4, 1, 3), (2, 2, 2)])
def test_what_may_share_memory_is_told(shape: tuple[int, ...]) -> None:
    """Every pair of strides against the places themselves: never a wrong no."""
    base = torch.arange(200)
    taken = []
    for steps in product(range(6), repeat=len(shape)):
        x = base.as_strided(shape, steps)
        assert _folded(x) or len(set(x.flatten().tolist())) == x.numel()
        taken.append(x)
    assert not _folded(base[: prod(shape)].reshape(shape))
    kept = taken[:: max(1, len(taken) // 30)]
    for x, step, shift in product(kept, (1, 4, 5), range(0, 40, 3)):
        other = base[shift:].as_strided((4,), (step,))
        assert _meet(x, other) or not torch.isin(x, other).any()


def test_derivatives_do_not_go_through_it() -> None:
    mesh = shaken(meshes.cube_hexes(2))
    x, out = torch.rand(8).double(), torch.zeros(8, 3).double()
    operator = ops.gradient_operator(mesh, on="cells")
    followed = x.clone().requires_grad_()
    said = "derivatives do not go through out, and values requires_grad; leave it out, or apply"
    assert said in refusal(operator, followed, out=out)
    with torch.no_grad():
        assert torch.equal(operator.apply(followed, out=out), operator.apply(x))
    known = ops.gradient_operator(mesh, on="cells", boundary=torch.ones(24, dtype=torch.bool))
    given = torch.rand(24).double().requires_grad_()
    assert "boundary values requires_grad" in refusal(known, x, given, out=out)
    points = mesh.points.clone().requires_grad_()
    for method in ("lsq", "green_gauss"):
        of_points = ops.gradient_operator(mesh.replace(points=points), on="cells", method=method)
        assert "coefficients requires_grad" in refusal(of_points, x, out=out)


# torch's forward mode uses what torch itself calls deprecated.
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_tangents_are_not_lost() -> None:
    operator = ops.gradient_operator(meshes.cube_hexes(2), on="cells")
    x = torch.rand(8, dtype=torch.float64)
    out = operator.apply(x)
    with dual_level():
        given = make_dual(x, x)  # type: ignore[no-untyped-call]
        with pytest.raises(MeshError, match=r"gradient: .* values has a tangent; leave it out"):
            operator.apply(given, out=out)
