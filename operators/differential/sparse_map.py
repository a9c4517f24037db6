"""Linear maps between fields with few entries a row, applied to many fields at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from meshkit import csr
from meshkit.memo import Memo
from meshkit.operators.adjacency.neighbours import Adjacency
from meshkit.operators.differential.bands import bands
from meshkit.operators.differential.forms import Form
from meshkit.operators.differential.sparse_kernels import sums
from meshkit.operators.differential.sparse_matrix import coo_matrix
from meshkit.operators.kernels import array, over_rows, unset

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


@dataclass(frozen=True, eq=False)
class SparseMap:
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
    _memo: Memo = field(default_factory=Memo, init=False, repr=False)

    def apply(self, values: Tensor, out: Tensor | None = None) -> Tensor:
        """[n_cols, ..., *takes] -> [n_rows, ..., *gives], in the dtype of the coefficients; in
        `out` where given, which runs component by component."""
        lead = values.shape[1 : values.ndim - len(self.form.takes)]
        units = prod(lead)
        columns = values.reshape(self.n_cols, units * prod(self.form.takes)).T
        size = (units * prod(self.form.gives), self.n_rows)
        into = None if out is None else out.movedim(0, -1).view(size)
        found = self.on_columns(columns, units, into)
        return found.reshape(*lead, *self.form.gives, self.n_rows).movedim(-1, 0)

    def on_columns(self, columns: Tensor, units: int, out: Tensor | None = None) -> Tensor:
        """[units x inputs, n_cols] -> [units x outputs, n_rows], in `out` where given."""
        followed = self.requires_grad and torch.is_grad_enabled()
        if columns.device.type != "cpu" or followed:
            made = self.in_torch(columns, units)
            return made if out is None else out.copy_(made)
        if out is not None:
            return self.in_numba(columns, units, out)
        fresh: Tensor = _Applied.apply(columns, self, units)  # type: ignore[no-untyped-call]
        return fresh

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

    def in_numba(self, columns: Tensor, units: int, out: Tensor | None = None) -> Tensor:
        """`on_columns` by compiled loops."""
        dtype, takes, gives = self.dtype, prod(self.form.takes), prod(self.form.gives)
        if out is None:
            out = unset(units * gives * self.n_rows, dtype)
        if all(p.rows is not None for p in self.parts):
            out.zero_()
        # Three components read their coefficients once.
        many = 3 if takes == 1 and units % 3 == 0 else 1
        loops = sums(tuple(self.form.terms(many)))
        answer = out.reshape(units // many, many * gives, self.n_rows).numpy()
        field = (*_field(columns.to(dtype), self.parts), many * takes)
        for part in sorted(self.parts, key=lambda p: p.rows is not None):
            cols = _unsigned(part.cols)
            none = cols.reshape(-1)[:0]
            rows = none if part.rows is None else _unsigned(part.rows.to(part.cols.dtype))
            at = rows if part.base is None else _unsigned(part.base.to(part.cols.dtype))
            entries = (cols, array(part.coefs))
            given: list[Any] = [rows, at, self.against != "nothing", *entries, *field, answer]
            over_rows(loops, cols.shape[1], *given)
        return out.reshape(units * gives, self.n_rows)

    def in_torch(self, columns: Tensor, units: int) -> Tensor:
        """The same in torch, for other devices and for derivatives of the coefficients."""
        columns = columns.to(self.dtype)
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
        return out

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


def _field(columns: Tensor, parts: tuple[Part, ...]) -> tuple[Any, Any, Any]:
    """Columns flat, the distance between two rows and between two columns, as unsigned as ids are.

    A copy only where neither components nor rows lie side by side.
    """
    n_columns, n = columns.shape
    wide = bool(parts) and parts[0].cols.dtype == torch.int64
    unsigned = np.uint64 if wide else np.uint32
    if columns.T.is_contiguous() and (wide or n * n_columns <= np.iinfo(np.uint32).max):
        return array(columns.T).reshape(-1), unsigned(n_columns), unsigned(1)
    return array(columns).reshape(-1), unsigned(1), unsigned(n)


def _or_zero(found: Tensor | None, cols: Tensor, like: Tensor) -> Tensor:
    return like.new_zeros(cols.shape[1]) if found is None else found


def _unsigned(ids: Tensor) -> Any:
    """As unsigned integers of the same width, which compiled loops index faster with."""
    held = array(ids)
    return held.view(np.uint32 if held.dtype == np.int32 else np.uint64)


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
    """Compiled loops that torch can differentiate any number of times."""

    @staticmethod
    def forward(columns: Tensor, map: SparseMap, units: int) -> Tensor:
        return map.in_numba(columns, units)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, SparseMap, int], output: Tensor) -> None:
        columns, ctx.map, ctx.units = inputs
        ctx.dtype = columns.dtype

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        transposed = ctx.map.transpose()
        back: Tensor = _Applied.apply(  # type: ignore[no-untyped-call]
            grads[0], transposed, ctx.units
        )
        return back.to(ctx.dtype), None, None
