"""Operators prepared and applied, beside faces, sparse matrices, torch and PhysicsNeMo.

CPU seconds, one torch thread, float32 points and fields. Floors are the bytes of coefficients, ids
and fields, each read or written once, at the bandwidth of one thread. PhysicsNeMo's compiled
Green-Gauss gradient (for simplices, weights of 1/2) is given its neighbours, worked out before, and
its ids as they come (int64) and as its kernel takes them (int32): int64 ids it casts at each call.
It is left out where it is not installed beside meshkit. What is applied has run once right before,
as with many fields on one mesh. The CSR matrix is one of 3 n x n with int32 ids, without zeros.
"""

from __future__ import annotations

import importlib.util
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.apart import Cost, apart, lines_of
from benchmarks.cases import hexes, permuted, tets
from benchmarks.timing import Comparison
from meshkit import Mesh, operators as ops
from meshkit.operators.differential.composition import LinearMap, Product, Sum
from meshkit.operators.differential.sparse_map import SparseMap

Contenders = dict[str, Callable[[], object]]


def comparisons(n: int) -> Iterator[Comparison]:
    """On 6 n^3 tets, on the same permuted, and on about as many hexes."""
    torch.set_num_threads(1)
    wanted = os.environ.get("MESHKIT_BENCHMARK", "")
    made: dict[str, Callable[[], Mesh]] = {
        "tets": lambda: tets(n),
        "hexes": lambda: hexes(round(n * 6 ** (1 / 3))),
        "permuted tets": lambda: permuted(tets(n)),
    }
    for name, make in made.items():
        if wanted in name:
            for comparison in _of_mesh(name, make().to(dtype=torch.float32)):
                yield replace(comparison, clock=time.process_time)


def _of_mesh(name: str, mesh: Mesh) -> Iterator[Comparison]:
    g = torch.Generator().manual_seed(0)
    values = torch.rand(mesh.n_cells, generator=g)
    vectors = torch.rand(mesh.n_cells, 3, generator=g)
    ops.cell_cells(mesh)
    ops.cell_faces(mesh)
    faces: Contenders = {"faces anew": lambda: ops.faces(_fresh(mesh))}
    plain = ops.gradient_operator(mesh, on="cells", method="green_gauss_plain")
    matrices = _matrices(plain)
    peers = _physicsnemo(mesh, values) if name == "tets" else {}
    yield _applied(f"{name}: plain Green-Gauss", plain, values, matrices(values) | peers)
    yield _applied(f"{name}: plain Green-Gauss of vectors", plain, vectors, matrices(vectors))
    peers = {} if name == "hexes" else _torch(plain, values, compiled=name == "tets")
    yield Comparison(
        f"{name}: plain Green-Gauss and its backward pass",
        2 * _bytes(plain.map, 1),
        {"meshkit": _both(plain.apply, values), **peers},
        again=True,
    )
    del plain, peers, matrices
    for what, make in _OPERATORS.items():
        operator = make(mesh)
        takes = operator.map.form.takes
        field = torch.rand(operator.n_in, *takes, generator=g)
        yield _applied(f"{name}: {what}", operator, field, faces if what == "lsq" else {})
        if what in _OF_VECTORS:
            field = torch.rand(operator.n_in, 3, generator=g)
            yield _applied(f"{name}: {what} of vectors", operator, field, {})
        coefficients = _bytes(operator.map, 0)
        del operator
        yield Comparison(
            f"{name}: {what}, prepared",
            mesh.points.nbytes + mesh.cells.connectivity.nbytes + coefficients,
            {"meshkit": lambda make=make: make(mesh), **faces},
        )
        if name == "permuted tets":  # what order costs shows in one
            return


def _operator(make: Any, *, on: str = "cells", method: str = "lsq") -> Callable[[Mesh], Any]:
    return lambda mesh: make(mesh, on=on, method=method)


_OPERATORS: dict[str, Callable[[Mesh], Any]] = {
    "lsq": _operator(ops.gradient_operator),
    "lsq at points": _operator(ops.gradient_operator, on="points"),
    "plain Green-Gauss divergence": _operator(ops.divergence_operator, method="green_gauss_plain"),
    "lsq curl": _operator(ops.curl_operator),
    "green_gauss": _operator(ops.gradient_operator, method="green_gauss"),
    "finite-volume Laplacian": _operator(ops.laplacian_operator, method="finite_volume"),
}

