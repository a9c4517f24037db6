"""`meshkit convert`: what it writes, what it says, what it skips, and what it survives."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from meshkit.cli import main
from meshkit.cli.receipts import NAME
from meshkit.info import FieldInfo, MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.regions import Region
from meshkit.series import MeshSeries
from tests.cli.conftest import small

Capture = pytest.CaptureFixture[str]


def answer(capsys: Capture, *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["convert", "--json", *arguments])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, found


def statuses(found: dict[str, Any]) -> dict[str, str]:
    return {case["input"]: case["status"] for case in found["cases"]}


def wait_until(what: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_a_file(case: Path, capsys: Capture) -> None:
    assert main(["convert", "a.npz", "b.npz"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "a.npz -> b.npz" in said.out
    assert re.search(r"cells +2: 2 tetra\n", said.out)
    mesh = read("b.npz")
    assert torch.equal(mesh.points, small().points)
    assert mesh.info.field("cell_data", "mat").vocabulary == ("steel", "air")


def test_json(case: Path, capsys: Capture) -> None:
    code, found = answer(capsys, "a.npz", "b.npz")
    assert code == 0
    assert set(found) == {"cases", "totals"}
    (row,) = found["cases"]
    assert (row["input"], row["output"], row["status"]) == ("a.npz", "b.npz", "done")
    assert row["error"] is None
    assert row["points"] == 5
    assert row["cells"] == {"tetra": 2}
    assert row["fields"][0] == "point_data/T"
    assert row["regions"][1] == {"name": "wall", "entity": "side", "size": 1}
    assert {line["step"] for line in row["report"]} == {"read", "write"}
    assert all(
        set(line) == {"step", "outcome", "what", "name", "count", "reason", "loss"}
        for line in row["report"]
    )
    assert found["totals"].pop("seconds") > 0
    counts = {"cases": 1, "done": 1, "skipped": 0, "failed": 0, "ignored": 0, "parts": 0}
    assert found["totals"] == counts


def test_names_that_are_hard(here: Path, capsys: Capture) -> None:
    hard = "a [b] é\n\udcff.npz"
    write(small(), "plain.npz")
    os.rename("plain.npz", hard)
    code, found = answer(capsys, hard, "out/")
    assert code == 0
    assert found["cases"][0]["input"] == hard
    assert os.path.exists(f"out/{hard.removesuffix('.npz')}.zarr")
    assert main(["convert", hard, "out/"]) == 0
    assert main(["convert", hard, "out/", "--force"]) == 0
    assert r"a [b] é\n\udcff.npz -> out" in capsys.readouterr().out


def test_fields_regions_unit_and_time(case: Path, capsys: Capture) -> None:
    arguments = ["--field", "p", "--field", "flow", "--region", "left", "--length-unit", "mm"]
    assert main(["convert", "a.npz", "b.npz", *arguments, "--time", "0"]) == 0
    mesh = read("b.npz")
    assert list(mesh.cell_data.keys()) == ["p"]
    assert list(mesh.point_data.keys()) == ["flow"]
    assert mesh.n_cells == 1
    assert mesh.info.length_unit == "mm"
    assert torch.equal(mesh.points, small().points[:4])
    assert "none in the file, declared as 'mm'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--field", "q"], "a.npz: no field 'q'; there are point_data/T, "),
        (["--region", "q"], "a.npz: no region 'q'; the mesh has 'left', 'wall'"),
        (["--time", "3"], "a.npz: holds one mesh and no times, so no step 3"),
        (["--time", "0.5"], "a.npz: holds no time"),
    ],
)
def test_what_is_not_there(case: Path, capsys: Capture, arguments: list[str], said: str) -> None:
    assert main(["convert", "a.npz", "b.npz", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"meshkit: {said}")
    assert not Path("b.npz").exists()


def test_a_unit_is_declared_never_changed(here: Path, capsys: Capture) -> None:
    write(small(length_unit="mm"), "a.npz")
    assert main(["convert", "a.npz", "b.npz", "--length-unit", "millimetre"]) == 0
    assert read("b.npz").info.length_unit == "mm"
    assert main(["convert", "a.npz", "c.npz", "--length-unit", "m"]) == 1
    assert "a.npz: is in 'mm', and --length-unit says 'm'" in capsys.readouterr().err
    assert not Path("c.npz").exists()


def test_a_loss_is_refused_unless_allowed(case: Path, capsys: Capture) -> None:
    code, found = answer(capsys, "a.npz", "b.stl")
    assert code == 1
    (row,) = found["cases"]
    assert row["status"] == "failed"
    assert row["error"].startswith("a.npz: ")
    assert "--allow-loss" in row["error"]
    assert any(line["loss"] for line in row["report"])
    assert not Path("b.stl").exists()
    code, found = answer(capsys, "a.npz", "b.stl", "--allow-loss")
    assert code == 0
    assert any(line["loss"] for line in found["cases"][0]["report"])
    assert Path("b.stl").exists()


def test_what_reading_loses_counts_too(here: Path, capsys: Capture) -> None:
    write(small(), "a.npz")
    shutil.copy("a.npz", "b.npz")
    import zipfile

    with zipfile.ZipFile("b.npz", "a") as archive:  # an array that is not ours
        archive.writestr("stranger.npy", b"")
    assert main(["convert", "b.npz", "c.npz"]) == 1
    assert re.match("meshkit: b.npz: would lose .*stranger.*--allow-loss", capsys.readouterr().err)
    assert not Path("c.npz").exists()
    assert main(["convert", "b.npz", "c.npz", "--allow-loss"]) == 0


def test_points_that_are_no_numbers_are_kept_and_named(here: Path, capsys: Capture) -> None:
    points = torch.zeros(4, 3)
    points[1, 2], points[3] = float("nan"), float("inf")
    write(make_mesh(points, [[0, 1, 2, 3]]), "a.npz")
    assert main(["convert", "a.npz", "b.npz"]) == 0
    said = capsys.readouterr().out
    assert "  error      point_nan: NaN coordinates (1 points: 1)\n" in said
    assert "  error      point_inf: infinite coordinates (1 points: 3)\n" in said
    assert torch.equal(read("b.npz").points.isnan(), points.isnan())


def unsound() -> Mesh:
    """A polyhedron with a face of two points, and texts and regions of what is not there."""
    solid = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2], [0, 1]]
    mesh = make_mesh(torch.eye(4, 3), polyhedra=[solid])
    key: tuple[str, ...] = ("cell_data", "material")
    known = {key: FieldInfo(vocabulary=("steel",))}
    return mesh.with_data(cell={"material": torch.tensor([3])}).replace(
        info=MeshInfo(fields=known),
        regions=[Region("far", "cell", [7]), Region("off", "point", [9])],
    )


def test_what_is_wrong_with_a_mesh_is_told_each_time(here: Path, capsys: Capture) -> None:
    """What `info` says of it, as far as it comes cheaply; also when the case is skipped."""
    write(unsound(), "a.npz")
    wanted = {
        "open_polyhedron": "an edge that is not on exactly two faces (1 cells: 0)",
        "code_out_of_range": "cell_data/material: codes beyond its 1 texts (1 rows: 0)",
        "region_out_of_range": "region 'far' of cells names what is not there (1 rows: 0)",
    }
    lines = [f"  error      {code}: {said}\n" for code, said in wanted.items()]
    lines.append(lines[-1].replace("'far' of cells", "'off' of points"))
    assert main(["convert", "a.npz", "b.npz"]) == 0
    said = capsys.readouterr().out
    assert all(line in said for line in lines)
    assert main(["convert", "a.npz", "b.npz"]) == 0
    said = capsys.readouterr().out
    assert "1 skipped" in said
    assert all(line.replace("error      ", "error      a.npz: ") in said for line in lines)
    (row,) = answer(capsys, "a.npz", "b.npz")[1]["cases"]
    assert (row["status"], [f["code"] for f in row["findings"]]) == (
        "skipped",
        [*wanted, "region_out_of_range"],
    )
    assert main(["info", "a.npz", "--json"]) == 0
    theirs = json.loads(capsys.readouterr().out)["findings"]
    assert [f for f in theirs if f["code"] in wanted] == row["findings"]


def test_of_a_series_the_worst_time_is_told(here: Path, capsys: Capture) -> None:
    meshes = []
    for k in range(3):
        points = torch.eye(4, 3)
        points[: 2 * k % 3] = float("nan")  # none, two, one
        meshes.append(make_mesh(points, [[0, 1, 2, 3]], info=MeshInfo(time=float(k))))
    write(MeshSeries.of(meshes), "a.zarr")
    _, found = answer(capsys, "a.zarr", "b.zarr")
    (finding,) = found["cases"][0]["findings"]
    assert (finding["code"], finding["count"]) == ("point_nan", 2)


def test_a_rerun_skips_what_is_done_and_unchanged(here: Path, capsys: Capture) -> None:
    for name in ("d/a", "d/deep/b", "d/c"):
        write(small(), f"{name}.npz")
    code, found = answer(capsys, "d", "out")
    assert (code, found["totals"]["done"]) == (0, 3)
    stamps = {path: path.stat().st_mtime_ns for path in Path("out").rglob("MANIFEST.json")}
    assert len(stamps) == 3
    code, found = answer(capsys, "d", "out")
    assert (code, found["totals"]["skipped"]) == (0, 3)
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}

    write(small(length_unit="m"), "d/a.npz")  # changed
    shutil.rmtree("out/deep/b.zarr")  # missing
    code, found = answer(capsys, "d", "out")
    expected = {"d/a.npz": "done", "d/c.npz": "skipped", "d/deep/b.npz": "done"}
    assert statuses(found) == expected
    assert read("out/a.zarr").info.length_unit == "m"

    code, found = answer(capsys, "d", "out", "--field", "p")  # another wish
    assert set(statuses(found).values()) == {"done"}
    code, found = answer(capsys, "d", "out", "--field", "p", "--force")
    assert set(statuses(found).values()) == {"done"}
    code, found = answer(capsys, "d", "out", "--field", "p", "--jobs", "1")
    assert set(statuses(found).values()) == {"skipped"}


def test_a_rerun_in_place_takes_no_output_for_input(here: Path, capsys: Capture) -> None:
    write(make_mesh(torch.zeros(3, 3), [[0, 1, 2]]), "d/a.obj")
    assert answer(capsys, "d", "d", "--to", "npz", "--allow-loss")[0] == 0
    code, found = answer(capsys, "d", "d", "--to", "npz", "--allow-loss")
    assert (code, statuses(found)) == (0, {"d/a.obj": "skipped"})


def test_good_bad_and_crashing_files(here: Path, failing_work: Path, capsys: Capture) -> None:
    for name in ("good", "crash", "defect", "slow", "sub/good"):
        write(small(), f"d/{name}.npz")
    Path("d/empty.npz").touch()
    Path("d/cut.npz").write_bytes(Path("d/good.npz").read_bytes()[:700])
    Path("d/mislabelled.vtu").write_text("hello")
    Path("d/note.txt").write_text("no mesh")
    assert main(["convert", "d", "out", "--timeout", "10", "--jobs", "2"]) == 1
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert len(lines) == 6
    for name, problem in {
        "crash.npz": "its process was killed by SIGSEGV",
        "cut.npz": "",
        "defect.npz": "KeyError: 'nobody thought of it'",
        "empty.npz": "is empty",
        "mislabelled.vtu": "",
        "slow.npz": "took longer than 10 s",
    }.items():
        (line,) = [line for line in lines if line.startswith(f"meshkit: d/{name}: ")]
        assert problem in line
        assert "Traceback" not in line
    assert "8 cases in" in said.out
    assert "2 done, 6 failed, 1 other file ignored" in said.out
    left = {str(path) for path in Path("out").rglob("*") if ".zarr" not in str(path.parent)}
    assert left == {"out/good.zarr", "out/sub", "out/sub/good.zarr", f"out/{NAME}"}
    assert not list(Path("out").glob(".*.abcd_123"))


def test_a_child_killed_from_outside(here: Path, failing_work: Path, capsys: Capture) -> None:
    write(small(), "d/slow.npz")
    write(small(), "d/zebra.npz")

    def kill() -> None:
        wait_until(Path("d/slow.pid").exists)
        os.kill(int(Path("d/slow.pid").read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    code, found = answer(capsys, "d", "out", "--jobs", "1")
    killer.join()
    assert code == 1
    assert statuses(found) == {"d/slow.npz": "failed", "d/zebra.npz": "done"}
    assert "killed by SIGKILL (out of memory?)" in found["cases"][0]["error"]


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_and_rerun_does_only_the_rest(
    here: Path, failing_work: Path, capsys: Capture, ending: signal.Signals
) -> None:
    for name in ("a", "slow", "z"):
        write(small(), f"d/{name}.npz")
    program = (
        "import sys, failing_work, meshkit.cli.convert as c; from meshkit.cli import main; "
        "c.convert_case = failing_work.convert_case; raise SystemExit(main(sys.argv[1:]))"
    )
    path = os.pathsep.join([str(failing_work), *filter(None, sys.path)])
    parent = subprocess.Popen(
        [sys.executable, "-c", program, "convert", "d", "out", "--jobs", "1"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background has them ignore Ctrl-C, and children inherit it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_until(Path("d/slow.pid").exists)
    child = int(Path("d/slow.pid").read_text())
    parent.send_signal(ending)
    _, said = parent.communicate(timeout=60)
    wait_until(lambda: gone(child))  # also when the parent could do nothing any more
    if ending == signal.SIGKILL:
        assert parent.returncode == -signal.SIGKILL
    else:
        assert parent.returncode == 130
        assert said == (
            "meshkit: interrupted: 1 of 3 cases are done; the same command goes on with the rest\n"
        )
        assert not list(Path("out").glob(".slow*"))
    before = Path("out/a.zarr/MANIFEST.json").stat().st_mtime_ns
    assert {p.name for p in Path("out").glob("*.zarr")} == {"a.zarr"}

    os.rename("d/slow.npz", "d/quick.npz")  # now it does not hang
    code, found = answer(capsys, "d", "out")
    expected = {"d/a.npz": "skipped", "d/quick.npz": "done", "d/z.npz": "done"}
    assert (code, statuses(found)) == (0, expected)
    assert Path("out/a.zarr/MANIFEST.json").stat().st_mtime_ns == before


def test_what_a_killed_run_left_is_removed(case: Path, failing_work: Path) -> None:
    ours, other = Path("out/.a.zarr.abc_1234"), Path("out/.b.zarr.abc_1234")
    for folder in (ours, other):
        folder.mkdir(parents=True)
        (folder / "a.npz").touch()
    assert main(["convert", "a.npz", "out/", "--quiet"]) == 0
    assert not ours.exists()
    assert other.exists()


def test_quiet(case: Path, capsys: Capture) -> None:
    Path("bad.npz").touch()
    assert main(["convert", "a.npz", "bad.npz", "out/", "-q"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("meshkit: bad.npz: is empty")


def test_folders_are_made_and_the_record_is_as_documented(case: Path) -> None:
    """docs/convert.md names every field."""
    assert main(["convert", "a.npz", "not/there/b.npz"]) == 0
    assert sorted(p.name for p in Path("not/there").iterdir()) == [NAME, "b.npz"]
    (line,) = Path("not/there", NAME).read_text().splitlines()
    said = json.loads(line)
    assert list(said) == ["output", "options", "sources", "outputs", "findings"]
    assert said["output"] == "b.npz"
    (source,), (output,) = said["sources"], said["outputs"]
    assert source["path"] == "../../a.npz" and len(source["blake2b"]) == 32
    assert list(output) == ["path", "size", "mtime_ns", "ctime_ns"]
    assert list(source) == [*output, "blake2b"]
    page = Path(__file__).parents[2].joinpath("docs/convert.md").read_text("utf-8")
    for field in (*said, *source):
        assert f"`{field}`" in page


def test_a_folder_that_cannot_be_written(case: Path, capsys: Capture) -> None:
    Path("taken").touch()
    assert main(["convert", "a.npz", "taken/deep/b.npz"]) == 2
    assert capsys.readouterr().err == "meshkit: taken/deep/b.npz: taken is no directory\n"


@pytest.mark.parametrize("timeout", ["inf", "1e400", "1e300", "1e7"])
def test_a_long_time_is_no_limit(case: Path, timeout: str) -> None:
    assert main(["convert", "a.npz", "b.npz", "--timeout", timeout]) == 0


def test_a_pipe_fails_and_blocks_no_other(case: Path, capsys: Capture) -> None:
    os.mkfifo("pipe.npz")
    code, found = answer(capsys, "a.npz", "pipe.npz", "/dev/zero", "out/", "--timeout", "60")
    assert code == 1
    assert statuses(found) == {"a.npz": "done", "pipe.npz": "failed", "/dev/zero": "failed"}
    errors = [case["error"] for case in found["cases"]]
    assert errors[1:] == [
        "pipe.npz: is a pipe; expected a file",
        "/dev/zero: is a device; expected a file",
    ]


def test_what_cannot_be_read_is_not_hashed(here: Path, capsys: Capture) -> None:
    with open("huge.stl", "wb") as file:
        file.truncate(1 << 40)
    assert main(["convert", "huge.stl", "b.npz", "--timeout", "60"]) == 1
    said = capsys.readouterr().err
    assert "is neither binary nor text (1099511627776 bytes; the header counts 0 facets)" in said


def test_a_file_that_changes_while_it_is_read_counts_as_changed(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from meshkit.cli.cases import Case
    from meshkit.cli.conversion import Conversion, Options, convert_case
    from meshkit.readers import reading

    work = Conversion(Case(case, Path("b.npz")), Options("npz"), torch.get_num_threads())
    assert "blake2b" in convert_case(work)["sources"][0]
    then = case.stat().st_mtime_ns

    def slow_read(*given: Any, **more: Any) -> Any:
        mesh = read(*given, **more)
        write(small(length_unit="mm"), case)
        return mesh

    monkeypatch.setattr(reading, "read", slow_read)
    (source,) = convert_case(work)["sources"]
    assert source["mtime_ns"] == then != case.stat().st_mtime_ns
    assert "blake2b" not in source


def test_a_format_in_any_case(case: Path) -> None:
    assert main(["convert", "a.npz", "out/", "--to", "VTU"]) == 0
    assert read("out/a.vtu", format="Vtu").n_cells == 2
