"""Gradients prepared once and applied, beside sparse matrices, torch and PhysicsNeMo."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from benchmarks.cases import hexes, tets
from benchmarks.timing import Comparison
from meshkit import Mesh, operators as ops
from meshkit.operators.differential.composition import LinearMap, Product, Sum
from meshkit.operators.differential.sparse_map import SparseMap


def comparisons(n: int) -> Iterator[Comparison]:
    """On 6 n^3 tets and about as many hexes, float32 points and fields."""
    for name, mesh in (("tets", tets(n)), ("hexes", hexes(round(n * 6 ** (1 / 3))))):
        for comparison in _of_mesh(name, mesh.to(dtype=torch.float32)):
            yield replace(comparison, clock=time.process_time)


def _of_mesh(name: str, mesh: Mesh) -> Iterator[Comparison]:
    g = torch.Generator().manual_seed(0)
    values = torch.rand(mesh.n_cells, generator=g)
    vectors = torch.rand(mesh.n_cells, 3, generator=g)
    at_points = torch.rand(mesh.n_points, generator=g)
    ops.faces(mesh)
    plain = ops.gradient_operator(mesh, on="cells", method="green_gauss_plain")
    yield Comparison(
        f"{name}: plain Green-Gauss",
        _bytes(plain.map, 1),
        {"meshkit": lambda: plain.apply(values), **_matrices(plain, values)}
        | _physicsnemo(name, mesh, plain, values),
    )
    yield Comparison(
        f"{name}: plain Green-Gauss and its backward pass",
        2 * _bytes(plain.map, 1),
        {
            "meshkit": _both(plain.apply, values),
            "torch gather": _both(_gather(plain), values),
            "torch.compile": _both(torch.compile(_gather(plain)), values),
        },
    )
    yield Comparison(
        f"{name}: plain Green-Gauss of vectors",
        _bytes(plain.map, 3),
        {"meshkit": lambda: plain.apply(vectors), **_matrices(plain, vectors)},
    )
    for method in ("lsq", "green_gauss"):
        operator = ops.gradient_operator(mesh, on="cells", method=method)
        yield Comparison(
            f"{name}: {method}, applied",
            _bytes(operator.map, 1),
            {
                "meshkit": lambda operator=operator: operator.apply(values),
                "faces anew": lambda: ops.faces(_fresh(mesh)),
            },
        )
    at = ops.gradient_operator(mesh, on="points")
    yield Comparison(
        f"{name}: lsq on points, applied",
        _bytes(at.map, 1),
        {"meshkit": lambda: at.apply(at_points), **_matrices(at, at_points)},
    )
    volume = ops.laplacian_operator(mesh, on="cells")
    yield Comparison(
        f"{name}: finite-volume Laplacian, applied",
        _bytes(volume.map, 1),
        {"meshkit": lambda: volume.apply(values)},
    )
    yield Comparison(
        f"{name}: lsq, prepared",
        8 * mesh.points.nbytes + mesh.cells.connectivity.nbytes + _coefficients(at.map),
        {
            "meshkit": lambda: ops.gradient_operator(mesh, on="cells"),
            "faces anew": lambda: ops.faces(_fresh(mesh)),
        },
    )


def _fresh(mesh: Mesh) -> Mesh:
    return mesh.replace(cells=mesh.cells.apply(lambda x: x))


def _bytes(map: LinearMap, units: int) -> int:
    """What an application reads and writes: coefficients and ids once, each field once."""
    match map:
        case Sum():
            return _bytes(map.first, units) + _bytes(map.second, units)
        case Product():
            return _bytes(map.inner, units) + _bytes(map.outer, 3 * units)
    return _coefficients(map) + 4 * units * (map.n_cols + 3 * map.n_rows)


def _coefficients(map: LinearMap) -> int:
    parts = map.parts if isinstance(map, SparseMap) else ()
    return sum(p.cols.nbytes + p.coefs.nbytes for p in parts)


def _matrices(operator: Any, values: Tensor) -> dict[str, Callable[[], object]]:
    """The same operator as a CSR matrix with int32 ids."""
    import scipy.sparse

    matrix = operator.matrix().coalesce()
    row, col = matrix.indices().int().numpy()
    csr = scipy.sparse.csr_matrix((matrix.values().numpy(), (row, col)), shape=matrix.shape)
    csr.indices, csr.indptr = csr.indices.astype("int32"), csr.indptr.astype("int32")
    held, dense = values.numpy(), values.reshape(len(values), -1)
    dense = dense[:, 0] if values.ndim == 1 else dense
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse")
        by_torch = torch.sparse_csr_tensor(
            *map(torch.from_numpy, (csr.indptr, csr.indices, csr.data)),
            csr.shape,
            check_invariants=False,
        )
    return {"scipy.sparse": lambda: csr @ held, "torch.sparse int32": lambda: by_torch @ dense}


def _gather(operator: Any) -> Callable[[Tensor], Tensor]:
    """The same in plain torch: neighbours gathered, weighed and summed."""
    part = operator.map.parts[0]
    cols = part.cols.T.contiguous()
    coefs = part.coefs.permute(2, 0, 1).contiguous()

    def apply(values: Tensor) -> Tensor:
        return (coefs * (values[cols] - values[:, None])[..., None]).sum(1)

    return apply


def _both(apply: Callable[[Tensor], Tensor], values: Tensor) -> Callable[[], object]:
    """Forward and backward, with the answer as the gradient that comes back."""
    field = values.clone().requires_grad_()

    def run() -> object:
        field.grad = None
        out = apply(field)
        out.backward(out.detach())
        return field.grad

    return run


def _physicsnemo(
    name: str, mesh: Mesh, plain: Any, values: Tensor
) -> dict[str, Callable[[], object]]:
    """Its compiled Green-Gauss gradient (simplices, weights of 1/2), where it is installed."""
    if name != "tets" or importlib.util.find_spec("physicsnemo") is None:
        return {}
    _stand_in_for_torchvision()
    from physicsnemo.nn.functional.derivatives import mesh_green_gauss_gradient
    from physicsnemo.nn.functional.derivatives.mesh_green_gauss_gradient.utils import (
        build_neighbors,
    )

    points, cells = mesh.points, mesh.cells.dense.int()
    neighbours = build_neighbors(cells.long()).int()

    def run() -> object:
        return mesh_green_gauss_gradient(points, cells, neighbours, values, implementation="warp")

    return {"physicsnemo (Warp)": run}


_KEPT: list[object] = []


def _stand_in_for_torchvision() -> None:
    """PhysicsNeMo asks for two operators of torchvision, which has none beside a CPU torch."""
    library = torch.library.Library("torchvision", "DEF")
    _KEPT.append(library)  # what it defines goes when it goes
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
