"""The command as a whole: version, help, misuse in one line, a closed pipe."""

import json
import os
import subprocess
import sys

import pytest

import meshkit
from meshkit.cli import main

Capture = pytest.CaptureFixture[str]


def test_version(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"meshkit {meshkit.__version__}\n"


@pytest.mark.parametrize("command", [[], ["convert"], ["info"], ["formats"]])
def test_help(command: list[str], capsys: Capture) -> None:
    assert main([*command, "--help"]) == 0
    assert "Usage: meshkit" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["--nonsense"],
        ["info"],
        ["info", "a", "b"],
        ["info", "a.vtu", "--time", "noon"],
        ["info", "a.vtu", "--time", "nan"],
        ["convert", "a.vtu"],
        ["convert", "a.vtu", "b.npz", "--jobs", "0"],
        ["convert", "a.vtu", "b.npz", "--jobs", "two"],
        ["convert", "a.vtu", "b.npz", "--timeout", "0"],
        ["convert", "a.vtu", "b.npz", "--timeout", "nan"],
        ["convert", "a.vtu", "b.npz", "--timeout", "-inf"],
        ["convert", "a.vtu", "b.npz", "--time", "1,5"],
        ["convert", "a.vtu", "b.npz", "--length-unit", "kg"],
        ["convert", "a.vtu", "out/", "--to", "gltf"],
        ["convert", "a.vtu", "b.nonsense"],
        ["convert", "*.vtu", "out/"],
    ],
)
def test_misuse_is_one_line_and_exit_code_2(arguments: list[str], capsys: Capture) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("meshkit: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "name"), [(["a.vtu"], "OUT"), (["a.vtu", "--json"], "OUT"), (["--json"], "'IN'")]
)
def test_the_argument_that_is_missing_is_named(
    arguments: list[str], name: str, capsys: Capture
) -> None:
    assert main(["convert", *arguments]) == 2
    assert f"{name}" in capsys.readouterr().err.split(":")[1]


def test_an_unreadable_file_is_one_line_and_exit_code_1(capsys: Capture) -> None:
    assert main(["info", "a\n\x1b[2Jb.vtu"]) == 1
    said = capsys.readouterr().err
    assert said == "meshkit: a \\x1b[2Jb.vtu: cannot be read: No such file or directory\n"


def test_formats(capsys: Capture) -> None:
    assert main(["formats", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["vtu"]["suffixes"] == [".vtu"]
    assert rows["vtu"]["read"] is rows["vtu"]["write"] is True
    assert rows["pvtu"]["write"] is False
    assert main(["formats"]) == 0
    assert "VTK XML unstructured grid" in capsys.readouterr().out


def test_nobody_reads_the_output() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "meshkit", "formats"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
