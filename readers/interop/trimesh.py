"""trimesh's surfaces, point clouds and scenes, both ways."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.errors import MeshError
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.operators.soundness.structure import need_structure
from meshkit.readers.accounting import lose_faces, lose_fields
from meshkit.readers.filling import filled
from meshkit.readers.interop.arrays import (
    lose_other_regions,
    need_mesh,
    numpy_fields,
    region_masks,
    regions_of_masks,
)
from meshkit.regions import Region
from meshkit.report import Ledger

if TYPE_CHECKING:
    import trimesh

Array = NDArray[Any]

OWN: Final = "meshkit"
"""The key of `metadata` under which `to_trimesh` puts info, report and global data."""


@dataclass
class _Part:
    """A geometry where its node places it."""

    points: Array  # float64 [n, 3]
    triangles: Array  # int64 [m, 3]
    point_data: dict[str, Array]
    cell_data: dict[str, Array]


def from_trimesh(geometry: Any) -> Mesh:
    """The mesh of a `trimesh.Trimesh`, `PointCloud` or `Scene`; points are float64, as there.

    Vertex and face attributes and colours become fields, texture coordinates the point field
    "texture", units `info.length_unit`. In a scene each node's geometry is placed by the node's
    transform and becomes a cell region of kind "node" (of points, for a point cloud); an
    attribute that a geometry lacks is filled and counted. Materials and paths are dropped and
    counted, in `info.report`.

    Raises:
        MeshError: it is something else, its arrays contradict each other, or a face names a
            vertex that is not there.
    """
    import trimesh

    ledger = Ledger()
    if isinstance(geometry, trimesh.Scene):
        mesh = _of_scene(geometry, ledger)
    elif isinstance(geometry, trimesh.Trimesh | trimesh.PointCloud):
        mesh = _assembled([_part(geometry, ledger)], [], geometry, ledger)
    else:
        raise MeshError(
            f"from_trimesh: expected a Trimesh, PointCloud or Scene, "
            f"found {type(geometry).__name__}"
        )
    return mesh.replace(info=mesh.info.noting(ledger.report()))


def _part(geometry: Any, ledger: Ledger, where: str = "") -> _Part:
    points = np.array(geometry.vertices, np.float64).reshape(-1, 3)
    triangles = np.zeros((0, 3), np.int64)
    if hasattr(geometry, "faces"):
        triangles = np.array(geometry.faces, np.int64).reshape(-1, 3)
    _need_ids(triangles, len(points), where)
    point_data = _attributes(geometry, "vertex", len(points), ledger)
    cell_data = _attributes(geometry, "face", len(triangles), ledger)
    kind = getattr(geometry.visual, "kind", None)
    if kind == "vertex" and len(geometry.visual.vertex_colors) == len(points):
        point_data.setdefault("colors", np.array(geometry.visual.vertex_colors))
    elif kind == "face":
        cell_data.setdefault("colors", np.array(geometry.visual.face_colors))
    elif kind == "texture":
        uv = geometry.visual.uv
        if uv is not None:
            point_data.setdefault("texture", np.array(uv))
        ledger.dropped("material", "", 1, "pictures and shading are not kept")
    return _Part(points, triangles, point_data, cell_data)


def _need_ids(triangles: Array, n_points: int, where: str) -> None:
    """Refuse triangles of vertices that are not there; nothing in trimesh does."""
    if triangles.size and (triangles.min() < 0 or triangles.max() >= n_points):
        wrong = (triangles < 0) | (triangles >= n_points)
        face = int(np.flatnonzero(wrong.any(1))[0])
        vertex = int(triangles[wrong][0])
        expected = f"0 to {n_points - 1}" if n_points else "none, there are no vertices"
        raise MeshError(f"{where}face {face}: vertex {vertex}; expected {expected}")


def _attributes(geometry: Any, of: str, rows: int, ledger: Ledger) -> dict[str, Array]:
    """The attributes that have one row each; any others are counted."""
    out: dict[str, Array] = {}
    for name, value in (getattr(geometry, f"{of}_attributes", None) or {}).items():
        array = np.asarray(value)
        if array.ndim and len(array) == rows and array.dtype.kind in "biufcUS":
            out[str(name)] = array
        else:
            reason = f"{array.dtype} {list(array.shape)}, for {rows} rows"
            ledger.dropped("field", f"{of}_attributes/{name}", 1, reason)
    return out


def _of_scene(scene: trimesh.Scene, ledger: Ledger) -> Mesh:
    import trimesh

    parts: list[_Part] = []
    nodes: list[tuple[str, str | None]] = []
    above = dict(scene.graph.transforms.parents)
    placed = set(scene.graph.nodes_geometry)
    for node in scene.graph.nodes_geometry:
        transform, name = scene.graph.get(node)
        geometry = scene.geometry[name]
        if not isinstance(geometry, trimesh.Trimesh | trimesh.PointCloud):
            kind = type(geometry).__name__
            ledger.dropped("geometry", str(node), 1, f"a {kind} is neither surface nor points")
            continue
        part = _part(geometry, ledger, f"node {node!r}: ")
        matrix = np.asarray(transform, np.float64)
        if not (matrix == np.eye(4)).all():
            part.points = part.points @ matrix[:3, :3].T + matrix[:3, 3]
            reason = f"placed by the transform of node {node!r}"
            ledger.converted("points", "", len(part.points), reason)
        if np.linalg.det(matrix[:3, :3]) < 0 and len(part.triangles):
            part.triangles = part.triangles[:, [0, 2, 1]]
            reason = f"turned round, for node {node!r} mirrors them"
            ledger.converted("cells", "triangle", len(part.triangles), reason)
        parts.append(part)
        parent = above.get(node)
        nodes.append((str(node), str(parent) if parent in placed else None))
    return _assembled(parts, nodes, scene, ledger)


def _assembled(
    parts: Sequence[_Part],
    nodes: Sequence[tuple[str, str | None]],
    whole: Any,
    ledger: Ledger,
) -> Mesh:
    starts = np.cumsum([0, *(len(p.points) for p in parts)])
    triangles = [p.triangles + start for p, start in zip(parts, starts, strict=False)]
    ends = np.cumsum([0, *map(len, triangles)])
    counts = np.diff(starts).tolist(), np.diff(ends).tolist()
    regions = []
    for i, ((name, parent), part) in enumerate(zip(nodes, parts, strict=False)):
        on_cells = len(part.triangles) > 0
        first, last = (ends[i : i + 2] if on_cells else starts[i : i + 2]).tolist()
        ids = torch.arange(first, last, device="cpu")
        regions.append(
            Region(name, "cell" if on_cells else "point", ids, kind="node", parent=parent)
        )
    fields = {
        home: filled(home, [getattr(p, home) for p in parts], count, ledger)
        for home, count in zip(("point_data", "cell_data"), counts, strict=True)
    }
    point_data, of_points = regions_of_masks(fields["point_data"], "point")
    cell_data, of_cells = regions_of_masks(fields["cell_data"], "cell")
    regions += [*of_points, *of_cells]
    points = np.concatenate([*(p.points for p in parts), np.zeros((0, 3))])
    cells = np.concatenate([*triangles, np.zeros((0, 3), np.int64)])
    ledger.kept("points", "", len(points))
    ledger.kept("cells", "triangle", len(cells))
    for region in regions:
        ledger.kept("region", region.name, len(region))
    info, global_data = _info(whole, ledger)
    return make_mesh(
        points,
        cells if len(cells) else None,
        point_data=point_data,
        cell_data=cell_data if len(cells) else None,
        global_data=global_data,
        regions=regions,
        info=info,
    )


def _info(whole: Any, ledger: Ledger) -> tuple[MeshInfo, dict[str, Any]]:
    """Units and metadata; what `to_trimesh` put there is taken back."""
    metadata = dict(whole.metadata or {})
    own = metadata.pop(OWN, None)
    unit = getattr(whole, "units", None)
    metadata.pop("units", None)
    info, global_data = MeshInfo(), {}
    if isinstance(own, dict):
        info = MeshInfo.from_json(own["info"])
        global_data = dict(own["global_data"])
    attributes = dict(info.attributes)
    for name, value in metadata.items():
        plain = value.tolist() if isinstance(value, np.ndarray) else value
        try:
            attributes[str(name)] = json.loads(json.dumps(plain))
        except (TypeError, ValueError):
            kind = type(value).__name__
            ledger.dropped("info", f"metadata/{name}", 1, f"{kind} is nothing that JSON can say")
    unit = unit if isinstance(unit, str) else info.length_unit
    return info.replace(length_unit=unit, attributes=attributes), global_data


# --- the other way -------------------------------------------------------------------------------


def to_trimesh(mesh: Mesh) -> Any:
    """A `trimesh.Trimesh` of the triangles, or a `PointCloud` of a mesh without cells.

    Nothing is merged or dropped by trimesh (`process=False`), so points and triangles keep their
    order. Fields become vertex and face attributes (nested names joined by "/", codes with a
    vocabulary as texts), regions of points and cells boolean attributes named "region:NAME",
    which `from_trimesh` turns back. Info, global data and the report of this conversion stand in
    `metadata["meshkit"]`. Points become float64, points in 2-D get z = 0, ids int64.

    Raises:
        MeshError: it is no mesh, ids name what is not there, it has solids (take
            `operators.boundary` first), or surface cells other than triangles (take
            `operators.simplices` first).
    """
    import trimesh

    need_mesh("to_trimesh", mesh)
    need_structure(mesh)
    ledger = Ledger()
    if mesh.dim == 3:
        raise MeshError(
            f"to_trimesh: expected a surface, found {mesh.cells!r}; "
            "take operators.boundary(mesh) first"
        )
    others = {k: n for k, n in mesh.cells.counts.items() if k != "triangle"}
    if mesh.dim == 2 and (mesh.cells.dims[mesh.cells.types != 5] == 2).any():
        raise MeshError(
            f"to_trimesh: expected triangles, found {mesh.cells!r}; "
            "take operators.simplices(mesh) first"
        )
    for name, count in others.items():
        ledger.dropped("cells", name, count, "trimesh has triangles only")
    points = mesh.points.detach().cpu().double().numpy()
    points = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    ledger.kept("points", "", len(points))
    ids, triangles = mesh.cells.block("triangle")
    ledger.kept("cells", "triangle", len(ids))
    vertex = numpy_fields(mesh, "point_data", ledger)
    vertex |= {k: m.cpu().numpy() for k, m in region_masks(mesh, "point", ledger).items()}
    face = numpy_fields(mesh, "cell_data", ledger)
    face |= {k: m.cpu().numpy() for k, m in region_masks(mesh, "cell", ledger).items()}
    face = {name: values[ids.cpu().numpy()] for name, values in face.items()}
    lose_other_regions(mesh, ledger, ("point", "cell"), "trimesh has no regions")
    lose_faces(mesh, ledger, "trimesh has no edges of its own")
    lose_fields(mesh, ledger, "trimesh has no fields of edges", ["face_data"])
    global_data = numpy_fields(mesh, "global_data", ledger)
    if len(ids) == 0:
        # A point cloud of trimesh keeps no attributes: they stand beside the rest.
        made = trimesh.PointCloud(points)
        made.vertex_attributes = vertex
    else:
        made = trimesh.Trimesh(
            points,
            triangles.long().cpu().numpy(),
            process=False,
            vertex_attributes=vertex,
            face_attributes=face,
        )
    info = mesh.info.replace(report=ledger.report(), source=None)
    renamed = {(k[0], "/".join(k[1:])): v for k, v in info.fields.items() if k[0] != "regions"}
    info = info.replace(fields=renamed)
    made.metadata[OWN] = {"info": info.to_json(), "global_data": global_data}
    if mesh.info.length_unit is not None:
        made.units = mesh.info.length_unit
    return made
