"""Linear maps between fields with few entries a row, applied to many fields at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.memo import Keeping, Memo
from meshkit.operators.adjacency.neighbours import Adjacency
from meshkit.operators.differential.bands import bands
from meshkit.operators.differential.forms import Form, axes
from meshkit.operators.differential.loops import Loops, loops
from meshkit.operators.differential.sparse_matrix import coo_matrix
from meshkit.operators.kernels import numpy_dtype, readable
from meshkit.operators.measure.coordinates import followed, has_tangent

Against = Literal["nothing", "own row", "given"]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a map, as columns.

    Entry k of row r adds coefs[k, :, r] times the value at cols[k, r], less the value that
    differences are taken against. Padding points at that value itself (or, against nothing, at
    any entry of the row) and has coefficient 0, so that it adds nothing, not even a NaN of
    another row.
    """

    rows: Tensor | None  # int [m], ascending; None: all rows in order
    cols: Tensor  # int [width, m]
    coefs: Tensor  # float [width, c, m]
    base: Tensor | None = None  # int [m]: with "given"

    def of_dtype(self, dtype: torch.dtype) -> Part:
        """Coefficients cast."""
        return Part(self.rows, self.cols, self.coefs.to(dtype), self.base)


@dataclass(frozen=True, eq=False, repr=False)
class SparseMap(Keeping):
    """Fields [n_cols, ..., *takes] to [n_rows, ..., *gives].

    Differentiable in the field (the backward pass is the exact transpose, and is itself
    differentiable), and in the coefficients where they need derivatives. On the CPU compiled
    loops do the work, else torch; sums are in the same order whatever the number of threads.
    """

    n_rows: int
    n_cols: int
    form: Form
    against: Against
    parts: tuple[Part, ...]
    _memo: Memo = field(default_factory=Memo, init=False)
    _followed: bool = field(init=False)  # coefficients have tangents, or are torch.func's

    def __post_init__(self) -> None:
        coefs = [part.coefs for part in self.parts]
        some = any(has_tangent(x) or not readable(x) for x in coefs)
        object.__setattr__(self, "_followed", some)

    def __repr__(self) -> str:
        most = max((len(part.cols) for part in self.parts), default=0)
        return (
            f"SparseMap({self.dtype}: {axes(self.n_cols, self.form.takes)} -> "
            f"{axes(self.n_rows, self.form.gives)}, at most {most} entries a row)"
        )

    def apply(self, values: Tensor, out: Tensor | None = None) -> Tensor:
        """[n_cols, ..., *takes] -> [n_rows, ..., *gives], in the dtype of the coefficients; in
        `out` where given, which runs component by component."""
        by_torch = self._followed or (torch.is_grad_enabled() and self.requires_grad)
        if by_torch or not readable(values):
            made = self.in_torch(values)
            return made if out is None else out.copy_(made)
        if out is None and followed(values):
            fresh: Tensor = _Applied.apply(values, self)  # type: ignore[no-untyped-call]
            return fresh
        return self.in_numba(values, out)

    def of_dtype(self, dtype: torch.dtype) -> SparseMap:
        """The same map with coefficients of this dtype."""
        if all(p.coefs.dtype == dtype for p in self.parts):
            return self

        def cast() -> SparseMap:
            parts = tuple(p.of_dtype(dtype) for p in self.parts)
            return SparseMap(self.n_rows, self.n_cols, self.form, self.against, parts)

        return self._memo.get(("of_dtype", dtype), (), cast)

    def with_form(self, form: Form) -> SparseMap:
        """The same coefficients put together in another way."""
        return SparseMap(self.n_rows, self.n_cols, form, self.against, self.parts)

    def transpose(self) -> SparseMap:
        """The transposed map, worked out once: [n_rows, ..., *gives] -> [n_cols, ..., *takes]."""
        return self._memo.get("transpose", (), self._transposed)

    def _transposed(self) -> SparseMap:
        row, col, coefs = self.entries()
        own = self.against == "own row"
        form = self.form.transposed()
        return of_entries(col, row, coefs, self.n_cols, self.n_rows, form, own=own)

    def entries(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row int64 [e], column int64 [e] and coefficients [e, c] of each entry, padding left out.

        What differences are taken against has its entry too, so that
        sum of coefficient x value is the map.
        """
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        for part in self.parts:
            m = part.cols.shape[1]
            at = torch.arange(m, device=part.cols.device)
            row = at if part.rows is None else part.rows.long()
            col = part.cols.long()
            row_of = row.expand_as(col)
            coefs = part.coefs.transpose(1, 2)  # [width, m, c]
            if self.against == "nothing":
                found.append(
                    (row_of.reshape(-1), col.reshape(-1), coefs.reshape(-1, coefs.shape[2]))
                )
                continue
            base = row if part.base is None else part.base.long()
            real = col != base
            # A row without others has its own value all the same: that of a NaN is NaN.
            some = real.any(0) | (part.base is None)
            found.append((row_of[real], col[real], coefs[real]))
            others = torch.where(real[..., None], coefs, 0).sum(0)
            found.append((row[some], base[some], -others[some]))
        if not found:
            none = torch.zeros(0, dtype=torch.int64, device="cpu")
            width = 1 + max(c for _, c, _, _ in self.form.pattern)
            return none, none, torch.zeros(0, width, dtype=self.dtype, device="cpu")
        rows, cols, values = (torch.cat(x) for x in zip(*found, strict=True))
        return rows, cols, values

    @property
    def dtype(self) -> torch.dtype:
        """Of the coefficients."""
        return self.parts[0].coefs.dtype if self.parts else torch.float64

    @property
    def requires_grad(self) -> bool:
        """Whether coefficients need derivatives."""
        return any(p.coefs.requires_grad for p in self.parts)

    def pattern(self) -> tuple[Tensor, Tensor]:
        """Row and column of each entry, int64 [e]; some may repeat."""
        return self.entries()[:2]

    def matrix(self, units: int = 1) -> Tensor:
        """Sparse COO [n_rows x units x gives, n_cols x units x takes]."""
        row, col, coefs = self.entries()
        inputs, outputs = units * prod(self.form.takes), units * prod(self.form.gives)
        parts = [
            (row * outputs + out, col * inputs + given, sign * coefs[:, c])
            for out, c, given, sign in self.form.terms(units)
        ]
        rows, cols, values = (torch.cat(x) for x in zip(*parts, strict=True))
        size = (self.n_rows * outputs, self.n_cols * inputs)
        return coo_matrix(rows, cols, values, size)

    def in_numba(self, values: Tensor, out: Tensor | None = None) -> Tensor:
        """`apply` by compiled loops, which no derivatives go through."""
        lead, rows = self._flat(values)
        units = prod(lead)
        many = 3 if units % 3 == 0 and not self.form.takes else 1
        loops = self._memo.get(("loops", many), (), lambda: self._loops(many))
        if out is None:
            # numpy's memory asks for large pages, and its views are none of torch's, which would
            # not let answers be changed in place.
            answer = np.empty((units * prod(self.form.gives), self.n_rows), numpy_dtype(self.dtype))
            loops.run(rows, answer)
            shaped = answer.reshape(*lead, *self.form.gives, self.n_rows)
            return torch.from_numpy(shaped.transpose(-1, *range(shaped.ndim - 1)))
        size = (units * prod(self.form.gives), self.n_rows)
        loops.run(rows, out.movedim(0, -1).view(size).numpy())
        return out

    def _flat(self, values: Tensor) -> tuple[tuple[int, ...], Tensor]:
        """The axes of units, and the field [n_cols, units x inputs] in the coefficients' dtype."""
        lead = tuple(values.shape[1 : values.ndim - len(self.form.takes)])
        rows = values.reshape(self.n_cols, prod(lead) * prod(self.form.takes))
        return lead, rows if rows.dtype == self.dtype else rows.to(self.dtype)

    def _loops(self, units: int) -> Loops:
        bands = ((p.rows, p.cols, p.coefs, p.base) for p in self.parts)
        return loops(self.form, units, self.against != "nothing", bands)

    def in_torch(self, values: Tensor) -> Tensor:
        """`apply` in torch, for other devices and for derivatives of the coefficients."""
        lead, rows = self._flat(values)
        columns, units = rows.T, prod(lead)
        outputs = units * prod(self.form.gives)
        out = columns.new_zeros(outputs, self.n_rows)
        for part in sorted(self.parts, key=lambda p: p.rows is not None):
            taken: dict[int, Tensor] = {}
            sums: list[Tensor | None] = [None] * outputs
            for p, c, q, sign in self.form.terms(units):
                if q not in taken:
                    taken[q] = self._differences(part, columns[q])
                more = sign * (part.coefs[:, c] * taken[q]).sum(0)
                before = sums[p]
                sums[p] = more if before is None else before + more
            made = torch.stack([_or_zero(s, part.cols, columns) for s in sums]) if sums else out
            out = made if part.rows is None else out.index_add(1, part.rows.long(), made)
        return out.reshape(*lead, *self.form.gives, self.n_rows).movedim(-1, 0)

    def _differences(self, part: Part, column: Tensor) -> Tensor:
        """[width, m]."""
        taken = column[part.cols.long()]
        if self.against == "nothing":
            return taken
        if part.base is not None:
            return taken - column[part.base.long()]
        # Known values of a boundary stand after those of the rows.
        own = column[: self.n_rows] if part.rows is None else column[part.rows.long()]
        return taken - own


def _or_zero(found: Tensor | None, cols: Tensor, like: Tensor) -> Tensor:
    return like.new_zeros(cols.shape[1]) if found is None else found


def of_entries(
    row: Tensor,
    col: Tensor,
    coefs: Tensor,
    n_rows: int,
    n_cols: int,
    form: Form,
    *,
    own: bool = False,
) -> SparseMap:
    """The map with these entries: row [e], column [e], coefficients [e, c]; repeats add up.

    Args:
        row, col, coefs: the entries.
        n_rows, n_cols: the shape.
        form: what the coefficients do.
        own: each row that matters has an entry at the column of its own number, so that padding
            may point there.
    """
    order = torch.argsort(row, stable=True)
    offsets = csr.offsets_of(torch.bincount(row, minlength=n_rows))
    col, coefs = col[order].to(ids_dtype(n_rows, n_cols)), coefs[order]
    parts = []
    for band in bands(offsets):
        rows, places = band.rows, band.places
        bare = places[0] < 0
        if rows is None and not own and bool(bare.any()):
            rows = torch.nonzero(~bare).squeeze(1)
            places = places[:, rows]
        parts.append(_filled(rows, places, col, coefs))
    return SparseMap(n_rows, n_cols, form, "nothing", tuple(parts))


def _filled(rows: Tensor | None, places: Tensor, col: Tensor, coefs: Tensor) -> Part:
    """Padding repeats the first entry of its row; rows without any (of all) their own number."""
    real = places >= 0
    at = torch.where(real, places, places[:1])
    cols = col[at.clamp(min=0)]
    if rows is None:
        own = torch.arange(places.shape[1], device=cols.device, dtype=cols.dtype)
        cols = torch.where(at < 0, own, cols)
    values = torch.where(real[..., None], coefs[at.clamp(min=0)], 0)
    return Part(rows, cols, values.transpose(1, 2).contiguous())


def rows_of_pairs(row: Tensor, col: Tensor, n_rows: int, n_cols: int) -> Adjacency:
    """Pairs as compressed rows, each pair once."""
    bound = max(n_cols, 1)
    key = torch.unique(row * bound + col)
    counts = torch.bincount(key // bound, minlength=n_rows)
    return Adjacency(csr.offsets_of(counts), key % bound)


def ids_dtype(*counts: int) -> torch.dtype:
    """int32 where that many ids fit, which halves what must be read; else int64."""
    return torch.int32 if max(counts, default=0) <= torch.iinfo(torch.int32).max else torch.int64


class _Applied(torch.autograd.Function):
    """Compiled loops that torch can differentiate any number of times, backward and forward.

    Without `setup_context`, which costs as much as a thousand cells.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, map: SparseMap) -> Tensor:
        ctx.map, ctx.dtype = map, values.dtype
        return map.in_numba(values)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return ctx.map.transpose().apply(grads[0]).to(ctx.dtype), None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return ctx.map.apply(tangents[0])
