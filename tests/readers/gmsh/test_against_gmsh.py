"""Our elements, and the files that we write, against gmsh itself in a process of its own.

Gmsh is an optional extra of the tests (`pip install 'meshkit[gmsh-tests]'`), never of the product.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meshkit import Region, make_mesh, operators as ops, read, write
from meshkit.celltypes import CELL_TYPES, cell_type
from meshkit.operators.measure.elements import element
from meshkit.readers.gmsh.elements import element_types
from tests.mesh_differences import differences
from tests.meshes import cube_hexes, kuhn_cube

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("gmsh") is None, reason="gmsh is not installed"
)

PRELUDE = """
import gmsh, json, sys
gmsh.initialize(["-v", "1"])
gmsh.option.setNumber("General.Terminal", 0)
"""


def asked(program: str, *arguments: object) -> Any:
    """What a program that talks to gmsh prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "libGL" in done.stderr or "cannot open shared object" in done.stderr:
        pytest.skip("gmsh lacks a library of the system")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


PROPERTIES = """
out = {}
for number in json.loads(sys.argv[1]):
    try:
        found = gmsh.model.mesh.getElementProperties(number)
    except Exception:
        continue
    out[number] = (found[1], found[3], list(found[4]))
print(json.dumps(out))
"""


def test_nodes_lie_where_gmsh_has_them() -> None:
    table = element_types()
    found = asked(PROPERTIES, json.dumps(sorted(table)))
    assert len(found) > 100
    compared = 0
    for number, (dim, size, flat) in found.items():
        row = table[int(number)]
        if size and int(number) not in (34, 35, 69):
            assert (row.dim, row.size) == (dim, size), number
        if row.cell is None or not row.whole or dim == 0:
            continue
        cell = CELL_TYPES[row.cell]
        at = np.array(flat).reshape(size, dim)
        made = element(cell.name, cell.shape, size)
        if cell.shape in ("line", "quad", "hexahedron"):
            at = (at + 1) / 2
        if cell.shape == "wedge":
            at[:, 2] = (at[:, 2] + 1) / 2
        if cell.shape == "pyramid":
            ends = cell.edges
            ours = at[list(row.order)]
            for place, (a, b) in enumerate(ends, 5):
                if size > 5:
                    assert np.allclose(ours[place], (ours[a] + ours[b]) / 2), number
        elif made is not None:
            assert np.allclose(at[list(row.order)], made.nodes), number
        else:
            assert row.as_it_is, number
        compared += 1
    assert compared > 50


MESHED = """
kind, degree, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
gmsh.model.add("it")
if kind == "tetra":
    gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
else:
    plate = gmsh.model.occ.addRectangle(0, 0, 0, 1, 1)
    gmsh.model.occ.extrude([(2, plate)], 0, 0, 1, [1], recombine=True)
gmsh.model.occ.synchronize()
if kind == "hexahedron":
    for tag in (1,):
        gmsh.model.mesh.setTransfiniteSurface(tag)
        gmsh.model.mesh.setRecombine(2, tag)
if kind == "pyramid":
    gmsh.model.mesh.setTransfiniteAutomatic()
gmsh.option.setNumber("Mesh.MeshSizeMax", 1)
gmsh.option.setNumber("Mesh.MeshSizeMin", 1)
gmsh.model.mesh.generate(3)
gmsh.model.mesh.setOrder(degree)
for version, binary in ((2.2, 0), (2.2, 1), (4.1, 0), (4.1, 1)):
    gmsh.option.setNumber("Mesh.MshFileVersion", version)
    gmsh.option.setNumber("Mesh.Binary", binary)
    gmsh.write(f"{path}/{version}_{binary}.msh")
print(json.dumps(sorted(int(t) for t in gmsh.model.mesh.getElementTypes())))
"""


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["tetra", "hexahedron", "wedge"])
def test_every_element_that_gmsh_makes_has_its_measure(
    kind: str, degree: int, tmp_path: Path
) -> None:
    types = asked(MESHED, kind, degree, tmp_path)
    assert {element_types()[t].dim for t in types} == {0, 1, 2, 3}
    for path in sorted(tmp_path.iterdir()):
        mesh = read(path)
        measures, dims = ops.cell_measures(mesh), mesh.cells.dims
        assert bool((measures[dims > 0] > 0).all()), path
        for dim, total in ((1, 12.0), (2, 6.0), (3, 1.0)):
            assert float(measures[dims == dim].sum()) == pytest.approx(total), (path, dim)
        shapes = {CELL_TYPES[t].shape for t in mesh.cells.present if CELL_TYPES[t].dim == 3}
        assert shapes == {kind} and mesh.info.report.lossless


