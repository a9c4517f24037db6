"""A sample is there whole or not at all, whatever happens to its writer."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from meshkit.errors import WriteError
from meshkit.readers.reading import read
from meshkit.readers.writing import write
from meshkit.store import placing
from meshkit.syncing import sync
from tests.conftest import ROOT
from tests.mesh_differences import differences
from tests.meshes import tetrahedron, two_tetrahedra


def dying(what: str, folder: Path, *numbers: int) -> dict[str, Any]:
    """What `tests.store.dying` says."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.dying", what, str(folder), *map(str, numbers)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_killed_at_random_moments(tmp_path: Path) -> None:
    found = dying("killed_at_random", tmp_path, 50)
    assert set(found) <= {
        *("over none: none", "over none: new"),
        *("over old: old", "over old: new"),
    }
    assert sum(found.values()) == 50
    assert found["over old: old"] > 0


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_each_step(stride: int, tmp_path: Path) -> None:
    """Before it opens, moves or removes a file; the last writer removes what the others left."""
    found = dying("killed_at_each_step", tmp_path, stride)
    assert set(found) == {"old", "new", "left"}
    assert found["old"] > 40 / stride and found["new"] > 20 / stride
    assert found["left"] == ["it.zarr"]


def test_blocks_whose_writer_is_killed(tmp_path: Path) -> None:
    """A .vtm names the old blocks or the new ones, and all of them are there."""
    found = dying("blocks_killed_at_random", tmp_path, 20)
    assert set(found) <= {
        *("over none: none", "over none: new"),
        *("over old: old", "over old: new"),
    }
    assert sum(found.values()) == 20
    steps = dying("blocks_killed_at_each_step", tmp_path, 1)
    assert set(steps) == {"old", "new", "left"} and steps["old"] > 4 and steps["new"] > 2


def test_two_writers_at_once(tmp_path: Path) -> None:
    found = dying("two_at_once", tmp_path, 8)
    assert set(found) <= {"old", "new", "left"}
    assert found["left"] == ["it.zarr"]


def test_a_reader_sees_one_sample_or_the_other(tmp_path: Path) -> None:
    assert set(dying("read_meanwhile", tmp_path, 20)) == {"old", "new"}


def test_disk_full(tmp_path: Path) -> None:
    limits = (0, 100, 700, 3000, 20_000, 50_000)
    answers = dying("disk_full", tmp_path, *limits)
    assert len(answers) == len(limits)
    for found in answers.values():
        assert found["said"].endswith("it.zarr: cannot be written: File too large")
        assert found["said"].startswith("WriteError: ")
        assert found["state"] == "old"
        assert found["left"] == ["it.zarr"]


def test_a_disk_that_refuses_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait for the disk fails once; what was there stays, and nothing else is left."""
    old, new = tetrahedron(), two_tetrahedra()
    path = tmp_path / "it.zarr"
    write(old, path)
    really, lock = os.fsync, threading.Lock()
    fatal = -1

    def fsync(file: int) -> None:
        nonlocal fatal
        with lock:
            refuses = fatal == 0
            fatal -= 1
        if refuses:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        really(file)

    monkeypatch.setattr(os, "fsync", fsync)
    for when in range(1000):
        fatal = when
        try:
            write(new, path)
        except WriteError as why:
            said = str(why)
        else:
            break
        assert said == f"{path}: cannot be written: No space left on device"
        assert os.listdir(tmp_path) == ["it.zarr"]
        fatal = -1
        # Also after the exchange, which is then taken back: an error means that nothing changed.
        assert differences(old, read(path)) == []
    assert when > 20
    assert differences(new, read(path)) == []


@pytest.fixture(params=[True, False], ids=["exchange", "two renames"])
def exchanging(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(placing, "_swap", lambda work, path: False)


def refusing_folders(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """No wait for the directory that the samples lie in succeeds."""

    def refused(path: Path) -> None:
        if not path.name.startswith(".it.zarr.") and ".it.zarr." not in str(path):
            raise OSError(number, os.strerror(number))
        sync(path)

    monkeypatch.setattr(placing, "sync", refused)


@pytest.mark.usefixtures("exchanging")
def test_a_folder_whose_names_do_not_reach_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over nothing and over an old sample: an error, and the place is as it was."""
    path = tmp_path / "it.zarr"
    with monkeypatch.context() as patched:
        refusing_folders(patched, errno.EIO)
        with pytest.raises(WriteError, match=r"it\.zarr: cannot be written: Input/output error$"):
            write(tetrahedron(), path)
    assert os.listdir(tmp_path) == []
    write(tetrahedron(), path)
    refusing_folders(monkeypatch, errno.EIO)
    with pytest.raises(WriteError, match=r"it\.zarr: cannot be written: Input/output error$"):
        write(two_tetrahedra(), path)
    assert differences(tetrahedron(), read(path)) == []
    assert os.listdir(tmp_path) == ["it.zarr"]


