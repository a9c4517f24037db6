"""What counts as done: the same input, options and output; and a torn record hides nothing."""

import json
import os
from pathlib import Path

import pytest

from meshkit.cli.cases import Case
from meshkit.cli.receipts import NAME, Receipts, fingerprint, stamp

OPTIONS = {"format": "npz", "fields": ("p",)}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    made = Case(tmp_path / "in/a.vtu", tmp_path / "out/a.npz")
    made.input.write_text("mesh")
    made.output.write_text("arrays")
    return made


def note(case: Case, *more: Path) -> None:
    sources = [fingerprint(path) for path in (case.input, *more)]
    Receipts(case.output.parent).add(case, OPTIONS, sources, [stamp(case.output)])


def holds(case: Case) -> bool:
    return Receipts(case.output.parent).holds(case, OPTIONS)


def test_nothing_is_done_at_first(case: Case) -> None:
    assert not holds(case)
    assert not Receipts(case.output.parent / "missing").holds(case, OPTIONS)


def test_done_and_unchanged(case: Case) -> None:
    note(case)
    assert holds(case)
    assert Receipts(case.output.parent).made == {case.output}


def test_touched_but_the_same_bytes(case: Case) -> None:
    note(case)
    os.utime(case.input, (1, 1))
    assert holds(case)


@pytest.mark.parametrize("text", ["hsem", "longer mesh", ""])
def test_changed_input(case: Case, text: str) -> None:
    note(case)
    status = case.input.stat()
    case.input.write_text(text)
    os.utime(case.input, ns=(status.st_atime_ns, status.st_mtime_ns))  # even at the same time
    assert not holds(case)


def test_a_source_without_a_hash_counts_as_changed(case: Case) -> None:
    then = stamp(case.input)
    Receipts(case.output.parent).add(case, OPTIONS, [then], [stamp(case.output)])
    os.utime(case.input, (1, 1))
    assert not holds(case)


def test_a_source_that_became_a_pipe_counts_as_changed(case: Case) -> None:
    case.input.write_bytes(b"")
    note(case)
    case.input.unlink()
    os.mkfifo(case.input)
    assert not holds(case)
    assert "blake2b" not in fingerprint(case.input)


def test_changed_part(case: Case) -> None:
    part = case.input.with_name("piece.vtu")
    part.write_text("1")
    note(case, part)
    assert holds(case)
    part.write_text("2")
    assert not holds(case)
    part.unlink()
    assert not holds(case)


def test_another_input_of_the_same_content(case: Case) -> None:
    note(case)
    other = case.input.with_name("b.vtu")
    other.write_text("mesh")
    assert not holds(Case(other, case.output))


def test_changed_or_missing_output(case: Case) -> None:
    note(case)
    case.output.write_text("another")
    assert not holds(case)
    note(case)
    assert holds(case)
    case.output.unlink()
    assert not holds(case)


def test_changed_options(case: Case) -> None:
    note(case)
    assert not Receipts(case.output.parent).holds(case, {**OPTIONS, "fields": ("p", "U")})


def test_moved_together(case: Case, tmp_path: Path) -> None:
    note(case)
    (tmp_path / "new").mkdir()
    for name in ("in", "out"):
        (tmp_path / name).rename(tmp_path / "new" / name)
    assert holds(Case(tmp_path / "new/in/a.vtu", tmp_path / "new/out/a.npz"))


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_line_torn_by_a_kill_is_not_counted_and_spoils_no_other(case: Case, cut: int) -> None:
    other = Case(case.input, case.output.with_name("b.npz"))
    other.output.write_text("arrays")
    note(other)
    whole = case.output.parent / NAME
    before = whole.stat().st_size
    note(case)
    data = whole.read_bytes()
    whole.write_bytes(data[: before + cut])
    assert holds(other)
    assert not holds(case)
    note(case)  # goes on after the torn line
    assert holds(other)
    assert holds(case)


@pytest.mark.parametrize("line", ["[]", "3", '{"output": 3}', '{"output": "a.npz"}', "\0\xff"])
def test_a_record_that_someone_edited(case: Case, line: str) -> None:
    (case.output.parent / NAME).write_text(line + "\n")
    assert not holds(case)
    assert Receipts(case.output.parent).made == frozenset()
    note(case)
    assert holds(case)


def test_one_line_a_case(case: Case) -> None:
    note(case)
    note(case)
    lines = (case.output.parent / NAME).read_text().splitlines()
    assert [json.loads(line)["output"] for line in lines] == ["a.npz", "a.npz"]
