"""What meshio reads for us: everything it has, and none of its ways to fail."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from meshkit.errors import MissingPackage, ReadError, UnknownFormat
from meshkit.mesh import Mesh
from meshkit.readers import fallback
from meshkit.readers.interop.meshio import to_meshio
from meshkit.readers.reading import read
from meshkit.report import Ledger
from tests.meshes import hanging_polyhedron, kuhn_cube, square_triangles, tetrahedron, wedge_column
from tests.readers.mutations import survives


def written(mesh: Mesh, path: Path, **how: object) -> Path:
    """A file that meshio writes."""
    import meshio

    made = to_meshio(mesh)
    made.info = None
    meshio.write(path, made, **how)
    return path


@pytest.mark.parametrize("suffix", [".inp", ".mesh", ".bdf", ".avs", ".su2", ".vol"])
def test_tetrahedra_through_formats_of_meshio(suffix: str, tmp_path: Path) -> None:
    mesh = read(written(kuhn_cube(1), tmp_path / f"it{suffix}"))
    assert mesh.cells.counts["tetra"] == 6
    torch.testing.assert_close(mesh.points, kuhn_cube(1).points)
    tets = mesh.cells.block("tetra")[1]
    assert tets.tolist() == kuhn_cube(1).cells.dense.tolist()
    assert tets.dtype == torch.int32
    assert mesh.info.source is not None
    assert mesh.info.source.format == "meshio"
    assert any(e.what == "file" and "read by meshio" in e.reason for e in mesh.info.report)


def volume(mesh: Mesh) -> float:
    """Of wedges, by the tets of their corners."""
    total = 0.0
    for tet in ((0, 1, 2, 3), (1, 4, 2, 3), (2, 4, 5, 3)):
        corners = mesh.points[mesh.cells.dense.long()[:, list(tet)]]
        total += float(torch.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 6)
    return total


@pytest.mark.parametrize("suffix", [".inp", ".mesh", ".bdf", ".avs"])
def test_wedges_keep_their_volume(suffix: str, tmp_path: Path) -> None:
    mesh = read(written(wedge_column(3), tmp_path / f"it{suffix}"))
    assert volume(mesh) == pytest.approx(1.5, abs=1e-12)


def test_reversed_wedges_are_put_right_and_counted(tmp_path: Path) -> None:
    column = wedge_column(2)
    ids = column.cells.dense[:, [0, 2, 1, 3, 5, 4]].reshape(-1)
    cells = type(column.cells)(column.cells.types, column.cells.offsets, ids)
    mesh = read(written(column.replace(cells=cells), tmp_path / "it.mesh"))
    assert volume(mesh) == pytest.approx(1.0, abs=1e-12)
    turned = [(e.name, e.count) for e in mesh.info.report.converted if e.what == "cells"]
    assert turned == [("wedge", 2)]


def test_sets_and_data_arrive(tmp_path: Path) -> None:
    text = (
        "*HEADING\n*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n3, 0, 1, 0\n4, 0, 0, 1\n5, 1, 1, 1\n"
        "*ELEMENT, TYPE=C3D4\n1, 1, 2, 3, 4\n2, 2, 3, 4, 5\n"
        "*NSET, NSET=FIXED\n1, 3\n*ELSET, ELSET=UPPER\n2\n"
    )
    path = tmp_path / "it.inp"
    path.write_text(text)
    mesh = read(path)
    assert mesh.region("FIXED").entity == "point"
    assert mesh.region("FIXED").ids.tolist() == [0, 2]
    assert mesh.region("UPPER").entity == "cell"
    assert mesh.region("UPPER").ids.tolist() == [1]
    assert mesh.info.report.lossless


def test_what_meshio_warns_of_is_a_loss(tmp_path: Path) -> None:
    path = written(square_triangles(1, 2), tmp_path / "it.su2")
    path.write_text(path.read_text() + "NONSENSE\n")
    assert any(e.what == "warning" for e in read(path).info.report.losses)


@pytest.mark.parametrize("suffix", [".inp", ".mesh", ".bdf", ".ugrid", ".tec", ".avs"])
def test_garbage_is_one_line(
    suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"it{suffix}"
    path.write_bytes(bytes(range(1, 256)) * 4)
    with pytest.raises(ReadError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_the_reason_is_meshios_own(tmp_path: Path) -> None:
    path = tmp_path / "it.msh"
    path.write_text('(0 "a mesh of Fluent")\n(2 3)\n(10 (1 1 5 1 3)(\nno numbers\n))\n')
    with pytest.raises(ReadError, match=r"meshio.* cannot read it \(.*"):
        read(path)


def test_a_file_cut_short_is_said_in_plain_words(tmp_path: Path) -> None:
    path = written(tetrahedron(), tmp_path / "it.inp")
    lines = path.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.upper().startswith("*NODE"))
    path.write_text("\n".join([*lines[: begin + 1], "1, 0.0, 0.0,"]))
    with pytest.raises(ReadError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: cut, damaged, or beyond what meshio knows of abaqus: meshio cannot read it "
        "(ValueError: could not convert string to float: ''); "
        "where it is sound, save it in a format that `meshkit formats` lists"
    )


@pytest.mark.parametrize("kind", ["MASS", "CPS6"])
def test_of_what_meshio_lacks_nobody_looks_for_damage(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it.inp"
    ids = range(1, 7)
    nodes = "".join(f"{i}, {i}, {i % 2}, 0\n" for i in ids)
    path.write_text(f"*NODE\n{nodes}*ELEMENT, TYPE={kind}\n1, {', '.join(map(str, ids))}\n")
    with pytest.raises(ReadError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: meshio, which knows only a part of abaqus, cannot read it "
        f"(Element type not available: {kind}); "
        "where it is sound, save it in a format that `meshkit formats` lists"
    )


def test_a_loop_without_end_comes_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "loop.py"
    limit = "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))"
    program.write_text(f"import resource\n{limit}\nwhile True: pass\n")
    monkeypatch.setattr(fallback, "_PROGRAM", program)
    (tmp_path / "it.inp").write_text("x")
    with pytest.raises(ReadError, match="meshio did not come to an end within"):
        read(tmp_path / "it.inp")


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            r"meshio crashed on it \(SIGSEGV\)",
        ),
        (
            "raise SystemExit(1)",
            r"inp: meshio, which knows only a part of abaqus, cannot read it \(\)",
        ),
        (
            "print('Error: no luck'); raise SystemExit(1)",
            r"only a part of abaqus, cannot read it \(Error: no luck\)",
        ),
        (
            "class Odd(Exception): pass\nraise Odd('why')",
            r"inp: cut, damaged, or beyond what meshio knows of abaqus: meshio cannot read it "
            r"\(Odd: why\); where it is sound, save it in a format",
        ),
    ],
)
def test_every_way_to_fail(
    program: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fails.py").write_text(program)
    monkeypatch.setattr(fallback, "_PROGRAM", tmp_path / "fails.py")
    (tmp_path / "it.inp").write_text("x")
    with pytest.raises(ReadError, match=problem):
        read(tmp_path / "it.inp")


def test_a_package_that_meshio_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fails.py").write_text("import no_such_package\n")
    monkeypatch.setattr(fallback, "_PROGRAM", tmp_path / "fails.py")
    (tmp_path / "it.med").write_text("x")
    with pytest.raises(MissingPackage, match="pip install 'no_such_package'"):
        read(tmp_path / "it.med")


def test_a_suffix_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "it.stl.xyz"
    path.write_text("hello")
    with pytest.raises(
        UnknownFormat, match=r"expected one of vtu, .*npz.*, or a suffix that meshio"
    ):
        fallback.read(path, Ledger())


def test_meshio_may_be_asked_by_name(tmp_path: Path) -> None:
    path = written(hanging_polyhedron().select([8]), tmp_path / "it.vtu")
    mesh = read(path, format="meshio")
    assert mesh.cells.counts == {"polyhedron": 1}


def test_damage(tmp_path: Path) -> None:
    """A few only: each costs a process."""
    data = written(tetrahedron(), tmp_path / "good.inp").read_bytes()
    assert survives(tmp_path / "it.inp", data, n=12) > 2


def test_what_stands_in_other_files_is_not_left_out(tmp_path: Path) -> None:
    path = tmp_path / "it.bdf"
    path.write_text("$ INCLUDE 'not'\n  include 'geom.inc'\nGRID     1               0.      0.\n")
    with pytest.raises(ReadError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: line 2: include 'geom.inc': meshio leaves out what stands in other files; "
        "expected one file with everything in it"
    )
