"""What applies and prepares operators in the calculus benchmark: meshkit, the same as sparse
matrices, in torch, and PhysicsNeMo.

A contender lives in a process of its own; so this file imports only what all of them need.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from meshkit import Mesh, operators as ops
from meshkit.operators.differential.composition import LinearMap, Product, Sum
from meshkit.operators.differential.sparse_map import SparseMap

Work = Callable[[], Any]


def _operator(make: Any, method: str = "lsq", on: str = "cells") -> Callable[[Mesh], Any]:
    return partial(make, on=on, method=method)


PLAIN = "plain Green-Gauss"
OPERATORS: dict[str, Callable[[Mesh], Any]] = {
    PLAIN: _operator(ops.gradient_operator, "green_gauss_plain"),
    "lsq": _operator(ops.gradient_operator),
    "lsq at points": _operator(ops.gradient_operator, on="points"),
    "plain Green-Gauss divergence": _operator(ops.divergence_operator, "green_gauss_plain"),
    "lsq curl": _operator(ops.curl_operator),
    "green_gauss": _operator(ops.gradient_operator, "green_gauss"),
    "finite-volume Laplacian": _operator(ops.laplacian_operator, "finite_volume"),
}

OF_VECTORS = (PLAIN, "lsq", "lsq at points", "green_gauss")

APPLIED, KEPT = "applied", "applied into kept memory"
BACKWARD, PREPARED, ANEW = "applied and its backward pass", "prepared", "of a new mesh"


@dataclass(frozen=True)
class Case:
    """What is done with which operator, and with vectors instead of scalars."""

    operator: str
    how: str
    of_vectors: bool = False

    def __str__(self) -> str:
        return f"{self.operator}{' of vectors' if self.of_vectors else ''}, {self.how}"

    def field(self, operator: Any) -> Tensor:
        """Random values that the operator takes."""
        seeded = torch.Generator().manual_seed(0)
        takes = (3,) if self.of_vectors else operator.map.form.takes
        return torch.rand(operator.n_in, *takes, generator=seeded)


class Meshkit:
    """Ours, with the operator that was asked for last."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._name = ""
        self._operator: Any = None

    def work(self, case: Case) -> Work | None:
        """Its part in a case."""
        if case.how == ANEW:
            field = torch.rand(self._mesh.n_cells, generator=torch.Generator().manual_seed(0))
            return lambda: ops.gradient(fresh(self._mesh), field, on="cells", method="lsq")
        operator = self.operator(case.operator)
        if case.how == PREPARED:
            ops.cell_cells(self._mesh)
            ops.cell_faces(self._mesh)
            return lambda: OPERATORS[case.operator](self._mesh)
        field = case.field(operator)
        if case.how == BACKWARD:
            return both(operator.apply, field)
        if case.how == KEPT:
            out = operator.apply(field)
            return lambda: operator.apply(field, out=out)
        return lambda: operator.apply(field)

    def operator(self, name: str) -> Any:
        """Prepared, and the one before let go."""
        if self._name != name:
            self._operator = None
            self._name, self._operator = name, OPERATORS[name](self._mesh)
        return self._operator

    def bytes(self, case: Case) -> int:
        """What must move: coefficients and ids once, each field once; the mesh where the
        operator is to be made."""
        map, units = self.operator(case.operator).map, 3 if case.of_vectors else 1
        mesh = int(self._mesh.points.nbytes + self._mesh.cells.connectivity.nbytes)
        return {
            PREPARED: mesh + _bytes(map, 0),
            ANEW: mesh + 4 * self._mesh.n_cells * (1 + 3),
            BACKWARD: 2 * _bytes(map, units),
        }.get(case.how, _bytes(map, units))


class Faces:
    """Ours once more: what the faces of a new mesh cost, which the others are held against."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def work(self, case: Case) -> Work | None:
        """Its part in a case."""
        if case.how == PREPARED or case == Case("lsq", APPLIED):
            return lambda: ops.faces(fresh(self._mesh))
        return None


def fresh(mesh: Mesh) -> Mesh:
    """The same mesh, of which nothing was asked yet."""
    return mesh.replace(cells=mesh.cells.apply(lambda x: x))


def both(apply: Callable[[Tensor], Tensor], values: Tensor) -> Work:
    """Forward and backward, with the answer as the gradient that comes back."""
    field = values.clone().requires_grad_()

    def run() -> object:
        field.grad = None
        out = apply(field)
        out.backward(out.detach())
        return field.grad

    return run


def _bytes(map: LinearMap, units: int) -> int:
    """What an application to so many fields moves; 0: what the map itself takes."""
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


def _size(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


# --- the same operator by others -----------------------------------------------------------------


class Matrix:
    """Plain Green-Gauss as a CSR matrix with int32 ids, [3 n, n], without zeros."""

    def __init__(self, mesh: Mesh) -> None:
        import scipy.sparse

        self._given = OPERATORS[PLAIN](mesh)
        map = self._given.map
        row, col, coefs = map.entries()
        size = (3 * map.n_rows, map.n_cols)
        rows = (3 * row[:, None] + torch.arange(3)).reshape(-1).int().numpy()
        cols = col.int().repeat_interleave(3).numpy()
        csr = scipy.sparse.coo_matrix((coefs.reshape(-1).numpy(), (rows, cols)), shape=size).tocsr()
        csr.eliminate_zeros()
        csr.sort_indices()
        csr.indices, csr.indptr = csr.indices.astype("int32"), csr.indptr.astype("int32")
        self.csr = csr

    def work(self, case: Case) -> Work | None:
        """Its part in a case."""
        if case.operator != PLAIN or case.how not in (APPLIED, KEPT):
            return None
        return self.product(case.field(self._given), kept=case.how == KEPT)

    def product(self, field: Tensor, *, kept: bool) -> Work | None:
        """The matrix times a field; scipy has no way to write into kept memory."""
        held = field.numpy()
        return None if kept else lambda: self.csr @ held


class TorchMatrix(Matrix):
    """The same, of torch."""

    def product(self, field: Tensor, *, kept: bool) -> Work | None:
        """The matrix times a field."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse")
            matrix = torch.sparse_csr_tensor(
                *map(torch.from_numpy, (self.csr.indptr, self.csr.indices, self.csr.data)),
                self.csr.shape,
                check_invariants=False,
            )
        if not kept:
            return lambda: matrix @ field
        out = matrix @ field
        multiply = torch.mv if field.ndim == 1 else torch.mm
        return lambda: multiply(matrix, field, out=out)


