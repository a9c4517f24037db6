"""Real files against the truth that others found in them: `manifest.tsv` beside the samples."""

from __future__ import annotations

import csv
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from meshkit import Mesh, check, operators as ops, read, read_series

FOLDERS = (
    *("derived", "gltf", "gmsh", "obj", "openfoam", "stl", "vtk-legacy", "vtp", "vts", "vtu"),
)
OTHERS = (".inp", ".med")  # formats of later work

# What a peer invented, or what the reader rightly takes away: not in the mesh, and why.
NOT_FIELDS = {
    "derived/ghost.pvtu": {"c:vtkGhostType"},  # the ghosts have gone
    # meshio's names for tags, and the groups as fields; here regions and "node_entity"
    "derived/overlap_groups_tet10_bin.msh": {
        "p:gmsh:dim_tags", "c:gmsh:geometrical", "c:gmsh:physical",
        "c:pt-inlet-probe-fluide é-all-gmsh:bounding_entities",
    },
    "gmsh/nested_cubes.msh": {"c:gmsh:geometrical", "c:gmsh:physical"},
    "derived/hanging_poly_foam": {"p:p"},  # VTK's own averages at points
    "openfoam/cavity": {"p:U", "p:p"},
    "obj/two_objects.obj": {"c:GroupIds"},  # VTK's number of the group; here a region
    "gltf/nested.glb": {  # VTK's own bookkeeping
        "f:BaseColorMultiplier", "f:ForceOpaque", "f:MetallicRoughness", "f:globalTransform",
    },
}  # fmt: skip
COUNTS = {"derived/ghost.pvtu": (36, 8)}  # the manifest counts the ghosts
# Files whose volume the words of the truth give in another form.
VOLUMES = {
    "derived/ghost.pvtu": 8.0,
    "derived/wedge_w961.vtk": 0.5,
    "derived/wedge_w961.vtu": 0.5,
}


def _truths() -> list[dict[str, str]]:
    where = os.environ.get("MESHKIT_SAMPLES")
    beside = Path(__file__).parents[3] / "shared" / "data"
    root = Path(where) if where else beside
    if not (root / "manifest.tsv").is_file():
        return []
    with (root / "manifest.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        r for r in rows if r["file"].split("/")[0] in FOLDERS and not r["file"].endswith(OTHERS)
    ]


# Short names of the manifest.
ALSO_CALLED = {
    "tri": ("triangle",),
    "tri6": ("triangle", "quadratic_triangle"),
    "point": ("vertex",),
    "hex": ("hexahedron",),
    "quad2": ("quad",),
    "tet10": ("quadratic_tetra", "lagrange_tetrahedron"),
    "hex27": ("triquadratic_hexahedron", "lagrange_hexahedron"),
    "wedge18": ("biquadratic_quadratic_wedge", "lagrange_wedge"),
}

TRUTHS = _truths()
each = pytest.mark.parametrize("truth", TRUTHS, ids=[t["file"] for t in TRUTHS])


@cache
def mesh_of(path: Path) -> Mesh:
    return read(path)


def number(words: str, what: str) -> float | None:
    found = re.search(rf"\b{what} ([-+\d.eE]+\d)", words)
    return float(found[1]) if found else None


def near(found: float, truth: float) -> bool:
    """Within half a unit of the last printed digit, or 1e-6."""
    text = f"{truth:.12g}"
    digits = len(text.split(".")[1]) if "." in text and "e" not in text else 0
    return abs(found - truth) <= max(0.5001 * 10.0**-digits, 1e-6 * abs(truth))


@each
def test_counts(samples: Path, truth: dict[str, str]) -> None:
    mesh = mesh_of(samples / truth["file"])
    points, cells = COUNTS.get(truth["file"], (int(truth["n_points"]), int(truth["n_cells"])))
    assert (mesh.n_points, mesh.n_cells) == (points, cells)


@each
def test_cell_types(samples: Path, truth: dict[str, str]) -> None:
    mesh = mesh_of(samples / truth["file"])
    listed: dict[str, str] = dict(re.findall(r"(\w+?):(\d+)", truth["cell_types"]))
    for name, count in listed.items():
        options = ALSO_CALLED.get(name, (name,))
        assert sum(mesh.cells.counts.get(n, 0) for n in options) == int(count), name


@each
def test_arrays(samples: Path, truth: dict[str, str]) -> None:
    mesh = mesh_of(samples / truth["file"])
    homes = {"p": mesh.point_data, "c": mesh.cell_data, "f": mesh.global_data}
    rows = {"p": mesh.n_points, "c": mesh.n_cells}
    listed = set(filter(None, truth["arrays"].split(";"))) - NOT_FIELDS.get(truth["file"], set())
    for array in sorted(listed):
        home, _, name = array.partition(":")
        assert name in homes[home].keys(), array
        if home in rows:
            assert len(homes[home][name]) == rows[home]


@each
def test_measures(samples: Path, truth: dict[str, str]) -> None:
    mesh = mesh_of(samples / truth["file"])
    measures, dims = ops.cell_measures(mesh).double(), mesh.cells.dims
    volume = VOLUMES.get(truth["file"], number(truth["ground_truth"], "volume"))
    if volume is not None:
        assert near(float(measures[dims == 3].sum()), volume)
    area = number(truth["ground_truth"], "area")
    if area is not None:
        assert near(float(measures[dims == 2].sum()), area)


@each
def test_boundary(samples: Path, truth: dict[str, str]) -> None:
    mesh = mesh_of(samples / truth["file"])
    count = number(truth["ground_truth"], "boundary faces")
    if count is None or mesh.dim < 3:
        pytest.skip("no count of boundary faces of solids is known")
    solid = mesh.select(mesh.cells.dims == 3)
    flat = int((mesh.cells.dims < 3).sum())
    # The peer counts every cell that is no solid too, and a strip as its triangles.
    strips = [len(b.ids) * (b.connectivity.shape[1] - 3) for b in mesh.cells.blocks if b.type == 6]
    assert ops.boundary(solid).n_cells + flat + sum(strips) == count


