"""VTU through each library in processes of their own: CPU seconds and peak memory; imports.

physicsnemo may need a Python of its own: MESHKIT_PEER_PYTHON names it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apart import RUNS, Cost, Work, lines_of, several
from benchmarks.cases import tets

# Mode, compressor, whether appended data are in base64: as vtk's writer takes them.
ENCODINGS = {
    "raw": (2, 0, 0),
    "zlib": (2, 1, 0),
    "lz4": (2, 2, 0),
    "base64": (2, 0, 1),
    "base64 zlib inline": (1, 1, 0),
    "ascii": (0, 0, 0),
}
_TORCHVISION = (
    "import torch\nfor op in ('nms', 'qnms'):\n"  # a torch for the CPU alone lacks them
    "    torch.library.define('torchvision::' + op, '(Tensor x) -> Tensor')\n"
)
IMPORTS = {
    "meshkit": "import meshkit\nmeshkit.Mesh",
    "pyvista": "import pyvista",
    "meshio": "import meshio",
    "physicsnemo": f"{_TORCHVISION}import pyvista\nfrom physicsnemo.mesh.io import from_pyvista",
}
READ = {
    "meshkit": "mesh = meshkit.read({file!r})",
    "pyvista": "mesh = pyvista.read({file!r})",
    "meshio": "mesh = meshio.read({file!r})",
    "physicsnemo": "mesh = from_pyvista(pyvista.read({file!r}))",
}
WRITE = {
    "meshkit": "meshkit.write(mesh, {out!r})",
    "pyvista": "mesh.save({out!r})",
    "meshio": "mesh.write({out!r}, compression=None)",
}
FIXED = {
    "torch and tensordict": "import torch, tensordict",
    "meshkit --help": "import runpy, sys; sys.argv = ['meshkit', '--help']\n"
    "try: runpy.run_module('meshkit', run_name='__main__')\nexcept SystemExit: pass",
}
READS = {
    "meshkit": tuple(ENCODINGS),
    "pyvista": tuple(ENCODINGS),
    "meshio": ("raw", "base64", "ascii"),  # it cannot read lz4, and takes seconds for each other
    "physicsnemo": ("raw",),  # it reads through pyvista
}
"""What each library reads from the file cache."""
COLD = ("raw", "zlib", "lz4")
"""What the first two read once more after the kernel has dropped the file from its cache."""
FEWER = 3
"""Rounds of the libraries that take several times as long."""
PEER_PYTHON = "MESHKIT_PEER_PYTHON"
"""The variable that names the Python that has physicsnemo, where it is another."""


def save(dataset: Any, file: Path, encoding: str) -> None:
    """A file by vtk's own writer."""
    from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridWriter

    writer = vtkXMLUnstructuredGridWriter()
    writer.SetInputData(dataset)
    writer.SetFileName(str(file))
    mode, compressor, base64 = ENCODINGS[encoding]
    writer.SetDataMode(mode)
    writer.SetCompressorType(compressor)
    writer.SetEncodeAppendedData(base64)
    writer.SetHeaderTypeToUInt64()
    writer.Write()


def foreign(n: int) -> Any:
    """6 n^3 tets as VTK holds them, ids of 64 bits: 3 point fields, 3 cell fields."""
    import meshkit as mk

    mesh = tets(n)
    rng = np.random.default_rng(0)
    mesh = mesh.with_data(
        point={"T": mesh.points[:, 0].cos()},
        cell={
            "q": rng.random(mesh.n_cells, dtype=np.float32),
            "g": rng.random((mesh.n_cells, 3)),
            "zone": np.arange(mesh.n_cells, dtype=np.int32),
        },
    )
    dataset = mk.to_pyvista(mesh)
    for name in list(dataset.field_data.keys()):  # meshkit's own notes
        dataset.GetFieldData().RemoveArray(name)
    dataset.GetCells().ConvertTo64BitStorage()
    return dataset


Row = tuple[str, int, dict[str, Cost | None]]


