"""What is drawn of a mesh, before it is drawn: places, areas, and whose numbers they carry."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.pictures.bodies import Body, Shades, bodies, left_out, need_sound
from meshkit.pictures.box import box_of
from meshkit.pictures.cut import Cut
from meshkit.pictures.facets import SHADE
from meshkit.pictures.region_shades import region_shades
from meshkit.regions import Region
from tests.meshes import (
    cube_hexes,
    cube_surface,
    hanging_polyhedron,
    kuhn_cube,
    l_prism_polyhedron,
    one_of_each,
    square_quads,
    wedge_column,
)


def built(mesh: Mesh, shades: Shades | None = None, **how: Any) -> list[Body]:
    how = {"cut": None, "edges": False, **how}
    return bodies(mesh, shades or Shades(), box_of(mesh), **how)


def area(found: list[Body], mesh: Mesh, *kinds: str) -> float:
    """Of surfaces, in the mesh's own units."""
    scale = box_of(mesh).diagonal ** 2
    return sum(
        scale * float(b.data.triangulate().compute_cell_sizes()["Area"].sum())
        for b in found
        if b.kind in kinds
    )


def halfway(mesh: Mesh, normal: Sequence[float], at: Sequence[float]) -> Cut:
    unit = np.array(normal) / np.linalg.norm(normal)
    return Cut(unit, box_of(mesh).inside(np.array([at]))[0])


@pytest.mark.parametrize("make", [cube_hexes, kuhn_cube, cube_surface])
def test_the_skin_of_a_cube(make: Any) -> None:
    mesh = make(3)
    assert area(built(mesh), mesh, "surface") == pytest.approx(6)


@pytest.mark.parametrize("make", [cube_hexes, kuhn_cube])
@pytest.mark.parametrize("x", [0.5, 0.4, 2 / 3])  # 2/3 lies in a layer of faces
def test_a_cut_cube_shows_what_is_left_and_the_section(make: Any, x: float) -> None:
    mesh = make(3)
    found = built(mesh, cut=halfway(mesh, [1, 0, 0], [x, 0, 0]))
    assert area(found, mesh, "surface") == pytest.approx(1 + 4 * x, rel=1e-4)
    assert area(found, mesh, "section") == pytest.approx(1, rel=1e-4)
    assert all(b.data.points[:, 0].max() < (x - 0.5) / 3**0.5 + 1e-4 for b in found)


def test_sections_of_cells_that_are_not_convex() -> None:
    mesh = l_prism_polyhedron()
    found = built(mesh, cut=halfway(mesh, [0, 0, 1], [0, 0, 0.5]))
    assert area(found, mesh, "section") == pytest.approx(3, rel=1e-4)
    (filled,) = (b.data for b in found if b.kind == "section")
    places = filled.triangulate().cell_centers().points * box_of(mesh).diagonal + 1
    assert not ((places[:, 0] > 1) & (places[:, 1] > 1)).any(), "the notch is filled"


def test_sections_of_wedges_and_of_hanging_nodes() -> None:
    for mesh, normal, at, wanted in (
        (wedge_column(2), [0, 0, 1], [0, 0, 0.3], 0.5),
        (hanging_polyhedron(), [0, 1, 0], [0, 0.3, 0], 2.0),
    ):
        found = built(mesh, cut=halfway(mesh, normal, at))
        assert area(found, mesh, "section") == pytest.approx(wanted, rel=1e-4)


def test_a_cell_that_vtk_cuts_wrongly(capfd: pytest.CaptureFixture[str]) -> None:
    # vtk 9.7 reads values of a triquadratic pyramid beyond their end when it cuts one.
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 1]])
    further = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4), (0, 1, 2, 3)]
    further += [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 1, 2, 3, 4)]
    points = np.vstack([corners, [corners[list(some)].mean(0) for some in further]])
    # Of the second one the ids are not those within the cell.
    two = np.vstack([points, points + np.array([2, 0, 0])])
    mesh = make_mesh(two, torch.arange(38).reshape(2, 19), types="triquadratic_pyramid")
    found = built(mesh, Shades(point=two[:, 0]), cut=halfway(mesh, [0, 0, 1], [0, 0, 0.5]))
    assert area(found, mesh, "section") == pytest.approx(2 * 0.25, rel=1e-4)
    (filled,) = (b.data for b in found if b.kind == "section")
    x = filled.points[:, 0] * box_of(mesh).diagonal + 1.5
    assert np.allclose(np.asarray(filled.point_data[SHADE]), x, atol=1e-4)
    assert capfd.readouterr() == ("", "")


def quarter_ring() -> Mesh:
    """A quadratic hex: a quarter of a ring from radius 1 to 2, of height 1."""
    corners = [(r, a, z) for z in (0, 1) for r, a in ((1, 0), (2, 0), (2, 1), (1, 1))]
    pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)]
    pairs += [(0, 4), (1, 5), (2, 6), (3, 7)]
    at = np.array(corners + [np.mean([corners[i], corners[j]], 0) for i, j in pairs], float)
    angle = at[:, 1] * np.pi / 2
    points = np.stack([at[:, 0] * np.cos(angle), at[:, 0] * np.sin(angle), at[:, 2]], 1)
    return make_mesh(points, torch.arange(20)[None], types="quadratic_hexahedron")


def test_curved_cells_are_drawn_curved() -> None:
    mesh = quarter_ring()
    # Its arcs are parabolas (c, s) through 0, 45 and 90 degrees: the ring between them has the
    # area 3/2 times the integral of c ds - s dc, and the unit arc the length below.
    root = 2**0.5
    face = 2 * root - 0.5
    arc = 1.5624171
    skin = area(built(mesh), mesh, "surface")
    assert skin == pytest.approx(2 * face + 3 * arc + 2, rel=0.005)
    assert skin > 1.03 * (2 * 1.5 + 3 * root + 2), "as flat as its corners"
    cut = built(mesh, cut=halfway(mesh, [0, 0, 1], [0, 0, 0.5]))
    assert area(cut, mesh, "section") == pytest.approx(face, rel=0.01)


