"""The same case in every encoding reads the same; what it says is what was written."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit import Mesh, check, operators as ops, read, read_series, write
from meshkit.derived_polyhedra import DerivedPolyhedra
from tests.mesh_differences import differences
from tests.readers.openfoam.case_writer import FoamField, Style, foam_of, write_case
from tests.readers.openfoam.example_mesh import example, fields

MESH, MOVED = example(), example(1.0)
TIMES: Mapping[str, Sequence[FoamField]] = {
    "0": fields(MESH, 1),
    "0.5": fields(MESH, 2),
    "1": fields(MESH, 3),
}
STYLES = [
    Style(binary, packed, label, scalar)
    for binary, packed, label, scalar in itertools.product(
        (False, True), (False, True), (32, 64), (32, 64)
    )
]
ODD = [
    Style(binary=True, compact=False),
    Style(binary=True, compact=False, label=64, packed=True),
    Style(minus_ones=True),
    Style(binary=True, minus_ones=True),
    *(Style(binary=True, label=a, scalar=b, arch=False) for a in (32, 64) for b in (32, 64)),
]


def written(folder: Path, style: Style) -> Path:
    return write_case(folder, MESH, TIMES, style, moved={"0.5": MOVED.points})


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Mesh]]:
    """The meshes of all times of the case in plain text, by the size of scalars."""

    @cache
    def meshes(scalar: int) -> list[Mesh]:
        return list(read_series(written(tmp_path_factory.mktemp("plain"), Style(scalar=scalar))))

    return {scalar: meshes(scalar) for scalar in (32, 64)}


@pytest.mark.parametrize("style", [*STYLES, *ODD], ids=str)
def test_every_encoding_reads_the_same(
    tmp_path: Path, plain: dict[int, list[Mesh]], style: Style
) -> None:
    found = read_series(written(tmp_path / "case", style))
    assert found.times == (0, 0.5, 1)
    for mesh, expected in zip(found, plain[style.scalar], strict=True):
        if not style.arch:  # then values in words are doubles, whatever lists are
            expected, mesh = expected.to(dtype=torch.float64), mesh.to(dtype=torch.float64)
        assert differences(expected, mesh) == []


def test_single_precision_is_the_rounded_double(plain: dict[int, list[Mesh]]) -> None:
    for single, double in zip(plain[32], plain[64], strict=True):
        assert differences(double.to(dtype=torch.float32), single) == []
        assert single.points.dtype == torch.float32


def test_the_mesh_is_the_one_that_was_written(plain: dict[int, list[Mesh]]) -> None:
    mesh = plain[64][0]
    faces = mesh.faces
    assert faces is not None
    ends = faces.offsets.tolist()
    rings = [faces.connectivity[a:b].tolist() for a, b in itertools.pairwise(ends)]
    assert rings == [list(ring) for ring in MESH.faces]
    assert faces.owner.tolist() == list(MESH.owner)
    assert faces.neighbour[: len(MESH.neighbour)].tolist() == list(MESH.neighbour)
    assert (faces.neighbour[len(MESH.neighbour) :] == -1).all()
    assert faces.owner.dtype == faces.connectivity.dtype == torch.int32
    assert np.array_equal(mesh.points.numpy(), MESH.points)
    assert mesh.cells.counts == {
        "hexahedron": 8, "polyhedron": 9, "pyramid": 6, "wedge": 18, "tetra": 54,
    }  # fmt: skip
    measures = ops.cell_measures(mesh)
    assert float(measures.sum()) == pytest.approx(1.5 * 0.75 * 0.5, rel=1e-14)
    assert bool((measures > 0).all())


def test_moving_points_and_shared_topology(plain: dict[int, list[Mesh]]) -> None:
    first, second, third = plain[64]
    assert np.array_equal(second.points.numpy(), MOVED.points)
    # The last points that were written hold until others are.
    assert torch.equal(third.points, second.points)
    assert first.cells is second.cells is third.cells
    assert first.faces is not None and first.faces is second.faces


def test_fluxes_give_back_the_divergence(plain: dict[int, list[Mesh]]) -> None:
    for name, mesh in zip(TIMES, plain[64], strict=True):
        phi = next(f for f in TIMES[name] if f.name == "phi")
        written_sum = np.zeros(mesh.n_cells)
        at = 0
        for f, value in enumerate(phi.inner):
            written_sum[MESH.owner[f]] += value
            written_sum[MESH.neighbour[f]] -= value
        at = len(MESH.neighbour)
        for patch in MESH.patches:
            for value in phi.patches[patch.name]["value"]:
                written_sum[MESH.owner[at]] += value
                at += 1
        assert mesh.faces is not None
        flux = mesh.face_data["phi"]
        owner, neighbour = mesh.faces.owner.long(), mesh.faces.neighbour.long()
        inner = neighbour >= 0
        found = torch.zeros(mesh.n_cells, dtype=torch.float64).index_add(0, owner, flux)
        found = found.index_add(0, neighbour[inner], -flux[inner])
        assert np.abs(found.numpy() - written_sum).max() <= 1e-14 * np.abs(written_sum).max()


def test_any_mesh_of_solids_comes_back(tmp_path: Path) -> None:
    from tests.meshes import cube_hexes, hanging_polyhedron, kuhn_cube

    for i, mesh in enumerate((cube_hexes(2), hanging_polyhedron(), kuhn_cube(2))):
        folder = write_case(tmp_path / str(i), foam_of(mesh), {}, STYLES[-1])
        back = read(folder)
        assert back.cells.counts == mesh.cells.counts and check(back) == []
        a, b = ops.cell_measures(back), ops.cell_measures(mesh)
        assert torch.allclose(a, b, rtol=1e-6, atol=0)


def test_a_store_keeps_it_all(tmp_path: Path, plain: dict[int, list[Mesh]]) -> None:
    for mesh in plain[64][:2]:
        write(mesh, tmp_path / "it.zarr")
        assert differences(mesh, read(tmp_path / "it.zarr")) == []


def test_polyhedra_share_the_rings_of_the_faces(plain: dict[int, list[Mesh]]) -> None:
    """Their own lists would take the memory of the faces twice over."""
    mesh = plain[64][0]
    solids = mesh.cells.polyhedra
    assert isinstance(solids, DerivedPolyhedra) and mesh.faces is not None
    assert solids.basis[1] is mesh.faces.connectivity
    assert len(solids) == len(mesh.cells.polyhedron_ids) == 9


def test_zones_and_sets(plain: dict[int, list[Mesh]]) -> None:
    mesh = plain[64][0]
    for zone in MESH.zones:
        name = zone.name if zone.kind != "cellSet" else "porous (cellSet)"
        entity = zone.kind.removesuffix("Zone").removesuffix("Set")
        region = mesh.region(name, entity)
        assert region.ids.tolist() == list(zone.ids) and region.kind == zone.kind
        assert (region.flip is None) == (zone.flip is None)
        if region.flip is not None:
            assert region.flip.tolist() == list(zone.flip or ())
