"""Never quietly wrong: too few neighbours, cells without size, NaN, lower dimensions, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from meshkit import operators as ops
from meshkit.celltypes import cell_type
from meshkit.errors import MeshError
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.regions import Region
from tests import meshes
from tests.meshes import shaken
from tests.operators.cells_for_tests import HIGH_ORDER, LAGRANGE, SHEAR, nodes_of, one_cell
from tests.operators.kinds import KINDS

G = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)


def test_two_tets_do_not_determine_a_gradient() -> None:
    mesh = meshes.two_tetrahedra()
    field = ops.cell_centroids(mesh) @ G
    for method in ("lsq", "green_gauss"):
        operator = ops.gradient_operator(mesh, on="cells", method=method)
        assert not operator.determined.any()
        assert operator.apply(field).isnan().all()
        assert not operator.matrix().to_dense().any()
    at_points = ops.gradient(mesh, mesh.points @ G, on="points")
    torch.testing.assert_close(at_points, G.expand(5, 3))
    boundary = ops.face_centroids(mesh)[ops.faces(mesh).boundary] @ G
    found = ops.gradient(mesh, field, on="cells", boundary=boundary)
    torch.testing.assert_close(found, G.expand(2, 3))


@pytest.mark.parametrize("method", ["lsq", "green_gauss"])
def test_a_cell_alone_determines_nothing(method: str) -> None:
    operator = ops.gradient_operator(meshes.tetrahedron(), on="cells", method=method)
    assert operator.apply(torch.ones(1)).isnan().all()
    assert operator.matrix().to_dense().tolist() == [[0], [0], [0]]
    assert torch.equal(operator.transpose().apply(torch.rand(1, 3)), torch.zeros(1))


def test_a_nan_in_a_cell_alone_is_in_its_stencil() -> None:
    operator = ops.gradient_operator(meshes.tetrahedron(), on="cells", method="green_gauss_plain")
    assert operator.apply(torch.ones(1)).tolist() == [[0, 0, 0]]
    assert operator.apply(torch.tensor([torch.nan])).isnan().all()
    assert operator.stencil.indices.tolist() == [0]


@pytest.mark.parametrize(
    ("name", "size", "degrees"),
    [*((name, cell_type(name).size or 0, None) for name in HIGH_ORDER), *LAGRANGE],
)
def test_points_between_corners_have_gradients(
    name: str, size: int, degrees: tuple[int, int, int] | None
) -> None:
    nodes = nodes_of(name, size, degrees)
    mesh = one_cell(name, nodes @ SHEAR.T, degrees)
    operator = ops.gradient_operator(mesh, on="points")
    assert operator.determined.all()
    span = (nodes != 0).any(0).double()  # the directions that the cell fills
    field = nodes @ G  # linear in the reference, and so in the sheared cell
    found = operator.apply(field)
    torch.testing.assert_close(found @ SHEAR * span, (G * span).expand_as(found))
    corner = ops.point_points(mesh).offsets.diff() > 0
    assert not corner.all()
    stencil = operator.stencil.to_edge_index()
    read = stencil[1][stencil[0] != stencil[1]]
    assert corner[read].all()
    spoilt = operator.apply(field.index_fill(0, torch.nonzero(~corner)[:1, 0], torch.nan))
    assert spoilt.isnan().any(1).sum() == 1


def test_a_wider_stencil_where_neighbours_are_too_few() -> None:
    mesh = shaken(meshes.kuhn_cube(2))
    corner = ops.cell_cells(mesh).offsets.diff() < 3
    assert corner.any()
    operator = ops.gradient_operator(mesh, on="cells")
    assert operator.determined.all()
    assert (operator.stencil.offsets.diff()[corner] > 3).all()
    found = operator.apply(ops.cell_centroids(mesh) @ G)
    torch.testing.assert_close(found, G.expand_as(found))


def test_a_layer_one_cell_thick_says_so() -> None:
    mesh = meshes.cube_hexes(4).select(torch.arange(16))
    operator = ops.gradient_operator(mesh, on="cells")
    assert not operator.determined.any()
    region = Region("sides", "side", torch.tensor([[c, f] for c in range(16) for f in (4, 5)]))
    named = mesh.replace(regions=[region])
    closed = ops.gradient_operator(named, on="cells", boundary=["sides"])
    assert closed.determined.all()
    values = ops.face_centroids(mesh)[ops.faces(mesh).boundary] @ G
    found = closed.apply(ops.cell_centroids(mesh) @ G, values)
    torch.testing.assert_close(found, G.expand_as(found))


@pytest.mark.parametrize("method", ["lsq", "green_gauss", "green_gauss_plain"])
def test_a_nan_spoils_exactly_its_stencil(method: str) -> None:
    for kind in ("tets", "hanging"):
        mesh = shaken(KINDS[kind](3))
        operator = ops.gradient_operator(mesh, on="cells", method=method)
        field = torch.rand(mesh.n_cells, dtype=torch.float64)
        sound = operator.apply(field)
        for bad in (0, mesh.n_cells // 2):
            field_with = field.clone()
            field_with[bad] = torch.nan
            found = operator.apply(field_with).isnan().all(1)
            assert torch.equal(operator.apply(field_with).isnan().any(1), found)
            stencil = operator.stencil
            row = torch.repeat_interleave(torch.arange(mesh.n_cells), stencil.offsets.diff())
            expected = torch.zeros(mesh.n_cells, dtype=torch.bool)
            expected[row[stencil.indices == bad]] = True
            assert torch.equal(found, expected)
            assert torch.equal(operator.apply(field_with)[~found], sound[~found])
            neighbours = ops.cell_cells(mesh)
            begin, end = neighbours.offsets[bad], neighbours.offsets[bad + 1]
            near = neighbours.indices[begin:end]
            assert found[near].all()
            if method == "green_gauss_plain":
                assert int(found.sum()) == len(near) + 1


def test_nan_at_a_point() -> None:
    mesh = shaken(meshes.cube_hexes(4))
    field = mesh.points @ G
    field[62] = torch.nan
    found = ops.gradient(mesh, field, on="points").isnan().all(1)
    near = ops.point_points(mesh)
    expected = torch.zeros_like(found)
    expected[62] = True
    expected[near.indices[near.offsets[62] : near.offsets[63]]] = True
    assert torch.equal(found, expected)


def test_a_point_without_place_is_nobodys_neighbour() -> None:
    mesh = shaken(meshes.cube_hexes(4))
    points = mesh.points.clone()
    points[62] = torch.nan
    field = torch.nan_to_num(mesh.points @ G)
    found = ops.gradient(mesh.replace(points=points), field, on="points")
    lost = found.isnan().any(1)
    assert lost[62] and int(lost.sum()) == 1
    torch.testing.assert_close(found[~lost], G.expand_as(found[~lost]))
    cells = ops.gradient(mesh.replace(points=points), ops.cell_centroids(mesh) @ G, on="cells")
    touched = (mesh.cells.dense == 62).any(1)
    assert cells[touched].isnan().all()
    torch.testing.assert_close(cells[~touched], G.expand_as(cells[~touched]))


def test_lower_dimensions_and_lone_points_are_nan() -> None:
    base = meshes.kuhn_cube(2)
    tets = base.cells.dense.tolist()
    points = torch.cat([base.points, torch.full((1, 3), 9.0, dtype=torch.float64)])
    mesh = make_mesh(
        points, [*tets, [0, 1, 3], [0, 1]], types=["tetra"] * 48 + ["triangle", "line"]
    )
    for method in ("lsq", "green_gauss", "green_gauss_plain"):
        found = ops.gradient(mesh, ops.cell_centroids(mesh) @ G, on="cells", method=method)
        assert found[48:].isnan().all() and not found[:48].isnan().any()
    at_points = ops.gradient(mesh, points @ G, on="points")
    assert at_points[-1].isnan().all() and not at_points[:-1].isnan().any()
    fem = ops.gradient(mesh, points @ G, on="points", method="fem")
    assert fem[48:].isnan().all()
    torch.testing.assert_close(fem[:48], G.expand(48, 3))
    curved = ops.laplacian(mesh, points @ G, on="points")
    assert curved[-1].isnan() and not curved[:-1].isnan().any()


def test_flat_tets_are_not_determined() -> None:
    points = meshes.tetrahedron().points * torch.tensor([1.0, 1, 0])
    mesh = make_mesh(points, [[0, 1, 2, 3]])
    for on, method in (("points", "fem"), ("points", "lsq"), ("cells", "green_gauss_plain")):
        operator = ops.gradient_operator(mesh, on=on, method=method)
        assert not operator.determined.any()


def test_no_cells_of_the_kind_are_no_rows() -> None:
    mesh = meshes.kuhn_cube(1).select(torch.arange(0))
    assert mesh.dim == 0
    with pytest.raises(MeshError, match="a cloud of points has no neighbours"):
        ops.gradient(mesh, torch.zeros(0), on="points")


BAD: list[tuple[dict[str, Any], str]] = [
    ({"on": "faces"}, r'expected on "points" or "cells", found \'faces\''),
    ({"on": "cells", "method": "best"}, "expected a method of lsq, green_gauss"),
    ({"on": "points", "method": "green_gauss"}, "takes values on cells, found on='points'"),
    ({"on": "cells", "method": "fem"}, "takes values on points"),
    ({"on": "points"}, r"expected values on points \[27, ...\], found float64 \[48\]"),
    ({"on": "cells", "boundary": torch.zeros(3)}, r"expected boundary values \[48\], one row"),
    ({"on": "cells", "boundary": {"wall": 0.0}}, "'wall' is no region of sides, faces or cells"),
    ({"on": "cells", "method": "green_gauss_plain", "weights": 1}, "takes no weights"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_refusals(given: dict[str, Any], message: str) -> None:
    mesh = meshes.kuhn_cube(2)
    with pytest.raises(MeshError, match=message):
        ops.gradient(mesh, torch.zeros(48, dtype=torch.float64), **given)


def test_more_refusals() -> None:
    hexes = meshes.cube_hexes(2)
    with pytest.raises(MeshError, match=r"expected lines, triangles or tets, found a hexahedron"):
        ops.laplacian(hexes, torch.zeros(27), on="points")
    with pytest.raises(MeshError, match=r"divergence: expected values on cells \[8, ..., 3\]"):
        ops.divergence(hexes, torch.zeros(8, 2), on="cells")
    line = make_mesh([[0.0], [1.0]], [[0, 1]], types="line")
    with pytest.raises(MeshError, match="expected points of 2 or 3 coordinates, found 1"):
        ops.curl(line, torch.zeros(2, 1), on="points")
    operator = ops.gradient_operator(hexes, on="cells")
    with pytest.raises(MeshError, match="was prepared without"):
        operator.apply(torch.zeros(8), torch.zeros(24))
    prepared = ops.gradient_operator(hexes, on="cells", boundary=torch.ones(24, dtype=torch.bool))
    with pytest.raises(
        MeshError, match=r"expected boundary values \[24\], or by region, found none"
    ):
        prepared.apply(torch.zeros(8))
    with pytest.raises(MeshError, match=r"transposed gradient: expected values on cells"):
        operator.transpose().apply(torch.zeros(8, 2))


def test_regions_give_boundary_values() -> None:
    mesh: Mesh = shaken(meshes.cube_hexes(3))
    faces = ops.faces(mesh)
    centres = ops.face_centroids(mesh)[faces.boundary]
    low = torch.nonzero(centres[:, 0] < 1e-9).squeeze(1)
    boundary = ops.boundary(mesh)
    sides = torch.stack([boundary.cell_data["parent_cell"], boundary.cell_data["local_face"]], 1)
    order = torch.randperm(len(low), generator=torch.Generator().manual_seed(0))
    mesh = mesh.replace(regions=[Region("inlet", "side", sides[low][order])])
    values = torch.full((len(centres),), torch.nan, dtype=torch.float64)
    values[low] = centres[low] @ G
    field = (ops.cell_centroids(mesh) @ G) ** 2
    right = ops.gradient(mesh, field, on="cells", boundary=values)
    by_region = ops.gradient(mesh, field, on="cells", boundary={"inlet": values[low][order]})
    assert torch.equal(by_region, right)
    values[low] = 3.0
    right = ops.gradient(mesh, field, on="cells", boundary=values)
    assert torch.equal(ops.gradient(mesh, field, on="cells", boundary={"inlet": 3.0}), right)
    assert not torch.equal(right, ops.gradient(mesh, field, on="cells"))


def with_inlet_and_wall() -> Mesh:
    """Shaken hexahedra, three boundary sides of which are an inlet and six a wall."""
    mesh: Mesh = shaken(meshes.cube_hexes(2))
    boundary = ops.boundary(mesh)
    sides = torch.stack([boundary.cell_data["parent_cell"], boundary.cell_data["local_face"]], 1)
    regions = [Region("inlet", "side", sides[:3]), Region("wall", "side", sides[3:9])]
    return mesh.replace(regions=regions)


def test_an_operator_takes_values_by_region() -> None:
    mesh = with_inlet_and_wall()
    operator = ops.gradient_operator(mesh, on="cells", boundary=["inlet", "wall"])
    assert repr(operator).endswith("determined, with values given on 9 of 24 boundary faces)")
    assert repr(operator.faces) == "BoundaryFaces(24; regions: inlet, wall)"
    field = ops.cell_centroids(mesh) @ G
    on_wall = torch.arange(6.0, dtype=torch.float64)
    given: dict[str, torch.Tensor | float] = {"inlet": 1.0, "wall": on_wall}
    by_row = torch.full((operator.n_boundary,), torch.nan, dtype=torch.float64)
    by_row[:3], by_row[3:9] = 1.0, on_wall
    right = operator.apply(field, by_row)
    assert torch.equal(operator.apply(field, given), right)
    assert torch.equal(operator.apply(field, given, out=torch.empty_like(right)), right)
    turning = torch.complex(field, -field)
    by_region = {name: torch.as_tensor(x) * (1 - 1j) for name, x in given.items()}
    assert torch.equal(operator.apply(turning, by_region), torch.complex(right, -right))
    with pytest.raises(MeshError, match=r"6 boundary faces .* in none of the regions .*'inlet'$"):
        operator.apply(field, {"inlet": 1.0})
    with pytest.raises(MeshError, match=r"'outlet' is no region .*: 'inlet', 'wall'"):
        operator.apply(field, {"outlet": 1.0})
    without = ops.gradient_operator(mesh, on="cells")
    with pytest.raises(MeshError, match="was prepared without"):
        without.apply(field, given)
    of_inlet = ops.gradient_operator(mesh, on="cells", boundary="inlet")
    with pytest.raises(MeshError, match=r"was prepared without values on 'wall'; name it"):
        of_inlet.apply(field, given)
    with pytest.raises(MeshError, match=r"expected names of regions, found values"):
        ops.gradient_operator(mesh, on="cells", boundary=given)


class Calls(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What torch is asked to compute."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.names.add(func.overloadpacket.__name__)
        return func(*args, **kwargs or {})


WAITING = {"_local_scalar_dense", "nonzero", "isin", "masked_select", "unique_dim", "_unique2"}
"""What waits for a device, or looks for ids among ids."""


def test_regions_are_looked_at_once() -> None:
    mesh = with_inlet_and_wall()
    operator = ops.gradient_operator(mesh, on="cells", boundary=["inlet", "wall"])
    field = ops.cell_centroids(mesh) @ G
    with Calls() as first:
        once = operator.apply(field, {"inlet": 1.0, "wall": torch.ones(6)})
    assert first.names & WAITING  # it is found out when asked for first
    with Calls() as second:
        again = operator.apply(field, {"wall": 1.0, "inlet": 1.0})
    assert "cat" in second.names and not second.names & WAITING
    assert torch.equal(once, again)
    for _ in range(2):  # what is refused stays refused
        with pytest.raises(MeshError, match=r"6 boundary faces .* in none of the regions"):
            operator.apply(field, {"inlet": 1.0})
        with pytest.raises(MeshError, match=r"'wall': expected values \[6\], or a single value"):
            operator.apply(field, {"inlet": 1.0, "wall": torch.ones(5)})


def test_numbers_at_regions_are_in_double() -> None:
    mesh: Mesh = meshes.cube_hexes(2)
    boundary = ops.boundary(mesh)
    sides = torch.stack([boundary.cell_data["parent_cell"], boundary.cell_data["local_face"]], 1)
    mesh = mesh.replace(regions=[Region("wall", "side", sides)])
    operator = ops.gradient_operator(mesh, on="cells", boundary="wall")
    field = torch.full((8,), 0.1, dtype=torch.float64)
    given: list[Any] = [0.1, [0.1] * len(sides), np.full(len(sides), 0.1)]
    for value in given:
        assert operator.apply(field, {"wall": value}).tolist() == [[0.0, 0.0, 0.0]] * 8
    with pytest.raises(MeshError, match=r"'wall': expected real values as the field's, found comp"):
        operator.apply(field, {"wall": 1j})  # type: ignore[dict-item]
    with pytest.raises(MeshError, match="'wall': expected numbers, found"):
        operator.apply(field, {"wall": "cold"})  # type: ignore[dict-item]
