"""VTK's XML files in every way that vtk writes them: what we read is what vtk's own readers see."""

from __future__ import annotations

import base64
import itertools
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numcodecs import lz4

from meshkit.errors import ReadError
from meshkit.readers.reading import read
from meshkit.readers.vtk import VtkArray, VtkData, content, markup, payload, written_words
from meshkit.readers.vtk.content import Content
from meshkit.readers.vtk.markup import opened
from meshkit.readers.vtk.objects import from_vtk, to_poly, to_unstructured
from meshkit.readers.vtk.xml import read_data
from meshkit.report import Ledger
from tests.meshes import hanging_polyhedron, one_of_each
from tests.readers.test_vtk_structured import image, rectilinear, structured
from tests.readers.test_vtp import mixed
from tests.readers.vtk_saving import (
    SUFFIXES,
    array_tag,
    by_vtk,
    column,
    grid_text,
    plain,
    triangle_piece,
)

MODES = {"ascii": (0, 0), "inline": (1, 0), "raw": (2, 0), "base64": (2, 1)}
COMPRESSORS = ("none", "zlib", "lz4", "lzma")


def arrays(n: int) -> dict[str, VtkArray]:
    """An array of every kind; no -inf, which vtk reads as +inf from text."""
    made = {
        f"{kind}{8 * size}": column(*range(n), dtype=f"{kind}{size}")
        for kind in "iu"
        for size in (1, 2, 4, 8)
    }
    rng = np.random.default_rng(n)
    made["f32"] = VtkArray(rng.normal(size=(n, 1)).astype("f4"), "scalars", unit="m/s")
    made["f64"] = VtkArray(rng.normal(size=(n, 3)), "vectors", components=("x", "", "z z"))
    made["texts"] = VtkArray(["é<&>"[: i % 5] for i in range(n)])
    return made


def unstructured(wide: bool) -> Any:
    data = plain(one_of_each(), point=arrays(33), cell=arrays(8), field=arrays(3))
    return to_unstructured(widened(data, wide))


def polyhedra(wide: bool) -> Any:
    return to_unstructured(widened(plain(hanging_polyhedron()), wide))


def poly(wide: bool) -> Any:
    dataset = to_poly(widened(plain(mixed(), cell=arrays(8)), wide))
    for name in ("meshkit_order", "meshkit_types"):
        dataset.GetFieldData().RemoveArray(name)
    return dataset


def widened(data: VtkData, wide: bool) -> VtkData:
    kind = np.int64 if wide else np.int32
    data.offsets, data.connectivity = data.offsets.astype(kind), data.connectivity.astype(kind)
    return data


MAKERS: dict[str, tuple[str, Callable[[bool], Any]]] = {
    "cells": ("vtu", unstructured),
    "polyhedra": ("vtu", polyhedra),
    "poly": ("vtp", poly),
    "image": ("vti", lambda wide: image()),
    "rectilinear": ("vtr", lambda wide: rectilinear()),
    "structured": ("vts", lambda wide: structured()),
}


WAYS = tuple(itertools.product((32, 64), (0, 1)))


def in_ways(
    dataset: Any,
    path: Path,
    mode: str,
    compressor: str,
    sizes: Sequence[int] = (32768,),
    ways: Sequence[tuple[int, int]] = WAYS,
) -> list[Path]:
    """Files of these header types and byte orders."""
    from vtkmodules import vtkIOXML

    found = []
    for (header, order), size in itertools.product(ways, sizes):
        writer = getattr(vtkIOXML, f"vtkXML{SUFFIXES[path.suffix[1:]]}Writer")()
        file = path.with_stem(f"{path.stem}_{header}_{order}_{size}")
        writer.SetInputData(dataset)
        writer.SetFileName(str(file))
        writer.SetDataMode(MODES[mode][0])
        writer.SetEncodeAppendedData(MODES[mode][1])
        writer.SetCompressorType(COMPRESSORS.index(compressor))
        writer.SetHeaderType(header)
        writer.SetByteOrder(order)
        writer.SetBlockSize(size)
        assert writer.Write() == 1
        found.append(file)
    return found


