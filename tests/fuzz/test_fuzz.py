"""A short slice of the fuzz suite: no crash, no hang, only our errors, nothing unsound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.__main__ import main
from tests.fuzz.declared import FINDERS, declared
from tests.fuzz.running import outcome
from tests.fuzz.seeds import SEEDS


def test_a_slice(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--mutations", "40", "--seed", "0"]) == 0, capfd.readouterr().out


@pytest.mark.parametrize("suffix", SEEDS)
def test_sound_files_are_read_as_they_declare(suffix: str, tmp_path: Path) -> None:
    """And for formats that declare their sizes these are found."""
    found = []
    for file in SEEDS[suffix](tmp_path, suffix):
        assert outcome(file).kind == "read", (file, outcome(file))
        found.append(declared(file))
    assert any(found[0]) == (suffix in FINDERS)


def test_it_sees_what_is_wrong(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.__main__.LIMIT", 1e-6)
    assert main([".off", "--mutations", "10", "--seed", "0"]) == 1
    assert "took longer" in capfd.readouterr().out


def test_a_file_of_ones_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = next(iter(SEEDS[".off"](tmp_path, ".off")))
    before = file.read_bytes()
    assert main([str(file), "--mutations", "3", "--seed", "0"]) == 0
    assert capfd.readouterr().out.splitlines()[2].split()[:2] == [file.name, "1"]
    assert file.read_bytes() == before


def test_a_hang_is_a_hang_on_the_processor(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.__main__.SECONDS", 0)
    assert main([".off", "--mutations", "10", "--seed", "0"]) == 1
    row = capfd.readouterr().out.splitlines()[2].split()
    assert (row[-3], row[-2]) == ("0", "1")  # crashed, hung
