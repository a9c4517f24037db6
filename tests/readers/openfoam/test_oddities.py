"""Files that solvers and people write now and then, and that are right all the same."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from meshkit import Mesh, ReadError, read
from meshkit.report import Entry
from tests.meshes import cube_hexes
from tests.readers.openfoam.case_writer import (
    FoamField,
    FoamPatch,
    Style,
    foam_of,
    header,
    save,
    write_case,
    write_mesh,
)

HEXES = foam_of(cube_hexes(2), {"low": range(12, 16), "rest": range(16, 36)})
MESH = replace(
    HEXES,
    patches=[
        FoamPatch("low", 4, {"type": "wall", "inGroups": "(one two)"}),
        FoamPatch("rest", 20),
    ],
)


def with_field(
    folder: Path, text: str, kind: str = "volScalarField", head: bytes | None = None
) -> Mesh:
    """A case of 8 cubes with one field T of this text."""
    write_case(folder, MESH, {}, Style())
    data = header(Style(), kind, "T") if head is None else head
    save(folder / "0" / "T", data + text.encode(), Style())
    return read(folder)


def noted(mesh: Mesh, what: str) -> list[Entry]:
    return [e for e in mesh.info.report if e.what == what and e.outcome != "kept"]


@pytest.mark.parametrize(
    "head",
    [
        'FoamFile { version "2.0"; format ascii; class "volScalarField"; object T; }',
        "FoamFile { version 2; class volScalarField; }",
        "FoamFile { meta { a 1; b { c 2; } } version 2.0; format ascii; class volScalarField; }",
        "// a\n/* b */ FoamFile // c\n{ class volScalarField; /* } */ }",
    ],
)
def test_heads(tmp_path: Path, head: str) -> None:
    mesh = with_field(tmp_path, "\ninternalField uniform 3;\n", head=head.encode())
    assert mesh.cell_data["T"].tolist() == [3.0] * 8


def test_a_head_without_a_class_is_a_loss_and_no_head_is_none(tmp_path: Path) -> None:
    mesh = with_field(tmp_path / "a", "internalField uniform 3;", head=b"FoamFile { version 2.0; }")
    (lost,) = mesh.info.report.losses
    assert lost.name == "0/T" and "its class" in lost.reason
    assert with_field(tmp_path / "b", "x 3;", head=b"").info.report.lossless


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("one { type a; } two { type b; }", "b"),
        ("two { type b; } one { type a; }", "a"),
        ('"low.*" { type c; } one { type a; }', "a"),
        ('one { type a; } low { type d; } ".*" { type c; }', "d"),
        ('"on." { type a; } "lo." { type c; }', "c"),
        ('"lo." { type c; } "on." { type a; }', "c"),
    ],
)
def test_which_entry_a_patch_takes(tmp_path: Path, entries: str, expected: str) -> None:
    """By its name, by the last of its groups, by the last pattern that fits its name."""
    mesh = with_field(tmp_path, f"internalField uniform 1; boundaryField {{ {entries} }}")
    assert mesh.region("low").attributes["fields"]["T"]["type"] == expected


def test_what_is_no_number_within_vectors(tmp_path: Path) -> None:
    text = (
        "internalField uniform (nan -inf 1);\n"
        "boundaryField { low { type a; value nonuniform 4((0 0 1)(Inf 0 0)(1 2 3)(NaN 0 0)); } }"
    )
    mesh = with_field(tmp_path, text, "volVectorField")
    row = mesh.cell_data["T"][0].tolist()
    assert math.isnan(row[0]) and row[1:] == [-math.inf, 1.0]
    data = mesh.region("low").data
    assert data is not None and data["T"][1].tolist() == [math.inf, 0, 0]


def test_what_is_not_run_is_counted_where_it_stands(tmp_path: Path) -> None:
    text = (
        '#includeEtc "caseDicts/setConstraintTypes"\n#message "hello"\n$unknown;\n'
        "internalField uniform 1;\nboundaryField {\n"
        ' #includeEtc "other"\n low { type a; value uniform #eval{ 1+{2} }; }\n}'
    )
    mesh = with_field(tmp_path, text)
    found = [(e.outcome, e.name, e.loss, e.reason[:19]) for e in noted(mesh, "setting")]
    assert found == [
        ("converted", "0/T low value", False, "#eval in line 20 is"),
        ("dropped", "0/T", False, "#includeEtc caseDic"),
        ("dropped", "0/T", False, "#message hello in l"),
        ("dropped", "0/T", True, "$unknown in line 16"),
        ("dropped", "0/T", True, "#includeEtc other i"),
    ]
    assert mesh.region("low").attributes["fields"]["T"]["value"] == ["uniform", "#eval 1+{2}"]


@pytest.mark.parametrize("dims", ["[0 1 -1]", "[mm]", "[nonsense]", "[$none]"])
def test_dimensions_that_are_none_are_counted(tmp_path: Path, dims: str) -> None:
    mesh = with_field(tmp_path, f"dimensions {dims}; internalField uniform 1;")
    (lost,) = noted(mesh, "unit")
    assert lost.loss and lost.name == "0/T"
    assert mesh.info.field("cell_data", "T").unit is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonuniform Field;", "T: entry 'internalField': is nonuniform 'Field'; expected List<sc"),
        ("uniform (1 2 3);", "expected a scalar"),
        ("nonuniform List<scalar> 8(1 2 3 4 5 6 7 1.#IND);", "'1.#IND' is no number"),
        ("nonuniform List<scalar> 1(1);", "entry 'internalField': has 1 values; expected 8"),
    ],
)
def test_values_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        with_field(tmp_path, f"internalField {text}")


def test_a_zone_without_its_labels_is_refused(tmp_path: Path) -> None:
    folder = write_case(tmp_path, MESH, {}, Style())
    zones = header(Style(), "regIOobject", "cellZones") + b"1\n(\na { type cellZone; }\n)\n"
    save(folder / "constant" / "polyMesh" / "cellZones", zones, Style())
    with pytest.raises(ReadError, match="zone 'a': has no cellLabels; expected cellLabels List<la"):
        read(folder)


def test_the_regions_of_a_case_are_no_strange_directories(tmp_path: Path) -> None:
    T = FoamField("T", "volScalarField", "[0 0 0 1 0 0 0]", np.arange(8.0))
    folder = write_case(tmp_path, MESH, {"0": [T]}, Style())
    write_mesh(folder / "constant" / "solid" / "polyMesh", MESH, Style())
    shutil.copytree(folder / "0", folder / "0" / "solid", ignore=shutil.ignore_patterns("solid"))
    (folder / "0" / "include").mkdir()
    (folder / "0" / "include" / "values").write_text("x 1;\n")
    mesh = read(folder)
    assert mesh.cell_data["T"].tolist() == [*range(8), *range(8)]
    assert mesh.info.report.lossless


def test_fields_in_constant_are_counted(tmp_path: Path) -> None:
    folder = write_case(tmp_path, MESH, {}, Style())
    text = header(Style(), "volScalarField", "C") + b"internalField uniform 1;"
    save(folder / "constant" / "C", text, Style())
    (folder / "constant" / "odd").write_text("FoamFile {")
    lost = {e.name: e.reason for e in read(folder).info.report.losses}
    assert list(lost) == ["constant/C", "constant/odd"]
    assert lost["constant/C"] == "lies in constant/, which is no time"


def test_a_case_whose_mesh_lies_in_a_time_alone(tmp_path: Path) -> None:
    folder = write_case(tmp_path, MESH, {"2": []}, Style())
    (folder / "2").mkdir(exist_ok=True)
    (folder / "constant" / "polyMesh").rename(folder / "2" / "polyMesh")
    shutil.rmtree(folder / "constant")
    assert read(folder).n_cells == 8