def test_an_exchange_that_cannot_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the message says what is there."""
    path = tmp_path / "it.zarr"
    write(tetrahedron(), path)
    refusing_folders(monkeypatch, errno.EIO)

    def refuse(work: Path, target: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(placing, "_take_back", refuse)
    with pytest.raises(WriteError, match=r"output error; the new sample is in its place, but may"):
        write(two_tetrahedra(), path)
    assert differences(two_tetrahedra(), read(path)) == []
    assert os.listdir(tmp_path) == ["it.zarr"]


def test_a_file_system_that_does_not_wait_for_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some remote and user-space ones say EINVAL, of folders only."""
    really = os.fsync
    kinds = [stat.S_ISDIR]

    def fsync(file: int) -> None:
        if kinds[0](os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        really(file)

    monkeypatch.setattr(os, "fsync", fsync)
    write(tetrahedron(), tmp_path / "it.zarr")
    assert differences(tetrahedron(), read(tmp_path / "it.zarr")) == []
    kinds[0] = stat.S_ISREG
    with pytest.raises(WriteError, match="cannot be written: Invalid argument"):
        write(two_tetrahedra(), tmp_path / "it.zarr")


def test_without_an_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems that cannot exchange two names: aside, then in."""
    monkeypatch.setattr(placing, "_swap", lambda work, path: False)
    for mesh in (tetrahedron(), two_tetrahedra()):
        write(mesh, tmp_path / "it.zarr")
        assert differences(mesh, read(tmp_path / "it.zarr")) == []
        assert os.listdir(tmp_path) == ["it.zarr"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOTEMPTY])
def test_a_second_rename_that_fails(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old sample, which was moved aside, comes back; where another was first, once more."""
    monkeypatch.setattr(placing, "_swap", lambda work, path: False)
    path = tmp_path / "it.zarr"
    write(tetrahedron(), path)
    really, moves = os.rename, 0

    def rename(source: Path, target: Path) -> None:
        nonlocal moves
        moves += 1
        if moves == 2:
            raise OSError(number, os.strerror(number))
        really(source, target)

    monkeypatch.setattr(os, "rename", rename)
    if number == errno.EIO:
        with pytest.raises(WriteError, match="cannot be written: Input/output error"):
            write(two_tetrahedra(), path)
        assert differences(tetrahedron(), read(path)) == []
    else:
        write(two_tetrahedra(), path)
        assert differences(two_tetrahedra(), read(path)) == []
    assert os.listdir(tmp_path) == ["it.zarr"]


def test_leftovers_of_others_stay(tmp_path: Path) -> None:
    """What is not ours, and what a living writer still works on."""
    theirs = [".it.zarr.0123456", ".it.zarr.0123456x", ".other.zarr.01234567"]
    for name in (*theirs, ".it.zarr.01234567", ".it.zarr.89abcdef", ".it.zarr.aaaaaaaa"):
        (tmp_path / name / "points").mkdir(parents=True)
    (tmp_path / ".it.zarr.01234567" / "diary.txt").touch()
    (tmp_path / ".it.zarr.bbbbbbbb").touch()
    (tmp_path / ".it.zarr.cccccccc").symlink_to(tmp_path / ".it.zarr.aaaaaaaa")
    living = os.open(tmp_path / ".it.zarr.89abcdef", os.O_RDONLY)
    fcntl.flock(living, fcntl.LOCK_EX)
    write(tetrahedron(), tmp_path / "it.zarr")
    os.close(living)
    stay = [".it.zarr.01234567", ".it.zarr.89abcdef", ".it.zarr.bbbbbbbb", ".it.zarr.cccccccc"]
    assert sorted(os.listdir(tmp_path)) == sorted([*theirs, *stay, "it.zarr"])


def test_what_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "it.zarr").mkdir()
    (tmp_path / "it.zarr" / "thesis.tex").touch()
    said = r"is a directory that holds what meshkit did not write \('thesis\.tex'\); choose another"
    with pytest.raises(WriteError, match=said):
        write(tetrahedron(), tmp_path / "it.zarr")
    assert os.listdir(tmp_path / "it.zarr") == ["thesis.tex"]
    write(tetrahedron(), tmp_path / "mine.zarr")
    (tmp_path / "mine.zarr" / ".DS_Store").touch()
    write(tetrahedron(), tmp_path / "mine.zarr")
    (tmp_path / "mine.zarr" / "notes.txt").touch()
    with pytest.raises(WriteError, match=r"what meshkit did not write \('notes\.txt'\)"):
        write(tetrahedron(), tmp_path / "mine.zarr")
    (tmp_path / "file.zarr").touch()
    with pytest.raises(WriteError, match=r"file\.zarr: is a file; expected a name for a directory"):
        write(tetrahedron(), tmp_path / "file.zarr")


