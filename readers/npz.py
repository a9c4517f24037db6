"""NPZ: a mesh as an archive of plain arrays that numpy opens too; nothing is lost.

Each tensor is one member named by its path ("points", "cells/types", "point_data/U"), names
percent-encoded where a file name must be; what is no tensor stands as JSON in the bytes of
"meshkit.json", and there is a list of all arrays with their dtypes and shapes: one that is
missing, of another shape or dtype, or not in the list is refused by name. Dtypes that numpy lacks
(bfloat16, float8, complex32) travel as integers of the same width. Nothing is pickled. Every
member has a checksum, so a flipped bit is an error. The same mesh gives the same bytes.

Source: NumPy Enhancement Proposal 1 (the .npy format, versions 1 to 3); PKWARE APPNOTE (zip).
"""

from __future__ import annotations

import json
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from meshkit import fields, view
from meshkit.errors import MeshError, ReadError, WriteError
from meshkit.memory import need_room
from meshkit.mesh import Mesh
from meshkit.readers.accounting import keep_all
from meshkit.report import Ledger

META: Final = "meshkit.json"
VERSION: Final = 1
_ROOTS: Final = frozenset(
    {"points", "cells", "faces", "point_data", "cell_data", "face_data", "global_data", "regions"}
)
_NUMPY: Final = frozenset(
    {
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint16, torch.uint32, torch.uint64, torch.float16, torch.float32, torch.float64),
        *(torch.complex64, torch.complex128),
    }
)
_BLOCK: Final = 1 << 24
# What numpy writes before the numbers; deflate makes 1032 bytes of one at the most.
_HEADER: Final = re.compile(
    rb"\{'descr': '([<>|=]?)([biufc])(\d{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]*)\), ?\}[ \n]*"
)
_HEADER_LIMIT: Final = 4096
_DEFLATE_LIMIT: Final = 1032
# Lone surrogates, which a zip's names cannot hold; "%u" is no code of `view.safe_name`.
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, OverflowError),
    *(NotImplementedError, RuntimeError),
)


def write(mesh: Mesh, path: Path, ledger: Ledger) -> None:
    """Write all of a mesh but the report of how it came about.

    Tensors on another device are copied to the CPU; the mesh is read back on the CPU.

    Raises:
        WriteError: an attribute is not JSON, or a tensor is sparse or quantized.
    """
    flat, meta = view.parts_of(mesh)
    meta["info"].pop("report")  # of another reading
    arrays, listed = {}, []
    for at, x in flat.items():
        if x.layout != torch.strided or x.is_quantized:
            raise WriteError(path, f"{'/'.join(at)} is {x.layout}", expected="a dense tensor")
        x = x.detach().cpu().resolve_conj().resolve_neg().contiguous()
        listed.append([list(at), _name(x.dtype), list(x.shape)])
        if x.dtype not in _NUMPY:
            x = fields.as_bits(x)
        arrays[_member(at)] = x.numpy()
    meta = {"format": "meshkit", "version": VERSION, "parts": meta, "arrays": listed}
    try:
        text = json.dumps(meta)
    except (TypeError, ValueError) as why:
        raise WriteError(path, f"info or a region holds what JSON cannot: {why}") from None
    keep_all(mesh, ledger)
    ledger.settle()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        _store(archive, META, np.frombuffer(text.encode(), np.uint8))
        for name, array in arrays.items():
            _store(archive, name, array)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _member(path: fields.Path) -> str:
    return _SURROGATE.sub(lambda m: f"%u{ord(m.group()):04X}", "/".join(path))


def _path(member: str) -> fields.Path:
    plain = re.sub("%u([0-9A-F]{4})", lambda m: chr(int(m.group(1), 16)), member)
    return tuple(plain.split("/"))


