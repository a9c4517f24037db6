"""A mesh as one TensorDict, and back.

The one flat picture of everything a mesh holds: what a memory map, pinned memory, a remote call
or an archive of arrays needs. Names become safe as file names; everything that is no tensor
stands as JSON text under "meta".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

import torch
from tensordict import NonTensorData, TensorDict, TensorDictBase
from torch import Tensor

from meshkit.cells import Cells, Polyhedra
from meshkit.errors import MeshError
from meshkit.faces import Faces
from meshkit.fields import Path, as_bits, empty_groups, leaves, nested
from meshkit.info import MeshInfo
from meshkit.mesh import DATA, Mesh
from meshkit.regions import Region, Regions

VERSION: Final = 1

# A memory map of a TensorDict cannot name these dtypes: they travel as the bits they are.
_EXOTIC: Final = {
    *(torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz),
    *(torch.float8_e8m0fnu, torch.complex32),
}

_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\%:*?\"<>|]|^\.")


def safe_name(name: str) -> str:
    """A name as a file may be called, percent-encoded where it must; the empty name is "%".

    >>> safe_name("a/b"), safe_name("U"), safe_name("")
    ('a%2Fb', 'U', '%')
    """
    return _UNSAFE.sub(lambda m: f"%{ord(m.group()):02X}", name) or "%"


def plain_name(safe: str) -> str:
    """The inverse of `safe_name`."""
    return "" if safe == "%" else unquote(safe, errors="strict")


def to_tensordict(mesh: Mesh) -> TensorDictBase:
    """See `Mesh.to_tensordict`."""
    tensors, meta = parts_of(mesh)
    exotic = {path: x for path, x in tensors.items() if x.dtype in _EXOTIC}
    # A memory map forgets the order of names; the mesh shall not.
    meta["parts"] = [list(path) for path in tensors]
    meta["dtypes"] = [[list(path), str(x.dtype)] for path, x in exotic.items()]
    view: dict[str, Any] = nested(tensors | {path: as_bits(x) for path, x in exotic.items()})
    view["meta"] = NonTensorData(json.dumps(meta, ensure_ascii=False))
    return TensorDict(view, batch_size=[], device=mesh.device)


def from_tensordict(tensors: TensorDictBase) -> Mesh:
    """See `Mesh.from_tensordict`."""
    if not isinstance(tensors, TensorDictBase):
        raise MeshError(f"from_tensordict: expected a TensorDict, found {type(tensors).__name__}")
    text = tensors.get("meta", None)
    text = getattr(text, "data", text)
    if not isinstance(text, str):
        raise MeshError("from_tensordict: expected JSON text under 'meta', found none")
    found = dict(leaves(tensors.exclude("meta")))
    meta = json.loads(text)
    flat = {path: found[path] for part in meta["parts"] if (path := tuple(part)) in found}
    for path, dtype in meta.get("dtypes", []):
        at = tuple(path)
        flat[at] = flat[at].view(getattr(torch, dtype.removeprefix("torch.")))
    return mesh_of(flat, meta)


def parts_of(mesh: Mesh) -> tuple[dict[Path, Tensor], dict[str, Any]]:
    """Every tensor of a mesh by a path of safe names, and everything else as JSON can say it.

    Groups of fields that hold nothing stand under "empty", by the names' own texts: path, and how
    many of the tensors of the same home (cell_data, a region's data) stand before it.
    """
    flat: dict[Path, Tensor] = {("points",): mesh.points}
    cells = mesh.cells
    flat |= {
        ("cells", "types"): cells.types,
        ("cells", "offsets"): cells.offsets,
        ("cells", "connectivity"): cells.connectivity,
    }
    if cells.degrees is not None:
        flat["cells", "degrees"] = cells.degrees
    if cells.polyhedra is not None:
        for name in ("faces", "offsets", "connectivity"):
            flat["cells", "polyhedra", name] = getattr(cells.polyhedra, name)
    if mesh.faces is not None:
        for name in ("offsets", "connectivity", "owner", "neighbour"):
            flat["faces", name] = getattr(mesh.faces, name)
    empty: list[list[Any]] = []

    def add(home: Path, fields: TensorDictBase) -> None:
        for path, x in leaves(fields):
            flat[(*home, *map(safe_name, path))] = x
        for path, before in empty_groups(fields):
            empty.append([[*home, *path], before])

    for home in DATA:
        add((home,), getattr(mesh, home))
    regions = []
    for i, region in enumerate(mesh.regions):
        flat["regions", str(i), "ids"] = region.ids
        if region.flip is not None:
            flat["regions", str(i), "flip"] = region.flip
        if region.data is not None:
            add(("regions", str(i), "data"), region.data)
        regions.append(
            {
                "name": region.name,
                "entity": region.entity,
                "kind": region.kind,
                "attributes": region.attributes,
                "source_id": region.source_id,
                "parent": region.parent,
                "data": region.data is not None,
            }
        )
    meta = {"version": VERSION, "regions": regions, "info": mesh.info.to_json()}
    return flat, meta | ({"empty": empty} if empty else {})


def mesh_of(flat: Mapping[Path, Tensor], meta: Mapping[str, Any]) -> Mesh:
    """The inverse of `parts_of`.

    Raises:
        MeshError: a part is missing, or a newer major version wrote it.
    """
    if meta.get("version") != VERSION:
        raise MeshError(
            f"expected version {VERSION} of a mesh's parts, found {meta.get('version')}"
        )
    try:
        return _mesh_of(flat, meta)
    except KeyError as why:
        name = why.args[0]
        missing = "/".join(name) if isinstance(name, tuple) else name
        raise MeshError(f"a part of the mesh is missing: {missing}") from None


def _mesh_of(flat: Mapping[Path, Tensor], meta: Mapping[str, Any]) -> Mesh:
    polyhedra = None
    if ("cells", "polyhedra", "faces") in flat:
        names = ("faces", "offsets", "connectivity")
        polyhedra = Polyhedra(*(flat["cells", "polyhedra", name] for name in names))
    cells = Cells(
        flat["cells", "types"],
        flat["cells", "offsets"],
        flat["cells", "connectivity"],
        polyhedra,
        flat.get(("cells", "degrees")),
    )
    faces = None
    if ("faces", "owner") in flat:
        parts = ("offsets", "connectivity", "owner", "neighbour")
        faces = Faces(*(flat["faces", name] for name in parts))
    data_of = fields_of(flat, meta)
    regions = []
    for i, known in enumerate(meta["regions"]):
        at = ("regions", str(i))
        data = data_of.get((*at, "data"), {}) if known["data"] else None
        regions.append(
            Region(
                name=known["name"],
                entity=known["entity"],
                ids=flat[(*at, "ids")],
                flip=flat.get((*at, "flip")),
                kind=known["kind"],
                data=data,
                attributes=known["attributes"],
                source_id=known["source_id"],
                parent=known["parent"],
            )
        )
    return Mesh(
        points=flat["points",],
        cells=cells,
        faces=faces,
        **{home: data_of.get((home,), {}) for home in DATA},
        regions=Regions(regions),
        info=MeshInfo.from_json(meta["info"]),
    )


def fields_of(flat: Mapping[Path, Tensor], meta: Mapping[str, Any]) -> dict[Path, Any]:
    """The fields of each home, nested, by their own names.

    A home is ("cell_data",) and the like, or ("regions", "0", "data").

    Raises:
        MeshError: a group is said to be empty where none can be, or is a field.
    """
    found: dict[Path, list[tuple[Path, Tensor | None]]] = {}
    for path, x in flat.items():
        if n := _home(path):
            found.setdefault(path[:n], []).append((tuple(map(plain_name, path[n:])), x))
    # The last first: what stands before a group is then as many as was counted.
    for said, before in reversed(meta.get("empty", [])):
        path = tuple(said)
        n = _home(path)
        if not 0 < n < len(path) or not all(isinstance(part, str) for part in path):
            raise MeshError(f"no group of fields: {path!r:.80}")
        found.setdefault(path[:n], []).insert(before, (path[n:], None))
    out = {}
    for home, fields in found.items():
        once = dict(fields)
        if len(once) < len(fields):
            raise MeshError(f"a field or group of {'/'.join(home)} stands twice")
        out[home] = nested(once)
    return out


def _home(path: Path) -> int:
    """How many parts of a path name its home; 0 where it is no field's."""
    if path[:1] == ("regions",):
        return 3 if path[2:3] == ("data",) else 0
    return 1 if path and path[0] in DATA else 0
