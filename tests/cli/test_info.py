"""`meshkit info`: what it says of a file, to people and to scripts."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from meshkit.cli import main
from meshkit.fields import nested
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from tests.cli.conftest import small

Capture = pytest.CaptureFixture[str]


def facts(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["info", "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    return found


def by_name(found: dict[str, Any]) -> dict[str, Any]:
    return {f"{field['home']}/{field['name']}": field for field in found["fields"]}


def test_counts_measures_and_bounds(case: Path, capsys: Capture) -> None:
    found = facts(capsys, "a.npz")
    assert (found["file"], found["format"]) == ("a.npz", "npz")
    assert (found["points"], found["cells"], found["cells_by_type"]) == (5, 2, {"tetra": 2})
    assert (found["dim"], found["space_dim"], found["faces"]) == (3, 3, None)
    assert found["bounds"] == {"min": [0, 0, 0], "max": [1, 1, 1]}
    (volume,) = found["measures"]
    # The corner of the cube is 1/6; the tet from its slanted face to (1, 1, 1) is 1/3.
    assert volume["total"] == pytest.approx(1 / 6 + 1 / 3, rel=1e-15)
    assert (volume["what"], volume["cells"], volume["negative"]) == ("volume", 2, 0)
    assert found["length_unit"] is found["time"] is None
    assert [finding["code"] for finding in found["findings"]] == ["field_nan"]
    assert {line["outcome"] for line in found["report"]} == {"kept"}


def test_fields(case: Path, capsys: Capture) -> None:
    fields = by_name(facts(capsys, "a.npz"))
    assert list(fields) == [
        *("point_data/T", "point_data/flow/U", "cell_data/p", "cell_data/mat"),
    ]
    temperature = fields["point_data/T"]
    assert (temperature["min"], temperature["max"], temperature["mean"]) == (0, 4, 2)
    assert (temperature["dtype"], temperature["shape"], temperature["rows"]) == ("float32", [], 5)
    assert fields["point_data/flow/U"]["shape"] == [3]
    pressure = fields["cell_data/p"]
    assert (pressure["min"], pressure["max"], pressure["nan"], pressure["inf"]) == (2, 2, 1, 0)
    assert fields["cell_data/mat"]["texts"] == {"steel": 1, "air": 1}
    assert fields["cell_data/mat"]["missing"] == 0


def test_fields_of_every_dtype(here: Path, capsys: Capture) -> None:
    big = 2**53 + 1
    point = {
        "bool": torch.tensor([True, False, True]),
        "int64": torch.tensor([big, -big, 0]),
        "uint16": torch.tensor([1, 2, 60000]).to(torch.uint16),
        "uint64": torch.tensor([1, 2, 3]).to(torch.uint64),
        "bfloat16": torch.tensor([1.0, math.inf, math.nan], dtype=torch.bfloat16),
        "complex64": torch.tensor([3 + 4j, 0, 0]),
        "nothing": torch.full((3, 2), math.nan),
        "huge": torch.full((3,), 1.5e308, dtype=torch.float64),  # finite, and their sum is not
        "no columns": torch.zeros(3, 0),
    }
    mesh = make_mesh(
        torch.zeros(3, 3),
        point_data=point,
        global_data=nested({("run", "Re"): torch.tensor(1e6)}),
        info=MeshInfo(fields={("point_data", "int64"): FieldInfo(unit="Pa", kind="scalars")}),
    )
    write(mesh, "a.npz")
    fields = by_name(facts(capsys, "a.npz"))
    ranges = {k.partition("/")[2]: (v["min"], v["max"]) for k, v in fields.items()}
    assert ranges == {
        "bool": (0, 1),
        "int64": (-big, big),
        "uint16": (1, 60000),
        "uint64": (1, 3),
        "bfloat16": (1, 1),
        "complex64": (0, 5),
        "nothing": (None, None),
        "huge": (1.5e308, 1.5e308),
        "no columns": (None, None),
        "run/Re": (1e6, 1e6),
    }
    assert fields["point_data/bool"]["mean"] == pytest.approx(2 / 3)
    assert fields["point_data/huge"]["mean"] == pytest.approx(1.5e308)
    assert (fields["point_data/bfloat16"]["nan"], fields["point_data/bfloat16"]["inf"]) == (1, 1)
    assert fields["point_data/nothing"]["nan"] == 6
    assert fields["point_data/int64"]["unit"] == "Pa"
    assert fields["global_data/run/Re"]["rows"] is None
    assert main(["info", "a.npz"]) == 0
    assert "mean 1.5e+308" in capsys.readouterr().out


def test_points_of_few_bits(here: Path, capsys: Capture) -> None:
    points = torch.tensor([[0.5, -2.0], [1.0, 0.0]]).to(torch.float8_e4m3fn)
    write(make_mesh(points), "a.zarr")
    found = facts(capsys, "a.zarr")
    assert found["points_dtype"] == "float8_e4m3fn"
    assert found["bounds"] == {"min": [0.5, -2.0], "max": [1.0, 0.0]}


def test_mixed_dimensions_broken_points_and_findings(here: Path, capsys: Capture) -> None:
    points = [[0.0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, -1], [math.nan, 0, 0]]
    mesh = make_mesh(
        points,
        torch.tensor([0, 1, 0, 1, 2, 0, 1, 2, 3]),
        types=torch.tensor([3, 5, 10], dtype=torch.uint8),
        offsets=torch.tensor([0, 2, 5, 9]),
    )
    write(mesh, "a.npz")
    found = facts(capsys, "a.npz")
    totals = {row["what"]: row["total"] for row in found["measures"]}
    assert totals == {"length": 2, "area": 3, "volume": pytest.approx(-1, rel=1e-15)}
    assert [row["negative"] for row in found["measures"]] == [0, 0, 1]
    assert found["bounds"] == {"min": [0, 0, -1], "max": [2, 3, 0]}
    assert found["findings"]
    assert all(set(f) == {"code", "severity", "message", "count"} for f in found["findings"])
    assert main(["info", "a.npz"]) == 0
    said = capsys.readouterr().out
    assert "volume     -1, 1 cell negative" in said
    for finding in found["findings"]:
        assert (finding["code"] in said) == (finding["severity"] != "info")


def test_ids_out_of_range_are_a_finding_and_no_crash(here: Path, capsys: Capture) -> None:
    write(make_mesh(torch.zeros(3, 3), torch.tensor([[0, 1, 7]])), "a.npz")
    found = facts(capsys, "a.npz")
    assert found["measures"] == []
    assert any(finding["severity"] == "error" for finding in found["findings"])


def test_regions(here: Path, capsys: Capture) -> None:
    patch = Region(
        "wall", "side", [[0, 1], [1, 0]], kind="patch", data={"h": torch.ones(2)}, parent="all"
    )
    write(small().replace(regions=[patch, Region("wall", "point", [0])]), "a.npz")
    side, point = facts(capsys, "a.npz")["regions"]
    assert (side["name"], side["entity"], side["size"]) == ("wall", "side", 2)
    assert (side["kind"], side["parent"], side["fields"]) == ("patch", "all", ["h"])
    assert (point["entity"], point["size"]) == ("point", 1)


def test_for_people(here: Path, capsys: Capture) -> None:
    mesh = small(length_unit="mm", time=0.25)
    name = "[red]" + "x" * 200 + "\x1b[2J"
    write(mesh.with_data(cell={name: torch.ones(2)}), "a.npz")
    assert main(["info", "a.npz"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("a.npz (npz)\n")
    for text in (
        "points     5 in 3-D, float64",
        "cells      2: 2 tetra",
        "volume     0.5 mm^3",
        "bounds     [0, 1] x [0, 1] x [0, 1]",
        "time       0.25",
        "region     wall: 1 side, wall",
        "steel (1), air (1)",
        "1 NaN",
    ):
        assert text in said
    assert "\x1b" not in said
    assert "cell_data/[red]" in said
    assert said.count("x") > 200


def test_a_bad_file(here: Path, capsys: Capture) -> None:
    Path("a.npz").write_bytes(b"PK\x03\x04 and then nothing")
    assert main(["info", "a.npz"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("meshkit: a.npz: ")
    assert said.err.count("\n") == 1


def test_a_store(here: Path, capsys: Capture) -> None:
    """What is asked for is what lies here, not where its mesh once came from."""
    write(small(), "a.npz")
    write(read("a.npz"), "b.zarr")
    found = facts(capsys, "b.zarr")
    assert (found["file"], found["format"], found["points"]) == ("b.zarr", "zarr", 5)
