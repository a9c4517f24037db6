"""White space of Unicode belongs to names and texts; only that of ASCII parts them."""

from pathlib import Path
from unicodedata import category

import numpy as np
import pytest
import torch

from meshkit.cli.lines import named
from meshkit.errors import ReadError
from meshkit.info import FieldInfo, MeshInfo
from meshkit.mesh import Mesh
from meshkit.pictures.lettering import width_of, wrapped
from meshkit.readers.openfoam.dictionary import read_dictionary
from meshkit.readers.openfoam.plain_settings import plain as plain_settings
from meshkit.readers.reading import read
from meshkit.readers.vtk import VtkArray
from meshkit.readers.vtk.xml import read_data, write_data
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.report import Ledger
from tests.mesh_differences import differences
from tests.meshes import one_of_each, square_triangles
from tests.readers.openfoam.case_writer import dictionary
from tests.readers.vtk_saving import plain

PARTING = " \t\n\r\v\f"
SPACES = [c for c in map(chr, range(0x110000)) if c.isspace() and c not in PARTING]
AROUND = pytest.mark.parametrize("text", [f"{c}a{c}b{c}" for c in SPACES] + SPACES, ids=ascii)


def test_there_are_many() -> None:
    assert {"\x1c", "\x85", "\xa0", "\u2028", "\u3000"} <= {*SPACES}


@AROUND
def test_units_in_xml(text: str, tmp_path: Path) -> None:
    told = VtkArray(np.arange(8.0).reshape(-1, 1), "scalars", unit=text)
    write_data(plain(one_of_each(), cell={"told": told}), tmp_path / "a.vtu")
    found = read_data(tmp_path / "a.vtu", "UnstructuredGrid", Ledger())
    assert found.cell_arrays["told"].unit == text


def labelled(kind: str, text: str) -> Mesh:
    mesh = square_triangles()
    every = Region(text, "cell", torch.arange(mesh.n_cells), kind=kind)
    return mesh.replace(regions=[every], info=MeshInfo(attributes={"mtllib": [text]}))


@AROUND
@pytest.mark.parametrize("kind", ["object", "group", "material"])
def test_names_in_obj(kind: str, text: str, tmp_path: Path) -> None:
    mesh = labelled(kind, text)
    report = write(mesh, tmp_path / "a.obj", allow_loss=True)
    assert not [e for e in report if e.what in ("region", "info") and e.outcome == "dropped"]
    back = read(tmp_path / "a.obj")
    assert [(r.name, r.kind, len(r)) for r in back.regions] == [(text, kind, mesh.n_cells)]
    assert back.info.attributes["mtllib"] == [text]


@AROUND
def test_names_of_solids(text: str, tmp_path: Path) -> None:
    lines = ["facet normal 0 0 1", "outer loop", *["vertex 0 0 0", "vertex 1 0 0", "vertex 0 1 0"]]
    body = "\n".join([*lines, "endloop", "endfacet"])
    file = tmp_path / "a.stl"
    file.write_text(
        f"solid {text}\n{body}\nendsolid {text}\nsolid b\n{body}\nendsolid b\n", "utf-8"
    )
    found = read(file)
    assert [r.name for r in found.regions] == [text, "b"]
    write(found, tmp_path / "b.stl", format="stl", allow_loss=True)
    assert [r.name for r in read(tmp_path / "b.stl").regions] == [text, "b"]


@AROUND
def test_names_and_comments_in_ply(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.ply"
    header = [
        f"comment {text}",
        "element vertex 1",
        *[f"property float {x}" for x in ("x", "y", "z", text)],
    ]
    said = "\n".join(["ply", "format ascii 1.0", *header, "end_header", "1 2 3 4", ""])
    file.write_text(said, "utf-8")
    found = read(file)
    assert list(found.point_data.keys()) == [text]
    assert found.info.attributes["comments"] == [text]
    write(found, tmp_path / "b.ply")
    assert differences(found, read(tmp_path / "b.ply")) == []


@AROUND
def test_titles_in_legacy_files(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.vtk"
    rest = "ASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 1 float\n1 2 3\n"
    file.write_text(f"# vtk DataFile Version 3.0\n{text}\n{rest}", "utf-8")
    assert read(file).info.attributes["title"] == text


@AROUND
def test_units_everywhere(text: str, tmp_path: Path) -> None:
    mesh = square_triangles().with_data(point={"p": torch.arange(4.0)})
    mesh = mesh.replace(info=MeshInfo(fields={("point_data", "p"): FieldInfo(unit=text)}))
    for suffix in (".vtu", ".vtk", ".vtkhdf"):
        write(mesh, file := tmp_path / f"a{suffix}")
        assert read(file).info.field("point_data", "p").unit == text


@AROUND
def test_names_of_macros(text: str, tmp_path: Path) -> None:
    path = tmp_path / "system" / "it"
    dictionary(path, f"{text} 5; b ${{{text}}}; c ${{ {text} }}; d ${text};\n")
    said = plain_settings(read_dictionary(path, tmp_path)[1])
    assert said == {text: 5, "b": 5, "c": 5, "d": 5}


@AROUND
def test_paths_and_names_in_messages(text: str, tmp_path: Path) -> None:
    error = ReadError(tmp_path / text, f"no\nfield {text!r}", place=text, hint=f"\tsee  {text}")
    assert str(error) == f"{tmp_path}/{text}: {text}: no field {text!r}; see {text}"
    file = str(tmp_path / text)
    assert named(file, str(ReadError(file, "is empty"))) == f"{file}: is empty"


@pytest.mark.parametrize("space", [c for c in SPACES if category(c) == "Zs"], ids=ascii)
def test_titles_of_legends_break_at_blanks_alone(space: str) -> None:
    assert wrapped(f"a{space}b c\td", 12, 1000) == [f"a{space}b c d"]
    words = wrapped(f"mmmm{space}mmmm mmmm", 12, width_of(f"mmmm{space}mmmm", 12))
    assert words == [f"mmmm{space}mmmm", "mmmm"]
