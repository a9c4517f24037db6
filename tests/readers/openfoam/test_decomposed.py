"""Processors put together give the whole case; one of them alone is a part of it."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from meshkit import Mesh, ReadError, check, read, read_series
from meshkit.readers.openfoam.lists import Array
from tests.mesh_differences import differences
from tests.readers.openfoam.case_writer import (
    FoamField,
    FoamMesh,
    FoamPatch,
    Style,
    header,
    rows,
    save,
    write_case,
    write_decomposed,
)
from tests.readers.openfoam.example_mesh import example, fields

MESH, MOVED = example(), example(1.0)
TIMES = {"0": fields(MESH, 1), "0.5": fields(MESH, 2)}
N_CELLS = max(MESH.owner) + 1
# Uneven, and cut through every kind of cell.
PROCESSOR = np.minimum((np.random.default_rng(1).random(N_CELLS) ** 2 * 4).astype(int), 3).tolist()


def decomposed(folder: Path, style: Style, *, collated: bool = False) -> Path:
    return write_decomposed(
        folder, MESH, TIMES, PROCESSOR, style, moved={"0.5": MOVED.points}, collated=collated
    )


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Mesh]]:
    out = {}
    for scalar in (32, 64):
        folder = tmp_path_factory.mktemp("serial")
        write_case(folder, MESH, TIMES, Style(scalar=scalar), moved={"0.5": MOVED.points})
        out[scalar] = list(read_series(folder))
    return out


@pytest.mark.parametrize("collated", [False, True])
@pytest.mark.parametrize(
    "processor",
    [
        [0, *[1] * (N_CELLS - 1)],  # what the head of the first block says holds of it alone
        [2 * (cell > 50) for cell in range(N_CELLS)],  # processor 1 has no cells
        [0] * N_CELLS,
    ],
    ids=["the first is the smallest", "one has no cells", "one has all"],
)
def test_any_split_gives_the_whole_case(
    tmp_path: Path, serial: dict[int, list[Mesh]], processor: list[int], collated: bool
) -> None:
    write_decomposed(tmp_path, MESH, {"0": TIMES["0"]}, processor, Style(), collated=collated)
    assert differences(serial[64][0], read(tmp_path)) == []


@pytest.mark.parametrize("collated", [False, True])
@pytest.mark.parametrize(
    "style",
    [
        Style(binary, packed, label, scalar)
        for binary, packed, (label, scalar) in itertools.product(
            (False, True), (False, True), ((32, 64), (64, 32))
        )
    ],
    ids=str,
)
def test_processors_make_the_whole_case(
    tmp_path: Path, serial: dict[int, list[Mesh]], style: Style, collated: bool
) -> None:
    found = read_series(decomposed(tmp_path / "case", style, collated=collated))
    assert found.times == (0, 0.5)
    for mesh, expected in zip(found, serial[style.scalar], strict=True):
        # Ids, faces, fluxes with their signs, zones with their flips, values of patches: all.
        assert differences(expected, mesh) == []
        assert check(mesh) == []


def test_fluxes_that_were_turned_keep_the_divergence(tmp_path: Path) -> None:
    mesh = read(decomposed(tmp_path, Style(binary=True)), time="first")
    phi = TIMES["0"][2]
    outer = np.concatenate([phi.patches[p.name]["value"] for p in MESH.patches])
    flux = np.concatenate([phi.inner, outer])
    assert np.array_equal(mesh.face_data["phi"].numpy(), flux)
    assert mesh.info.field("face_data", "phi").oriented
    assert not mesh.info.field("face_data", "Uf").oriented


def test_fluxes_that_only_the_other_side_knows_change_sign(tmp_path: Path) -> None:
    folder = decomposed(tmp_path, Style())
    whole = read(folder, time="first").face_data["phi"]
    turned = 0
    for rank in range(4):
        path = folder / f"processor{rank}" / "0" / "phi"
        text = path.read_text("utf-8")
        cut, count = re.subn(r"(procBoundary\w+\s*\{[^{}]*?)\bvalue\b[^;]*;", r"\1", text)
        turned += count
        path.write_text(cut, "utf-8")
        assert torch.equal(read(folder, time="first").face_data["phi"], whole)
        path.write_text(text, "utf-8")
    assert turned > 0


def test_a_processor_is_a_part(tmp_path: Path) -> None:
    folder = decomposed(tmp_path, Style())
    whole = read(folder)
    for rank in range(4):
        part = read(folder / f"processor{rank}")
        cells = part.cell_data["cellProcAddressing"].long()
        assert cells.tolist() == [c for c, p in enumerate(PROCESSOR) if p == rank]
        assert torch.equal(part.cell_data["p"], whole.cell_data["p"][cells])
        assert torch.equal(part.points, whole.points[part.point_data["pointProcAddressing"].long()])
        signed = part.face_data["faceProcAddressing"].long()
        sign = torch.sign(signed)
        assert torch.equal(part.face_data["phi"], sign * whole.face_data["phi"][signed.abs() - 1])
        cuts = [r for r in part.regions if r.kind == "processor"]
        assert {r.attributes["neighbProcNo"] for r in cuts} <= {0, 1, 2, 3} - {rank} and cuts
        assert all(r.attributes["myProcNo"] == rank for r in cuts)
        assert all(r.data is not None and "U" in r.data.keys() for r in cuts)
        assert check(part) == []


def test_collated_directories_with_ranges(tmp_path: Path) -> None:
    whole = read(decomposed(tmp_path / "one", Style(binary=True), collated=True))
    folder = decomposed(tmp_path / "two", Style(binary=True), collated=True)
    # The same blocks in two directories, as several writers leave them.
    for first, last in ((0, 1), (2, 3)):
        target = folder / f"processors4_{first}-{last}"
        for path in (folder / "processors4").rglob("*"):
            if path.is_file():
                copy = target / path.relative_to(folder / "processors4")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(_some_blocks(path.read_bytes(), first, last))
    shutil.rmtree(folder / "processors4")
    assert differences(whole, read(folder)) == []


def _some_blocks(data: bytes, first: int, last: int) -> bytes:
    marks = [data.index(f"// Processor{i}\n".encode()) for i in range(4)] + [len(data)]
    blocks = [data[a:b] for a, b in itertools.pairwise(marks)]
    if first:
        # The first block of a file has the head for all of them.
        begun = blocks[0].index(b"(") + 1
        head = blocks[0][begun : blocks[0].index(b"// * * * //", begun) + 11]
        size, _, rest = blocks[first].partition(b"\n")[2].partition(b"\n(")
        mark = f"// Processor{first}\n{int(size) + len(head)}\n(".encode()
        blocks[first] = mark + head + rest
    return data[: marks[0]] + b"".join(blocks[first : last + 1])


def test_times_only_processors_have(tmp_path: Path) -> None:
    folder = decomposed(tmp_path, Style())
    write_case(folder, MESH, {"0": TIMES["0"]}, Style(binary=True))
    series = read_series(folder)
    assert series.times == (0, 0.5)
    expected = list(read_series(decomposed(tmp_path / "all", Style())))
    assert [differences(a, b) for a, b in zip(expected, series, strict=True)] == [[], []]


def test_a_cyclic_patch_that_was_cut(tmp_path: Path) -> None:
    # Two cubes beside each other, left and right periodic, each on its own processor: the faces
    # of the cyclic patches become patches between processors that refer to them.
    points = np.array([(x, y, z) for x in (0, 1, 2) for y in (0, 1) for z in (0, 1)], float)

    def ring(x: int, turned: bool) -> list[int]:
        return [4 * x + i for i in ((0, 1, 3, 2) if turned else (0, 2, 3, 1))]

    def cube(x: int) -> list[list[int]]:
        a, b = 4 * x, 4 * x + 4
        return [
            [a, b, b + 1, a + 1], [a + 2, a + 3, b + 3, b + 2],
            [a, a + 2, b + 2, b], [a + 1, b + 1, b + 3, a + 3],
        ]  # fmt: skip

    rings = [ring(1, False), ring(0, True), ring(2, False), *cube(0), *cube(1)]
    cyclic = {"left": ("right", 1), "right": ("left", 1)}
    patches = [
        FoamPatch(name, n, {"type": "cyclic", "neighbourPatch": other})
        for name, (other, n) in cyclic.items()
    ]
    whole = FoamMesh(
        points, rings, [0, 0, 1, *[0] * 4, *[1] * 4], [1], [*patches, FoamPatch("walls", 8)]
    )
    phi = FoamField(
        "phi", "surfaceScalarField", "[0 3 -1 0 0 0 0]", np.array([3.0]),
        {"left": {"type": "cyclic", "value": np.array([-2.0])},
         "right": {"type": "cyclic", "value": np.array([2.0])},
         "walls": {"type": "calculated", "value": (0.0,)}},
    )  # fmt: skip
    expected = read(write_case(tmp_path / "serial", whole, {"0": [phi]}, Style()))
    folder = tmp_path / "parts"
    write_decomposed(folder, whole, {"0": [phi]}, [0, 1], Style())
    for rank, name in ((0, "left"), (1, "right")):
        _cut_cyclic(folder / f"processor{rank}", rank, name)
    found = read(folder)
    assert found.region("left").ids.tolist() == expected.region("left").ids.tolist()
    assert torch.equal(found.face_data["phi"], expected.face_data["phi"])
    assert check(found) == []


def _cut_cyclic(folder: Path, rank: int, name: str) -> None:
    """The cyclic face of a processor, moved to the end into a patch of its own."""
    mesh = folder / "constant" / "polyMesh"
    other = "right" if name == "left" else "left"
    for file, kind in (("faces", "faceList"), ("owner", "labelList")):
        lines = (mesh / file).read_text().split("\n(\n")[1].split("\n)")[0].split("\n")
        lines.append(lines.pop(0))
        text = f"{len(lines)}\n(\n" + "\n".join(lines) + "\n)\n"
        save(mesh / file, header(Style(), kind, file) + text.encode(), Style())
    text = (mesh / "faceProcAddressing").read_text().split("\n(\n")[1].split("\n)")[0]
    numbers = [int(x) for x in text.split()]
    numbers.append(numbers.pop(0))
    _labels(mesh / "faceProcAddressing", np.array(numbers))
    entries = [
        f"{name} {{ type cyclic; neighbourPatch {other}; nFaces 0; startFace 0; }}",
        f"{other} {{ type cyclic; neighbourPatch {name}; nFaces 0; startFace 0; }}",
        "walls { type patch; nFaces 4; startFace 0; }",
        f"procBoundary{rank}to{1 - rank} {{ type processor; myProcNo {rank}; "
        f"neighbProcNo {1 - rank}; nFaces 1; startFace 4; }}",
        f"procBoundary{rank}to{1 - rank}through{name} {{ type processorCyclic; "
        f"referPatch {name}; nFaces 1; startFace 5; }}",
    ]
    text = f"{len(entries)}\n(\n" + "\n".join(entries) + "\n)\n"
    save(
        mesh / "boundary", header(Style(), "polyBoundaryMesh", "boundary") + text.encode(), Style()
    )
    _labels(mesh / "boundaryProcAddressing", np.array([0, 1, 2, -1, -1]))
    flux, through = (3, -2) if rank == 0 else (-3, 2)
    none = "{ type cyclic; value nonuniform List<scalar> 0(); }"
    text = (
        "dimensions [0 3 -1 0 0 0 0];\ninternalField nonuniform List<scalar> 0();\n"
        f"boundaryField {{ left {none} right {none} walls {{ type calculated; value uniform 0; }}\n"
        f"procBoundary{rank}to{1 - rank} {{ type processor; value uniform {flux}; }}\n"
        f"procBoundary{rank}to{1 - rank}through{name}\n"
        f"{{ type processorCyclic; value uniform {through}; }} }}\n"
    )
    path = folder / "0" / "phi"
    save(path, header(Style(), "surfaceScalarField", "phi") + text.encode(), Style())


def _labels(path: Path, numbers: Array) -> None:
    content = header(Style(), "labelList", path.name) + rows(numbers, Style(), Style().ints)
    save(path, content + b"\n", Style())


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda f: shutil.rmtree(f / "processor2"), "processor2: is missing"),
        (
            lambda f: (f / "processor1/constant/polyMesh/faceProcAddressing").unlink(),
            "faceProcAddressing: is missing; .*reconstructParMesh",
        ),
        (lambda f: (f / "processor3/0.5/p").unlink(), "processor3 lacks field 'p' at time 0.5"),
        (
            lambda f: _labels(f / "processor1/constant/polyMesh/cellProcAddressing", np.arange(3)),
            "has 3 entries; expected 19",
        ),
        (
            lambda f: _labels(
                f / "processor3/constant/polyMesh/cellProcAddressing", np.arange(11)
            ),
            "cell 0 is on 2 processors; expected one",
        ),
        (
            lambda f: _labels(
                f / "processor3/constant/polyMesh/pointProcAddressing",
                np.full(len(read(f / "processor3").points), 70_000),
            ),
            "point 70000 is named",
        ),
    ],
)  # fmt: skip
def test_processors_that_do_not_fit_together(
    tmp_path: Path, break_it: object, message: str
) -> None:
    folder = decomposed(tmp_path, Style())
    assert callable(break_it)
    break_it(folder)
    with pytest.raises(ReadError, match=message):
        read(folder)
