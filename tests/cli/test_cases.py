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
    name = f"a.b{to or '.zarr'}"
    assert planned("a.b.vtu", out=out, to=to) == [("a.b.vtu", str(Path(out) / name))]


def test_out_with_the_suffix_of_its_format_is_a_file(here: Path) -> None:
    files("a.vtu")
    assert planned("a.vtu", out="b.npz", to=".npz") == [("a.vtu", "b.npz")]
    with pytest.raises(Misuse, match=r"b\.stl: has another suffix"):
        planned("a.vtu", out="b.stl", to=".npz")


def test_a_directory_is_searched_and_paths_below_it_are_kept(here: Path) -> None:
    files("d/b.stl", "d/A.VTU", "d/deep/er/c.vtu", "d/note.txt", "d/.hidden.vtu", "d/.git/e.vtu")
    found = plan(["d"], "out", None, SUFFIXES)
    assert pairs(found) == [
        ("d/A.VTU", "out/A.zarr"),
        ("d/b.stl", "out/b.zarr"),
        ("d/deep/er/c.vtu", "out/deep/er/c.zarr"),
    ]
    assert found.ignored == 1
    assert found.folder == Path("out")


def test_a_loop_of_links_ends(here: Path) -> None:
    files("d/a.vtu")
    (here / "d/loop").symlink_to(here / "d", target_is_directory=True)
    assert planned("d", out="out/") == [("d/a.vtu", "out/a.zarr")]


@pytest.mark.parametrize("pattern", ["d/**/*.vtu", "**/*.vtu", "d/**", "d/**/s/**/*.vtu"])
def test_a_loop_of_links_ends_in_a_pattern(here: Path, pattern: str) -> None:
    files("d/s/a.vtu")
    for name in ("d/loop", "d/s/again", "d/.hidden"):
        (here / name).symlink_to(here / "d", target_is_directory=True)
    assert [case for case, _ in planned(pattern, out="out/")] == ["d/s/a.vtu"]


def test_pipes_in_a_directory_are_ignored_and_do_not_block(here: Path) -> None:
    files("d/a.vtu")
    os.mkfifo("d/pipe.vtu")
    os.mkfifo("d/pipe.pvtu")
    (here / "d/lost.vtu").symlink_to("nowhere")
    for where in ("d", "d/*.*vtu"):
        found = plan([where], "out/", None, SUFFIXES)
        assert "d/a.vtu" in [str(case.input) for case in found.cases]
        assert "pipe" not in str(found.cases)
    found = plan(["d"], "out/", None, SUFFIXES)
    assert found.ignored == 2
    assert ("d/lost.vtu", "out/lost.zarr") in pairs(found)  # to be told that it leads nowhere
    assert planned("d/pipe.vtu", out="b.npz") == [("d/pipe.vtu", "b.npz")]  # named: told too


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("d/*.vtu", ["a.zarr"]),
        ("d/**/*.vtu", ["a.zarr", "s/b.zarr"]),
        ("d/*", ["a.zarr", "s/b.zarr"]),
        ("d/[s]/*.vtu", ["s/b.zarr"]),
        ("d/s/?.vtu", ["b.zarr"]),
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
        ("d3plot", "o/d3plot.zarr"),
        ("gone.vtu", "o/gone.zarr"),
    ]


def test_a_file_found_twice_is_one_case(here: Path) -> None:
    files("d/s/a.vtu")
    assert planned("d", "./d/s/a.vtu", "d/**/*.vtu", out="o") == [("d/s/a.vtu", "o/s/a.zarr")]


def test_the_output_directory_is_not_searched(here: Path) -> None:
    files("d/a.vtu", "d/out/a.zarr")
    assert planned("d", out="d/out") == [("d/a.vtu", "d/out/a.zarr")]


