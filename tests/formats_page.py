"""`python -m tests.formats_page` writes docs/formats.md: what each format keeps, converts, loses.

The page has three sources: the table of formats; `docs/formats/NAME.toml` for each row of it,
where each statement names the test that holds it; and a table that is measured here, by writing
small meshes that have one thing each and reading them back.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from meshkit import (
    FieldInfo,
    LossError,
    Mesh,
    MeshInfo,
    Region,
    make_mesh,
    read,
    write,
)
from meshkit.info import Grid
from meshkit.readers.formats import FALLBACK, FORMATS, Format
from tests.mesh_differences import differences
from tests.meshes import (
    hanging_polyhedron,
    kuhn_cube,
    one_of_each,
    square_triangles,
    two_tetrahedra,
)

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "formats.md"
FACTS: Final = ROOT / "docs" / "formats"
OUTCOMES: Final = ("kept", "converted", "lost")


@dataclass(frozen=True)
class Fact:
    """One statement, and the test that fails where it is wrong ("readers/test_vtu.py::test_it")."""

    text: str
    test: str


def facts_of(row: Format) -> dict[str, list[Fact]]:
    """What docs/formats says of a format, by outcome."""
    said = tomllib.loads((FACTS / f"{row.name}.toml").read_text("utf-8"))
    return {outcome: [Fact(*pair) for pair in said[outcome]] for outcome in OUTCOMES}


# --- measured -------------------------------------------------------------------------------------


def _with(mesh: Mesh, **info: Any) -> Mesh:
    return mesh.replace(info=MeshInfo(**info))


def probes() -> dict[str, Mesh]:
    """Small meshes that have one thing beyond points and triangles each."""
    flat = square_triangles(1, 3)
    solid = kuhn_cube(1)
    n, m = flat.n_points, flat.n_cells
    ids = torch.arange(n)
    high = make_mesh(torch.rand(10, 3).double(), [list(range(10))], types="quadratic_tetra")
    bent = make_mesh(torch.rand(16, 3).double(), [list(range(16))], types="lagrange_quadrilateral")
    half = Region("half", "cell", [0])
    return {
        "triangles, float64 points": flat,
        "float32 points": flat.to(dtype=torch.float32),
        "points in the plane (2-D)": square_triangles(1, 2),
        "points that no cell uses": flat.replace(points=torch.cat([flat.points, flat.points[:1]])),
        "tetrahedra": solid,
        "every linear type, mixed": one_of_each(),
        "quadratic cells": high,
        "Lagrange cells": bent,
        "polyhedra": hanging_polyhedron(),
        "the mesh's own faces": two_tetrahedra(),
        "point fields": flat.with_data(point={"p": ids / 7.0, "U": torch.rand(n, 3).double()}),
        "cell fields": flat.with_data(cell={"p": torch.arange(m) / 7.0}),
        "fields of integers": flat.with_data(point={"number": ids}),
        "fields of float32": flat.with_data(point={"p": (ids / 7.0).float()}),
        "fields of complex numbers": flat.with_data(point={"a": ids * 1j}),
        "fields of texts": flat.with_data(cell={"material": ["steel", "air"]}),
        "nested names of fields": flat.with_data(point={"flow": {"p": ids / 7.0}}),
        "groups of fields that hold none": flat.with_data(point={"flow": {}}),
        "global data": flat.with_data(global_={"Re": torch.tensor(1e5, dtype=torch.float64)}),
        "regions of cells": flat.replace(regions=[half]),
        "overlapping regions": flat.replace(regions=[half, Region("all", "cell", [0, 1])]),
        "empty regions": flat.replace(regions=[Region("none", "cell", [])]),
        "regions of points": flat.replace(regions=[Region("corner", "point", [0])]),
        "regions of sides": solid.replace(regions=[Region("wall", "side", [[0, 1]])]),
        "data and settings of regions": flat.replace(
            regions=[half.replace(data={"T": [1.5]}, attributes={"type": "wall"}, source_id=7)]
        ),
        "unit of the fields": flat.with_data(point={"p": ids / 7.0}).replace(
            info=MeshInfo(fields={("point_data", "p"): FieldInfo(unit="Pa")})
        ),
        "length unit": _with(flat, length_unit="mm"),
        "time": _with(flat, time=0.5),
        "frame": _with(flat, frame="body axes"),
        "attributes": _with(flat, attributes={"material": {"E": 2.1e11}}),
        "lattice of a structured source": _with(flat, grid=Grid((2, 2))),
    }


def outcome(row: Format, mesh: Mesh, folder: Path) -> str:
    """What becomes of a mesh on its way through a file: "kept", "converted" or "lost"."""
    path = Path(tempfile.mkdtemp(dir=folder)) / f"it{row.suffixes[0]}"
    try:
        report = write(mesh, path, format=row.name)
    except LossError:
        return "lost"
    back = read(path, format=row.name)
    if not report.lossless or back.info.report.losses:
        return "lost"
    return "converted" if differences(mesh, back, id_dtypes=False) else "kept"


MARKS: Final = {"kept": "kept", "converted": "conv.", "lost": "lost"}


def measured() -> Iterator[str]:
    """The lines of the table of writers."""
    rows = [row for row in FORMATS if row.writer is not None]
    yield "| | " + " | ".join(row.name for row in rows) + " |"
    yield "|---" * (len(rows) + 1) + "|"
    with tempfile.TemporaryDirectory() as made:
        for name, mesh in probes().items():
            said = [MARKS[outcome(row, mesh, Path(made))] for row in rows]
            yield f"| {name} | " + " | ".join(said) + " |"


# --- the page -------------------------------------------------------------------------------------

_HEAD: Final = """\
# Formats: what is kept, converted and lost

Made by `python -m tests.formats_page`; a test holds it to the code, and every statement below has
a test of its own (`docs/formats/NAME.toml` names it). Every read and every write ends in a report
that counts what this page says in words: *kept* arrived as it was, *converted* in another form,
*lost* not at all. Writing refuses a loss until it is allowed.

## Writing, measured

Each row is a small mesh that has this one thing, written and read back. *kept*: the mesh is the
same bit for bit (ids may be of another width); *conv.*: nothing was lost, something has another
form; *lost*: refused until losses are allowed, then left out and counted.
"""


def page() -> str:
    """The whole text."""
    lines = [_HEAD, *measured()]
    for row in (*FORMATS, FALLBACK):
        lines += ["", *_section(row)]
    return "\n".join(lines) + "\n"


def _section(row: Format) -> Iterator[str]:
    yield f"## {row.name}: {row.title}"
    yield ""
    does = ["reads a mesh" if row.series is None else "reads a mesh and times"]
    if row.writer is not None:
        does.append("writes a mesh" if row.series_writer is None else "writes a mesh and times")
    told = "content" if row.sniffer or row.directory else "suffix"
    suffixes = " ".join(f"`{suffix}`" for suffix in row.suffixes)
    extra = f"; needs `meshkit[{row.extra}]`" if row.extra else ""
    yield f"{suffixes}: {', '.join(does)}; told by {told}{extra}."
    for outcome, facts in facts_of(row).items():
        if facts:
            yield ""
            yield f"{outcome.capitalize()}:"
            yield ""
            yield from (f"- {fact.text}" for fact in facts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