def costs(n: int) -> Iterator[Row]:
    """Name of the work, the bytes of its file, and what it costs each library."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        little = foreign(2)
        small = {encoding: folder / f"small {encoding}.vtu" for encoding in ENCODINGS}
        for encoding, file in small.items():
            save(little, file, encoding)
        dataset = foreign(n)
        files = {encoding: folder / f"{encoding}.vtu" for encoding in ENCODINGS}
        for encoding, file in files.items():  # they are in the file cache from now on
            save(dataset, file, encoding)
        plans = {name: _plan(name, small, files, folder) for name in READ}
        works = {name: Work(IMPORTS[name], list(plan.values())) for name, plan in plans.items()}
        peer = os.environ.get(PEER_PYTHON, sys.executable)
        works["physicsnemo"] = replace(works["physicsnemo"], python=peer)
        found = several({name: works[name] for name in ("meshkit", "pyvista")})
        found |= several({name: works[name] for name in ("meshio", "physicsnemo")}, FEWER)
        by_name = {name: dict(zip(plans[name], found[name][1:], strict=True)) for name in READ}
        sizes = {encoding: file.stat().st_size for encoding, file in files.items()}
        for how in ("", _FROM_DISK):
            for encoding, size in sizes.items():
                label = f"read {encoding}{how}"
                row = {name: each[label] for name, each in by_name.items() if label in each}
                if row:
                    yield label, size, row
        writes = {name: each[_WRITE] for name, each in by_name.items() if name in WRITE}
        yield _WRITE, sizes["raw"], writes
        yield "import", 0, {name: row[0] for name, row in found.items()}
    fixed = several({k: Work(v, ()) for k, v in FIXED.items()}, FEWER)
    for name, made_once in fixed.items():
        yield f"import {name}", 0, {"": made_once[0]}


_WRITE = "write, as each does by default"
_FROM_DISK = ", not in the file cache"


def _plan(
    name: str, small: dict[str, Path], files: dict[str, Path], folder: Path
) -> dict[str, str]:
    """What a process of a library does, step by step."""
    read, out = READ[name], str(folder / f"{name}.vtu")
    warm = [read.format(file=str(small[encoding])) for encoding in READS[name]]
    warm += [WRITE[name].format(out=out)] if name in WRITE else []
    # On a virtual machine the host has to find memory that is new to it, for whoever comes first.
    warm += ["block = b'1' * (1 << 29)\ndel block"]
    plan = {"warm up": "\n".join(warm)}
    # The mesh of the file before is let go first, so that memory is that of one.
    for encoding in READS[name]:
        plan[f"read {encoding}"] = f"{read.format(file=str(files[encoding]))}\ndel mesh"
    for encoding in COLD if name in ("meshkit", "pyvista") else ():
        file = str(files[encoding])
        # At once before it is read: the host takes back what has been free for seconds.
        plan[f"drop {encoding}"] = (
            f"import os\nhandle = os.open({file!r}, os.O_RDONLY)\nos.fsync(handle)\n"
            "os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)\nos.close(handle)"
        )
        plan[f"read {encoding}{_FROM_DISK}"] = f"{read.format(file=file)}\ndel mesh"
    if name in WRITE:
        plan["what is written"] = read.format(file=str(files["raw"]))
        plan[_WRITE] = WRITE[name].format(out=out)
    return plan


def _said(cost: Cost) -> tuple[str, ...]:
    return f"{cost.cpu * 1e3:.0f}", f"{cost.wall * 1e3:.0f}", f"{cost.peak / 1e6:.0f}"


def section(n: int, bandwidth: float) -> str:
    """Markdown."""
    lines = [
        "| work | bytes of file | floor, CPU ms | library | CPU ms | wall ms | peak MB "
        "| CPU and memory, as a multiple of meshkit's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, size, found in costs(n):
        floor = f"{2 * size / bandwidth * 1e3:.0f}" if size else ""
        lines += lines_of(name, f"{size / 1e6:.1f} MB | {floor}", found, _said)
    return (
        "## VTU files and imports\n\n"
        f"Medians of {RUNS} fresh processes of meshkit and pyvista in turn, of {FEWER} of others. "
        f"Each imports, reads and writes small files, then reads each large one; {6 * n**3} tets, "
        "ids of 64 bits, 3 point and 3 cell fields. Peak: growth of the resident memory.\n\n"
        + "\n".join(lines)
        + "\n"
    )