def test_what_an_earlier_run_wrote_is_no_input(here: Path) -> None:
    files("d/a.vtu", "d/a.npz")
    with pytest.raises(Misuse, match=r"d/a\.npz: is an input"):
        planned("d", out="d", to=".npz")
    found = plan(["d"], "d", ".npz", SUFFIXES, lambda folder: frozenset({here / folder / "a.npz"}))
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
        (
            ["d/a.vtu", "d/a.stl"],
            "o/",
            "o/a.zarr: is the output of two inputs, d/a.vtu and d/a.stl",
        ),
        (["d"], "o", "is the output of two inputs"),
        (["d", "e"], "o", "is the output of two inputs"),
        (["e/a.npz"], "e/a.npz", "e/a.npz: is an input"),
        (["s3://b/a.vtu"], "o", "s3://b/a.vtu: is a remote place, expected a path"),
        (["d/a.vtu"], "s3://b/a.zarr", "s3://b/a.zarr: is a remote place, expected a path"),
        (["e/a.npz"], "e/../link.npz", "is an input"),
        (["empty"], "o", "empty: no input found"),
        (["texts"], "o", "no input found .1 files"),
        (["*.none"], "o", "no input found"),
        (["d", "e"], "o.npz", "is the name of a file, expected a directory"),
        (["d"], "e/a.npz", "is a file, expected a directory"),
        (["d/a.vtu"], "e/a.npz/deep/b.npz", "e/a.npz/deep/b.npz: e/a.npz is no directory"),
        (["d/a.vtu"], "e/a.npz/", "e/a.npz is no directory"),
    ],
)
def test_refuses(here: Path, inputs: list[str], out: str, said: str) -> None:
    files("d/a.vtu", "d/a.stl", "e/a.npz", "texts/t.txt")
    Path("empty").mkdir()
    os.symlink("e/a.npz", "link.npz")
    with pytest.raises(Misuse, match=said):
        planned(*inputs, out=out)


STORES = frozenset({".zarr"})


def with_stores(*inputs: str, out: str, to: str | None = None) -> list[tuple[str, str]]:
    return pairs(plan(inputs, out, to, SUFFIXES | STORES, stores=STORES))


def test_a_store_is_one_case_and_is_not_searched(here: Path) -> None:
    files("d/a.zarr/zarr.json", "d/a.zarr/inner.vtu", "d/deep/b.zarr/c.npz", "d/c.vtu")
    assert with_stores("d", out="o", to=".npz") == [
        ("d/a.zarr", "o/a.npz"),
        ("d/c.vtu", "o/c.npz"),
        ("d/deep/b.zarr", "o/deep/b.npz"),
    ]
    assert with_stores("d/a.zarr", out="b.npz") == [("d/a.zarr", "b.npz")]
    assert with_stores("d/a.zarr/", out="b.npz") == [("d/a.zarr", "b.npz")]


@pytest.mark.parametrize("pattern", ["d/*", "d/*.zarr", "d/**/*", "d/**"])
def test_patterns_find_stores(here: Path, pattern: str) -> None:
    files("d/a.zarr/inner.vtu")
    assert with_stores(pattern, out="o", to=".npz") == [("d/a.zarr", "o/a.npz")]


def test_an_existing_store_is_an_output_and_not_a_folder(here: Path) -> None:
    files("a.vtu", "b.vtu", "it.zarr/zarr.json")
    for out in ("it.zarr", "it.zarr/"):
        assert with_stores("a.vtu", out=out) == [("a.vtu", "it.zarr")]
        with pytest.raises(Misuse, match="is a store, expected a directory for the outputs"):
            with_stores("a.vtu", "b.vtu", out=out)
    with pytest.raises(Misuse, match="has another suffix than --to"):
        with_stores("a.vtu", out="it.zarr", to=".npz")


def test_a_store_is_not_its_own_output(here: Path) -> None:
    files("it.zarr/zarr.json")
    with pytest.raises(Misuse, match="is an input"):
        with_stores("it.zarr", out="it.zarr")
    with pytest.raises(Misuse, match="is an input"):
        with_stores("it.zarr", out="./")
