"""VTU through each library in processes of their own: CPU seconds and peak memory; imports.

physicsnemo may need a Python of its own: MESHKIT_PEER_PYTHON names it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apart import RUNS, Cost, Work, several
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
CANNOT = {("meshio", "lz4")}
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


def costs(n: int) -> Iterator[tuple[str, int, dict[str, Cost | None]]]:
    """Name of the work, the bytes of its file, and what it costs each library."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        little = foreign(2)
        small = {encoding: folder / f"small {encoding}.vtu" for encoding in ENCODINGS}
        for encoding, file in small.items():
            save(little, file, encoding)
        dataset = foreign(n)
        files = {encoding: folder / f"{encoding}.vtu" for encoding in ENCODINGS}
        for encoding, file in files.items():
            save(dataset, file, encoding)
        works = {}
        for name, read in READ.items():
            can = [encoding for encoding in ENCODINGS if (name, encoding) not in CANNOT]
            out = str(folder / f"{name}.vtu")
            warm = [read.format(file=str(small[encoding])) for encoding in can]
            warm += [WRITE[name].format(out=out)] if name in WRITE else []
            # Disks are not measured: each file is in the cache when its turn comes.
            warm += [
                f"with open({str(file)!r}, 'rb') as f:\n    while f.read(1 << 24): pass"
                for file in files.values()
            ]
            steps = ["\n".join(warm)]
            # The mesh of the file before is let go first, so that memory is that of one.
            steps += [
                f"{read.format(file=str(file))}\ndel mesh" if encoding in can else "pass"
                for encoding, file in files.items()
            ]
            steps += [read.format(file=str(files["raw"]))]
            if name in WRITE:
                steps += [WRITE[name].format(out=out)]
            python = os.environ.get(PEER_PYTHON, sys.executable)
            python = python if name == "physicsnemo" else sys.executable
            works[name] = Work(IMPORTS[name], steps, python)
        found = several(works)
        size = files["raw"].stat().st_size
        for i, (encoding, file) in enumerate(files.items()):
            read_costs = {
                name: None if (name, encoding) in CANNOT else row[2 + i]
                for name, row in found.items()
            }
            yield f"read {encoding}", file.stat().st_size, read_costs
        writes = {name: found[name][-1] for name in WRITE}
        yield "write, as each does by default", size, writes
        yield "import", 0, {name: row[0] for name, row in found.items()}
    for name, row in several({k: Work(v, ()) for k, v in FIXED.items()}).items():
        yield f"import {name}", 0, {"": row[0]}


def section(n: int, bandwidth: float) -> str:
    """Markdown."""
    lines = [
        "| work | bytes of file | floor, CPU ms | library | CPU ms | wall ms | peak MB "
        "| CPU and memory, as a multiple of meshkit's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, size, found in costs(n):
        ours = found.get("meshkit")
        floor = f"{2 * size / bandwidth * 1e3:.0f}" if size else ""
        for library, cost in found.items():
            if cost is None:
                lines.append(f"| {name} | | | {library} | fails or is not installed | | | |")
                continue
            ratio = f"{cost.cpu / ours.cpu:.2f}, {cost.peak / ours.peak:.2f}" if ours else ""
            lines.append(
                f"| {name} | {size / 1e6:.1f} MB | {floor} | {library} | {cost.cpu * 1e3:.0f} "
                f"| {cost.wall * 1e3:.0f} | {cost.peak / 1e6:.0f} | {ratio} |"
            )
    return (
        "## VTU files and imports\n\n"
        f"Medians of {RUNS} fresh processes a library, in turn. Each imports, reads and writes "
        f"small files, then reads each large one from the file cache; {6 * n**3} tets, "
        "ids of 64 bits, 3 point and 3 cell fields. Peak: growth of the resident memory.\n\n"
        + "\n".join(lines)
        + "\n"
    )
