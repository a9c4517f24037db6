"""The store: everything comes back bit for bit, and other programs open what lies there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from tensordict import TensorDict

import meshkit as mk
from meshkit.cli.cases import Case
from meshkit.cli.conversion import Conversion, Options, convert_case
from meshkit.errors import WriteError
from meshkit.info import FieldInfo, MeshInfo, Source
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.formats import FORMATS
from meshkit.readers.reading import read, read_series
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.store.contents import Contents
from meshkit.store.files import Files
from tests.mesh_differences import differences
from tests.meshes import hanging_polyhedron, kuhn_cube, tetrahedron
from tests.random_meshes import OTHER_DTYPES, PLAIN_DTYPES, random_meshes, random_values
from tests.store.meshes_for_tests import rich


def test_a_sample_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its JSON may be long: no one parses it only to find that there are no times."""
    write(rich(), tmp_path / "it.zarr")
    opened: list[Contents] = []
    begin = Contents.__init__

    def counting(self: Contents, files: Files) -> None:
        opened.append(self)
        begin(self, files)

    monkeypatch.setattr(Contents, "__init__", counting)
    mesh = read(tmp_path / "it.zarr")
    assert len(opened) == 1
    (one,) = read_series(tmp_path / "it.zarr")
    assert len(opened) == 2 and differences(mesh, one) == []
    case = Case(tmp_path / "it.zarr", tmp_path / "out.npz")
    assert convert_case(Conversion(case, Options("npz")))["error"] is None
    assert len(opened) == 3 and differences(mesh, read(case.output)) == []


def test_everything_comes_back(tmp_path: Path) -> None:
    mesh = rich()
    report = write(mesh, tmp_path / "it.zarr")
    back = read(tmp_path / "it.zarr")
    assert differences(mesh, back) == []
    assert report.lossless
    assert back.info.report.lossless
    kept = {(e.what, e.name): e.count for e in back.info.report.kept}
    assert kept["points", ""] == 5
    assert kept["cells", "tetra"] == 2
    assert kept["field", "point_data/flow/p"] == 5
    assert kept == {(e.what, e.name): e.count for e in report.kept}


def test_the_source_stays_the_one_of_the_mesh(tmp_path: Path) -> None:
    source = Source("case.vtu", "vtu", "meshkit 0.1.0")
    mesh = tetrahedron().replace(info=MeshInfo(source=source))
    write(mesh, tmp_path / "it.zarr")
    assert read(tmp_path / "it.zarr").info.source == source


