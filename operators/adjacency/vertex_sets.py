"""Which rings have the same points: the one way by which sides, edges and cells are matched.

Sort-based, so that it runs the same on the CPU and on a GPU, and exact: ids are packed side by
side into 63-bit keys, never hashed.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from meshkit import csr


def vertex_set_ids(
    offsets: Tensor, connectivity: Tensor, *, least: int = 1, within: Tensor | None = None
) -> tuple[Tensor, int]:
    """Number the sets of points that rings have, whatever their order and however often repeated.

    Args:
        offsets, connectivity: the rings, int [n + 1] and int [..], ids not negative.
        least: a ring with fewer distinct points matches nothing and gets -1.
        within: int64 [n], not negative; rings match only where these agree.

    Returns:
        int64 [n], equal for rings with equal sets, and how many sets there are. The numbering
        depends on nothing but the input.
    """
    n = len(offsets) - 1
    out = torch.full((n,), -1, dtype=torch.int64, device=offsets.device)
    if n == 0 or len(connectivity) == 0:
        return out, 0
    bound = int(connectivity.max()) + 1
    marks = None if within is None else (within, int(within.max()) + 1)
    found = 0
    for rows, table in _by_width(offsets, connectivity):
        if table.shape[1] < least:
            continue
        keys = packed(table, bound)
        if marks is not None:
            keys = [marks[0][rows], *keys]
        order = lexicographic(keys)
        first = starts_of_runs(keys, order)
        run = torch.cumsum(first, 0) - 1
        out[rows[order]] = run + found
        found += int(run[-1]) + 1
    return out, found


def _by_width(offsets: Tensor, connectivity: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows by how many distinct points they have, and these points ascending [m, width]."""
    by_width: dict[int, list[tuple[Tensor, Tensor]]] = {}
    for rows, table in tables(offsets, connectivity):
        table = torch.sort(table, 1).values
        repeats = table[:, 1:] == table[:, :-1]
        bad = repeats.any(1)
        if not bool(bad.any()):
            by_width.setdefault(table.shape[1], []).append((rows, table))
            continue
        good = torch.nonzero(~bad).squeeze(1)
        if len(good):
            by_width.setdefault(table.shape[1], []).append((rows[good], table[good]))
        # Repeated points go to the end, and the rest is what the set has.
        some = torch.nonzero(bad).squeeze(1)
        first = torch.cat([torch.ones_like(repeats[some][:, :1]), ~repeats[some]], 1)
        order = torch.argsort((~first).long(), dim=1, stable=True)
        distinct = torch.gather(table[some], 1, order)
        width = first.sum(1)
        for count in torch.unique(width).tolist():
            here = width == count
            part = (rows[some[here]], distinct[here][:, :count])
            by_width.setdefault(count, []).append(part)
    for _, parts in sorted(by_width.items(), key=lambda item: item[0]):
        yield torch.cat([r for r, _ in parts]), torch.cat([t for _, t in parts])


def tables(offsets: Tensor, connectivity: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Rings by their size: which rows int64 [m], ascending, and their points [m, size].

    Empty rings are left out.
    """
    sizes = csr.lengths_of(offsets).long()
    if len(sizes) == 0:
        return
    low, high = (int(x) for x in torch.aminmax(sizes))
    if low == high:
        if high:
            rows = torch.arange(len(sizes), device=sizes.device)
            yield rows, connectivity.reshape(len(sizes), high)
        return
    order = torch.argsort(sizes, stable=True)
    counts = torch.bincount(sizes).tolist()
    begin = 0
    for size, count in enumerate(counts):
        if count and size:
            rows = order[begin : begin + count]
            at = offsets[:-1][rows].long()[:, None] + torch.arange(size, device=sizes.device)
            yield rows, connectivity[at]
        begin += count


def packed(table: Tensor, bound: int) -> list[Tensor]:
    """Rows of ids below `bound` as int64 keys, the leading first: equal only if all ids are."""
    bits = max(1, (bound - 1).bit_length())
    each = max(1, 63 // bits)
    keys = []
    for begin in range(0, table.shape[1], each):
        columns = table[:, begin : begin + each].unbind(1)
        key = columns[0].long()
        for column in columns[1:]:
            key = (key << bits) | column.long()
        keys.append(key)
    return keys


def lexicographic(keys: list[Tensor]) -> Tensor:
    """The stable order of rows by several keys, the first the most significant."""
    order = torch.argsort(keys[-1], stable=True)
    for key in reversed(keys[:-1]):
        order = order[torch.argsort(key[order], stable=True)]
    return order


def starts_of_runs(keys: list[Tensor], order: Tensor) -> Tensor:
    """bool [n]: in that order, where a row differs from the one before."""
    first = torch.zeros(len(order), dtype=torch.bool, device=order.device)
    first[:1] = True
    for key in keys:
        here = key[order]
        first[1:] |= here[1:] != here[:-1]
    return first


def first_of_each(ids: Tensor, count: int) -> Tensor:
    """int64 [count]: the first row with each id; the number of rows where there is none."""
    rows = torch.nonzero(ids >= 0).squeeze(1)
    out = torch.full((count,), len(ids), dtype=torch.int64, device=ids.device)
    return out.scatter_reduce(0, ids[rows], rows, "amin")


def last_of_each(ids: Tensor, count: int) -> Tensor:
    """int64 [count]: the last row with each id; -1 where there is none."""
    rows = torch.nonzero(ids >= 0).squeeze(1)
    out = torch.full((count,), -1, dtype=torch.int64, device=ids.device)
    return out.scatter_reduce(0, ids[rows], rows, "amax")
