"""VTU through each library in processes of their own: CPU seconds and peak memory; imports.

Not run with the others: `python -m benchmarks.files [--record]` takes some minutes.
"""

from __future__ import annotations

import argparse
import datetime
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apart import Cost, apart
from benchmarks.cases import tets
from benchmarks.timing import copy_bandwidth, machine

# Mode, compressor, whether appended data are in base64: as vtk's writer takes them.
ENCODINGS = {
    "raw": (2, 0, 0),
    "zlib": (2, 1, 0),
    "lz4": (2, 2, 0),
    "base64": (2, 0, 1),
    "base64 zlib inline": (1, 1, 0),
    "ascii": (0, 0, 0),
}
_SMALL = "import pathlib; small = pathlib.Path({folder!r}) / 'small.vtu'\n"
READERS = {
    "meshkit": ("import meshkit\nmeshkit.read(small)", "meshkit.read({file!r})"),
    "pyvista": ("import pyvista\npyvista.read(small)", "pyvista.read({file!r})"),
    "meshio": ("import meshio\nmeshio.read(small)", "meshio.read({file!r})"),
    "physicsnemo": (
        "import torch\nfor op in ('nms', 'qnms'):\n"
        "    torch.library.define('torchvision::' + op, '(Tensor x) -> Tensor')\n"
        "import pyvista\nfrom physicsnemo.mesh.io import from_pyvista\n"
        "from_pyvista(pyvista.read(small))",
        "from_pyvista(pyvista.read({file!r}))",
    ),
}
WRITERS = {
    "meshkit": ("mesh = meshkit.read({file!r})", "meshkit.write(mesh, {out!r})"),
    "pyvista": ("mesh = pyvista.read({file!r})", "mesh.save({out!r})"),
    "meshio": (
        "mesh = meshio.read({file!r})",
        "mesh.write({out!r}, compression=None)",
    ),
}
IMPORTS = {
    "meshkit.Mesh": "import meshkit; meshkit.Mesh",
    "torch and tensordict": "import torch, tensordict",
    "meshkit --help": "import runpy, sys; sys.argv = ['meshkit', '--help']\n"
    "try: runpy.run_module('meshkit', run_name='__main__')\nexcept SystemExit: pass",
    "pyvista": "import pyvista",
    "meshio": "import meshio",
    "physicsnemo.mesh": READERS["physicsnemo"][0].rpartition("\n")[0],
}


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


def rows(n: int, runs: int) -> Iterator[tuple[str, Mapping[str, Cost | None], int]]:
    """Name of the work, what it costs each library, and the bytes that must be moved."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        foreign(2).save(folder / "small.vtu")
        dataset = foreign(n)
        small = _SMALL.format(folder=made)
        for encoding in ENCODINGS:
            file = folder / "large.vtu"
            save(dataset, file, encoding)
            works = {
                name: (small + before, work.format(file=str(file)))
                for name, (before, work) in READERS.items()
            }
            yield f"read {encoding}", apart(works, runs), file.stat().st_size
        save(dataset, file, "raw")
        works = {
            name: (
                f"{small}{READERS[name][0]}\n{before.format(file=str(file))}",
                work.format(out=str(folder / f"{name}.vtu")),
            )
            for name, (before, work) in WRITERS.items()
        }
        yield "write, as each does by default", apart(works, runs), file.stat().st_size
    for name, statement in IMPORTS.items():
        yield f"import {name}", apart({name: ("", statement)}, runs), 0


def table(n: int, runs: int) -> str:
    """Markdown."""
    bandwidth = copy_bandwidth()
    lines = [
        "| work | bytes of file | floor, CPU ms | library | CPU ms | wall ms | peak MB "
        "| CPU and memory, as a multiple of meshkit's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, costs, size in rows(n, runs):
        ours = costs.get("meshkit")
        floor = f"{2 * size / bandwidth * 1e3:.0f}" if size else ""
        for library, cost in costs.items():
            if cost is None:
                lines.append(f"| {name} | | | {library} | fails or is not installed | | | |")
                continue
            ratio = f"{cost.cpu / ours.cpu:.2f}, {cost.peak / ours.peak:.2f}" if ours else ""
            lines.append(
                f"| {name} | {size / 1e6:.1f} MB | {floor} | {library} | {cost.cpu * 1e3:.0f} "
                f"| {cost.wall * 1e3:.0f} | {cost.peak / 1e6:.0f} | {ratio} |"
            )
    return (
        f"{machine()}. One thread copies {bandwidth / 1e9:.1f} GB/s (read and written bytes).\n"
        f"Medians of {runs} fresh processes each, all libraries in turn, after a small file was "
        f"read once; {6 * n**3} tets, ids of 64 bits, 3 point and 3 cell fields. Peak: growth of "
        "the resident memory.\n\n" + "\n".join(lines) + "\n"
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=55, help="6 n^3 tets (default %(default)s)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="keep the table")
    args = parser.parse_args()
    today = datetime.date.today().isoformat()
    text = f"# {today}: VTU files and imports\n\n{table(args.n, args.runs)}"
    print(text)
    if args.record:
        file = Path(__file__).parent / "results" / f"{today}-vtu.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
