"""Reading and writing VTU beside pyvista and meshio."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cases import tets
from benchmarks.timing import Comparison


def comparisons(n: int) -> Iterator[Comparison]:
    """A mesh of 6 n^3 tets as an uncompressed VTU, and the same through each library."""
    import meshio
    import pyvista

    import meshkit as mk

    mesh = tets(n)
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder) / "theirs.vtu"
        mk.to_pyvista(mesh).save(theirs)
        size = theirs.stat().st_size
        yield Comparison(
            f"read {size / 1e6:.0f} MB of VTU that VTK wrote",
            size,
            {
                "meshkit": lambda: mk.read(theirs),
                "pyvista": lambda: pyvista.read(theirs),
                "meshio": lambda: meshio.read(theirs),
            },
        )
        ours = Path(folder) / "ours.vtu"
        dataset, plain = mk.to_pyvista(mesh), mk.to_meshio(mesh)
        yield Comparison(
            "write the same mesh as VTU",
            size,
            {
                "meshkit": lambda: mk.write(mesh, ours),
                "pyvista": lambda: dataset.save(Path(folder) / "pyvista.vtu"),
                "meshio": lambda: plain.write(Path(folder) / "meshio.vtu", compression=None),
            },
        )
        archive = Path(folder) / "ours.npz"
        yield Comparison(
            "write and read the same mesh as NPZ",
            2 * size,
            {"meshkit": lambda: (mk.write(mesh, archive), mk.read(archive))},
        )
