"""A glTF file opened: its JSON with every look-up checked, its buffers and accessors.

Source: Khronos Group, glTF 2.0 Specification, sections 3.6 (buffers and accessors) and 4 (GLB).
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import ReadError
from meshkit.readers.references import referred

Array = NDArray[Any]


_COMPONENTS: Final = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}


_WIDTHS: Final = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


_MOST_ZEROS: Final = 1 << 24


_MAGIC: Final = b"glTF"


def opened(path: Path) -> tuple[dict[str, Any], bytes | None]:
    """The JSON, and the binary chunk of a GLB."""
    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        return _parsed(path, data), None
    if len(data) < 12:
        raise ReadError(path, f"ends within its header ({len(data)} bytes)", expected="12 bytes")
    version, length = (int.from_bytes(data[at : at + 4], "little") for at in (4, 8))
    if version != 2:
        raise ReadError(path, f"GLB version {version}", place="byte 4", expected="version 2")
    if length != len(data):
        raise ReadError(
            path, f"its header says {length} bytes; {len(data)} are there", place="byte 8"
        )
    chunks: list[tuple[int, bytes]] = []
    at = 12
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        if at + 8 + size > len(data):
            raise ReadError(
                path,
                f"a chunk of {size} bytes",
                place=f"byte {at}",
                expected=f"at most {max(len(data) - at - 8, 0)}",
            )
        kind = int.from_bytes(data[at + 4 : at + 8], "little")
        chunks.append((kind, data[at + 8 : at + 8 + size]))
        at += 8 + size
    if not chunks or chunks[0][0] != 0x4E4F534A:
        raise ReadError(path, "its first chunk is not JSON", place="byte 12")
    binary = next((chunk for kind, chunk in chunks[1:] if kind == 0x004E4942), None)
    return _parsed(path, chunks[0][1]), binary


def _parsed(path: Path, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as why:
        raise ReadError(path, f"its JSON cannot be read: {why}") from None
    root: dict[str, Any] = found if isinstance(found, dict) else {}
    asset = root.get("asset")
    version = asset.get("version") if isinstance(asset, dict) else None
    if not isinstance(version, str) or version.split(".")[0] != "2":
        raise ReadError(path, f"asset version {brief(version)}", expected="a glTF of version 2")
    return root


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def brief(value: Any) -> str:
    """A value as a message shows it."""
    return repr(value)[:60]


class Document:
    """The JSON with each look-up checked, and the buffers."""

    def __init__(self, path: Path, root: dict[str, Any], binary: bytes | None) -> None:
        self.path = path
        self.root = root
        self._binary = binary
        self._buffers: dict[int, bytes] = {}
        self._accessors: dict[int, Array] = {}

    def fail(self, place: str, problem: str, expected: str | None = None) -> ReadError:
        """The error of one part of the JSON."""
        return ReadError(self.path, problem, place=place, expected=expected)

    def all(self, name: str) -> list[Any]:
        """The list of this name at the top; empty without one."""
        found = self.root.get(name, [])
        if not isinstance(found, list):
            raise self.fail(name, f"is {type(found).__name__}", "a list")
        return found

    def at(self, name: str, index: Any, by: str) -> dict[str, Any]:
        """An object of a list at the top, by the index that another part gives."""
        items = self.all(name)
        if not is_index(index) or index >= len(items):
            raise self.fail(by, f"{name} index {brief(index)}", f"one of {len(items)} {name}")
        item = items[index]
        if not isinstance(item, dict):
            raise self.fail(f"{name}[{index}]", f"is {type(item).__name__}", "an object")
        return item

    def whole(self, item: dict[str, Any], name: str, place: str, default: int | None = None) -> int:
        """A whole number of an object that is not negative."""
        value = item.get(name, default)
        if value is None or not is_index(value):
            raise self.fail(place, f"{name} is {brief(value)}", "a whole number")
        return int(value)

    def numbers(self, item: dict[str, Any], name: str, n: int, place: str) -> Array:
        """A list of n numbers of an object."""
        value = item[name]
        if (
            not isinstance(value, list)
            or len(value) != n
            or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in value)
        ):
            raise self.fail(place, f"{name} is {brief(value)}", f"{n} numbers")
        try:
            return np.array(value, np.float64)
        except OverflowError:
            raise self.fail(place, f"{name} is out of range", f"{n} numbers") from None

    def buffer(self, index: int) -> bytes:
        """The bytes of a buffer: the binary chunk, data in the JSON, or a file beside it."""
        if index not in self._buffers:
            self._buffers[index] = self._load(index)
        return self._buffers[index]

    def _load(self, index: int) -> bytes:
        place = f"buffers[{index}]"
        item = self.at("buffers", index, place)
        length = self.whole(item, "byteLength", place)
        uri = item.get("uri")
        if uri is None:
            if index != 0 or self._binary is None:
                raise self.fail(place, "has no uri and the file no binary chunk for it")
            data = self._binary
        elif not isinstance(uri, str):
            raise self.fail(place, f"uri is {type(uri).__name__}", "text")
        elif uri.startswith("data:"):
            data = self._inline(uri, place)
        else:
            file = referred(self.path, unquote(uri), place=place, what="its uri")
            with file.open("rb") as opened:  # no more than is wanted, however long it is
                data = opened.read(min(length, file.stat().st_size))
        if len(data) < length:
            raise self.fail(place, f"{len(data)} bytes", f"{length}, as its byteLength says")
        return data[:length]

    def _inline(self, uri: str, place: str) -> bytes:
        head, comma, text = uri.partition(",")
        if not comma or not head.endswith(";base64"):
            raise self.fail(place, f"uri begins {uri[:40]!r}", "data:...;base64,...")
        try:
            return base64.b64decode(unquote(text), validate=True)
        except (binascii.Error, ValueError) as why:
            raise self.fail(place, f"its base64 is broken ({why})") from None

    def accessor(self, index: Any, by: str) -> Array:
        """The elements [n, width] of an accessor, normalised ones as float32."""
        if not is_index(index):
            raise self.fail(by, f"accessor {brief(index)}", "an index")
        if index not in self._accessors:
            self._accessors[index] = self._elements(index, by)
        return self._accessors[index]

    def _elements(self, index: int, by: str) -> Array:
        place = f"accessors[{index}]"
        item = self.at("accessors", index, by)
        count = self.whole(item, "count", place)
        component, kind = item.get("componentType"), item.get("type")
        if component not in _COMPONENTS or not isinstance(component, int):
            raise self.fail(
                place, f"componentType {brief(component)}", "5120 to 5123, 5125 or 5126"
            )
        if kind not in _WIDTHS or not isinstance(kind, str):
            raise self.fail(place, f"type {brief(kind)}", ", ".join(_WIDTHS))
        dtype, width = np.dtype(_COMPONENTS[component]), _WIDTHS[kind]
        if "bufferView" in item:
            start = self.whole(item, "byteOffset", place, 0)
            found = self._view(item["bufferView"], start, count, dtype, kind, place)
        else:
            if count > _MOST_ZEROS:
                raise self.fail(place, f"count {count} without data", "a bufferView")
            found = np.zeros((count, width), dtype)
        if "sparse" in item:
            found = self._patched(item["sparse"], found, dtype, kind, place)
        if item.get("normalized") is True and dtype.kind in "iu":
            top = np.float32(np.iinfo(dtype).max)
            scaled: Array = np.maximum(found.astype(np.float32) / top, np.float32(-1))
            return scaled
        return found.astype(dtype.newbyteorder("="))

    def _view(
        self, index: Any, start: int, count: int, dtype: np.dtype[Any], kind: str, place: str
    ) -> Array:
        """Elements out of a buffer view, every byte within its bounds."""
        view = self.at("bufferViews", index, place)
        where = f"bufferViews[{index}]"
        data = self.buffer(self.whole(view, "buffer", where))
        offset, length = (
            self.whole(view, "byteOffset", where, 0),
            self.whole(view, "byteLength", where),
        )
        if offset + length > len(data):
            raise self.fail(
                where, f"bytes {offset} to {offset + length}", f"at most {len(data)} of its buffer"
            )
        rows, columns, size = _shape(kind, dtype)
        stride = self.whole(view, "byteStride", where, size)
        if stride == 0 or (stride < size and count > 1):
            raise self.fail(where, f"byteStride {stride}", f"at least {size}")
        if count and start + stride * (count - 1) + size > length:
            raise self.fail(
                place,
                f"{count} elements of {size} bytes from byte {start}, {stride} apart",
                f"at most {length} bytes of {where}",
            )
        if count == 0:
            return np.zeros((0, rows * columns), dtype)
        shape, strides = (count, columns, rows), (stride, size // columns, dtype.itemsize)
        raw = np.frombuffer(data, np.uint8)
        table: Array = np.ndarray(shape, dtype, raw.data, offset + start, strides)
        return table.reshape(count, rows * columns)

    def _patched(
        self, sparse: Any, base: Array, dtype: np.dtype[Any], kind: str, place: str
    ) -> Array:
        """An accessor with some elements exchanged."""
        place = f"{place}.sparse"
        parts = [sparse.get(x) for x in ("indices", "values")] if isinstance(sparse, dict) else []
        if len(parts) != 2 or not all(isinstance(p, dict) for p in parts):
            raise self.fail(place, "lacks indices or values")
        indices, values = (dict(p) for p in parts if p is not None)
        count = self.whole(sparse, "count", place)
        component = indices.get("componentType")
        if component not in (5121, 5123, 5125):
            raise self.fail(place, f"componentType {brief(component)}", "5121, 5123 or 5125")
        start = self.whole(indices, "byteOffset", place, 0)
        whole = np.dtype(_COMPONENTS[component])
        at = self._view(indices.get("bufferView"), start, count, whole, "SCALAR", place)[:, 0]
        start = self.whole(values, "byteOffset", place, 0)
        new = self._view(values.get("bufferView"), start, count, dtype, kind, place)
        if len(at) and int(at.max()) >= len(base):
            raise self.fail(place, f"index {int(at.max())}", f"indices below {len(base)}")
        out = base.copy()
        out[at] = new
        return out


def is_index(value: Any) -> bool:
    """Whether a value of JSON is a whole number that may count or point at something."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _shape(kind: str, dtype: np.dtype[Any]) -> tuple[int, int, int]:
    """Rows and columns of an element and its size in bytes; columns of matrices begin at 4 k."""
    width = _WIDTHS[kind]
    if not kind.startswith("MAT"):
        return width, 1, width * dtype.itemsize
    n = int(kind[3])
    return n, n, n * (-(-n * dtype.itemsize // 4) * 4)
