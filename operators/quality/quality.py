"""How good the cells of a mesh are."""

from __future__ import annotations

from collections.abc import Iterable

from tensordict import TensorDict
from torch import Tensor

from meshkit.cells import brief
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.faces import faces
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.measure.coordinates import in_space
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.quality.cell_shapes import shape_metrics
from meshkit.operators.quality.face_metrics import at_cells, face_metrics
from meshkit.operators.quality.metrics import FACE_METRICS, METRICS


@of_mesh
def quality(mesh: Mesh, *, only: Iterable[str] | None = None) -> TensorDict:
    """Measures of the quality of each cell, for finite volumes and finite elements.

    Of a cell by itself (L an edge length, A and V its area or volume, S its surface):

    | name | what | best, worst | of |
    |---|---|---|---|
    | aspect_ratio | longest L times outline (S) over A (V), 1 for the regular shape | 1, inf | \
all |
    | edge_ratio | longest over shortest edge | 1, inf | all |
    | scaled_jacobian | least determinant of the edges at a corner over the product of their \
lengths, 1 for the regular shape; hexahedra also in the middle | 1, -1 | \
triangles, quads, tets, hexahedra, wedges, pyramids (not at the top) |
    | min_angle, max_angle | degrees at the corners; of solids between faces, inside | 60, 70.5, \
90; 0, 360 | all |
    | equiangle_skewness | the largest of (a - e) / (180 - e) and (e - a) / e over the corners of \
the faces, e = 60 on triangles, 90 on quads | 0, 1 | as scaled_jacobian |

    Polygons of 3 or 4 corners count as triangles and quads.

    Of a cell and its neighbours (mesh.dim; c a centroid, n the unit normal of a face):

    | name | what | best, worst |
    |---|---|---|
    | non_orthogonality | degrees between n and the line from c to c, the largest of the cell's \
inner faces | 0, 180 |
    | skewness | distance between the face's centroid and where the line from c to c meets its \
plane, over the larger of the reach of the face in that direction and 0.2 of the line; on the \
boundary the foot of c on the plane and 0.4; the largest | 0, inf |
    | growth_ratio | larger over smaller measure of two neighbours, the largest | 1, inf |
    | orthogonal_quality | the smallest cosine between n and the lines from c to the face's \
centroid and to the neighbour's c | 1, -1 |

    Aspect ratio, edge ratio, angles, scaled Jacobian and equiangle skewness are those of Verdict
    where it has them (aspect ratio: triangles, quads, tets; of other solids the same quotient, of
    polyhedra against a cube; skewness of tets: by the corners of their faces). VTK 9.7 itself does
    not look at all edges for the angles of tets and the edge ratio of hexahedra, and projects
    warped quads. Its scaled Jacobian of pyramids is another: the least of that of the tets of each
    corner of the base, its two neighbours and the top, which looks at all corners of these tets,
    times sqrt(2) and cut to 0 to 1. Ours is what the table says of the corners of the base alone:
    negative inside out, and above 1, up to sqrt(2), on pyramids higher than the regular one.
    Non-orthogonality and skewness are those of OpenFOAM's checkMesh, orthogonal
    quality that of Ansys Fluent. (Ansys Meshing reports the lesser of that and of 1 - skewness for
    tets, wedges and pyramids.)

    The aspect ratio of a cell inside out is negative, of one without size infinite; so is the
    edge ratio where an edge has no length. High-order cells: through their corners. Flat hanging
    nodes of polyhedra count as angles of 180 degrees. Measures use the cells' own faces: nothing
    is averaged.

    Args:
        mesh: any.
        only: names from the tables, to save time; None for all.

    Returns:
        TensorDict [n_cells] of these names, in the dtype of the points (float16 and bfloat16 are
        computed in float32). NaN where a cell has no such measure: curves, vertices and strips;
        where the table says of which; without a neighbour; and, but for the two ratios, where an
        edge or a face has no size (those are NaN where the whole cell is a point). Differentiable
        in the points where the least or greatest is one alone.

    Raises:
        MeshError: as `cell_measures`, or a name is unknown.

    Source: Knupp et al., The Verdict Geometric Quality Library, SAND2007-1751; OpenFOAM's
        checkMesh; Ansys Fluent User's Guide, Mesh Quality.
    """
    wanted = _need_names(only, METRICS)
    need_point_ids(mesh)
    points = in_space(mesh.points)
    out: dict[str, Tensor] = {}
    shape = {name for name in wanted if not METRICS[name].from_faces}
    if shape:
        out |= shape_metrics(mesh.cells, points, shape)
    if len(shape) < len(wanted):
        out |= _beside_neighbours(mesh, [name for name in wanted if name not in shape])
    dtype = mesh.points.dtype
    return TensorDict(
        {name: out[name].to(dtype) for name in METRICS if name in out}, batch_size=[mesh.n_cells]
    )


def _beside_neighbours(mesh: Mesh, wanted: Iterable[str]) -> dict[str, Tensor]:
    found, table = face_metrics(mesh, wanted), faces(mesh)
    return {
        name: at_cells(table, values, METRICS[name], mesh.n_cells) for name, values in found.items()
    }


@of_mesh
def face_quality(mesh: Mesh, *, only: Iterable[str] | None = None) -> TensorDict:
    """Non-orthogonality, skewness and growth ratio of each face, as `quality` says them.

    Args:
        mesh: any.
        only: some of "non_orthogonality", "skewness", "growth_ratio"; None for all.

    Returns:
        TensorDict [n_faces], a row for each of `faces(mesh)`, in the dtype of the points. The
        boundary has skewness only, else NaN. Differentiable in the points.

    Raises:
        MeshError: as `face_area_vectors`, or a name is unknown.
    """
    wanted = _need_names(only, FACE_METRICS)
    found = face_metrics(mesh, wanted)
    out = {name: found[name][0].to(mesh.points.dtype) for name in wanted}
    return TensorDict(out, batch_size=[len(faces(mesh))])


def _need_names(only: Iterable[str] | None, known: Iterable[str]) -> list[str]:
    names = list(known)
    if not isinstance(only, Iterable | None):
        raise MeshError(f"quality: expected names of measures, found {brief(only)}")
    asked = names if only is None else [only] if isinstance(only, str) else list(only)
    for name in asked:
        if name not in names:
            raise MeshError(f"quality: expected some of {', '.join(names)}, found {name!r}")
    return [name for name in names if name in asked]