LINKED = """
path = sys.argv[1]
gmsh.model.add("it")
gmsh.model.occ.addBox(0, 0, 0, 1, 1, 1)
gmsh.model.occ.synchronize()
along = [1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
gmsh.model.mesh.setPeriodic(2, [2], [1], along)
gmsh.option.setNumber("Mesh.MeshSizeMax", 0.5)
gmsh.model.addPhysicalGroup(3, [1], 9, "vol")
gmsh.model.addPhysicalGroup(2, [1, 2], 3, "vol")
gmsh.model.addPhysicalGroup(2, [-3], 5, "rev")
gmsh.model.mesh.generate(3)
def save(stem, parametric):
    gmsh.option.setNumber("Mesh.SaveParametric", parametric)
    for version, binary in ((2.2, 0), (2.2, 1), (4.1, 0), (4.1, 1)):
        gmsh.option.setNumber("Mesh.MshFileVersion", version)
        gmsh.option.setNumber("Mesh.Binary", binary)
        gmsh.write(f"{path}/{stem}_{version}_{binary}.msh")
save("whole", 0)
save("parametric", 1)
gmsh.option.setNumber("Mesh.PartitionCreateGhostCells", 1)
gmsh.model.mesh.partition(2)
save("parts", 0)
print("[]")
"""


@pytest.mark.parametrize("version", ["2.2", "4.1"])
@pytest.mark.parametrize("stem", ["whole", "parametric", "parts"])
def test_links_and_partitions_are_the_same_in_text_and_in_bytes(
    stem: str, version: str, linked: Path
) -> None:
    text, binary = (read(linked / f"{stem}_{version}_{i}.msh") for i in (0, 1))
    torch.testing.assert_close(text.points, binary.points, rtol=1e-14, atol=1e-15)
    same = binary.replace(points=text.points)
    if "node_parameters" in text.point_data.keys():
        found = [m.point_data["node_parameters"] for m in (text, binary)]
        torch.testing.assert_close(*found, rtol=1e-14, atol=1e-15, equal_nan=True)
        same = same.with_data(point={"node_parameters": found[0]})
    assert differences(text, same.replace(info=text.info)) == []
    (slaves, masters) = text.region("periodic surface 2").ids.long().unbind(1)
    step = text.points[slaves] - text.points[masters]
    torch.testing.assert_close(step, torch.tensor([[1.0, 0, 0]]).double().expand_as(step))
    assert len(text.region("vol")) > len(text.region("vol (surfaces)")) > 0
    if stem == "parts":
        parts = [set(text.region(f"partition {i}").ids.tolist()) for i in (1, 2)]
        assert parts[0] | parts[1] == set(range(text.n_cells))
        for mine, other in ((1, 1), (2, 0)):
            ghosts = set(text.region(f"ghosts of partition {mine}").ids.tolist())
            assert ghosts and ghosts <= parts[other]


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linked")
    asked(LINKED, folder)
    return folder


OPENED = """
gmsh.open(sys.argv[1])
groups, volume = {}, {}
for dim, tag in gmsh.model.getPhysicalGroups():
    cells, total = 0, 0.0
    for entity in gmsh.model.getEntitiesForPhysicalGroup(dim, tag):
        types, found, _ = gmsh.model.mesh.getElements(dim, abs(entity))
        for number, some in zip(types, found):
            points, weights = gmsh.model.mesh.getIntegrationPoints(number, "Gauss12")
            _, determinants, _ = gmsh.model.mesh.getJacobians(number, points, abs(entity))
            cells += len(some)
            total += float((determinants.reshape(len(some), -1) * weights).sum())
    groups[gmsh.model.getPhysicalName(dim, tag)] = (dim, tag, cells, total)
views = {}
for tag in gmsh.view.getTags():
    name = gmsh.view.option.getString(tag, "Name")
    steps = int(gmsh.view.option.getNumber(tag, "NbTimeStep"))
    data = [gmsh.view.getModelData(tag, step) for step in range(steps)]
    rows = [[d[0], [int(t) for t in d[1]], [list(map(float, x)) for x in d[2]], d[3]] for d in data]
    views[name] = rows
nodes = gmsh.model.mesh.getNodes()
print(json.dumps([len(nodes[0]), groups, views, len(gmsh.logger.getLastError())]))
"""


