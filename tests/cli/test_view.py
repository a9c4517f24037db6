"""`meshkit view`: pictures from files, one line for each problem, nothing half written."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from meshkit.cli import main, view
from meshkit.info import FieldInfo, MeshInfo
from meshkit.mesh import Mesh
from meshkit.pictures.colours import kinds, table_of
from meshkit.pictures.errors import NoWindow
from meshkit.pictures.options import Options
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.series import MeshSeries
from tests.drawing import dark, drawn, hued, near, need_drawing, share
from tests.meshes import cube_hexes

Capture = pytest.CaptureFixture[str]

draws = pytest.mark.usefixtures("can_draw")
SIZE = ("--size", "400x300")
BODY = (slice(0, 260), slice(0, 310))


@pytest.fixture
def can_draw() -> None:
    need_drawing()


def cube(time: float | None = None) -> Mesh:
    """Eight hexes with a pressure that rises with x, a velocity along y and two regions."""
    mesh = cube_hexes(2)
    centre = mesh.points[mesh.cells.connectivity.long()].reshape(8, 8, 3).mean(1)
    speed = torch.zeros(8, 3)
    speed[:, 1] = 3 if time is None else 3 + time
    return mesh.with_data(cell={"p": centre[:, 0], "U": speed}).replace(
        regions=[
            Region("lid", "side", [[i, 5] for i in range(4, 8)]),
            Region("front", "side", [[i, 2] for i in (0, 1, 4, 5)]),
        ],
        info=MeshInfo(
            length_unit="mm", time=time, fields={("cell_data", "p"): FieldInfo(unit="Pa")}
        ),
    )


@pytest.fixture
def file(here: Path) -> str:
    write(cube(), "a.npz")
    return "a.npz"


def pixels(path: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    with Image.open(path) as found:
        return np.array(found.convert("RGB"))


@draws
def test_a_field(file: str, capsys: Capture) -> None:
    assert main(["view", file, "-o", "p.png", "--field", "p", "--edges", *SIZE]) == 0
    said = capsys.readouterr()
    assert said.out == "p.png: 400 x 300, p [Pa] from 0.25 to 0.75\n"
    assert said.err == ""
    found = pixels("p.png")
    assert found.shape == (300, 400, 3)
    assert 0.25 < share(drawn(found[BODY])) < 0.9
    for end in (0, 255):
        assert hued(found[BODY], table_of("viridis")[end]).sum() > 2000
    assert dark(found[BODY]).sum() > 100, "no edges"
    assert dark(found[:, 310:]).sum() > 100, "no legend"


@draws
def test_regions_and_answers_for_scripts(file: str, capsys: Capture) -> None:
    assert main(["view", file, "--out", "r.png", "--regions", "--json", *SIZE]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "file": "a.npz",
        "picture": "r.png",
        "size": [400, 300],
        "shown": "regions",
        "range": None,
        "times": [None],
        "left_out": 0,
    }
    for colour in kinds(("lid", "front")).table:
        assert hued(pixels("r.png")[BODY], colour, 0.08).sum() > 2000


@draws
def test_every_option_at_once(file: str, capsys: Capture) -> None:
    options = ["--field", "cell_data/U", "--component", "y", "--clip", "-x", "--clip-at", "0.4,0,0"]
    options += ["--camera", "-x", "--cmap", "cividis", "--range", "0,4", "--background", "#101820"]
    assert main(["view", file, "-o", "deep/er/u.jpg", *options, *SIZE, "--time", "first"]) == 0
    assert capsys.readouterr().out == "deep/er/u.jpg: 400 x 300, U y from 0 to 4\n"
    found = pixels("deep/er/u.jpg")
    assert near(found[:4], (16 / 255, 24 / 255, 32 / 255), 0.03).all()
    # The section faces the camera, and all of it has the one value.
    assert near(found[BODY], table_of("cividis")[round(0.75 * 255)], 0.03).mean() > 0.4


@draws
def test_times_as_a_strip_and_as_a_film(here: Path, capsys: Capture) -> None:
    write(MeshSeries.of([cube(0.0), cube(0.5), cube(2.0)]), "run.pvd")
    shown = ["--field", "U", *SIZE]
    assert main(["view", "run.pvd", "-o", "all.png", *shown, "--time", "all"]) == 0
    assert capsys.readouterr().out == ("all.png: 400 x 300, U magnitude from 3 to 5, 3 times\n")
    two = ["--time", "first", "--time", "2.0", "--json"]
    assert main(["view", "run.pvd", "-o", "two.gif", *shown, *two]) == 0
    assert json.loads(capsys.readouterr().out)["times"] == [0, 2]
    with Image.open("two.gif") as film:
        assert getattr(film, "n_frames", 0) == 2
    assert main(["view", "run.pvd", "-o", "one.png", *shown, "--time", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["times"] == [0.5]
    assert main(["view", "run.pvd", "-o", "no.png", *shown, "--time", "7.0", "--time", "0"]) == 1
    assert capsys.readouterr().err == "meshkit: run.pvd: no time 7; there are 0, 0.5, 2\n"
    assert not Path("no.png").exists()


@draws
def test_nothing_is_said_on_stderr(file: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "meshkit", "view", file, "-o", "p.png", *SIZE],
        env={k: v for k, v in os.environ.items() if k != "DISPLAY"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("p.png").exists()


@draws
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--field", "q"], "a.npz: no field 'q' on points or cells; there are cell_data/p"),
        (["--field", "p", "--component", "x"], "a.npz: field 'p' has no component 'x'"),
        (["--clip", "-x", "--clip-at", "9,0,0"], "a.npz: nothing to draw: the clip leaves nothing"),
        (["--time", "0.5"], "a.npz: holds no time"),
    ],
)
def test_what_the_file_cannot_show(
    file: str, options: list[str], said: str, capsys: Capture
) -> None:
    assert main(["view", file, "-o", "p.png", *options]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith(f"meshkit: {said}")
    assert found.err.count("\n") == 1
    assert os.listdir() == ["a.npz"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "p.bmp"], "--out p.bmp: expected a name that ends in .png, .jpg, .jpeg, .gif"),
        (["-o", "p"], "--out p: expected"),
        (["-o", "p.png", "--camera", "up"], "--camera 'up': expected iso"),
        (["-o", "p.png", "--clip", "w"], "--clip 'w': expected x, y, z"),
        (["-o", "p.png", "--clip-at", "0,0,0"], "--clip-at: expected --clip beside it"),
        (["-o", "p.png", "--size", "9x9"], "--size 9x9: expected from 120x90"),
        (["-o", "p.png", "--cmap", "virids"], "--cmap 'virids' is unknown; did you mean viridis"),
        (["-o", "p.png", "--range", "2,1"], "--range 2,1: expected a finite minimum"),
        (["-o", "p.png", "--background", "nix"], "--background 'nix': expected a colour"),
        (["-o", "p.png", "--time", "soon"], "--time soon: expected first, last"),
        (["-o", "p.png", "--time", "all", "--time", "1"], "--time all: expected no other"),
        (["-o", "p.png", "--regions", "--field", "p"], "--regions and --field: expected one"),
        (["-o", "p.png", "--component", "x"], "--component: expected --field beside it"),
        ([], "Missing option"),
    ],
)
def test_misuse(file: str, options: list[str], said: str, capsys: Capture) -> None:
    assert main(["view", file, *options]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith(f"meshkit: {said}")
    assert found.err.count("\n") == 1
    assert os.listdir() == ["a.npz"]


def test_a_bad_file(here: Path, capsys: Capture) -> None:
    Path("a.npz").write_bytes(b"PK\x03\x04 and then nothing")
    assert main(["view", "a.npz", "-o", "p.png"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("meshkit: a.npz: ")
    assert said.count("\n") == 1


@draws
def test_folders_are_made(file: str, capsys: Capture) -> None:
    assert main(["view", file, "-o", "not/there/p.png", *SIZE]) == 0
    assert pixels("not/there/p.png").size
    assert [p.name for p in Path("not/there").iterdir()] == ["p.png"]


@draws
def test_a_place_that_cannot_be_written(file: str, capsys: Capture) -> None:
    Path("p.png").mkdir()
    assert main(["view", file, "-o", "p.png", *SIZE]) == 1
    assert capsys.readouterr().err == "meshkit: p.png: is a directory; expected a file name\n"


def test_a_machine_that_cannot_draw(
    file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(wish: view.Wish) -> Any:
        raise NoWindow("this machine cannot draw off screen")

    monkeypatch.setattr(view, "_drawn", blind)
    answer = view._draw(view.Wish(file, "p.png", ("last",), Options()))
    assert answer == {"no_window": "this machine cannot draw off screen"}


def test_a_crash_is_one_line(
    file: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A child finds this module by the parent's sys.path.
    (tmp_path / "bad_driver.py").write_text(
        "import signal\ndef draw(wish):\n    signal.raise_signal(signal.SIGSEGV)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(view, "_draw", import_module("bad_driver").draw)
    Path(".p.png.abcd_123").mkdir()  # what a writer that was killed leaves
    assert main(["view", file, "-o", "p.png"]) == 1
    said = capsys.readouterr()
    assert said.err == "meshkit: a.npz: its process was killed by SIGSEGV\n"
    assert os.listdir() == ["a.npz"]
    del sys.modules["bad_driver"]
