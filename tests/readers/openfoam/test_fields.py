"""Fields: where they live, what they are, what patches say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pint
import pytest
import torch

from meshkit import Mesh, ReadError, read
from tests.readers.openfoam.case_writer import (
    FoamField,
    Style,
    dictionary,
    header,
    save,
    write_case,
    write_field,
)
from tests.readers.openfoam.example_mesh import example, fields

MESH = example()
N, M, K = max(MESH.owner) + 1, len(MESH.neighbour), len(MESH.points)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_case(tmp_path_factory.mktemp("case"), MESH, {"0": fields(MESH, 1)}, Style())


def with_text(folder: Path, text: str, name: str = "p", kind: str = "volScalarField") -> Path:
    """A case with one field of this text."""
    write_case(folder, MESH, {}, Style())
    save(folder / "0" / name, header(Style(), kind, name) + text.encode(), Style())
    return folder


def test_every_class_has_its_home(case: Path) -> None:
    mesh = read(case)
    shapes = {
        home: {k: tuple(x.shape) for k, x in getattr(mesh, home).items()}
        for home in ("cell_data", "face_data", "point_data")
    }
    assert shapes == {
        "cell_data": {
            "U": (N, 3), "p": (N,), "T": (N,), "R": (N, 6), "gradU": (N, 9), "Q": (N,),
        },
        "face_data": {"phi": (len(MESH.faces),), "Uf": (len(MESH.faces), 3)},
        "point_data": {"D": (K, 3)},
    }  # fmt: skip
    for one in fields(MESH, 1):
        if one.name in ("U", "p", "R", "gradU", "Q"):
            assert np.array_equal(mesh.cell_data[one.name].numpy(), one.inner)
    assert np.array_equal(mesh.point_data["D"].numpy(), fields(MESH, 1)[7].inner)
    assert mesh.info.field("cell_data", "R").components == ("xx", "xy", "xz", "yy", "yz", "zz")
    tensor = mesh.info.field("cell_data", "gradU").components
    assert tensor is not None and tensor[:4] == ("xx", "xy", "xz", "yx")


def test_a_spherical_tensor_and_small_lists(tmp_path: Path) -> None:
    text = f"dimensions [];\ninternalField nonuniform List<sphericalTensor> {N}({'(2.5) ' * N});\n"
    mesh = read(with_text(tmp_path, text, "s", "volSphericalTensorField"))
    assert torch.equal(mesh.cell_data["s"], torch.full((N, 1), 2.5, dtype=torch.float64))
    assert mesh.info.field("cell_data", "s").unit == "dimensionless"


def test_uniform_fields_stay_one_row(case: Path) -> None:
    mesh = read(case)
    temperature = mesh.cell_data["T"]
    assert temperature.stride() == (0,) and temperature.untyped_storage().nbytes() == 8
    assert torch.equal(temperature, torch.full((N,), 300.0, dtype=torch.float64))
    inlet = mesh.region("inlet").data
    assert inlet is not None and inlet["T"].stride() == (0,)
    assert temperature.clone(memory_format=torch.contiguous_format).stride() == (1,)
    some = mesh.select(torch.arange(5))
    assert some.cell_data["T"].tolist() == [300.0] * 5


def test_patches_have_values_and_conditions(case: Path) -> None:
    mesh = read(case)
    said = {one.name: one.patches for one in fields(MESH, 1)}
    inlet, outlet, walls = (mesh.region(name) for name in ("inlet", "outlet", "walls"))
    start = M
    for region, size in zip((inlet, outlet, walls), (9, 18, 60), strict=True):
        assert region.ids.tolist() == list(range(start, start + size))
        start += size
    assert (inlet.kind, walls.kind) == ("patch", "wall")
    assert inlet.attributes["inGroups"] == ["openings", "inflow"]
    assert outlet.attributes["physicalType"] == "outlet"
    assert inlet.attributes["fields"]["U"] == {"type": "fixedValue"}
    assert outlet.attributes["fields"]["p"] == {"type": "totalPressure", "p0": 1.5, "value": 1.5}
    assert outlet.attributes["fields"]["U"]["inletValue"] == [0.0, 0.0, 0.0]
    assert walls.attributes["fields"]["U"] == {"type": "noSlip"}
    assert inlet.data is not None and outlet.data is not None and walls.data is not None
    assert np.array_equal(inlet.data["U"].numpy(), said["U"]["inlet"]["value"])
    assert np.array_equal(walls.data["p.gradient"].numpy(), said["p"]["walls"]["gradient"])
    assert np.array_equal(
        outlet.data["T.valueFraction"].numpy(), said["T"]["outlet"]["valueFraction"]
    )
    assert "p" not in inlet.data.keys()  # zeroGradient writes no value, and none is invented
    assert mesh.info.field("regions", "inlet", "face", "U").unit == "m/s"
    # Values of surface fields stand at the faces themselves.
    flux = mesh.face_data["phi"][walls.ids.long()].numpy()
    assert np.array_equal(flux, said["phi"]["walls"]["value"])


@pytest.mark.parametrize(
    ("name", "dims", "unit", "kind"),
    [
        ("p", "[0 2 -2 0 0 0 0]", "m^2/s^2", "kinematic pressure"),
        ("p_rgh", "[1 -1 -2 0 0 0 0]", "Pa", "pressure"),
        ("pMean", "[0 2 -2 0 0]", "m^2/s^2", "kinematic pressure"),
        ("k", "[0 2 -2 0 0 0 0]", "m^2/s^2", None),
        ("rho", "[1 -3 0 0 0 0 0]", "kg/m^3", None),
        ("omega", "[0 0 -1 0 0 0 0]", "1/s", None),
        ("q", "[kg s^-3]", "kg/s^3", None),
        ("a", "[m/s^2]", "m/s^2", None),
        ("b", "[0 0.5 0 0 0 0 0]", "m^0.5", None),
        ("c", "[Pa s]", "kg/m/s", None),
        ("d", "[wombats]", None, None),
    ],
)
def test_units_and_roles(
    tmp_path: Path, name: str, dims: str, unit: str | None, kind: str | None
) -> None:
    mesh = read(with_text(tmp_path, f"dimensions {dims};\ninternalField uniform 1;\n", name))
    known = mesh.info.field("cell_data", name)
    assert (known.unit, known.kind) == (unit, kind)
    if unit is not None:
        exact = pint.UnitRegistry().parse_units(unit)
        assert exact.dimensionality is not None
    assert known.statistic == ("mean" if name == "pMean" else None)


def test_dimensions_are_those_of_pint() -> None:
    from meshkit.readers.openfoam.dimensions import exponents, unit

    registry: Any = pint.UnitRegistry()
    base = ("kg", "m", "s", "K", "mol", "A", "cd")
    rng = np.random.default_rng(0)
    for _ in range(50):
        powers = tuple(int(x) for x in rng.integers(-3, 4, 7))
        text = unit(exponents(powers))
        assert text is not None
        made = registry.Quantity(1, registry.parse_units("" if text == "dimensionless" else text))
        wanted = registry.Quantity(1, "")
        for name, power in zip(base, powers, strict=True):
            wanted = wanted * registry.Quantity(1, name) ** power
        assert made.to_base_units().units == wanted.to_base_units().units
        assert made.to_base_units().magnitude == pytest.approx(
            wanted.to_base_units().magnitude, rel=1e-12
        )


def test_faces_without_a_value_are_nan(tmp_path: Path) -> None:
    phi = FoamField(
        "phi", "surfaceScalarField", "[1 0 -1 0 0 0 0]", (0.5,),
        {"inlet": {"type": "calculated", "value": (2.0,)}},
    )  # fmt: skip
    mesh = read(write_case(tmp_path, MESH, {"0": [phi]}, Style()))
    flux = mesh.face_data["phi"]
    assert flux[:M].tolist() == [0.5] * M and flux[M : M + 9].tolist() == [2.0] * 9
    assert bool(flux[M + 9 :].isnan().all())
    (line,) = (e for e in mesh.info.report.converted if e.what == "field")
    assert (line.name, line.count) == ("face_data/phi", 78)
    assert mesh.info.field("face_data", "phi").oriented


@pytest.mark.parametrize(
    ("name", "dims", "more", "oriented"),
    [
        ("phi", "[0 3 -1 0 0 0 0]", "", True),
        ("rhoPhi", "[1 0 -1 0 0 0 0]", "", True),
        ("interpolated", "[1 -3 0 0 0 0 0]", "", False),
        ("wild", "[0 0 0 0 0 0 0]", "oriented oriented;", True),
        ("phiTurned", "[0 3 -1 0 0 0 0]", "oriented unoriented;", False),
    ],
)
def test_which_surface_fields_are_fluxes(
    tmp_path: Path, name: str, dims: str, more: str, oriented: bool
) -> None:
    one = FoamField(name, "surfaceScalarField", dims, (1.0,), more=more)
    mesh = read(write_case(tmp_path, MESH, {"0": [one]}, Style()))
    assert mesh.info.field("face_data", name).oriented == oriented


def test_patterns_groups_and_defaults_of_patches(tmp_path: Path) -> None:
    text = (
        "dimensions [0 0 0 1 0 0 0];\ninternalField uniform 1;\nboundaryField {\n"
        '  ".*" { type zeroGradient; }\n'
        '  "(in|out)let" { type fixedValue; value uniform 7; }\n'
        "  inlet { type fixedValue; value uniform 5; }\n"
        "  wall { type fixedValue; value uniform 3; }\n}\n"
    )
    mesh = read(with_text(tmp_path, text, "T"))

    def found(name: str) -> Any:
        return mesh.region(name).attributes["fields"]["T"]["value"]

    assert [found(n) for n in ("inlet", "outlet", "walls")] == [5, 7, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("internalField nonuniform List<scalar> 3(1 2 3);", "has 3 values; expected 95"),
        ("internalField nonuniform List<scalar> 3(1.5 2);", "a list of 3 scalars has 2"),
        ("internalField nonuniform List<scalar> 2(1 2 3);", "a list of 2 scalars has 3"),
        ("internalField nonuniform List<scalar> 2(1 x);", "line 14: 'x' is no number"),
        ("internalField nonuniform List<scalar> 2(1 \x01);", r"line 14: '\\x01' is no number"),
        ("internalField nonuniform List<vector> 2((1 2 3)(1 2));", "a vector has 2 numbers"),
        ("internalField nonuniform List<vector> 95{(1 2 3)};", "is a list of vectors; expected"),
        ("internalField nonuniform List<scalar> 99999999999(1 2);", "is cut: 99999999999 scalars"),
        ("internalField nonuniform List<scalar> -1(1 2);", "the size of a list is -1"),
        ("internalField uniform (1 2 3);", "is uniform .*; expected a scalar"),
        ("internalField banana;", "'internalField': is 'banana'; expected uniform or nonuniform"),
        ('internalField #calc "1 + 1";', "internalField is #calc, which is not run"),
        ("internalField uniform $nothing;", "which is not run"),
        (
            "internalField uniform 1;\n"
            "boundaryField { inlet { value nonuniform List<scalar> 2(1 2); } }",
            "entry 'inlet.value': has 2 values; expected 9",
        ),
        ("internalField uniform 1; boundaryField { inlet { type a;", "a dictionary has no end"),
        ("internalField uniform 1", "entry 'internalField' .* has no end"),
        ("dimensions [0 0];", "has no value"),
        ("/* internalField uniform 1;", "a comment has no end"),
        ('internalField "uniform', "a text has no end"),
    ],
)  # fmt: skip
def test_damaged_fields_say_where(tmp_path: Path, text: str, message: str) -> None:
    folder = with_text(tmp_path, text)
    with pytest.raises(ReadError, match=message) as caught:
        read(folder)
    assert str(folder / "0" / "p") in str(caught.value) and "\n" not in str(caught.value)
    assert "line " in str(caught.value) or "entry" in str(caught.value)


def test_damaged_bytes_say_where(tmp_path: Path) -> None:
    folder = write_case(tmp_path, MESH, {"0": fields(MESH, 1)[:1]}, Style(binary=True))
    path = folder / "0" / "U"
    data = path.read_bytes()
    at = data.index(b"(", data.index(b"nonuniform"))
    path.write_bytes(data[: at + 200])
    with pytest.raises(ReadError, match=r"U: byte \d+: is cut: 95 vectors need 2280 bytes"):
        read(folder)
    path.write_bytes(data[: at + 9] + data[at + 1 :])
    with pytest.raises(ReadError, match=r"U: byte \d+: a list of 95 vectors is followed by"):
        read(folder)


def test_conditions_keep_what_they_say(tmp_path: Path) -> None:
    text = (
        "dimensions [0 1 -1 0 0 0 0];\ninternalField uniform (0 0 0);\nboundaryField {\n"
        "inlet { type codedFixedValue; value uniform (1 0 0); name ramp;\n"
        "  code #{ operator==(vector(1, 0, 0)); #}; }\n"
        "outlet { type uniformFixedValue; uniformValue table ((0 (0 0 0)) (1 (1 0 0))); }\n"
        "walls { type fixedValue; value $internalField; n [0 0 0 0 0] 2; }\n}\n"
    )
    mesh = read(with_text(tmp_path, text, "U", "volVectorField"))
    inlet = mesh.region("inlet").attributes["fields"]["U"]
    assert inlet["type"] == "codedFixedValue" and "operator==" in inlet["code"]
    outlet = mesh.region("outlet").attributes["fields"]["U"]
    assert outlet["uniformValue"] == ["table", [[0, [0, 0, 0]], [1, [1, 0, 0]]]]
    walls = mesh.region("walls")
    assert walls.attributes["fields"]["U"]["n"] == {"value": 2, "unit": "dimensionless"}
    assert walls.data is not None and walls.data["U"].shape == (60, 3)


def test_nothing_of_a_field_is_lost_in_pieces(tmp_path: Path) -> None:
    """Lists longer than the windows in which they are read."""
    rng = np.random.default_rng(2)
    big: list[FoamField] = []
    mesh = example()
    for style in (Style(), Style(binary=True), Style(packed=True)):
        big = [FoamField("p", "volScalarField", "[]", rng.standard_normal(N))]
        folder = write_case(tmp_path / str(style), mesh, {"0": big}, style)
        found: Mesh = read(folder)
        assert np.array_equal(found.cell_data["p"].numpy(), big[0].inner)
        write_field(folder / "1", big[0], style)
        dictionary(folder / "1" / "uniform" / "time", "index 7;")
        assert read(folder).info.attributes["time"] == {"index": 7}
