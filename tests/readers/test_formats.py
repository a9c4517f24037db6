"""The doors: content decides, bad files are one line, a write is whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from meshkit.errors import LossError, MeshError, ReadError, UnknownFormat, WriteError
from meshkit.info import MeshInfo, Source
from meshkit.mesh import Mesh
from meshkit.readers import formats
from meshkit.readers.formats import FORMATS, Format, writer_for
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.series import MeshSeries
from tests.mesh_differences import differences
from tests.meshes import cube_surface, one_of_each, tetrahedron

WRITERS = [row for row in FORMATS if row.writer is not None]
by_name = pytest.mark.parametrize("row", WRITERS, ids=lambda row: row.name)


def surface() -> Mesh:
    """What every format can write."""
    return cube_surface(1).to(dtype=torch.float32)


def listing(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() if p.is_file() else b"" for p in folder.iterdir()}


# --- the table -----------------------------------------------------------------------------------


def test_no_two_formats_share_a_name_or_a_suffix_that_content_does_not_tell_apart() -> None:
    rows = (*FORMATS, formats.FALLBACK)
    names = [row.name for row in rows]
    suffixes = [suffix for row in rows for suffix in row.suffixes]
    assert len(names) == len(set(names))
    for suffix in {suffix for suffix in suffixes if suffixes.count(suffix) > 1}:
        assert all(row.sniffer for row in rows if suffix in row.suffixes), suffix
    assert all(len(row.suffixes) == len(set(row.suffixes)) for row in rows)
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes)


@pytest.mark.parametrize("row", [*FORMATS, formats.FALLBACK], ids=lambda row: row.name)
def test_every_row_loads(row: Format) -> None:
    assert callable(row.load_reader())
    if row.writer is not None:
        assert callable(row.load_writer())


# --- content decides -----------------------------------------------------------------------------


@by_name
def test_a_wrong_suffix_is_no_matter(row: Format, tmp_path: Path) -> None:
    right = tmp_path / f"it{row.suffixes[0]}"
    write(surface(), right)
    for suffix in (".obj", ".vtu", ".stl", ".inp", ".txt", ""):
        wrong = tmp_path / f"other{suffix}"
        if right.is_dir():
            shutil.copytree(right, wrong)
        else:
            wrong.write_bytes(right.read_bytes())
        mesh = read(wrong)
        if not row.store:  # which remembers the source of its mesh
            assert mesh.info.source is not None
            assert mesh.info.source.format == row.name
        assert mesh.n_cells == 12


@by_name
def test_a_suffix_in_capitals(row: Format, tmp_path: Path) -> None:
    path = tmp_path / f"it{row.suffixes[0].upper()}"
    write(surface(), path)
    assert read(path).n_cells == 12


@by_name
def test_the_format_may_be_named(row: Format, tmp_path: Path) -> None:
    path = tmp_path / "it.data"
    write(surface(), path, format=row.name)
    assert read(path, format=row.name).n_cells == 12


def test_what_is_no_format_is_said_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match=r"no format 'nonsense'; expected one of vtu, vtp"):
        read(tmp_path / "it.vtu", format="nonsense")
    with pytest.raises(UnknownFormat, match=r"no writer for suffix '\.xyz'; expected one of vtu"):
        write(surface(), tmp_path / "it.xyz")
    with pytest.raises(UnknownFormat, match="no writer for 'off'"):
        write(surface(), tmp_path / "it.off", format="off")
    assert writer_for(Path("a.STL")).name == "stl"
    assert list(tmp_path.iterdir()) == []


# --- bad files -----------------------------------------------------------------------------------

GARBAGE = bytes(range(1, 256)) * 3


@pytest.mark.parametrize("suffix", sorted({s for row in FORMATS for s in row.suffixes}))
@pytest.mark.parametrize(
    "content",
    [GARBAGE, b"\0" * 200, b"just some text\n", b" \n"],
    ids=["bytes", "nul", "text", "blank"],
)
def test_garbage_is_one_line_whatever_its_name(suffix: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"it{suffix}"
    path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".txt", ".xyz", ".pdf", ".svg"])
def test_an_unknown_file_never_reaches_meshio(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("meshio was called"))
    path = tmp_path / f"it{suffix}"
    path.write_bytes(GARBAGE)
    with pytest.raises(UnknownFormat, match="neither content nor suffix is of a known format"):
        read(path)


@pytest.mark.parametrize("suffix", [".vtu", ".stl", ".inp", ".xyz", ""])
def test_an_empty_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"it{suffix}"
    path.write_bytes(b"")
    with pytest.raises(ReadError, match=r"is empty \(0 bytes\)"):
        read(path)


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.name)
def test_an_empty_file_of_a_named_format(row: Format, tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"")
    with pytest.raises(ReadError, match=str(path)):
        read(path, format=row.name)


def test_a_directory_a_missing_file_and_no_name_at_all(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="is a directory; expected a file"):
        read(tmp_path)
    with pytest.raises(ReadError, match="cannot be read: No such file or directory"):
        read(tmp_path / "it.vtu")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(ReadError, match="cannot be read: Not a directory"):
        read(tmp_path / "file" / "it.vtu")


@pytest.mark.parametrize("name", ["a\0b", "\ud800"], ids=ascii)
@pytest.mark.parametrize("suffix", [".vtu", ".zarr"])
def test_a_name_that_no_file_can_have(name: str, suffix: str) -> None:
    for door in (read, read_series, lambda path: write(surface(), path)):
        for given in (name + suffix, Path(name + suffix)):
            with pytest.raises(MeshError, match="is no name of a file") as caught:
                door(given)
            assert str(caught.value).isascii()


def test_a_file_of_this_machine_by_its_url(tmp_path: Path) -> None:
    write(surface(), f"FILE://localhost{tmp_path}/a%20b.vtu")
    assert read(f"file://{tmp_path}/a%20b.vtu").n_points == surface().n_points
    with pytest.raises(MeshError, match=r"is on 'elsewhere'; expected a file of this machine"):
        read(f"file://elsewhere{tmp_path}/a%20b.vtu")


@pytest.mark.parametrize("given", [None, b"a.vtu", 3, ["a.vtu"]], ids=str)
def test_what_is_no_path(given: Any) -> None:
    for door in (read, read_series, lambda path: write(surface(), path)):
        with pytest.raises(MeshError, match=r"expected a path as text or pathlib\.Path, found"):
            door(given)


def test_what_is_no_time_or_no_name_of_a_format(tmp_path: Path) -> None:
    """Said before anything is read."""
    for time in (None, True, "now", b"last", [1]):
        with pytest.raises(MeshError, match="time: expected 'first', 'last', a step"):
            read(tmp_path / "not there", time=time)
    with pytest.raises(UnknownFormat, match="format is 3; expected a name, or None"):
        read(tmp_path / "a.vtu", format=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "row", [r for r in FORMATS if r.whole and not r.store], ids=lambda r: r.name
)
def test_a_file_longer_than_memory_is_refused_unread(
    row: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"a{row.suffixes[0]}"
    with path.open("wb") as file:
        file.truncate(1 << 42)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("it was read"))
    with pytest.raises(ReadError, match=r"needs 4398\.0 GB of memory, and .* GB are free"):
        read(path, format=row.name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "it.stl"
    write(surface(), path)
    path.chmod(0)
    with pytest.raises(ReadError, match="cannot be read: Permission denied"):
        read(path)


def test_an_unreadable_file_is_our_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it.obj"
    write(surface(), path)

    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ReadError, match="cannot be read: Permission denied"):
        read(path)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MeshError("points: bad"), "holds no sound mesh: points: bad"),
        (MemoryError(), "more memory"),
    ],
)
def test_what_a_reader_runs_into_is_the_files_error(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Mesh:
        raise error

    path = tmp_path / "it.stl"
    write(surface(), path)
    monkeypatch.setattr(Format, "load_reader", lambda self: fail)
    with pytest.raises(ReadError, match=said):
        read(path)


# --- times ---------------------------------------------------------------------------------------


def test_times_of_a_file_of_one(tmp_path: Path) -> None:
    timed = tetrahedron().replace(info=MeshInfo(time=0.5))
    write(timed, tmp_path / "timed.npz")
    write(tetrahedron(), tmp_path / "timeless.npz")
    for time in ("first", "last", 0, -1, 0.5):
        assert read(tmp_path / "timed.npz", time=time).info.time == 0.5
    with pytest.raises(ReadError, match=r"no time 1; there are 0\.5"):
        read(tmp_path / "timed.npz", time=1.0)
    with pytest.raises(ReadError, match=r"holds no time; leave `time` out"):
        read(tmp_path / "timeless.npz", time=0.0)
    series = read_series(tmp_path / "timed.npz")
    assert series.times == (0.5,)
    assert series[0].n_cells == 1


def test_a_series_of_one_is_written_and_of_two_refused(tmp_path: Path) -> None:
    first, second = (tetrahedron().replace(info=MeshInfo(time=t)) for t in (0.0, 1.0))
    write(MeshSeries.of([first]), tmp_path / "it.npz")
    assert differences(first, read(tmp_path / "it.npz")) == []
    with pytest.raises(WriteError, match="npz holds one time, found a series of 2"):
        write(MeshSeries.of([first, second]), tmp_path / "two.npz")


# --- whole or not at all -------------------------------------------------------------------------


def lossy() -> Mesh:
    return one_of_each().replace(
        point_data={"p": torch.zeros(33, 2, 2, dtype=torch.bfloat16)},
        info=MeshInfo(frame="body"),
    )


@pytest.mark.parametrize("name", ["stl", "obj"])
@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_loss_is_listed_and_nothing_written(
    name: str, before: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / f"it.{name}"
    if before is not None:
        path.write_bytes(before)
    there = listing(tmp_path)
    with pytest.raises(LossError) as caught:
        write(lossy(), path)
    assert listing(tmp_path) == there
    assert str(caught.value).startswith(f"{path}: {name} cannot hold ")
    assert "allow_loss=True" in str(caught.value)
    lost = {(e.what, e.name) for e in caught.value.report.losses}
    assert {("cells", "tetra"), ("field", "point_data/p"), ("info", "frame")} <= lost
    report = write(lossy(), path, allow_loss=True)
    assert {(e.what, e.name) for e in report.losses} == lost
    assert list(listing(tmp_path)) == [path.name]


class Broken(RuntimeError):
    """Something that no writer expects."""


@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(28, "No space left on device"), WriteError), (Broken(), Broken)],
)
def test_a_write_that_fails_leaves_what_was_there(
    error: Exception, raised: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it.npz"
    write(tetrahedron(), path)
    there = listing(tmp_path)

    def fail(mesh: Mesh, place: Path, ledger: object) -> None:
        place.write_bytes(b"half of it")
        raise error

    monkeypatch.setattr(Format, "load_writer", lambda self: fail)
    with pytest.raises(raised):
        write(surface(), path)
    assert listing(tmp_path) == there


def test_a_writers_error_names_the_callers_file(tmp_path: Path) -> None:
    source = Source(3j, "vtu", "meshkit")  # type: ignore[arg-type]
    mesh = tetrahedron().replace(info=MeshInfo(source=source))
    path = tmp_path / "it.npz"
    with pytest.raises(WriteError) as caught:
        write(mesh, path)
    assert str(caught.value).startswith(f"{path}: info or a region holds what JSON cannot")
    assert caught.value.path == path


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    path.write_bytes(b"old")
    write(tetrahedron(), path)
    assert read(path).n_cells == 1
    assert list(listing(tmp_path)) == ["it.npz"]


def test_folders_are_made(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "a" / "b" / "it.npz")
    assert read(tmp_path / "a" / "b" / "it.npz").n_cells == 1


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="is a directory; expected a file name"):
        write(tetrahedron(), tmp_path, format="npz")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(WriteError, match="cannot be written: "):
        write(tetrahedron(), tmp_path / "file" / "it.npz")
    assert listing(tmp_path) == {"file": b"x"}


@by_name
def test_a_report_names_what_was_written(row: Format, tmp_path: Path) -> None:
    report = write(surface(), tmp_path / f"it{row.suffixes[0]}")
    assert report.lossless
    kept = {(e.what, e.name): e.count for e in report.kept}
    assert kept["cells", "triangle"] == 12
    assert kept["points", ""] == 8