def _store(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    entry = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: the same mesh gives the same bytes
    large = array.nbytes + len(header.getvalue()) >= zipfile.ZIP64_LIMIT
    with archive.open(entry, "w", force_zip64=large) as out:
        out.write(header.getvalue())
        data = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
        for start in range(0, len(data), _BLOCK):
            out.write(data[start : start + _BLOCK])


def read(path: Path, ledger: Ledger) -> Mesh:
    """Read the mesh that `write` wrote, bit for bit, with its id dtypes.

    Sizes are checked against the file before anything is allocated; members that another program
    has added are dropped and counted.

    Raises:
        ReadError: it is no such archive, or a member is damaged; the message names it.
    """
    with _opened(path) as archive:
        members = _members(path, archive)
        entry = members.pop(META, None)
        if entry is None:
            raise ReadError(
                path,
                f"a zip archive without {META!r}, so not written by meshkit",
                expected="an .npz of meshkit",
                hint="load its arrays with numpy and give them to make_mesh",
            )
        meta, listed = _meta(path, _array(path, archive, entry))
        found: dict[fields.Path, Tensor] = {}
        for name, entry in members.items():
            if name.split("/")[0] not in _ROOTS:
                ledger.dropped("array", name, 1, "another program added it to the archive")
                continue
            at = _path(name)
            if at not in listed:
                raise ReadError(
                    path,
                    "is not in the list of arrays",
                    place=f"array {name!r}",
                    expected="the arrays that meshkit wrote",
                )
            found[at] = _tensor(path, name, _array(path, archive, entry), *listed[at])
    for at in listed:
        if at not in found:
            raise ReadError(path, "is missing", place=f"array {_member(at)!r}")
    flat = {at: found[at] for at in listed}
    try:
        mesh = view.mesh_of(flat, meta)
    except MeshError:
        raise
    except (AttributeError, TypeError, ValueError, KeyError, RuntimeError) as why:
        raise ReadError(path, f"does not fit its arrays: {why}", place=META) from None
    keep_all(mesh, ledger)
    return mesh


def _brief(why: Exception) -> str:
    """What another library says, and no more of the file than a line takes."""
    return str(why)[:80]


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except (*_DAMAGE, UnicodeDecodeError) as why:
        raise ReadError(
            path, f"is no whole zip archive: {_brief(why)}", expected="an .npz of meshkit"
        ) from None
    with archive:
        yield archive


@dataclass(frozen=True)
class _Entry:
    name: str
    info: zipfile.ZipInfo


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, _Entry]:
    """The members by name, their sizes held against the file's."""
    found: dict[str, _Entry] = {}
    size = path.stat().st_size
    stored = 0
    for info in archive.infolist():
        if info.filename.endswith("/"):  # a directory; `is_dir` trips over an empty name
            continue
        name = info.filename.removesuffix(".npy")
        place = f"array {name[:80]!r}"
        if name in found:
            raise ReadError(path, "stands in the archive twice", place=place)
        if info.flag_bits & 1:
            raise ReadError(path, "is encrypted", place=place)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ReadError(
                path,
                f"compression method {info.compress_type}",
                place=place,
                expected="stored or deflated",
            )
        most = info.compress_size
        if info.compress_type == zipfile.ZIP_DEFLATED:
            most *= _DEFLATE_LIMIT
        stored += info.compress_size
        if info.file_size > most or stored > size:
            raise ReadError(
                path, f"is said to hold {info.file_size} bytes, more than the file can", place=place
            )
        found[name] = _Entry(name, info)
    return found


def _array(path: Path, archive: zipfile.ZipFile, entry: _Entry) -> NDArray[Any]:
    """One member as an array of native byte order in row-major order."""
    place = f"array {entry.name[:80]!r}"
    try:
        with archive.open(entry.info) as file:
            dtype, shape, fortran, begun = _header(path, place, file)
            size = prod(shape) * dtype.itemsize
            if begun + size != entry.info.file_size:
                raise ReadError(
                    path,
                    f"its header says {dtype} {list(shape)}, {size} bytes; "
                    f"{entry.info.file_size - begun} are there",
                    place=place,
                )
            need_room(path, size, place=place)
            raw = np.empty(size, np.uint8)
            _fill(raw.data, file)
            rows = raw.view(dtype).reshape(shape[::-1] if fortran else shape)
    except (*_DAMAGE, UnicodeDecodeError) as why:
        raise ReadError(path, f"is damaged: {_brief(why)}", place=place) from None
    array = (rows.T if fortran else rows).astype(dtype.newbyteorder("="), copy=False)
    return np.array(array, order="C", copy=None)


