"""PyTorch Geometric: a mesh as a graph of its points."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import torch

from meshkit.errors import MeshError, MissingPackage
from meshkit.fields import leaves
from meshkit.mesh import Mesh
from meshkit.readers.accounting import lose_faces, lose_fields
from meshkit.readers.interop.arrays import lose_other_regions, need_mesh, region_masks
from meshkit.report import Ledger

if TYPE_CHECKING:
    from torch_geometric.data import Data

# Batching adds the number of nodes to what has "index" in its name, and counts on with what has
# "batch"; these names mean something to PyG.
_MOVED: Final = {"index": "ids", "batch": "group"}
_TAKEN: Final = {
    *("x", "y", "pos", "edge_index", "edge_attr", "edge_weight", "face", "num_nodes", "ptr"),
    *("adj_t", "time", "meshkit", "num_faces", "normal"),
}


def to_pyg(mesh: Mesh) -> Data:
    """The graph of a mesh as a `torch_geometric.data.Data`; tensors are shared, gradients kept.

    `pos` are the points [n, d]; `edge_index` int64 [2, 2 n_edges] every edge of the cells in both
    directions, sorted by source and target; `face` int64 [3, n] the triangles, where there are
    some. Fields become attributes: names of nested fields are joined by "_", "index" and "batch"
    in a name become "ids" and "group" (PyG's batching would change their values), and a name that
    is taken gets "point_", "cell_" or "global_" before it. Regions of points and cells become
    masks "region:NAME". `data.meshkit` is JSON text (batching makes a list of it) that says which
    attribute is which field, what the numbers mean, and what became of everything:
    {"fields": {attribute: path}, "info": ...} with the report in the info.

    Raises:
        MissingPackage: torch_geometric is not installed.
        MeshError: it is no mesh, or ids name what is not there; else as `operators.edges`.
    """
    need_mesh("to_pyg", mesh)
    try:
        from torch_geometric.data import Data
    except ImportError as why:
        raise MissingPackage("to_pyg", "meshkit[pyg]") from why
    from meshkit.operators.adjacency.edges import edges
    from meshkit.operators.soundness.structure import need_structure

    need_structure(mesh)
    ledger = Ledger()
    ledger.kept("points", "", mesh.n_points)
    pairs = edges(mesh).long()
    both = torch.cat([pairs, pairs.flip(1)])
    order = torch.argsort(both[:, 0] * max(mesh.n_points, 1) + both[:, 1])
    given: dict[str, Any] = {"pos": mesh.points, "edge_index": both[order].T.contiguous()}
    for name, count in mesh.cells.counts.items():
        if name == "triangle":
            given["face"] = mesh.cells.block(name)[1].long().T.contiguous()
            ledger.kept("cells", name, count)
        else:
            ledger.converted("cells", name, count, "as the edges of a graph")
    names: dict[str, list[str]] = {}
    for home in ("point_data", "cell_data", "global_data"):
        for path, x in leaves(getattr(mesh, home)):
            attribute = _attribute("_".join(path), home, given)
            given[attribute] = x
            names[attribute] = [home, *path]
            ledger.kept("field", f"{home}/{'/'.join(path)}", len(x) if x.ndim else 1)
    masks = {
        "point_data": region_masks(mesh, "point", ledger),
        "cell_data": region_masks(mesh, "cell", ledger),
    }
    for home, named in masks.items():
        for name, mask in named.items():
            given[_attribute(name, home, given)] = mask
    lose_faces(mesh, ledger, "a graph has edges only")
    lose_fields(mesh, ledger, "a graph has edges only", ["face_data"])
    lose_other_regions(mesh, ledger, ("point", "cell"), "a graph has no regions")
    info = mesh.info.replace(report=ledger.report())
    made = Data(num_nodes=mesh.n_points)
    for name, value in given.items():
        made[name] = value
    made["meshkit"] = json.dumps({"fields": names, "info": info.to_json()})
    return made


def _attribute(name: str, home: str, given: dict[str, Any]) -> str:
    """A name that PyG leaves alone and that is free."""
    for word, other in _MOVED.items():
        name = name.replace(word, other)
    # An underscore in front hides an attribute, and Data's own members cannot be set.
    odd = not name or name.startswith("_") or _is_member(name)
    if odd or name in _TAKEN or name in given:
        name = f"{home.removesuffix('_data')}_{name}"
    if name in given:
        raise MeshError(f"to_pyg: two fields would be called {name!r}")
    return name


def _is_member(name: str) -> bool:
    from torch_geometric.data import Data

    return hasattr(Data, name)
