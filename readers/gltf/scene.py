"""The scene of a glTF file: what each node places where.

Source: Khronos Group, glTF 2.0 Specification, sections 3.5 (scenes) and 3.7 (geometry).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import count as counted_from
from typing import Any, Final

import numpy as np

from meshkit.celltypes import cell_type
from meshkit.readers.gltf.document import Array, Document, brief, is_index
from meshkit.report import Ledger

_POINTS, _LINES, _LOOP, _LINE_STRIP, _TRIANGLES, _STRIP, _FAN = range(7)


MOST_POINTS: Final = 1 << 28


@dataclass
class _Piece:
    """One primitive where a node places it."""

    points: Array  # float64 [n, 3]
    exact: bool  # whether the points are the file's own float32
    fields: dict[str, Array]  # each [n, ...]
    number: int  # the type of its cells
    ids: Array  # int64 [m, k]
    node: str
    material: str | None


@dataclass(frozen=True)
class _Node:
    """A node of the scene: what its region will say."""

    index: int
    parent: str | None
    has_mesh: bool


@dataclass
class Scene:
    """The default scene: after `walk`, every primitive where its node places it."""

    document: Document
    ledger: Ledger
    pieces: list[_Piece] = field(default_factory=list)
    nodes: dict[str, _Node] = field(default_factory=dict)  # by unique name
    converted: dict[str, int] = field(default_factory=dict)
    _points: int = 0
    _serial: dict[str, int] = field(default_factory=dict)
    materials: dict[int, str] = field(default_factory=dict)
    placed: set[int] = field(default_factory=set)  # which meshes some node places

    def walk(self) -> None:
        """Place the meshes of all nodes of the scene."""
        document = self.document
        total = len(document.all("nodes"))
        waiting: list[tuple[int, Array, str | None]] = [
            (root, np.eye(4), None) for root in reversed(self._roots())
        ]
        seen: set[int] = set()
        while waiting:
            index, above, parent = waiting.pop()
            node = document.at("nodes", index, "scene")
            place = f"nodes[{index}]"
            if index in seen:
                raise document.fail(place, "has two parents, or is below itself", "a tree")
            seen.add(index)
            with np.errstate(all="ignore"):  # a transform may hold infinities
                world = above @ self._matrix(node, place)
            name = self._node_name(_named(node, f"node {index}"))
            children = node.get("children", [])
            if not isinstance(children, list) or not all(is_index(c) for c in children):
                raise document.fail(place, "children is no list of indices")
            self.nodes[name] = _Node(index, parent, "mesh" in node)
            if "mesh" in node:
                self._place(node["mesh"], world, name, place)
            waiting += [(c, world, name) for c in reversed(children)]
        left = [i for i in range(total) if i not in seen]
        if left and not document.all("scenes"):  # then every tree was walked from its root
            raise document.fail(f"nodes[{left[0]}]", "is below itself", "a tree")
        meshes = [i for i in left if "mesh" in document.at("nodes", i, "nodes")]
        if meshes:
            reason = "of other scenes than the default"
            self.ledger.dropped("nodes", "", len(meshes), reason)

    def _node_name(self, name: str) -> str:
        """The name, numbered where another node has it; many may have one name."""
        if name not in self.nodes:
            return name
        i = self._serial.get(name, 2)
        while f"{name} ({i})" in self.nodes:
            i += 1
        self._serial[name] = i + 1
        return f"{name} ({i})"

    def described(self) -> dict[str, Any]:
        """What the file says of the default scene; nothing without scenes."""
        document = self.document
        if not document.all("scenes"):
            return {}
        return document.at("scenes", document.root.get("scene", 0), "scene")

    def _roots(self) -> list[int]:
        document = self.document
        scene = self.described()
        if document.all("scenes"):
            roots = scene.get("nodes", [])
            if not isinstance(roots, list) or not all(is_index(r) for r in roots):
                raise document.fail("scene", "nodes is no list of indices")
            return roots
        children = {
            c
            for node in document.all("nodes")
            if isinstance(node, dict) and isinstance(node.get("children"), list)
            for c in node["children"]
            if is_index(c)
        }
        return [i for i in range(len(document.all("nodes"))) if i not in children]

    def _matrix(self, node: dict[str, Any], place: str) -> Array:
        """The local transform: a matrix by columns, or scale, then rotation, then translation."""
        numbers = self.document.numbers
        if "matrix" in node:
            return numbers(node, "matrix", 16, place).reshape(4, 4).T
        out = np.eye(4)
        if "rotation" in node:
            x, y, z, w = numbers(node, "rotation", 4, place)
            norm = x * x + y * y + z * z + w * w
            if not norm > 0:
                raise self.document.fail(place, "rotation is zero", "a unit quaternion")
            s = 2 / norm
            out[:3, :3] = [
                [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
                [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
                [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
            ]
        if "scale" in node:
            out[:3, :3] *= numbers(node, "scale", 3, place)
        if "translation" in node:
            out[:3, 3] = numbers(node, "translation", 3, place)
        return out

    def _place(self, index: Any, world: Array, node: str, by: str) -> None:
        document = self.document
        mesh = document.at("meshes", index, by)
        self.placed.add(index)
        primitives = mesh.get("primitives")
        if not isinstance(primitives, list):
            raise document.fail(f"meshes[{index}]", "has no list of primitives")
        for i, primitive in enumerate(primitives):
            place = f"meshes[{index}].primitives[{i}]"
            if not isinstance(primitive, dict):
                raise document.fail(place, "is no object")
            self._primitive(primitive, world, node, place)

    def _primitive(self, primitive: dict[str, Any], world: Array, node: str, place: str) -> None:
        document = self.document
        attributes = primitive.get("attributes")
        if not isinstance(attributes, dict) or "POSITION" not in attributes:
            self.ledger.dropped("primitive", place, 1, "it has no positions")
            return
        extensions = primitive.get("extensions")
        if isinstance(extensions, dict) and "KHR_draco_mesh_compression" in extensions:
            item = document.at("accessors", attributes["POSITION"], place)
            if "bufferView" not in item:
                raise document.fail(place, "is compressed with Draco", "uncompressed geometry")
        points = document.accessor(attributes["POSITION"], place)
        self._points += len(points)
        if self._points > MOST_POINTS:
            raise document.fail("scene", f"its nodes place over {MOST_POINTS} points")
        if points.shape[1] != 3:
            raise document.fail(place, f"POSITION of {points.shape[1]} columns", "3")
        fields: dict[str, Array] = {}
        for name, accessor in attributes.items():
            if name == "POSITION" or name.startswith(("JOINTS_", "WEIGHTS_")):
                continue
            values = document.accessor(accessor, place)
            if len(values) != len(points):
                raise document.fail(place, f"{name} has {len(values)} rows", f"{len(points)}")
            fields[name] = values[:, 0] if values.shape[1] == 1 else values
        skinned = sum(1 for name in attributes if name.startswith(("JOINTS_", "WEIGHTS_")))
        if skinned:
            self.ledger.dropped("field", f"joints and weights of {place}", skinned, "no skins")
        if primitive.get("targets"):
            self.ledger.dropped("morph targets", place, 1, "meshkit keeps the mesh at rest")
        ids = self._ids(primitive, len(points), place)
        mode = primitive.get("mode", _TRIANGLES)
        if not isinstance(mode, int) or not 0 <= mode <= 6:
            raise document.fail(place, f"mode {brief(mode)}", "0 to 6")
        type_name, cells = self._cells(mode, ids, place)
        identity = bool((world == np.eye(4)).all())
        placed = points if identity else _moved(points, world)
        if type_name == "triangle" and _mirrors(world):
            self._convert("triangles of a mirrored node turned round", len(cells))
            cells = cells[:, [0, 2, 1]]
        for name in fields if not identity else ():
            if name in ("NORMAL", "TANGENT") and fields[name].dtype.kind == "f":
                fields[name] = _turned(fields[name], world, name)
        self.pieces.append(
            _Piece(
                placed,
                identity,
                fields,
                cell_type(type_name).number,
                cells,
                node,
                self._material(primitive, place),
            )
        )

    def _ids(self, primitive: dict[str, Any], n_points: int, place: str) -> Array:
        if "indices" not in primitive:
            return np.arange(n_points)
        found = self.document.accessor(primitive["indices"], place)
        if found.shape[1] != 1 or found.dtype.kind != "u":
            raise self.document.fail(place, "indices are no unsigned scalars")
        ids = found[:, 0].astype(np.int64)
        if len(ids) and int(ids.max()) >= n_points:
            raise self.document.fail(place, f"index {int(ids.max())}", f"below {n_points}")
        return ids

    def _cells(self, mode: int, ids: Array, place: str) -> tuple[str, Array]:
        """Cells [m, k] of the indices by the mode of the primitive."""
        n = len(ids)
        step = {_LINES: 2, _TRIANGLES: 3}.get(mode, 1)
        if n % step:
            raise self.document.fail(place, f"{n} indices", f"a multiple of {step}")
        if mode == _POINTS:
            return "vertex", ids[:, None]
        if mode == _LINES:
            return "line", ids.reshape(-1, 2)
        if mode == _TRIANGLES:
            return "triangle", ids.reshape(-1, 3)
        if mode in (_LOOP, _LINE_STRIP):
            self._convert("line loops and strips as lines", max(n - 1, 0))
            following = np.concatenate([ids[1:], ids[:1]])
            pairs = np.stack([ids, following], 1)
            return "line", pairs if mode == _LOOP and n > 1 else pairs[: max(n - 1, 0)]
        self._convert("triangle strips and fans as triangles", max(n - 2, 0))
        if n < 3:
            return "triangle", np.zeros((0, 3), np.int64)
        if mode == _FAN:
            first = np.full(n - 2, ids[0])
            return "triangle", np.stack([ids[1:-1], ids[2:], first], 1)
        odd = np.arange(n - 2) % 2 == 1
        a, b, c = ids[:-2], ids[1:-1], ids[2:]
        return "triangle", np.stack([a, np.where(odd, c, b), np.where(odd, b, c)], 1)

    def _convert(self, how: str, count: int) -> None:
        self.converted[how] = self.converted.get(how, 0) + count

    def _material(self, primitive: dict[str, Any], place: str) -> str | None:
        index = primitive.get("material")
        if index is None:
            return None
        item = self.document.at("materials", index, place)
        if index not in self.materials:
            name = _named(item, f"material {index}")
            self.materials[index] = unique(name, self.materials.values(), "")
        return self.materials[index]


def _named(item: dict[str, Any], otherwise: str) -> str:
    name = item.get("name")
    return name if isinstance(name, str) and name else otherwise


def unique(name: str, taken: Collection[str], kind: str) -> str:
    """The name, or the name with a kind or a number behind it that is not taken."""
    if name not in taken:
        return name
    if kind and f"{name} ({kind})" not in taken:
        return f"{name} ({kind})"
    numbered = (f"{name} ({kind} {i})".replace("( ", "(") for i in counted_from(2))
    return next(x for x in numbered if x not in taken)


def _moved(points: Array, world: Array) -> Array:
    with np.errstate(all="ignore"):
        moved: Array = points.astype(np.float64) @ world[:3, :3].T + world[:3, 3]
    return moved


def _mirrors(world: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.linalg.det(world[:3, :3]) < 0)


def _turned(vectors: Array, world: Array, name: str) -> Array:
    """Normals by the inverse transpose, tangents by the matrix; unit length, in float32."""
    linear = world[:3, :3]
    with np.errstate(all="ignore"):
        if name == "NORMAL":
            # the cofactors: the inverse transpose times the determinant, also where that is 0
            a, b, c = linear[:, 0], linear[:, 1], linear[:, 2]
            cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], 1)
            linear = -cofactors if _mirrors(world) else cofactors
        turned = vectors[:, :3].astype(np.float64) @ linear.T
        length = np.linalg.norm(turned, axis=1, keepdims=True)
        turned = np.where(length > 0, turned / length, turned)
    out = vectors.astype(np.float32)
    out[:, :3] = turned
    return out
