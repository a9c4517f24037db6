"""The loops of sparse operators over columns, written out for each form: the CPU's way to apply
them.

A block of rows at a time. The innermost loop goes over rows and has every term of the form in its
body, for four entries of each row: so the compiler does several rows at once, which it does not
where it would have to look terms up in a table. The first four are written to the answer, later
ones added.

Fields come flat, with the distance between two rows and between two components: neither vectors
side by side nor components one after the other need a copy. Ids and distances between rows are
unsigned integers of one width, which compiled loops index fastest with.
"""

from __future__ import annotations

import hashlib
from functools import cache
from types import FunctionType
from typing import Any, Final

import numpy as np

from meshkit.operators.differential.forms import Term
from meshkit.operators.kernels import Array, unaliased, unaliased_inner

NARROW: Final = 8
"""As many entries a row make a band narrow."""

BLOCK: Final = 256
"""Rows at a time of a narrow band, so that their answers stay in the nearest cache."""

LONG_BLOCK: Final = 2048
"""Rows at a time of a wide one: each of its many entries lies in a place in memory of its own, and
more is read there before the next."""

TOGETHER: Final = 4
"""Entries of a row at a time."""


@cache
def sums(terms: tuple[Term, ...]) -> Any:
    """The kernel that applies these terms, see `_sums` for its arguments.

    It is kept on disk under a name that tells the terms.
    """
    name = f"sums_{hashlib.sha256(repr(terms).encode()).hexdigest()[:16]}"
    loops = {
        "_set_some": _written(f"{name}_set", terms, TOGETHER, "="),
        "_add_some": _written(f"{name}_some", terms, TOGETHER, "+="),
        "_add_one": _written(f"{name}_one", terms, 1, "+="),
    }
    made = FunctionType(_sums.__code__, {**globals(), **loops}, name)
    made.__qualname__ = name
    return unaliased(made)


def _written(name: str, terms: tuple[Term, ...], many: int, puts: str) -> Any:
    """A loop that puts `many` entries of the rows b to e, from the w-th on, into out[u], whose
    first column is that of row `first`; the terms' first component is that number `begin` of the
    field."""
    outs, ins = sorted({term[0] for term in terms}), sorted({term[2] for term in terms})
    entries = range(many)
    products: dict[int, str] = dict.fromkeys(outs, "")
    for k in entries:
        for p, c, q, sign in terms:
            products[p] += f" {'-' if sign < 0 else '+'} coefs[w + {k}, {c}, r] * d{k}_{q}"
    lines = [
        f"def {name}(w, b, e, cols, coefs, field, step, apart, begin, own, out, u, first):",
        *(f" s{q} = apart * (begin + np.uint64({q}))" for q in ins),
        " for r in range(b, e):",
        *(f"  at{k} = cols[w + {k}, r] * step" for k in entries),
        *(f"  o{q} = own[{q}, r - b]" for q in ins),
        *(f"  d{k}_{q} = field[at{k} + s{q}] - o{q}" for k in entries for q in ins),
        *(f"  x{p} = {products[p].removeprefix(' +')}" for p in outs),
        *(f"  out[u, {p}, r - first] {puts} x{p}" for p in outs),
    ]
    scope: dict[str, Any] = {"__name__": __name__, "np": np}
    exec(compile("\n".join(lines), __file__, "exec"), scope)
    return unaliased_inner(scope[name])


def _sums(
    lo: int,
    hi: int,
    rows: Array,
    at: Array,
    differences: bool,
    cols: Array,
    coefs: Array,
    field: Array,
    step: Any,
    apart: Any,
    takes: int,
    out: Array,
) -> None:
    """Add to `out` the rows lo to hi of one band.

    Args:
        lo, hi: a range of the band.
        rows: unsigned [m], or empty where the band has all rows; then `out` is set, not added to.
        at: unsigned [m]: the rows of the field that differences are taken against; empty: each its
            own.
        differences: whether they are taken.
        cols: unsigned [width, m].
        coefs: [width, c, m].
        field, step, apart: component q of row r is field[step x r + apart x q]; unsigned.
        takes: how many components the terms take.
        out: [units, gives, n]: so many times other components of the field.
    """
    width, whole, none = cols.shape[0], len(rows) == 0, np.uint64(0)
    fours = width - width % TOGETHER
    block = BLOCK if width <= NARROW else LONG_BLOCK
    own = np.zeros((takes, block), field.dtype)
    space = np.empty((1, out.shape[1], 0 if whole else block), field.dtype)
    for b in range(np.uint64(lo), np.uint64(hi), np.uint64(block)):
        e = min(b + np.uint64(block), np.uint64(hi))
        for u in range(np.uint64(out.shape[0])):
            begin = u * np.uint64(takes)
            if differences:
                _own(b, e, at, field, step, apart, begin, own)
            here, v, first = (out, u, none) if whole else (space, none, b)
            if fours:
                _set_some(0, b, e, cols, coefs, field, step, apart, begin, own, here, v, first)
            else:
                _clear(b, e, here, v, first)
            for w in range(TOGETHER, fours, TOGETHER):
                _add_some(w, b, e, cols, coefs, field, step, apart, begin, own, here, v, first)
            for w in range(fours, width):
                _add_one(w, b, e, cols, coefs, field, step, apart, begin, own, here, v, first)
            if not whole:
                _scatter(b, e, rows, space, out, u)


def _set_some(*_: Any) -> None:
    """Stands for what is written for the terms."""


_add_some = _add_one = _set_some


@unaliased_inner
def _own(
    b: Any, e: Any, at: Array, field: Array, step: Any, apart: Any, begin: Any, own: Array
) -> None:
    """What differences are taken against."""
    for q in range(len(own)):
        shift = (begin + np.uint64(q)) * np.uint64(apart)
        for r in range(b, e):
            row = np.uint64(at[r]) if len(at) > 0 else r
            own[q, r - b] = field[row * np.uint64(step) + shift]


@unaliased_inner
def _clear(b: Any, e: Any, out: Array, u: Any, first: Any) -> None:
    for p in range(out.shape[1]):
        for r in range(b, e):
            out[u, p, r - first] = 0


@unaliased_inner
def _scatter(b: Any, e: Any, rows: Array, values: Array, out: Array, u: Any) -> None:
    for p in range(out.shape[1]):
        for r in range(b, e):
            out[u, p, rows[r]] += values[0, p, r - b]
