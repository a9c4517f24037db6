"""Which files a file names as its parts."""

import os
from pathlib import Path

import pytest

from meshkit.cli.parts import parts_of


def test_blocks_of_blocks(tmp_path: Path) -> None:
    for name in ("one.vtu", "in/two.vtp", "three.vtu"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<VTKFile type='UnstructuredGrid'/>")
    (tmp_path / "inner.vtm").write_text(
        "<VTKFile type='vtkMultiBlockDataSet'><DataSet file='in/two.vtp' index='0'/></VTKFile>"
    )
    outer = tmp_path / "outer.vtm"
    outer.write_text(
        '<?xml version="1.0"?><VTKFile type="vtkMultiBlockDataSet" version="1.0">'
        '<Block index="0"><DataSet index="0" file="one.vtu"/><DataSet file="inner.vtm"/></Block>'
        '<DataSet file="missing.vtu"/><DataSet file="outer.vtm"/></VTKFile>'
    )
    names = [str(p.relative_to(tmp_path)) for p in parts_of(outer)]
    assert names == ["one.vtu", "inner.vtm", "in/two.vtp"]


def test_buffers_of_gltf(tmp_path: Path) -> None:
    (tmp_path / "a b.bin").write_bytes(b"")
    path = tmp_path / "it.gltf"
    path.write_text('{"asset": {}, "buffers": [{"uri": "a%20b.bin"}, {"uri": "data:x,"}, {}, 3]}')
    assert parts_of(path) == (tmp_path / "a b.bin",)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "it.pvtu")
    assert parts_of(tmp_path / "it.pvtu") == ()
    assert parts_of(Path("/dev/zero")) == ()


@pytest.mark.parametrize(
    "text", ["", "{", '{"buffers": 3}', "<VTKFile type='PPolyData'><Piece Source=", "solid x"]
)
def test_what_cannot_be_understood_has_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "it.gltf"
    path.write_text(text)
    assert parts_of(path) == ()
    assert parts_of(tmp_path / "missing.vtm") == ()
