"""Which files become cases and where their outputs go, decided before anything runs."""

import os
from pathlib import Path

import pytest

from meshkit.cli.cases import Plan, plan
from meshkit.cli.misuse import Misuse

SUFFIXES = frozenset({".vtu", ".stl", ".pvtu", ".npz"})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def pairs(planned: Plan) -> list[tuple[str, str]]:
    return [(str(case.input), str(case.output)) for case in planned.cases]


def planned(*inputs: str, out: str, to: str | None = None) -> list[tuple[str, str]]:
    return pairs(plan(inputs, out, to, SUFFIXES))


def test_one_file_to_a_file(here: Path) -> None:
    files("a.vtu")
    assert planned("a.vtu", out="b.npz") == [("a.vtu", "b.npz")]
    assert plan(["a.vtu"], "deep/b.npz", None, SUFFIXES).folder == Path("deep")


@pytest.mark.parametrize(
    ("out", "to"), [("out/", None), ("there", None), ("out", ".npz"), ("out/", ".npz")]
)
def test_one_file_into_a_directory(here: Path, out: str, to: str | None) -> None:
    files("a.b.vtu", "there/x")
    assert planned("a.b.vtu", out=out, to=to) == [("a.b.vtu", str(Path(out) / "a.b.npz"))]


def test_out_with_the_suffix_of_its_format_is_a_file(here: Path) -> None:
    files("a.vtu")
    assert planned("a.vtu", out="b.npz", to=".npz") == [("a.vtu", "b.npz")]
    with pytest.raises(Misuse, match=r"b\.stl: has another suffix"):
        planned("a.vtu", out="b.stl", to=".npz")


def test_a_directory_is_searched_and_paths_below_it_are_kept(here: Path) -> None:
    files("d/b.stl", "d/A.VTU", "d/deep/er/c.vtu", "d/note.txt", "d/.hidden.vtu", "d/.git/e.vtu")
    found = plan(["d"], "out", None, SUFFIXES)
    assert pairs(found) == [
        ("d/A.VTU", "out/A.npz"),
        ("d/b.stl", "out/b.npz"),
        ("d/deep/er/c.vtu", "out/deep/er/c.npz"),
    ]
    assert found.ignored == 1
    assert found.folder == Path("out")


def test_a_loop_of_links_ends(here: Path) -> None:
    files("d/a.vtu")
    (here / "d/loop").symlink_to(here / "d", target_is_directory=True)
    assert planned("d", out="out/") == [("d/a.vtu", "out/a.npz")]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("d/*.vtu", ["a.npz"]),
        ("d/**/*.vtu", ["a.npz", "s/b.npz"]),
        ("d/*", ["a.npz", "s/b.npz"]),
        ("d/[s]/*.vtu", ["s/b.npz"]),
        ("d/s/?.vtu", ["b.npz"]),
    ],
)
def test_patterns(here: Path, pattern: str, expected: list[str]) -> None:
    files("d/a.vtu", "d/s/b.vtu", "d/s/n.txt")
    assert [o for _, o in planned(pattern, out="out")] == [f"out/{name}" for name in expected]


def test_a_name_that_looks_like_a_pattern_is_a_name(here: Path) -> None:
    files("a[1].vtu", "a1.vtu")
    assert planned("a[1].vtu", out="b.npz") == [("a[1].vtu", "b.npz")]


def test_a_named_file_is_a_case_whatever_its_name_and_whether_it_exists(here: Path) -> None:
    files("d3plot")
    assert planned("d3plot", "gone.vtu", out="o/") == [
        ("d3plot", "o/d3plot.npz"),
        ("gone.vtu", "o/gone.npz"),
    ]


def test_a_file_found_twice_is_one_case(here: Path) -> None:
    files("d/s/a.vtu")
    assert planned("d", "./d/s/a.vtu", "d/**/*.vtu", out="o") == [("d/s/a.vtu", "o/s/a.npz")]


def test_the_output_directory_is_not_searched(here: Path) -> None:
    files("d/a.vtu", "d/out/a.npz")
    assert planned("d", out="d/out") == [("d/a.vtu", "d/out/a.npz")]


def test_what_an_earlier_run_wrote_is_no_input(here: Path) -> None:
    files("d/a.vtu", "d/a.npz")
    with pytest.raises(Misuse, match=r"d/a\.npz: is an input"):
        planned("d", out="d")
    found = plan(["d"], "d", None, SUFFIXES, lambda folder: frozenset({here / folder / "a.npz"}))
    assert pairs(found) == [("d/a.vtu", "d/a.npz")]


def test_pieces_of_a_found_case_are_no_cases_of_their_own(here: Path) -> None:
    files("d/p/one.vtu", "d/p/two & 3.vtu", "d/other.vtu")
    Path("d/all.pvtu").write_text(
        '<VTKFile type="PUnstructuredGrid"><PUnstructuredGrid>'
        '<Piece Source="p/one.vtu"/><Piece Source="p/two &amp; 3.vtu"/></PUnstructuredGrid>'
        "</VTKFile>"
    )
    found = plan(["d"], "o", None, SUFFIXES)
    assert [str(c.input) for c in found.cases] == ["d/all.pvtu", "d/other.vtu"]
    assert found.parts == 2
    assert len(planned("d", "d/p/one.vtu", out="o")) == 3  # named: wanted


@pytest.mark.parametrize(
    ("inputs", "out", "said"),
    [
        (["d/a.vtu", "d/a.stl"], "o/", "o/a.npz: is the output of two inputs, d/a.vtu and d/a.stl"),
        (["d"], "o", "is the output of two inputs"),
        (["d", "e"], "o", "is the output of two inputs"),
        (["e/a.npz"], "e/a.npz", "e/a.npz: is an input"),
        (["e/a.npz"], "e", "is an input"),
        (["e/a.npz"], "e/../link.npz", "is an input"),
        (["empty"], "o", "empty: no input found"),
        (["texts"], "o", "no input found .1 files"),
        (["*.none"], "o", "no input found"),
        (["d", "e"], "o.npz", "is the name of a file, expected a directory"),
        (["d"], "e/a.npz", "is a file, expected a directory"),
    ],
)
def test_refuses(here: Path, inputs: list[str], out: str, said: str) -> None:
    files("d/a.vtu", "d/a.stl", "e/a.npz", "texts/t.txt")
    Path("empty").mkdir()
    os.symlink("e/a.npz", "link.npz")
    with pytest.raises(Misuse, match=said):
        planned(*inputs, out=out)