def test_gmsh_reads_what_we_write(tmp_path: Path) -> None:
    mesh = kuhn_cube(2)
    measures = ops.cell_measures(mesh)
    regions = [
        Region("left é", "cell", torch.arange(0, 30)),
        Region("right", "cell", torch.arange(20, 48), source_id=9),
        Region("whole", "cell", torch.arange(48)),
    ]
    values = torch.arange(mesh.n_points, dtype=torch.float64) / 7
    mesh = mesh.replace(regions=regions).with_data(
        point={"T": values}, cell={"U": torch.arange(48 * 3.0).reshape(48, 3)}
    )
    mesh = mesh.replace(info=mesh.info.replace(time=2.5))
    write(mesh, tmp_path / "it.msh")
    count, groups, views, errors = asked(OPENED, tmp_path / "it.msh")
    assert (count, errors) == (mesh.n_points, 0)
    assert set(groups) == {"left é", "right", "whole"}
    for region in regions:
        dim, _, cells, volume = groups[region.name]
        assert (dim, cells) == (3, len(region))
        assert volume == pytest.approx(float(measures[region.ids].sum()))
    assert groups["right"][1] == 9
    ((kind, tags, rows, time),) = views["T"]
    assert (kind, tags, time) == ("NodeData", list(range(1, mesh.n_points + 1)), 2.5)
    assert [row[0] for row in rows] == values.tolist()
    ((kind, tags, rows, _),) = views["U"]
    assert kind == "ElementData" and rows[-1] == [141, 142, 143] and tags[-1] == 48


def test_gmsh_finds_points_edges_and_sides_that_regions_name(tmp_path: Path) -> None:
    mesh = kuhn_cube(2)
    outside = ops.boundary(mesh)
    pairs = torch.stack([outside.cell_data[k] for k in ("parent_cell", "local_face")], 1)
    low = (outside.points[outside.cells.dense.long()][..., 2] == 0).all(1)
    regions = [
        Region("fluid", "cell", torch.arange(48)),
        Region("wall", "side", pairs[~low]),
        Region("floor", "side", pairs[low], flip=torch.ones(8, dtype=torch.bool)),
        Region("all", "side", pairs),
        Region("probe", "point", [3, 5]),
        Region("bar", "edge", [[0, 1], [1, 2]], source_id=12),
    ]
    mesh = mesh.replace(regions=regions).with_data(cell={"p": torch.arange(48.0)})
    write(mesh, tmp_path / "it.msh")
    count, groups, views, errors = asked(OPENED, tmp_path / "it.msh")
    assert (count, errors, set(groups)) == (27, 0, {r.name for r in regions})
    found = {name: (dim, cells) for name, (dim, _, cells, _) in groups.items()}
    assert found == {
        "fluid": (3, 48), "wall": (2, 40), "floor": (2, 8), "all": (2, 48), "probe": (0, 2),
        "bar": (1, 2),
    }  # fmt: skip
    assert groups["bar"][1] == 12
    for name, measure in (("fluid", 1), ("wall", 5), ("floor", 1), ("all", 6), ("bar", 1)):
        assert groups[name][3] == pytest.approx(measure)
    assert len(views["p"][0][1]) == 48


@pytest.mark.parametrize(
    ("name", "size"),
    [("quadratic_tetra", 10), ("triquadratic_hexahedron", 27), ("quadratic_hexahedron", 20),
     ("lagrange_hexahedron", 64), ("lagrange_tetrahedron", 20), ("quadratic_wedge", 15)],
)  # fmt: skip
def test_gmsh_sees_the_volume_of_curved_cells_that_we_write(
    name: str, size: int, tmp_path: Path
) -> None:
    made = element(name, cell_type(name).shape, size)
    assert made is not None
    at = torch.tensor(made.nodes, dtype=torch.float64)
    at = at + 0.05 * torch.sin(3 * at.flip(1))  # a curved element, still valid
    mesh = make_mesh(at, [list(range(size))], types=name)
    mesh = mesh.replace(regions=[Region("it", "cell", [0])])
    write(mesh, tmp_path / "it.msh")
    groups = asked(OPENED, tmp_path / "it.msh")[1]
    assert groups["it"][3] == pytest.approx(float(ops.cell_measures(mesh)), rel=1e-9)


def test_hexahedra_of_ours_are_hexahedra_of_gmsh(tmp_path: Path) -> None:
    write(cube_hexes(2).replace(regions=[Region("a", "cell", list(range(8)))]), tmp_path / "it.msh")
    assert asked(OPENED, tmp_path / "it.msh")[1]["a"] == [3, 1, 8, pytest.approx(1)]
