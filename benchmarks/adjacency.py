"""Faces, neighbours, points and boundary beside numpy, scipy, torch, VTK and physicsnemo.

Each contender has a process of its own with the same mesh in it, which answers in turn, once
untimed and then timed, so that none works in memory that another has let go. CPU seconds, one
thread, and by how many MB each process grew, the medians of the same runs. Topology is worked out
anew at each run. Ids are int64, cells and points in the order of the lattice and then at random.
All must give the same faces and links. physicsnemo knows simplices only; it is left out where it
is neither installed beside meshkit nor in the Python that MESHKIT_PEER_PYTHON names. VTK's links
of points to cells have ids of 32 bits.

MESHKIT_BENCHMARK leaves only the rows that have it in their name: "tets in order", "boundary".
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from benchmarks.adjacency_contenders import BOUNDARY, CELLS, FACES, LISTED, POINTS
from benchmarks.apart import Elsewhere, Worker, python_of
from benchmarks.timing import Comparison

CONTENDERS = {
    "meshkit": "meshkit_of",
    "numpy and scipy": "scipy_of",
    "torch": "torch_of",
    "VTK links": "vtk_links_of",
    "VTK surface filter": "vtk_surface_of",
    "VTK geometry filter": "vtk_geometry_of",
    "physicsnemo": "physicsnemo_of",
}
"""What makes the answers of each, given a mesh; ours first."""


def comparisons(n: int) -> Iterator[Comparison]:
    """6 n^3 tets, and as many hexes as nearly that makes."""
    side = round((6 * n**3) ** (1 / 3))
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(python_of(name))) for name in CONTENDERS}
        for kind, size, cells in (("tets", n, 6 * n**3), ("hexes", side, side**3)):
            for order in ("in order", "permuted"):
                yield from _rows(workers, f"{cells} {kind} {order}", (kind, size, order))


def _rows(
    workers: Mapping[str, Worker], title: str, case: tuple[str, int, str]
) -> Iterator[Comparison]:
    """Each operation on one mesh, by those who know it."""
    wanted = os.environ.get("MESHKIT_BENCHMARK", "")
    names = [
        (what, f"{what}: {title}")
        for what in (FACES, CELLS, POINTS, LISTED, BOUNDARY)
        if wanted in f"{what}: {title}"
    ]
    known = {who: _known(workers[who], who, case) for who in workers if names}
    for what, name in names:
        contenders = {
            who: Elsewhere(workers[who], f"works[{what!r}].work()")
            for who, theirs in known.items()
            if what in theirs
        }
        _need_one_answer(name, what, contenders)
        least = workers["meshkit"].told(f"least_bytes(mesh, {what!r})")
        yield Comparison(name, least, contenders, clock=time.process_time, again=True)


def _known(worker: Worker, who: str, case: tuple[str, int, str]) -> list[str]:
    """The operations that a contender knows on a mesh, once that is made; none if it is missing."""
    try:
        worker.run("from benchmarks.adjacency_contenders import *")
        worker.run("from benchmarks.cases import mesh_of")
        worker.run(f"mesh = mesh_of{case!r}; works = {CONTENDERS[who]}(mesh)")
    except RuntimeError as error:
        if who == "physicsnemo" and "ModuleNotFoundError" in str(error):
            return []
        raise
    return list(worker.told("list(works)"))


def _need_one_answer(name: str, what: str, contenders: Mapping[str, Elsewhere]) -> None:
    """Refuse contenders that do not give the same faces or links."""
    found = {
        who: work.worker.told(f"works[{what!r}].figures()") for who, work in contenders.items()
    }
    if len({tuple(figures) for figures in found.values() if figures}) != 1:
        raise RuntimeError(f"{name}: the answers differ: {found}")
