"""The mesh of a glTF scene: all that its nodes place, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from meshkit.cells import Cells
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_cells
from meshkit.readers.filling import filled
from meshkit.readers.gltf.document import Array
from meshkit.readers.gltf.scene import MOST_POINTS, Scene, unique
from meshkit.regions import Region


def _joined(parts: Sequence[Array]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([*parts, np.zeros(0, np.int64)]))


def _stacked(parts: Sequence[Array], empty: tuple[int, ...]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(empty)


def assembled(scene: Scene) -> Mesh:
    """All pieces side by side, as they came."""
    pieces, ledger = scene.pieces, scene.ledger
    counts = [len(p.points) for p in pieces]
    dtype = np.float32 if all(p.exact for p in pieces) else np.float64
    points = _stacked([p.points for p in pieces], (0, 3)).astype(dtype, copy=False)
    ledger.kept("points", "", len(points))
    moved = sum(len(p.points) for p in pieces if not p.exact)
    if moved:
        ledger.converted("points", "", moved, "placed by their nodes' transforms, in float64")
    cells = _all_cells(scene, counts)
    keep_cells(cells, ledger)
    for how, count in scene.converted.items():
        ledger.converted("cells", "", count, how)
    fields = filled("point_data", [p.fields for p in pieces], counts, ledger)
    known: dict[tuple[str, ...], FieldInfo] = {}
    if "NORMAL" in fields:
        known["point_data", "NORMAL"] = FieldInfo(kind="normals")
    return make_mesh(
        torch.from_numpy(np.ascontiguousarray(points)),
        cells,
        point_data=fields,
        regions=_all_regions(scene),
        info=MeshInfo(length_unit="m", frame="y up", fields=known, attributes=_attributes(scene)),
    )


def _attributes(scene: Scene) -> dict[str, Any]:
    """What the file says of itself and of its scene."""
    found = {"asset": scene.document.root["asset"]}
    said = _said(scene.described(), "name", "extras")
    if said:
        found["scene"] = said
    for part in found:
        scene.ledger.kept("info", f"attributes/{part}", 1)
    return found


def _said(item: dict[str, Any], *parts: str) -> dict[str, Any]:
    return {part: item[part] for part in parts if item.get(part) is not None}


def _all_cells(scene: Scene, counts: Sequence[int]) -> Cells:
    pieces = scene.pieces
    starts = np.cumsum([0, *counts])
    sizes = np.concatenate(
        [np.full(len(p.ids), p.ids.shape[1]) for p in pieces] or [np.zeros(0, np.int64)]
    )
    flat = np.concatenate(
        [(p.ids + s).reshape(-1) for p, s in zip(pieces, starts, strict=False)]
        or [np.zeros(0, np.int64)]
    )
    types = np.concatenate(
        [np.full(len(p.ids), p.number, np.uint8) for p in pieces] or [np.zeros(0, np.uint8)]
    )
    small = max(int(starts[-1]), len(flat)) <= np.iinfo(np.int32).max
    dtype = np.int32 if small else np.int64
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(dtype)
    return Cells(
        torch.from_numpy(types), torch.from_numpy(ends), torch.from_numpy(flat.astype(dtype))
    )


def _all_regions(scene: Scene) -> Iterator[Region]:
    """Each node with a mesh; one without, but with some below, is all that is below.

    The name and extras of a node's mesh are its region's attribute "mesh".
    """
    of_node, of_material = _spans(scene)
    for name, node in scene.nodes.items():
        if name not in of_node:
            continue
        described = scene.document.all("nodes")[node.index]
        attributes = _said(described, "extras")
        if node.has_mesh:
            mesh = _said(scene.document.all("meshes")[described["mesh"]], "name", "extras")
            attributes |= {"mesh": mesh} if mesh else {}
        yield _counted(
            scene,
            Region(
                name,
                "cell",
                torch.arange(*of_node[name], device="cpu"),
                kind="node",
                attributes=attributes,
                source_id=node.index,
                parent=node.parent,
            ),
        )
    taken = set(of_node)
    for index, material in scene.materials.items():
        name = unique(material, taken, "material")
        taken.add(name)
        ids_ = _joined(of_material.get(material, []))
        if name != material:
            reason = f"{material!r} is the name of a node too"
            scene.ledger.converted("region", name, len(ids_), reason)
        settings = scene.document.all("materials")[index]
        yield _counted(
            scene, Region(name, "cell", ids_, kind="material", source_id=index, attributes=settings)
        )


def _spans(scene: Scene) -> tuple[dict[str, tuple[int, int]], dict[str, list[Array]]]:
    """From which cell to which each node reaches, and the cells of each material.

    The walk goes depth first, so what is below a node stands in one run.
    """
    ends = np.cumsum([0, *(len(p.ids) for p in scene.pieces)]).tolist()
    own: dict[str, tuple[int, int]] = {
        name: (ends[-1], 0) for name, node in scene.nodes.items() if node.has_mesh
    }
    of_material: dict[str, list[Array]] = {}
    for piece, (start, stop) in zip(scene.pieces, pairwise(ends), strict=True):
        own[piece.node] = _union(own[piece.node], (start, stop))
        if piece.material is not None:
            of_material.setdefault(piece.material, []).append(np.arange(start, stop))
    below = dict(own)
    for name in reversed(scene.nodes):
        parent = scene.nodes[name].parent
        if parent is not None and name in below:
            below[parent] = _union(below.get(parent, below[name]), below[name])
    found = {name: own.get(name, span) for name, span in below.items()}
    if sum(max(stop - start, 0) for start, stop in found.values()) > MOST_POINTS:
        raise scene.document.fail("scene", f"its groups of nodes hold over {MOST_POINTS} cells")
    return {name: (min(span), span[1]) for name, span in found.items()}, of_material


def _union(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], b[0]), max(a[1], b[1])


def _counted(scene: Scene, region: Region) -> Region:
    scene.ledger.kept("region", region.name, len(region))
    return region
