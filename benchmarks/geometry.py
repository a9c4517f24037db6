"""Faces and boundary beside pyvista."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.cases import tets
from benchmarks.timing import Comparison
from meshkit.operators.adjacency.faces import faces


def comparisons(n: int) -> Iterator[Comparison]:
    """On 6 n^3 tets; topology anew at each run."""
    import meshkit as mk
    from meshkit import operators as ops

    mesh = tets(n)
    dataset = mk.to_pyvista(mesh)

    def fresh() -> mk.Mesh:
        return mesh.replace(cells=mesh.cells.apply(lambda x: x))

    yield Comparison("faces", 40 * mesh.n_cells, {"meshkit": lambda: faces(fresh())})
    yield Comparison(
        "boundary",
        40 * mesh.n_cells,
        {
            "meshkit": lambda: ops.boundary(fresh()),
            "pyvista": lambda: dataset.extract_surface(algorithm="dataset_surface"),
        },
    )