class Gather:
    """Plain Green-Gauss in torch: neighbours gathered, weighed and summed."""

    def __init__(self, mesh: Mesh) -> None:
        self._given = OPERATORS[PLAIN](mesh)
        part = self._given.map.parts[0]
        self._cols = part.cols.T.contiguous()
        self._coefs = part.coefs.permute(2, 0, 1).contiguous()

    def apply(self, values: Tensor) -> Tensor:
        """[n] -> [n, 3]."""
        return (self._coefs * (values[self._cols] - values[:, None])[..., None]).sum(1)

    def work(self, case: Case) -> Work | None:
        """Its part in a case: forward and backward, where rows have one width."""
        if case.operator != PLAIN or case.how != BACKWARD or len(self._given.map.parts) > 1:
            return None
        return both(self.compiled(), case.field(self._given))

    def compiled(self) -> Callable[[Tensor], Tensor]:
        """As it is."""
        return self.apply


class Compiled(Gather):
    """The same, compiled by torch."""

    def compiled(self) -> Callable[[Tensor], Tensor]:
        """Its loops fused."""
        made: Callable[[Tensor], Tensor] = torch.compile(self.apply)
        return made


# --- PhysicsNeMo ---------------------------------------------------------------------------------


class Warp:
    """PhysicsNeMo's compiled Green-Gauss gradient, with weights of 1/2; of simplices.

    It is given its neighbours, worked out before, and its ids as they come (int64), which it casts
    at each call, or as its kernel takes them (int32).
    """

    ids = torch.int64

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        need_physicsnemo()

    def work(self, case: Case) -> Work | None:
        """Its part in a case."""
        simplex = len(self._mesh.cells.connectivity) == 4 * self._mesh.n_cells
        if case.operator != PLAIN or case.how != APPLIED or case.of_vectors or not simplex:
            return None
        from physicsnemo.nn.functional.derivatives import mesh_green_gauss_gradient

        table = self._mesh.cells.dense
        beyond = neighbours(table.long()).to(self.ids)
        field = torch.rand(self._mesh.n_cells, generator=torch.Generator().manual_seed(0))
        given = (self._mesh.points, table.to(self.ids), beyond, field)
        return lambda: mesh_green_gauss_gradient(*given, implementation="warp")


class Warp32(Warp):
    """The same with ids of 32 bits."""

    ids = torch.int32


class LeastSquares:
    """PhysicsNeMo's least-squares gradient of a mesh that nothing was asked of."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        need_physicsnemo()

    def work(self, case: Case) -> Work | None:
        """Its part in a case."""
        if case.how != ANEW or len(self._mesh.cells.connectivity) != 4 * self._mesh.n_cells:
            return None
        from physicsnemo.mesh import Mesh as Theirs
        from physicsnemo.mesh.calculus.gradient import compute_gradient_cells_lsq

        points, table = self._mesh.points, self._mesh.cells.dense.long()
        field = torch.rand(self._mesh.n_cells, generator=torch.Generator().manual_seed(0))
        return lambda: compute_gradient_cells_lsq(Theirs(points=points, cells=table), field)


def neighbours(table: Tensor) -> Tensor:
    """[n_cells, 4]: the cell across from each corner, -1 without: what PhysicsNeMo's own loop over
    cells in Python finds in 20 s for a million tets."""
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


def need_physicsnemo() -> None:
    """Import it, which asks for two operators of torchvision that has none beside a CPU torch.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    if importlib.util.find_spec("physicsnemo") is None:
        raise ModuleNotFoundError("physicsnemo")
    if _KEPT:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    _KEPT.append(library)  # what it defines goes when it goes
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


CONTENDERS: dict[str, Callable[[Mesh], Any]] = {
    "meshkit": Meshkit,
    "faces anew": Faces,
    "scipy.sparse": Matrix,
    "torch.sparse int32": TorchMatrix,
    "torch gather": Gather,
    "torch.compile": Compiled,
    "physicsnemo (Warp) int64": Warp,
    "physicsnemo (Warp) int32": Warp32,
    "physicsnemo": LeastSquares,
}
"""What makes the work of each, given a mesh; ours first."""