def test_values_go_where_their_cells_and_points_are() -> None:
    mesh = cube_hexes(4)
    x = mesh.points[:, 0].double().numpy()
    (skin,) = built(mesh, Shades(point=x))
    assert np.allclose(
        np.asarray(skin.data.point_data[SHADE]), skin.data.points[:, 0] * 3**0.5 + 0.5
    )
    cell = np.arange(mesh.n_cells, dtype=float)
    (skin,) = built(mesh, Shades(cell=cell))
    shown = np.asarray(skin.data.cell_data[SHADE])
    inner = np.setdiff1d(cell, shown)
    assert len(inner) == 2**3
    assert len(shown) == 6 * 16


def test_lower_cells_on_the_body_are_not_drawn_twice() -> None:
    solid = one_of_each()
    kinds = sorted(b.kind for b in built(solid))
    assert kinds == ["curve", "dot", "surface", "surface"]
    cube = cube_hexes(1)
    ids = torch.cat([cube.cells.connectivity, torch.tensor([0, 1, 3, 2, 0, 1])])
    both = make_mesh(
        cube.points, ids, types=torch.tensor([12, 9, 3], dtype=torch.uint8), offsets=[0, 8, 12, 14]
    )
    assert [b.kind for b in built(both)] == ["surface"]
    named = both.replace(regions=[Region("floor", "cell", [1]), Region("rim", "cell", [2])])
    shades = region_shades(named, {})
    assert [b.kind for b in built(named, shades)] == ["surface", "curve"]
    assert shades.skin is not None
    assert np.nonzero(shades.skin == 0)[0].tolist() == [4], "the skin shows the floor"


def test_edges_are_those_of_the_cells() -> None:
    mesh = square_quads(3)
    lines = [b.data for b in built(mesh, edges=True) if b.kind == "edge"]
    assert sum(line.n_cells for line in lines) == 24
    length = sum(line.compute_cell_sizes()["Length"].sum() for line in lines)
    assert length == pytest.approx(8 / 2**0.5)


def test_a_mesh_without_cells_shows_its_points() -> None:
    mesh = make_mesh(torch.rand(7, 2))
    (dots,) = built(mesh, Shades(point=np.arange(7.0)))
    assert dots.kind == "dot"
    assert sorted(np.asarray(dots.data.point_data[SHADE])) == list(range(7))


def test_what_is_nowhere_is_left_out_and_counted() -> None:
    mesh = square_quads(3)
    points = mesh.points.clone()
    points[0] = float("nan")
    broken = mesh.replace(points=points)
    assert left_out(broken) == 1
    (surface,) = built(broken)
    assert surface.data.n_cells == 8
    assert np.isfinite(surface.data.points).all()


def test_far_away_and_tiny_meshes_keep_their_shape() -> None:
    mesh = cube_surface(2)
    for scale, offset in ((1e-9, 0.0), (1.0, 1e7), (1e12, -3e12)):
        moved = mesh.replace(points=mesh.points * scale + offset)
        (skin,) = built(moved)
        assert np.abs(skin.data.points).max() == pytest.approx(0.5 / 3**0.5, rel=1e-6)


def test_nothing_to_draw() -> None:
    with pytest.raises(MeshError, match="found 0 points and 0 cells"):
        box_of(make_mesh(torch.zeros(0, 3)))
    with pytest.raises(MeshError, match="nothing to draw"):
        box_of(make_mesh(torch.full((3, 3), float("inf"))))


@pytest.mark.parametrize(
    ("cells", "types", "said"),
    [
        ([[0, 1, 9]], 5, "point"),
        ([[0, 1]], 5, "triangle has 3 points"),
        ([[0, 1, 2]], 150, "type 150 is unknown"),
        ([[0, 1, 2, 3, 0, 1, 2]], 70, "does not have 7 points"),
    ],
)
def test_cells_that_vtk_could_not_draw_safely(cells: Any, types: int, said: str) -> None:
    ids = torch.tensor(cells)
    size = ids.shape[1]
    with pytest.raises(MeshError, match=said):
        need_sound(
            make_mesh(
                torch.rand(4, 3),
                ids.reshape(-1),
                types=torch.tensor([types], dtype=torch.uint8),
                offsets=torch.tensor([0, size]),
            )
        )


def test_the_smallest_region_shows() -> None:
    mesh = cube_hexes(2).replace(
        regions=[
            Region("one", "cell", [0]),
            Region("all", "cell", list(range(8))),
            Region("floor", "side", [[i, 4] for i in range(4)]),
            Region("patch", "side", [[0, 4]]),
        ]
    )
    codes: dict[str, int] = {}
    shades = region_shades(mesh, codes)
    assert codes == {"one": 0, "all": 1, "floor": 2, "patch": 3}
    assert shades.cell is not None and shades.skin is not None
    assert shades.cell.tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
    counts = {
        int(c): int(n) for c, n in zip(*np.unique(shades.skin, return_counts=True), strict=True)
    }
    assert counts == {0: 2, 1: 18, 2: 3, 3: 1}


def test_a_region_that_names_what_is_not_there() -> None:
    mesh = cube_hexes(1).replace(regions=[Region("lost", "cell", [5])])
    with pytest.raises(MeshError, match="region 'lost': expected ids from 0 to 0"):
        region_shades(mesh, {})