@given(mesh=random_meshes())
@settings(max_examples=120)
def test_any_mesh_comes_back_bit_for_bit(
    mesh: Mesh, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("store") / "it.zarr"
    assert write(mesh, path).lossless
    assert differences(mesh, read(path)) == []


@pytest.mark.parametrize("dtype", PLAIN_DTYPES + OTHER_DTYPES, ids=str)
def test_every_dtype(dtype: torch.dtype, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    shapes = [(), (3,), (0,), (2, 2, 2)]
    fields = {str(shape): random_values(rng, dtype, (4, *shape)) for shape in shapes}
    mesh = tetrahedron().replace(
        point_data=fields, global_data={"one": random_values(rng, dtype, ())}
    )
    write(mesh, tmp_path / "it.zarr")
    assert differences(mesh, read(tmp_path / "it.zarr")) == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_bits_of_nan_survive(dtype: torch.dtype, tmp_path: Path) -> None:
    """An array that is all fill value, and NaNs that are not the fill value's NaN."""
    width = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    payload = torch.full((4,), -1, dtype=width).view(dtype)
    nan = torch.full((4,), torch.nan, dtype=dtype)
    mesh = tetrahedron().with_data(point={"nan": nan, "payload": payload})
    write(mesh, tmp_path / "it.zarr")
    assert differences(mesh, read(tmp_path / "it.zarr")) == []


FLOATS = [d for d in (*PLAIN_DTYPES, *OTHER_DTYPES) if d.is_floating_point]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_points_of_any_float(dtype: torch.dtype, tmp_path: Path) -> None:
    mesh = hanging_polyhedron().to(dtype=dtype)
    write(mesh, tmp_path / "it.zarr")
    assert differences(mesh, read(tmp_path / "it.zarr")) == []


def test_nothing_at_all(tmp_path: Path) -> None:
    mesh = make_mesh(torch.zeros(0, 2))
    write(mesh, tmp_path / "it.zarr")
    assert differences(mesh, read(tmp_path / "it.zarr")) == []


def test_more_rows_than_a_chunk(tmp_path: Path) -> None:
    """A last chunk that sticks out; rows too wide for 64k of them; a row wider than a chunk."""
    n = 70_000
    mesh = make_mesh(torch.rand(n, 3)).with_data(
        point={"p": torch.arange(n), "wide": torch.rand(n, 70)},
        global_={"image": torch.rand(3, 5_000_000)},
    )
    write(mesh, tmp_path / "it.zarr")
    assert differences(mesh, read(tmp_path / "it.zarr")) == []


NAMES = [
    *("zarr.json", "MANIFEST.json", "__hidden", ".", "..", "c", "c.0", "%", "%7Aarr.json", "", " "),
    *("a/b", "a\\b", "a\0b", "\n", "é", "\udc80", "%uDC80", "x" * 300, "x" * 299 + "y", "~" * 150),
]


def test_any_name(tmp_path: Path) -> None:
    fields = {name: torch.tensor([float(i)] * 4) for i, name in enumerate(NAMES)}
    mesh = tetrahedron().with_data(point={**fields, "deep": {"zarr.json": fields}})
    mesh = mesh.replace(regions=[Region(name, "point", [0], data=fields_of(1)) for name in NAMES])
    write(mesh, tmp_path / "it.zarr")
    assert differences(mesh, read(tmp_path / "it.zarr")) == []


def fields_of(rows: int) -> dict[str, torch.Tensor]:
    return {name: torch.zeros(rows) for name in NAMES}


def test_a_tree_deeper_than_a_path_may_be_long(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"end": torch.zeros(4)}
    for _ in range(40):
        fields = {"x" * 150: fields}
    mesh = tetrahedron().with_data(point=fields)
    write(mesh, tmp_path / "it.zarr")
    assert differences(mesh, read(tmp_path / "it.zarr")) == []


def test_numbers_that_json_lacks(tmp_path: Path) -> None:
    odd = {
        "limits": [float("-inf"), float("inf")],
        "dollars": {"$number": "NaN", "$$": {"$number": "NaN"}},
        "plain": [0.1, {"$number": "NaN"}],
    }
    mesh = tetrahedron().replace(info=MeshInfo(attributes={"odd": odd}))
    write(mesh, tmp_path / "it.zarr")
    text = (tmp_path / "it.zarr" / "zarr.json").read_text()

    def refuse(word: str) -> None:
        raise AssertionError(word)

    json.loads(text, parse_constant=refuse)
    assert read(tmp_path / "it.zarr").info.attributes["odd"] == odd


def test_what_json_cannot_say(tmp_path: Path) -> None:
    """The heart lets no such attribute in; what else there is comes this far."""
    source = Source(3j, "vtu", "meshkit")  # type: ignore[arg-type]
    mesh = tetrahedron().replace(info=MeshInfo(source=source))
    with pytest.raises(WriteError, match=r"it\.zarr: info or a region holds what JSON cannot say"):
        write(mesh, tmp_path / "it.zarr")
    assert list(tmp_path.iterdir()) == []


def test_a_sparse_field_is_refused(tmp_path: Path) -> None:
    """The heart takes a locked TensorDict as it is."""
    fields = TensorDict({"a": torch.eye(3).to_sparse()}).lock_()
    mesh = tetrahedron().replace(global_data=fields)
    with pytest.raises(WriteError, match=r"global_data/a is torch\.sparse_coo; expected a dense"):
        write(mesh, tmp_path / "it.zarr")


def test_gradients_and_strides_do_not_matter(tmp_path: Path) -> None:
    mesh = tetrahedron()
    points = mesh.points.clone().requires_grad_()
    z = torch.randn(4, 3, dtype=torch.complex64)
    fields = {"turned": torch.arange(12.0).reshape(3, 4).T, "conjugate": z.conj(), "one": z.imag}
    write(mesh.replace(points=points).with_data(point=fields), tmp_path / "it.zarr")
    assert (
        differences(
            mesh.with_data(point={**fields, "conjugate": z.conj().resolve_conj()}),
            read(tmp_path / "it.zarr"),
        )
        == []
    )


def test_the_same_mesh_gives_the_same_bytes(tmp_path: Path) -> None:
    mesh = make_mesh(torch.rand(200_000, 3)).with_data(point={"p": torch.rand(200_000, 3)})
    threads = torch.get_num_threads()
    try:
        for name, n in (("a", 1), ("b", 4)):
            torch.set_num_threads(n)
            write(mesh, tmp_path / f"{name}.zarr")
    finally:
        torch.set_num_threads(threads)
    a, b = (
        {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        for root in (tmp_path / "a.zarr", tmp_path / "b.zarr")
    )
    assert a == b


def test_every_sample(samples: Path, tmp_path: Path) -> None:
    """Whatever is read at all comes back from the store."""
    suffixes = {suffix for row in FORMATS for suffix in row.suffixes}
    done = 0
    for file in sorted(samples.rglob("*")):
        if file.suffix.lower() not in suffixes:
            continue
        try:
            mesh = read(file)
        except mk.MeshkitError:
            continue
        write(mesh, tmp_path / "it.zarr")
        back = read(tmp_path / "it.zarr")
        assert differences(mesh, back) == [], file
        assert back.info.source == mesh.info.source
        done += 1
    assert done >= 20


# --- other programs ------------------------------------------------------------------------------


def test_zarr_opens_it(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    mesh = rich().with_data(
        point={"b": torch.ones(5, dtype=torch.bfloat16), "z": torch.full((5,), 1j)}
    )
    write(mesh, tmp_path / "it.zarr")
    group = zarr.open_group(tmp_path / "it.zarr", mode="r")
    assert group["points"][:].tolist() == mesh.points.tolist()
    assert group["cells/types"][:].tolist() == [10, 10]
    assert group["cells/connectivity"][:].dtype == np.int64
    assert group["point_data/flow/p"][1:3].tolist() == [1.0, 2.0]
    assert group["global_data/Re"][()] == 1e6
    assert group["point_data/b"][:].tolist() == [0x3F80] * 5
    assert group["point_data/b"].attrs["meshkit"] == {"dtype": "bfloat16"}
    assert group["point_data/z"][:].tolist() == [1j] * 5
    said = group.attrs["meshkit"]
    assert said["kind"] == "mesh"
    assert {"path": ["point_data", "flow", "a/b"], "arrays": ["point_data/flow/a%2Fb"]} in said[
        "parts"
    ]


@pytest.mark.parametrize("rows", [1, 65_536, 65_537, 200_000])
def test_zarr_reads_the_same_numbers(rows: int, tmp_path: Path) -> None:
    """Every array, read by its own node and not through the consolidated metadata."""
    zarr = pytest.importorskip("zarr")
    rng = np.random.default_rng(0)
    fields = {
        str(dtype): random_values(rng, dtype, (rows, *shape))
        for dtype in PLAIN_DTYPES
        if dtype != torch.bfloat16
        for shape in [(), (3,)]
    }
    write(make_mesh(torch.rand(rows, 3)).with_data(point=fields), tmp_path / "it.zarr")
    for name, x in fields.items():
        array = zarr.open_array(tmp_path / "it.zarr" / "point_data" / name, mode="r")
        assert array[...].tobytes() == x.numpy().tobytes()


def test_sizes_are_those_of_zarr(tmp_path: Path) -> None:
    """Bytes on disk against a plain Zarr array of the same codec."""
    zarr = pytest.importorskip("zarr")
    mesh = kuhn_cube(24)
    write(mesh, tmp_path / "it.zarr")
    plain = 0
    for name, x in (("points", mesh.points), ("connectivity", mesh.cells.connectivity)):
        zarr.create_array(
            tmp_path / name,
            data=x.numpy(),
            chunks=(min(65_536, len(x)), *x.shape[1:]),
            shards=(-(-len(x) // 65_536) * min(65_536, len(x)), *x.shape[1:]),
            compressors=[
                zarr.codecs.BloscCodec(cname="zstd", clevel=3, shuffle="shuffle", typesize=8),
                zarr.codecs.Crc32cCodec(),
            ],
        )
        plain += sum(p.stat().st_size for p in (tmp_path / name).rglob("*") if "c" in p.parts)
    ours = [tmp_path / "it.zarr" / name for name in ("points/c.0.0", "cells/connectivity/c.0")]
    assert sum(p.stat().st_size for p in ours) <= 1.02 * plain


def test_a_field_info_comes_back(tmp_path: Path) -> None:
    known = {("point_data", "p"): FieldInfo(unit="Pa", components=("a", "b"), statistic="mean")}
    mesh = tetrahedron().with_data(point={"p": torch.zeros(4, 2)})
    mesh = mesh.replace(info=mesh.info.replace(fields=known))
    write(mesh, tmp_path / "it.zarr")
    assert read(tmp_path / "it.zarr").info.fields == known