def _header(
    path: Path, place: str, file: IO[bytes]
) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """Dtype, shape, order and length of a .npy header."""
    start = file.read(12)
    length, begun = 0, 0
    if start[:6] == b"\x93NUMPY" and len(start) == 12:
        if start[6] == 1:
            length, begun = int.from_bytes(start[8:10], "little"), 10
        elif start[6] in (2, 3):
            length, begun = int.from_bytes(start[8:12], "little"), 12
    if not 0 < length <= _HEADER_LIMIT:
        raise ReadError(path, "is no .npy array", place=place, expected="a header of NumPy")
    text = start[begun:] + file.read(length - (len(start) - begun))
    found = _HEADER.fullmatch(text)
    if found is None:
        shown = text[:80].decode("ascii", "replace").strip()
        raise ReadError(
            path, f"header {shown!r}", place=place, expected="an array of plain numbers"
        )
    order, kind, width, fortran, sizes = (part.decode() for part in found.groups())
    try:
        dtype = np.dtype(f"{order}{kind}{width}")
    except TypeError:
        raise ReadError(path, f"dtype {kind}{width}", place=place, expected="numbers") from None
    shape = tuple(int(n) for n in sizes.split(",") if n.strip())
    if len(shape) > 32 or any(n > 1 << 62 for n in shape):
        raise ReadError(path, f"shape ({sizes})", place=place, expected="a shape that can be")
    return dtype, shape, fortran == "True", begun + length


def _fill(into: memoryview, file: IO[bytes]) -> None:
    """Read exactly this many bytes; the last of them has the checksum compared."""
    at = 0
    while at < len(into):
        block = file.read(min(_BLOCK, len(into) - at))
        if not block:
            raise EOFError(f"{len(into) - at} bytes are missing")
        into[at : at + len(block)] = block
        at += len(block)


def _meta(
    path: Path, raw: NDArray[Any]
) -> tuple[dict[str, Any], dict[fields.Path, tuple[str, list[int]]]]:
    """What is no tensor, and the dtype and shape of each tensor by its path."""
    try:
        said = json.loads(raw.tobytes())
        version = said["version"] if said["format"] == "meshkit" else None
        if version == VERSION:
            listed = {
                tuple(map(str, at)): (str(dtype), [int(n) for n in shape])
                for at, dtype, shape in said["arrays"]
            }
            return said["parts"], listed
    except (ValueError, TypeError, KeyError, RecursionError) as why:
        raise ReadError(path, f"is not what meshkit writes: {why}", place=META) from None
    hint = "update meshkit" if isinstance(version, int) and version > VERSION else None
    raise ReadError(
        path, f"version {version}", place=META, expected=f"version {VERSION}", hint=hint
    )


def _tensor(path: Path, name: str, array: NDArray[Any], dtype: str, shape: Sequence[int]) -> Tensor:
    """The tensor of an array, held against what the list says of it."""
    place = f"array {name!r}"
    try:
        plain = torch.from_numpy(array)
    except TypeError:
        raise ReadError(path, f"dtype {array.dtype}", place=place, expected="numbers") from None
    meant = getattr(torch, dtype, None)
    if not isinstance(meant, torch.dtype):
        raise ReadError(path, f"dtype {dtype!r}", place=META, expected=f"a dtype for {name!r}")
    stored = _stored(meant)
    if plain.dtype != stored or list(plain.shape) != list(shape):
        raise ReadError(
            path,
            f"{_name(plain.dtype)} {list(plain.shape)}",
            place=place,
            expected=f"{_name(stored)} {list(shape)}, as it was written",
        )
    with _complex_half():
        return plain.view(meant)


def _stored(dtype: torch.dtype) -> torch.dtype:
    """What an array of this dtype is in the archive: itself, or the bits that it is."""
    if dtype in _NUMPY:
        return dtype
    with _complex_half():
        return fields.as_bits(torch.empty(0, dtype=dtype, device="cpu")).dtype


@contextmanager
def _complex_half() -> Iterator[None]:
    """No warning of torch's that complex32 is half supported: it is held, not computed with."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ComplexHalf")
        yield