@pytest.mark.parametrize(
    "file",
    [
        "points/thesis.tex",  # one of our names, and no more
        "points/c/0/0",  # as other writers of Zarr call their chunks
        "zarr.json",  # of another program
        "points/zarr.json",
        ".git/HEAD",
    ],
)
def test_what_others_keep_under_our_names_is_not_replaced(file: str, tmp_path: Path) -> None:
    theirs = tmp_path / "it.zarr" / file
    theirs.parent.mkdir(parents=True)
    theirs.write_text('{"zarr_format":3,"node_type":"group","attributes":{}}')
    said = f"holds what meshkit did not write \\('{file.split('/')[0]}"
    with pytest.raises(WriteError, match=said):
        write(tetrahedron(), tmp_path / "it.zarr")
    assert theirs.read_text().startswith("{")


@pytest.mark.parametrize("file", ["points/notes.txt", "cells/mine/notes.txt", ".git/HEAD"])
def test_what_people_put_into_a_sample_is_not_removed(file: str, tmp_path: Path) -> None:
    write(two_tetrahedra(), tmp_path / "it.zarr")
    theirs = tmp_path / "it.zarr" / file
    theirs.parent.mkdir(parents=True, exist_ok=True)
    theirs.touch()
    with pytest.raises(WriteError, match="holds what meshkit did not write"):
        write(tetrahedron(), tmp_path / "it.zarr")
    assert theirs.exists()
    assert differences(two_tetrahedra(), read(tmp_path / "it.zarr")) == []


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "it.zarr").symlink_to("it.zarr")
    with pytest.raises(WriteError, match="is a link that leads to itself"):
        write(tetrahedron(), tmp_path / "it.zarr")
    assert os.listdir(tmp_path) == ["it.zarr"]


def test_a_path_that_goes_down_and_up_again(tmp_path: Path) -> None:
    """What is written under a name is read under it."""
    write(tetrahedron(), tmp_path / "new" / ".." / "it.zarr")
    assert differences(tetrahedron(), read(tmp_path / "new" / ".." / "it.zarr")) == []


def test_a_damaged_sample_is_replaced(tmp_path: Path) -> None:
    write(two_tetrahedra(), tmp_path / "it.zarr")
    (tmp_path / "it.zarr" / "MANIFEST.json").unlink()
    write(tetrahedron(), tmp_path / "it.zarr")
    assert differences(tetrahedron(), read(tmp_path / "it.zarr")) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    write(two_tetrahedra(), tmp_path / "it.zarr")
    (tmp_path / "link.zarr").symlink_to("it.zarr")
    write(tetrahedron(), tmp_path / "link.zarr")
    assert (tmp_path / "link.zarr").is_symlink()
    assert differences(tetrahedron(), read(tmp_path / "it.zarr")) == []


def test_folders_are_made_and_permissions_are_the_usual(tmp_path: Path) -> None:
    write(tetrahedron(), tmp_path / "a" / "b" / "it.zarr")
    (tmp_path / "plain").mkdir()
    modes = {p.stat().st_mode for p in (tmp_path / "plain", tmp_path / "a/b/it.zarr")}
    assert len(modes) == 1


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="cannot be written: "):
        write(tetrahedron(), tmp_path / "file" / "it.zarr")
    with pytest.raises(WriteError, match="cannot be written: File name too long"):
        write(tetrahedron(), tmp_path / f"{'x' * 300}.zarr")
