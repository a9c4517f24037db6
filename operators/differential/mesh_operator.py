"""An operator that was prepared for a mesh: applied to any number of fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.memo import Keeping, Memo
from meshkit.operators.adjacency.neighbours import Adjacency
from meshkit.operators.differential.answers import computed, need_out, placed
from meshkit.operators.differential.boundary_values import (
    BoundaryFaces,
    BoundaryValues,
    need_known,
)
from meshkit.operators.differential.composition import LinearMap
from meshkit.operators.differential.forms import axes
from meshkit.operators.differential.sparse_map import rows_of_pairs
from meshkit.operators.of_mesh import uncompiled
from meshkit.operators.values import need_tensor, real_parts


@dataclass(frozen=True, eq=False, repr=False)
class MeshOperator(Keeping):
    """A linear operator between fields of one mesh, made by `gradient_operator` and its kin.

    Differentiable in the fields any number of times: the backward pass is the exact transpose.
    Where the mesh's points needed derivatives when it was made, in the points too; a training loop
    then makes the operator again at each step, from the points of that step (or keeps the graph by
    `backward(retain_graph=True)`): torch frees what leads from the points to the coefficients after
    one backward pass.

    Boundary values are called known where they were given, when the operator was prepared, for
    some boundary faces; the others are extrapolated as the method says.

    Args:
        name: what it is, for messages: "gradient".
        takes_on: "points" or "cells", where the field is given.
        gives_on: where the answer stands.
        map: takes fields, and after their rows the known boundary values, to answers.
        determined: bool [n]: True where the neighbours determine the answer; the other rows of
            every answer are NaN.
        faces: the boundary, where the operator was prepared for values on it, else None.
        known: int64 [k], ascending: the boundary faces that were named to have values, as rows of
            the boundary values: i is the i-th of the faces without a neighbour in `faces(mesh)`.
            None where it was prepared without.
        order: of the error in the root mean square, on shaken meshes that are refined: 1 where it
            halves with the width of the cells, 2 where it falls to a quarter; 0 where it stays.
            That of a Laplacian is the order of the solution of a Poisson problem.
    """

    name: str
    takes_on: str
    gives_on: str
    map: LinearMap
    determined: Tensor
    faces: BoundaryFaces | None
    known: Tensor | None
    order: float

    _lost: Tensor = field(init=False)  # int64: the rows that are not determined
    _memo: Memo = field(default_factory=Memo, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lost", torch.nonzero(~self.determined).squeeze(1))

    def __repr__(self) -> str:
        n, known = len(self.determined), ""
        if self.known is not None:
            known = f", with values given on {len(self.known)} of {self.n_boundary} boundary faces"
        return (
            f"MeshOperator({self.name}: {self.takes_on} -> {self.gives_on}, "
            f"{n - len(self._lost)} rows of {n} determined{known})"
        )

    @property
    def n_in(self) -> int:
        """How many rows a field has."""
        return self.map.n_cols - (0 if self.known is None else len(self.known))

    @property
    def n_boundary(self) -> int:
        """How many boundary faces the mesh has, where some have values; else 0."""
        return 0 if self.faces is None else self.faces.n

    @uncompiled
    def apply(
        self, values: Tensor, boundary: BoundaryValues | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The operator of a field.

        Args:
            values: [n, ...], for a divergence or curl with a last axis of the mesh's d
                components. float32 and float64 are computed as they are (coefficients are cast),
                narrower ones in float32, integers in the dtype of the coefficients, complex ones
                part by part.
            boundary: needed where the operator was prepared for boundary values: [n_boundary, ...]
                with the further axes of `values`, or by region, a value or one for each of its
                rows. Only the known ones are read; a NaN there is a value, and spoils what uses it.
            out: memory for the answer, of its shape, dtype and device, apart from that of the
                others: what was there is overwritten, and derivatives do not go through it. Many
                fields one after the other then cost no fresh memory, which for vectors takes as
                long to touch as half of the work. An earlier answer has the layout that loops
                write straight into; any other one, narrow dtypes and complex ones get a copy.

        Returns:
            [n, ...] in the dtype of the values, NaN where not determined: `out`, where given. Else
            its memory runs along the rows: component by component.

        Raises:
            MeshError: a shape does not fit; `out` is not as the answer is, may share memory with
                values or boundary or in itself, or something needs derivatives through it.
        """
        self._need(values)
        rows = None if boundary is None else self._rows(values, boundary)
        if out is not None:
            lead = values.shape[1 : values.ndim - len(self.map.form.takes)]
            shape = (self.map.n_rows, *lead, *self.map.form.gives)
            given = {"values": values, "boundary values": rows}
            need_out(self.name, out, shape, _answered(values, self.map.dtype), given, self.map)
        if values.is_complex():
            return placed(self._of_complex(values, rows), out)
        wide = _computable(values, self.map.dtype)
        if self.known is not None:
            wide = torch.cat([wide, self._known(wide, rows)])
        map = self.map.of_dtype(wide.dtype)
        return computed(map, wide, self._lost, _answered(values, wide.dtype), out)

    def _rows(self, values: Tensor, given: BoundaryValues) -> Tensor:
        """[n_boundary, ...]: as it is, or from regions, where each known face must be in one."""
        if self.faces is None or self.known is None:
            raise MeshError(
                f"{self.name}: boundary values given to an operator that was prepared without; "
                "name them when you make it"
            )
        if not isinstance(given, Mapping):
            return given
        found = self.faces.values(self.name, given, values)
        # Looking at ids waits for the device, and what is found depends on the names alone.
        faces, known, names = self.faces, self.known, list(given)
        key = ("named", frozenset(names))
        self._memo.get(key, (), lambda: need_known(self.name, faces, known, names))
        return found

    def _of_complex(self, values: Tensor, boundary: Tensor | None) -> Tensor:
        parts = [real_parts(values)]
        if boundary is not None:
            given = need_tensor(f"{self.name}: boundary values", boundary, values.device)
            parts.append(real_parts(given.to(values.dtype)))
        real = [self.apply(*(p[..., i] for p in parts)) for i in (0, 1)]
        return torch.complex(real[0], real[1])

    def _known(self, values: Tensor, boundary: Tensor | None) -> Tensor:
        shape = (self.n_boundary, *values.shape[1:])
        if boundary is None:
            raise MeshError(
                f"{self.name}: expected boundary values {list(shape)}, or by region, found none"
            )
        given = need_tensor(f"{self.name}: boundary values", boundary, values.device)
        if given.shape != shape or given.is_complex():
            raise MeshError(
                f"{self.name}: expected boundary values {list(shape)}, real as the field is, "
                f"found {brief(given)}"
            )
        return given.to(values)[self.known]

    def _need(self, values: Tensor) -> None:
        takes = self.map.form.takes
        need_tensor(f"{self.name}: values", values, self.determined.device)
        fits = values.ndim > len(takes) and values.shape[0] == self.n_in
        if not fits or values.shape[values.ndim - len(takes) :] != takes:
            raise MeshError(
                f"{self.name}: expected values on {self.takes_on} {axes(self.n_in, takes)}, "
                f"found {brief(values)}"
            )

    def transpose(self) -> TransposedOperator:
        """The transposed operator, for adjoints: rows that are not determined count as zero."""
        return TransposedOperator(self)

    @property
    def stencil(self) -> Adjacency:
        """For each row of an answer the rows of the field that it depends on; after them
        n + i, the i-th known boundary value."""
        return rows_of_pairs(*self.map.pattern(), self.map.n_rows, self.map.n_cols)

    def matrix(self) -> Tensor:
        """The operator on one unit (a scalar; for divergence and curl a vector) as a sparse COO
        matrix, components innermost; zero where not determined. Its n_in x takes columns of the
        field (takes: 1, or d of a vector) come first, after them k x takes of the k known boundary
        values: [n x gives, (n_in + k) x takes]."""
        return self.map.matrix()


