"""Triangles as an STL file has them, and what they have in common: corners and normals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FACET: Final = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


HEADER: Final = 80


START: Final = HEADER + 4


# A stored normal within this of the right-hand rule's says nothing new.
_AGREES: Final = 1e-3


@dataclass
class Soup:
    """Triangles as a file has them."""

    corners: NDArray[Any]  # float32 or float64 [n, 3, 3]
    normals: NDArray[Any]  # the same, [n, 3]
    attribute: NDArray[np.uint16] | None = None  # [n]
    header: str = ""
    solids: list[tuple[str, int]] = field(default_factory=list)  # name and first facet of each


def merged(corners: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct rows by first appearance, and for each row which one it is.

    Rows are equal where all their bits are, but for 0 and -0. A row with a NaN is nowhere, and so
    equal to no other, whatever its bits.

    Rows are sorted by a hash of their bits; rows of equal hash that differ (there are hardly ever
    any) send the sort through all columns.
    """
    corners = np.ascontiguousarray(corners)
    corners[corners == 0] = 0  # no -0.0
    if len(corners) == 0:
        return corners, np.zeros(0, np.int64)
    bits = corners.view(np.uint32 if corners.itemsize == 4 else np.uint64).astype(np.uint64)
    nowhere = np.isnan(corners).any(1)
    if nowhere.any():
        apart = np.where(nowhere, np.arange(1, len(bits) + 1), 0).astype(np.uint64)
        bits = np.column_stack([bits, apart])
    mixed = bits[:, 0] * np.uint64(0x9E3779B97F4A7C15)
    for column in bits.T[1:]:
        mixed = ((mixed ^ (mixed >> np.uint64(29))) + column) * np.uint64(0xBF58476D1CE4E5B9)
    order = np.argsort(mixed, kind="stable")
    differs = (bits[order[1:]] != bits[order[:-1]]).any(1)
    if (differs & (mixed[order[1:]] == mixed[order[:-1]])).any():
        order = np.lexsort(bits.T)
        differs = (bits[order[1:]] != bits[order[:-1]]).any(1)
    group = np.concatenate([[0], np.cumsum(differs)])
    first = order[np.concatenate([[True], differs])]  # the sort is stable: the earliest row
    rank = np.empty(len(first), np.int64)
    by_appearance = np.argsort(first, kind="stable")
    rank[by_appearance] = np.arange(len(first))
    ids = np.empty(len(corners), np.int64)
    ids[order] = rank[group]
    return corners[first[by_appearance]], ids


def right_hand(corners: NDArray[Any]) -> NDArray[np.float64]:
    """Unit normals [n, 3] by the order of the corners; zero where a facet has no area.

    Coordinates and edges are scaled by powers of two before they are multiplied, which changes
    no digit: facets of any size that float64 can hold have their normal. Zero too where a
    coordinate is NaN or infinite.
    """
    with np.errstate(all="ignore"):
        at = _scaled(corners.astype(np.float64))
        edges = _scaled(at[:, 1:] - at[:, :1])
        normal = np.cross(edges[:, 0], edges[:, 1])
        normal = _scaled(normal[:, None])[:, 0]  # of a sliver, whose square would vanish
        unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    known: NDArray[np.float64] = np.where(np.isfinite(unit).all(1, keepdims=True), unit, 0.0)
    return known


def _scaled(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors [n, k, 3] by a power of two for each n that brings the largest number to about 1."""
    _, exponent = np.frexp(np.abs(vectors).max((1, 2), initial=0.0))
    scaled: NDArray[np.float64] = np.ldexp(vectors, -exponent[:, None, None])
    return scaled


def disagreeing(normals: NDArray[Any], corners: NDArray[Any]) -> NDArray[np.bool_]:
    """Which facets store a normal that is neither zero nor what their corners say."""
    with np.errstate(all="ignore"):
        off = np.abs(normals.astype(np.float64) - right_hand(corners)).max(1, initial=0.0)
    wrong: NDArray[np.bool_] = ~(off <= _AGREES) & (normals != 0).any(1)
    return wrong
