"""Operators prepared and applied, beside faces, sparse matrices, torch and PhysicsNeMo.

Each contender has a process of its own with the same mesh in it, which works in turn, once untimed
and then timed, so that none works in memory that another has let go. Operators are applied ten
times in a row and the mean counts, as with many fields on one mesh. CPU seconds, one thread,
float32 points and fields, int64 ids of the mesh. Floors are the bytes of coefficients, ids and
fields, each read or written once, at the bandwidth of one thread. A new answer of more than 32 MB
also costs its memory, which the machine must find and clear each time; rows "into kept memory" show
it without. PhysicsNeMo is left out where it is neither installed beside meshkit nor in the Python
that MESHKIT_PEER_PYTHON names.

MESHKIT_BENCHMARK leaves only the rows that have it in their name: "permuted", "lsq of vectors".
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import astuple

from benchmarks.apart import Elsewhere, Worker, python_of
from benchmarks.calculus_contenders import (
    ANEW,
    APPLIED,
    BACKWARD,
    CONTENDERS,
    KEPT,
    OF_VECTORS,
    OPERATORS,
    PLAIN,
    PREPARED,
    Case,
)
from benchmarks.timing import Comparison

IN_A_ROW = 10


def cases() -> Iterator[Case]:
    """All that is measured on a mesh."""
    for operator in OPERATORS:
        for of_vectors in (False, True) if operator in OF_VECTORS else (False,):
            yield Case(operator, APPLIED, of_vectors)
            yield Case(operator, KEPT, of_vectors)
        if operator == PLAIN:
            yield Case(operator, BACKWARD)
        yield Case(operator, PREPARED)
    yield Case("lsq", ANEW)


def comparisons(n: int) -> Iterator[Comparison]:
    """On 6 n^3 tets, on about as many hexes, and on the tets permuted, where two operators show
    what order costs."""
    side = round((6 * n**3) ** (1 / 3))
    every = list(cases())
    few = [case for case in every if case.operator in (PLAIN, "lsq") and case.how != ANEW]
    for kind, size, order, of_kind in (
        ("tets", n, "in order", every),
        ("hexes", side, "in order", every),
        ("tets", n, "permuted", few),
    ):
        yield from _rows(f"{kind} {order}", (kind, size, order), of_kind)


def _rows(title: str, mesh: tuple[str, int, str], every: list[Case]) -> Iterator[Comparison]:
    wanted = os.environ.get("MESHKIT_BENCHMARK", "")
    every = [case for case in every if wanted in f"{title}: {case}"]
    if not every:
        return
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(python_of(name))) for name in CONTENDERS}
        ready = {name: worker for name, worker in workers.items() if _ready(worker, name, mesh)}
        for case in every:
            contenders = {
                name: Elsewhere(worker, "work()", _in_a_row(name, case))
                for name, worker in ready.items()
                if _knows(worker, case)
            }
            _need_one_answer(f"{title}: {case}", contenders)
            least = workers["meshkit"].told("who.bytes(case)")
            yield Comparison(
                f"{title}: {case}", least, contenders, clock=time.process_time, again=True
            )


def _ready(worker: Worker, name: str, mesh: tuple[str, int, str]) -> bool:
    """Whether a contender is installed; then it has the mesh."""
    try:
        worker.run("import torch; from benchmarks.calculus_contenders import *")
        worker.run("from benchmarks.cases import mesh_of")
        worker.run(f"mesh = mesh_of{mesh!r}.to(dtype=torch.float32)")
        worker.run(f"who = CONTENDERS[{name!r}](mesh)")
    except RuntimeError as error:
        if "physicsnemo" in name and "ModuleNotFoundError" in str(error):
            return False
        raise
    return True


def _knows(worker: Worker, case: Case) -> bool:
    """Whether a contender takes part; then its work is ready."""
    worker.run(f"work = None; case = Case{astuple(case)!r}; work = who.work(case)")
    return bool(worker.told("work is not None"))


def _in_a_row(name: str, case: Case) -> int:
    """How many times a contender works in one measured run."""
    applied = case.how in (APPLIED, KEPT, BACKWARD) and not name.startswith("faces")
    return IN_A_ROW if applied else 1


def _need_one_answer(name: str, contenders: Mapping[str, Elsewhere]) -> None:
    """Refuse contenders that do not give the same; PhysicsNeMo's weights and the faces differ."""
    found = {
        who: work.worker.told("float(abs(torch.as_tensor(work())).double().sum())")
        for who, work in contenders.items()
        if not who.startswith(("physicsnemo", "faces")) and PREPARED not in name
    }
    least, most = min(found.values(), default=0), max(found.values(), default=0)
    if not most - least <= 1e-4 * most:
        raise RuntimeError(f"{name}: the answers differ: {found}")
