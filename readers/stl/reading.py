"""STL files in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.stl.soup import FACET, HEADER, START, Soup, disagreeing, merged
from meshkit.readers.stl.text import counted_facets, from_text, need_solid
from meshkit.regions import Region
from meshkit.report import Ledger

_HEAD: Final = 4096
MOST_PADDING: Final = 84
"""How many bytes may follow the last triangle of a binary file."""


def read(path: Path, ledger: Ledger) -> Mesh:
    """Read triangles; float32 points from binary, float64 from text.

    Corners that are equal to the bit are one point; one with a NaN is a point of its own. -0.0
    becomes 0.0. Degenerate facets stay. Attribute bytes that are not all zero become the
    cell field "attribute", a header text `info.attributes["header"]`.

    Raises:
        ReadError: sizes contradict each other, or a line of text is not what must stand there.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not is_binary(head, size):
        need_solid(path, head, size)  # before all of it is read
    data = path.read_bytes()
    if is_binary(data, len(data)):
        soup = _binary(data)
        padding = len(data) - START - FACET.itemsize * counted_facets(data)
        if padding:
            reason = "padding after the last triangle"
            ledger.dropped("bytes", "", padding, reason, loss=False)
    else:
        soup = from_text(path, data)
    n = len(soup.corners)
    points, ids = merged(soup.corners.reshape(-1, 3))
    ledger.kept("points", "", len(points))
    if len(points) < 3 * n:
        reason = f"equal to the bit: {3 * n} corners are {len(points)} points"
        ledger.converted("points", "corners", 3 * n - len(points), reason)
    ledger.kept("cells", "triangle", n)
    fields: dict[str, Any] = {}
    if _keeps_normals(soup, ledger):
        fields["normals"] = soup.normals
    if soup.attribute is not None and soup.attribute.any():
        fields["attribute"] = soup.attribute
        ledger.kept("field", "cell_data/attribute", n)
    regions = list(_regions(soup, ledger))
    if soup.header:
        ledger.kept("info", "attributes/header", 1)
    return make_mesh(
        points,
        ids.reshape(-1, 3).astype(np.int32 if 3 * n <= np.iinfo(np.int32).max else np.int64),
        types="triangle",
        cell_data=fields,
        regions=regions,
        info=MeshInfo(attributes={"header": soup.header} if soup.header else {}),
    )


def is_binary(head: bytes, size: int) -> bool:
    """Whether the count in the header gives the size of the file, as in no text file.

    A few bytes more than that are padding, where the header counts any triangles at all.
    """
    if len(head) < START:
        return False
    count = counted_facets(head)
    padding = size - START - FACET.itemsize * count
    return 0 <= padding <= (MOST_PADDING if count else 0)


def _binary(data: bytes) -> Soup:
    table = np.frombuffer(data, FACET, counted_facets(data), START)
    header = data[:HEADER].rstrip(b"\0 ").decode("latin-1")
    return Soup(table["corners"].copy(), table["normal"].copy(), table["attribute"].copy(), header)


def _keeps_normals(soup: Soup, ledger: Ledger) -> bool:
    n = len(soup.normals)
    wrong = int(disagreeing(soup.normals, soup.corners).sum())
    if wrong:
        reason = f"{wrong} of {n} facet normals are not what the corners say; all are kept"
        ledger.kept("field", "cell_data/normals", n, reason)
    elif n:
        ledger.dropped("field", "normals", n, "they follow from the corners", loss=False)
    return bool(wrong)


def _regions(soup: Soup, ledger: Ledger) -> Iterator[Region]:
    """Each solid a region; a lone one without a name needs none."""
    if len(soup.solids) == 1 and not soup.solids[0][0]:
        return
    ends = [*(first for _, first in soup.solids[1:]), len(soup.corners)]
    taken = {name for name, _ in soup.solids}
    seen: set[str] = set()
    for i, ((name, first), end) in enumerate(zip(soup.solids, ends, strict=False), 1):
        unique = name
        if not name or name in seen:
            stem, k = name or "solid", i if not name else 2
            unique = f"{stem} {k}" if not name else f"{stem} ({k})"
            while unique in taken:
                k += 1
                unique = f"{stem} {k}" if not name else f"{stem} ({k})"
            taken.add(unique)
            why = f"solid {i} has the name of an earlier one" if name else f"solid {i} has no name"
            ledger.converted("region", unique, end - first, why)
        seen.add(name)
        ledger.kept("region", unique, end - first)
        yield Region(unique, "cell", torch.arange(first, end, device="cpu"), kind="solid")