_OF_VECTORS = ("lsq", "lsq at points", "green_gauss")


def _applied(name: str, operator: Any, field: Tensor, peers: Contenders) -> Comparison:
    units = field[0].numel() // max(1, _size(operator.map.form.takes))
    ours: Contenders = {"meshkit": lambda: operator.apply(field)}
    return Comparison(name, _bytes(operator.map, units), ours | peers, again=True)


def _size(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


def _fresh(mesh: Mesh) -> Mesh:
    return mesh.replace(cells=mesh.cells.apply(lambda x: x))


def _bytes(map: LinearMap, units: int) -> int:
    """What an application reads and writes: coefficients and ids once, each field once."""
    match map:
        case Sum():
            return _bytes(map.first, units) + _bytes(map.second, units)
        case Product():
            inner = _bytes(map.inner, units * _size(map.form.takes))
            return inner + _bytes(map.outer, units)
    takes, gives = _size(map.form.takes), _size(map.form.gives)
    parts = map.parts if isinstance(map, SparseMap) else ()
    held = sum(p.cols.nbytes + p.coefs.nbytes for p in parts)
    return held + 4 * units * (map.n_cols * takes + map.n_rows * gives)


def _matrices(operator: Any) -> Callable[[Tensor], Contenders]:
    """The same operator as a CSR matrix with int32 ids, for any field."""
    import scipy.sparse

    row, col, coefs = operator.map.entries()
    size = (3 * operator.map.n_rows, operator.map.n_cols)
    rows = (3 * row[:, None] + torch.arange(3)).reshape(-1).int().numpy()
    cols = col.int().repeat_interleave(3).numpy()
    csr = scipy.sparse.coo_matrix((coefs.reshape(-1).numpy(), (rows, cols)), shape=size).tocsr()
    csr.eliminate_zeros()
    csr.sort_indices()
    csr.indices, csr.indptr = csr.indices.astype("int32"), csr.indptr.astype("int32")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse")
        by_torch = torch.sparse_csr_tensor(
            *map(torch.from_numpy, (csr.indptr, csr.indices, csr.data)),
            csr.shape,
            check_invariants=False,
        )

    def of(values: Tensor) -> Contenders:
        held, dense = values.numpy(), values.reshape(len(values), -1)
        dense = dense[:, 0] if values.ndim == 1 else dense
        return {"scipy.sparse": lambda: csr @ held, "torch.sparse int32": lambda: by_torch @ dense}

    return of


def _torch(operator: Any, values: Tensor, *, compiled: bool) -> Contenders:
    """The same in plain torch, forward and backward: neighbours gathered, weighed and summed."""
    part = operator.map.parts[0]
    cols = part.cols.T.contiguous()
    coefs = part.coefs.permute(2, 0, 1).contiguous()

    def apply(values: Tensor) -> Tensor:
        return (coefs * (values[cols] - values[:, None])[..., None]).sum(1)

    found = {"torch gather": _both(apply, values)}
    return found | ({"torch.compile": _both(torch.compile(apply), values)} if compiled else {})


def _both(apply: Callable[[Tensor], Tensor], values: Tensor) -> Callable[[], object]:
    """Forward and backward, with the answer as the gradient that comes back."""
    field = values.clone().requires_grad_()

    def run() -> object:
        field.grad = None
        out = apply(field)
        out.backward(out.detach())
        return field.grad

    return run


def _physicsnemo(mesh: Mesh, values: Tensor) -> Contenders:
    """Its compiled Green-Gauss gradient, where it is installed."""
    if importlib.util.find_spec("physicsnemo") is None:
        return {}
    _stand_in_for_torchvision()
    from physicsnemo.nn.functional.derivatives import mesh_green_gauss_gradient

    table = mesh.cells.dense.long()
    neighbours = _neighbours(table)

    def run(ids: Tensor, beyond: Tensor) -> Callable[[], object]:
        given = (mesh.points, ids, beyond, values)
        return lambda: mesh_green_gauss_gradient(*given, implementation="warp")

    return {
        "physicsnemo (Warp) int64": run(table, neighbours),
        "physicsnemo (Warp) int32": run(table.int(), neighbours.int()),
    }


def _neighbours(table: Tensor) -> Tensor:
    """[n_cells, 4]: the cell across from each corner, -1 without: what its own loop over cells in
    Python finds in 20 s for a million tets."""
    opposite = torch.tensor([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    points = torch.sort(table[:, opposite].reshape(-1, 3), 1).values
    bits = int(points.max()).bit_length()
    key, order = torch.sort((points[:, 0] << 2 * bits) | (points[:, 1] << bits) | points[:, 2])
    same = torch.nonzero(key[1:] == key[:-1]).squeeze(1)
    one, other = order[same], order[same + 1]
    found = torch.full((len(points),), -1)
    found[one], found[other] = other // 4, one // 4
    return found.reshape(-1, 4)


_KEPT: list[object] = []


def _stand_in_for_torchvision() -> None:
    """PhysicsNeMo asks for two operators of torchvision, which has none beside a CPU torch."""
    if _KEPT:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    _KEPT.append(library)  # what it defines goes when it goes
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


_BEFORE = """
import sys
sys.path.insert(0, {root!r})
import torch
torch.set_num_threads(1)
from benchmarks import calculus
from benchmarks.cases import tets
from meshkit import operators as ops
mesh = tets({n}).to(dtype=torch.float32)
values = torch.rand(mesh.n_cells)
"""

_OPERATOR = 'operator = ops.gradient_operator(mesh, on="cells", method="green_gauss_plain")\n'

_LSQ = """
calculus._stand_in_for_torchvision()
from physicsnemo.mesh import Mesh
from physicsnemo.mesh.calculus.gradient import compute_gradient_cells_lsq
small = Mesh(points=tets(2).points.float(), cells=tets(2).cells.dense.long())
compute_gradient_cells_lsq(small, torch.rand(48))
theirs = Mesh(points=mesh.points, cells=mesh.cells.dense.long())
"""

_MEMORY: dict[str, dict[str, tuple[str, str]]] = {
    "plain Green-Gauss, applied": {
        "meshkit": (f"{_OPERATOR}operator.apply(values)", "found = operator.apply(values)"),
        "scipy.sparse": (
            f"{_OPERATOR}by = calculus._matrices(operator)(values)['scipy.sparse']\nby()",
            "found = by()",
        ),
        "torch.sparse int32": (
            f"{_OPERATOR}by = calculus._matrices(operator)(values)['torch.sparse int32']\nby()",
            "found = by()",
        ),
        "physicsnemo (Warp) int32": (
            "by = calculus._physicsnemo(mesh, values)['physicsnemo (Warp) int32']\nby()",
            "found = by()",
        ),
    },
    "lsq gradient of a mesh that nothing was asked of": {
        "meshkit": (
            "ops.gradient(tets(2), torch.rand(48), on='cells')",
            "found = ops.gradient(mesh, values, on='cells')",
        ),
        "physicsnemo": (_LSQ, "found = compute_gradient_cells_lsq(theirs, values)"),
    },
}


def section(n: int, bandwidth: float) -> str:
    """Markdown: peak memory beside that of whom gives the same answer."""
    root = str(Path(__file__).parent.parent)
    lines = [
        "| work | the answer | | library | CPU ms | peak MB "
        "| CPU and memory, as a multiple of meshkit's |",
        "|---|---|---|---|---|---|---|",
    ]
    for work, libraries in _MEMORY.items():
        filled = {
            library: (_BEFORE.format(root=root, n=n) + before, statement)
            for library, (before, statement) in libraries.items()
        }
        size = f"{72 * n**3 / 1e6:.1f} MB | "
        lines += lines_of(work, size, apart(filled, 1), _said)
    return (
        "## Memory of gradients\n\n"
        "One fresh process each. Peak: growth of the resident memory, the answer included.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def _said(cost: Cost) -> tuple[str, ...]:
    return f"{cost.cpu * 1e3:.0f}", f"{cost.peak / 1e6:.0f}"