@dataclass(frozen=True, eq=False)
class TransposedOperator:
    """The exact transpose of an operator."""

    of: MeshOperator

    @uncompiled
    def apply(self, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """What the answer's rows send back to the field's.

        Args:
            values: [n, ...] as the operator's answers are; of the dtypes that `MeshOperator.apply`
                takes.
            out: memory for the answer, as in `MeshOperator.apply`.

        Returns:
            [n, ...] as its fields are, and after them one row for each known boundary value: `out`,
            where given.

        Raises:
            MeshError: the shape does not fit, or `out` cannot take the answer, as in
                `MeshOperator.apply`.
        """
        name, map = f"transposed {self.of.name}", self.of.map
        gives = map.form.gives
        need_tensor(f"{name}: values", values, self.of.determined.device)
        fits = values.ndim > len(gives) and len(values) == map.n_rows
        if not fits or values.shape[values.ndim - len(gives) :] != gives:
            raise MeshError(
                f"{name}: expected values on {self.of.gives_on} {axes(map.n_rows, gives)}, "
                f"found {brief(values)}"
            )
        if out is not None:
            lead = values.shape[1 : values.ndim - len(gives)]
            shape = (map.n_cols, *lead, *map.form.takes)
            need_out(name, out, shape, _answered(values, map.dtype), {"values": values}, map)
        if values.is_complex():
            both = real_parts(values)
            found = torch.complex(self.apply(both[..., 0]), self.apply(both[..., 1]))
            return placed(found, out)
        wide = _computable(values, map.dtype)
        if len(self.of._lost):
            wide = wide.index_fill(0, self.of._lost, 0)
        back = map.of_dtype(wide.dtype).transpose()
        return computed(back, wide, self.of._lost[:0], _answered(values, wide.dtype), out)

    def transpose(self) -> MeshOperator:
        """The operator again."""
        return self.of


def _answered(values: Tensor, dtype: torch.dtype) -> torch.dtype:
    """The dtype of the answer: that of the values, for integers `dtype`."""
    return values.dtype if values.is_floating_point() or values.is_complex() else dtype


def _computable(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Real values in a dtype that coefficients can have: narrow ones in float32, integers in
    `dtype`."""
    if not values.is_floating_point():
        return values.to(dtype)
    return values.float() if values.dtype.itemsize < 4 else values