def assert_same(found: VtkData, wanted: VtkData) -> None:
    """Every array of two data sets, bit for bit but for the width of ids."""
    assert found.points.dtype == wanted.points.dtype
    assert found.points.tobytes() == wanted.points.tobytes()
    for name in ("types", "offsets", "connectivity"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
    assert (found.polyhedra is None) == (wanted.polyhedra is None)
    for mine, theirs in zip(found.polyhedra or (), wanted.polyhedra or (), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert found.grid == wanted.grid
    for home in ("point_arrays", "cell_arrays", "field_arrays"):
        ours, others = getattr(found, home), getattr(wanted, home)
        assert list(ours) == list(others)
        for name, array in others.items():
            mine = ours[name]
            assert (mine.role, mine.components, mine.unit) == (
                array.role,
                array.components,
                array.unit,
            )
            if isinstance(array.values, list):
                assert mine.values == array.values, name
            else:
                assert (mine.values.dtype, mine.values.shape) == (
                    array.values.dtype,
                    array.values.shape,
                ), name
                assert mine.values.tobytes() == array.values.tobytes(), name


def assert_as_vtk(file: Path) -> None:
    wanted = from_vtk(by_vtk(file), Ledger())
    assert_same(read_data(file, SUFFIXES[file.suffix[1:]], Ledger()), wanted)


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", MAKERS)
def test_every_mode_and_compressor_by_header_and_byte_order(
    tmp_path: Path, what: str, mode: str, compressor: str
) -> None:
    suffix, make = MAKERS[what]
    size = 1 << 14 if compressor == "lzma" else 56  # each block of lzma costs vtk 10 ms
    # Header type, byte order and width of ids in pairs: two of the four here, the others where one
    # of the three parameters is the next.
    odd = (list(MAKERS).index(what) + list(MODES).index(mode) + COMPRESSORS.index(compressor)) % 2
    for wide in (False, True):
        ways = [(32, int(wide)), (64, int(not wide))][odd : odd + 1]
        for file in in_ways(make(wide), tmp_path / f"a.{suffix}", mode, compressor, (size,), ways):
            assert_as_vtk(file)


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("mode", MODES)
def test_windows_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, compressor: str
) -> None:
    sizes = (1 << 14,) if compressor == "lzma" else (24, 1 << 14)
    files = in_ways(unstructured(True), tmp_path / "a.vtu", mode, compressor, sizes)
    for size, file in zip(itertools.cycle((40, 64, 1000)), files, strict=False):
        monkeypatch.setattr(payload, "_STEP", size)
        monkeypatch.setattr(written_words, "_TEXT_WINDOW", size)
        monkeypatch.setattr(written_words, "_CACHED", size // 8)
        monkeypatch.setattr(content, "WINDOW", size)
        monkeypatch.setattr(markup, "WINDOW", size)
        monkeypatch.setattr(markup, "_LONG", size // 4)
        assert_as_vtk(file)


def test_a_double_that_begins_in_one_block_and_ends_in_the_next(tmp_path: Path) -> None:
    values = np.arange(1000.0)
    raw = values.tobytes()
    blocks = [zlib.compress(raw[at : at + 13]) for at in range(0, len(raw), 13)]
    head = np.array([len(blocks), 13, len(raw) % 13, *map(len, blocks)], "<u8").tobytes()
    tag = '<DataArray type="Float64" Name="a" NumberOfTuples="1000" format="appended" offset="0"/>'
    text = grid_text(triangle_piece(), tag).replace(
        "header_type", 'compressor="vtkZLibDataCompressor" header_type'
    )
    before, after = text.split("</VTKFile>")
    file = tmp_path / "a.vtu"
    file.write_bytes(
        f'{before}<AppendedData encoding="raw">_'.encode()
        + (head + b"".join(blocks))
        + f"</AppendedData></VTKFile>{after}".encode()
    )
    assert read(file).global_data["a"].tolist() == values.tolist()


# --- the markup ----------------------------------------------------------------------------------


def test_long_data_are_left_out_of_the_markup_and_lines_stay_right(tmp_path: Path) -> None:
    numbers = "\n".join(str(i) for i in range(20_000))
    fields = array_tag("long", numbers) + "<!-- a > b -->" + array_tag("b", "1 x")
    text = grid_text(triangle_piece(), fields)
    file = tmp_path / "a.vtu"
    file.write_text(text.replace('Name="b"', 'Name="b>"'))
    line = 1 + text[: text.index("1 x")].count("\n")
    with pytest.raises(ReadError, match=rf"line {line}: <DataArray> has a bare '>'"):
        read(file)
    file.write_text(text.replace("1 x", "1 2"))
    assert read(file).global_data["long"].tolist() == list(range(20_000))
    file.write_text(text.replace("</UnstructuredGrid>", "</UnstructuredGrit>"))
    line = 1 + text[: text.index("</UnstructuredGrid>")].count("\n")
    with pytest.raises(ReadError, match=rf"line {line}: is no well-formed XML: mismatched tag"):
        read(file)


@pytest.mark.parametrize("inside", ["<!-- 9 9 -->", "<?a 9?>", "<Note>9</Note>", "<![CDATA[]]>"])
def test_data_end_where_something_else_begins(tmp_path: Path, inside: str) -> None:
    fields = array_tag("a", f"1 2 3 {inside}")
    (file := tmp_path / "a.vtu").write_text(grid_text(triangle_piece(), fields))
    assert read(file).global_data["a"].tolist() == [1, 2, 3]


def test_information_keys(tmp_path: Path) -> None:
    keys = (
        '<InformationKey name="UNITS_LABEL" location="vtkDataArray"> K &amp; Pa\n</InformationKey>'
        '<InformationKey name="L2_NORM_RANGE" location="vtkDataArray"><Value>1</Value>'
        '</InformationKey><InformationKey name="GUI_HIDE" location="vtkAbstractArray">1'
        "</InformationKey>"
    )
    (file := tmp_path / "a.vtu").write_text(
        grid_text(triangle_piece(array_tag("a", f"1 2 3 {keys}")))
    )
    mesh = read(file)
    assert mesh.info.field("point_data", "a").unit == "K & Pa"
    assert [(e.name, e.reason, e.loss) for e in mesh.info.report.dropped] == [
        ("point_data/a", "information key 'GUI_HIDE', a note of VTK's own", False)
    ]


@pytest.mark.parametrize("version", ["0.1", "1.0", "2.0", "2.3"])
def test_levels_of_ghosts_in_old_files(tmp_path: Path, version: str) -> None:
    text = grid_text(
        triangle_piece(
            array_tag("vtkGhostLevels", "0 1 2", "UInt8"), array_tag("vtkGhostLevels", "3", "UInt8")
        )
    )
    (file := tmp_path / "a.vtu").write_text(
        text.replace('version="1.0" b', f'version="{version}" b')
    )
    assert_as_vtk(file)


def test_attributes_that_vtk_refuses_are_no_roles(tmp_path: Path) -> None:
    piece = triangle_piece(
        array_tag("a", "1 2 3") + '<Array type="String" Name="s" format="ascii">0 0 0</Array>'
    )
    for said in ('Vectors="a"', 'Scalars="s"', 'PedigreeIds="s"', 'TCoords="a" Tensors="b"'):
        (file := tmp_path / "a.vtu").write_text(
            grid_text(piece.replace("<PointData>", f"<PointData {said}>"))
        )
        assert_as_vtk(file)


def test_many_polyhedra_in_the_layout_of_old_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tets, ends, stream = [], [], []
    for i in range(50):
        a, b, c, d = (4 * i + rng.permutation(4)).tolist()
        tets.append(f"{a} {b} {c} {d}")
        if i % 7:
            stream += [4, 3, a, b, c, 3, a, b, d, 3, b, c, d, 3, a, c, d]
            ends.append(len(stream))
        else:
            ends.append(-1)
    piece = triangle_piece(
        n_points=200,
        n_cells=50,
        points=" ".join(map(str, rng.normal(size=600))),
        ids=" ".join(tets),
        ends=" ".join(str(4 * i + 4) for i in range(50)),
        types=" ".join("10" if end < 0 else "42" for end in ends),
        more=array_tag("faces", " ".join(map(str, stream)), "Int64")
        + array_tag("faceoffsets", " ".join(map(str, ends)), "Int64"),
    )
    (file := tmp_path / "a.vtu").write_text(grid_text(piece))
    assert_as_vtk(file)


# --- what may not be believed --------------------------------------------------------------------


def test_a_block_that_is_larger_than_it_says(tmp_path: Path) -> None:
    # 8 MB of zeros in 8 kB: only what is promised is undone.
    for size, says in ((24, "does not decompress"), (1 << 23, "holds 1048576 values; expected 3")):
        block = zlib.compress(bytes(1 << 23))
        head = np.array([1, size, 0, len(block)], "<u8").tobytes()
        tag = '<DataArray type="Float64" Name="a" format="appended" offset="0"/>'
        text = grid_text(triangle_piece(tag)).replace(
            "header_type", 'compressor="vtkZLibDataCompressor" header_type'
        )
        file = tmp_path / "a.vtu"
        file.write_bytes(
            text.strip().replace("</VTKFile>", '<AppendedData encoding="raw">_').encode()
            + head
            + block
            + b"</AppendedData></VTKFile>"
        )
        with pytest.raises(ReadError, match=says):
            read(file)


def lz4_file(file: Path, head: list[int], data: bytes) -> Path:
    """A triangle with the point array "a" in LZ4 blocks, under a header of 64-bit words."""
    tag = '<DataArray type="Float64" Name="a" format="appended" offset="0"/>'
    text = grid_text(triangle_piece(tag)).replace(
        "header_type", 'compressor="vtkLZ4DataCompressor" header_type'
    )
    front = text.strip().replace("</VTKFile>", '<AppendedData encoding="raw">_').encode()
    file.write_bytes(front + np.array(head, "<u8").tobytes() + data + b"</AppendedData></VTKFile>")
    return file


def test_the_size_of_blocks_means_nothing_where_only_a_partial_one_is_there(tmp_path: Path) -> None:
    block = lz4.compress(np.array([1.0, 2.0, 3.0]).tobytes())[4:]
    file = lz4_file(tmp_path / "a.vtu", [1, 1 << 40, 24, len(block)], block)
    assert read(file).point_data["a"].tolist() == [1.0, 2.0, 3.0]


def test_the_damaged_one_of_several_blocks_is_named(tmp_path: Path) -> None:
    blocks = [lz4.compress(np.array([x]).tobytes())[4:] for x in (1.0, 2.0, 3.0)]
    file = lz4_file(tmp_path / "a.vtu", [3, 8, 0, *map(len, blocks)], b"".join(blocks))
    assert read(file).point_data["a"].tolist() == [1.0, 2.0, 3.0]
    for bad in range(3):
        spoilt = [b"\xff" * len(b) if i == bad else b for i, b in enumerate(blocks)]
        lz4_file(file, [3, 8, 0, *map(len, blocks)], b"".join(spoilt))
        with pytest.raises(ReadError, match=f"array 'a' .*: block {bad} does not decompress"):
            read(file)


@pytest.mark.parametrize("compressor", ["zlib", "lzma"])
def test_a_flipped_bit_in_a_compressed_block_is_found(tmp_path: Path, compressor: str) -> None:
    values = np.arange(33.0)
    dataset = to_unstructured(plain(one_of_each(), point={"a": VtkArray(values.reshape(-1, 1))}))
    file = in_ways(dataset, tmp_path / "a.vtu", "raw", compressor)[1]
    found = 0
    with opened(file) as parsed:
        appended = parsed.appended
        assert appended is not None
        head = np.frombuffer(parsed.data.read(appended.start, appended.start + 16), "<u4")
    start, size = appended.start + 16, int(head[3])
    data = bytearray(file.read_bytes())
    for at in range(start, start + size):
        data[at] ^= 1 << (at % 8)
        file.write_bytes(data)
        data[at] ^= 1 << (at % 8)
        try:
            assert read(file).point_data["a"].tolist() == values.tolist()
        except ReadError as why:
            found += "block 0 does not decompress" in str(why)
    assert found > size - 3  # flags of the header may mean nothing


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(bytes(100))
    with file.open("rb") as held:
        found = Content(file, held.fileno(), 100)
        file.write_bytes(bytes(10))
        with pytest.raises(ReadError, match=r"byte 10: ends while it is read"):
            found.read(0, 100)


def test_bytes_are_found_across_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "WINDOW", 7)
    (file := tmp_path / "a").write_bytes(b"." * 5000 + b"needle" + b"." * 5000 + b"needle..")
    with file.open("rb") as held:
        found = Content(file, held.fileno(), file.stat().st_size)
        assert found.find(b"needle", 0) == 5000
        assert found.find(b"needle", 5001) == 10006
        assert found.find(b"needle", 5001, 10011) == -1
        assert found.rfind(b"needle", 0) == 10006
        assert found.rfind(b"needle", 0, 10011) == 5000
        assert found.rfind(b"needle", 5001, 10011) == -1


def test_no_blocks_of_size_zero_are_an_empty_array(tmp_path: Path) -> None:
    nothing = base64.b64encode(bytes(12)).decode()  # 0 blocks of size 0, the last of 0
    arrays = "".join(
        f'<DataArray type="{kind}" Name="{name}" format="binary">{nothing}</DataArray>'
        for kind, name in (("Int64", "connectivity"), ("Int64", "offsets"), ("UInt8", "types"))
    )
    (tmp_path / "it.vtu").write_text(
        '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" '
        'header_type="UInt32" compressor="vtkZLibDataCompressor"><UnstructuredGrid>'
        '<Piece NumberOfPoints="1" NumberOfCells="0"><Points><DataArray type="Float64" '
        'NumberOfComponents="3" format="ascii">1 2 3</DataArray></Points>'
        f"<Cells>{arrays}</Cells></Piece></UnstructuredGrid></VTKFile>"
    )
    mesh = read(tmp_path / "it.vtu")
    assert (mesh.n_points, mesh.n_cells) == (1, 0)