@each
def test_nothing_is_lost_or_unsound(samples: Path, truth: dict[str, str]) -> None:
    mesh = mesh_of(samples / truth["file"])
    assert mesh.info.report.losses == ()
    broken = {"id_out_of_range", "offsets_not_ascending", "unknown_type", "wrong_size"}
    assert not broken & {f.code for f in check(mesh)}
    assert mesh.info.source is not None


def regions(mesh: Mesh) -> dict[str, int]:
    return {r.name: len(r) for r in mesh.regions}


def test_wedges_written_by_old_vtk(samples: Path) -> None:
    for name in ("wedge_w961.vtk", "wedge_w961.vtu"):
        mesh = mesh_of(samples / "derived" / name)
        assert ops.cell_measures(mesh).tolist() == [pytest.approx(0.5)]
        assert [(e.name, e.count) for e in mesh.info.report.converted] == [("wedge", 1)]


def test_mixed_orders_in_one_file(samples: Path) -> None:
    mesh = mesh_of(samples / "vtk-legacy" / "fichera-mixed-p2.vtk")
    assert (ops.cell_measures(mesh) > 0).all()


def test_hanging_polyhedron(samples: Path) -> None:
    mesh = mesh_of(samples / "derived" / "hanging_poly.vtu")
    assert float(ops.cell_measures(mesh).sum()) == pytest.approx(2, rel=1e-12)
    assert ops.boundary(mesh).n_cells == 25


def test_bodies_objects_and_nodes_are_regions(samples: Path) -> None:
    solids = regions(mesh_of(samples / "stl" / "multibody.stl"))
    assert sum(solids.values()) == 32 and len(solids) > 1
    assert len(regions(mesh_of(samples / "obj" / "two_objects.obj"))) == 2
    assert len(regions(mesh_of(samples / "gltf" / "nested.glb"))) >= 1


def test_groups_of_gmsh(samples: Path) -> None:
    mesh = mesh_of(samples / "derived" / "overlap_groups_tet10_bin.msh")
    groups = {r.name: len(r) for r in mesh.regions if r.kind == "physical"}
    assert groups == {"pt": 1, "inlet": 132, "probe": 134, "fluide é": 718, "all": 1455}
    both = torch.isin(mesh.region("inlet").ids, mesh.region("probe").ids)
    assert int(both.sum()) == 66
    mesh = mesh_of(samples / "gmsh" / "nested_cubes.msh")
    assert sum(r.kind == "physical" for r in mesh.regions) == 14
    assert check(mesh) == []


def test_values_that_break_others(samples: Path) -> None:
    mesh = mesh_of(samples / "derived" / "nan_string_unicode.vtu")
    texts = mesh.info.field("cell_data", "region").vocabulary
    assert texts is not None and any(ord(c) > 0x3000 for word in texts for c in word)
    assert mesh.cell_data["sigma"].shape == (8, 9)
    temperature = mesh.point_data["Température °C"]
    assert temperature.isnan().any() and temperature.isinf().any()
    wide = [x for x in (*mesh.point_data.values(), *mesh.cell_data.values()) if _wide(x)]
    assert wide


def _wide(x: Any) -> bool:
    return x.dtype == torch.int64 and bool((x.abs() > 2**53).any())


def test_lengths_of_the_cube_are_millimetres(samples: Path) -> None:
    mesh = mesh_of(samples / "stl" / "20mm-xyz-cube.stl")
    assert float(ops.cell_measures(mesh).sum()) == pytest.approx(2499.02, abs=5e-3)
    assert mesh.info.length_unit is None


def test_duplicates_and_nonmanifold_edges_are_findings(samples: Path) -> None:
    mesh = mesh_of(samples / "derived" / "nonmanifold_mixed_ngon.vtp")
    codes = {f.code for f in check(mesh)}
    assert {"duplicate_cell", "nonmanifold"} <= codes


def test_the_cavity_of_openfoam(samples: Path) -> None:
    times = read_series(samples / "openfoam" / "cavity")
    assert times.times == (0, 0.5, 1, 1.5, 2, 2.5)
    mesh = times[3]
    assert "phi" not in times[0].face_data.keys() and mesh.face_data["phi"].shape == (1640,)
    units = {k[-1]: f.unit for k, f in mesh.info.fields.items()}
    assert units == {"U": "m/s", "p": "m^2/s^2", "phi": "m^3/s"}
    assert mesh.info.field("face_data", "phi").oriented
    assert mesh.info.field("cell_data", "p").kind == "kinematic pressure"
    assert regions(mesh) == {"movingWall": 20, "fixedWalls": 60, "frontAndBack": 800}
    assert mesh.region("frontAndBack").kind == "empty" and mesh.info.attributes["nu"] == 0.01
    inner = mesh.faces is not None and mesh.faces.neighbour >= 0
    flux = mesh.face_data["phi"]
    assert bool(flux[inner].isfinite().all()) and int(flux.isnan().sum()) == 800


def test_the_polyhedron_of_openfoam(samples: Path) -> None:
    mesh = mesh_of(samples / "derived" / "hanging_poly_foam")
    assert float(ops.cell_measures(mesh).sum()) == pytest.approx(2, rel=1e-12)
    assert ops.boundary(mesh).n_cells == 25 and check(mesh) == []
    assert regions(mesh) == {"inlet": 4, "outlet": 1, "walls": 20, "porous": 2}
    assert mesh.region("porous").ids.tolist() == [0, 8]
