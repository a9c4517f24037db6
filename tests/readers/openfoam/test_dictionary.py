"""Dictionaries: macros, included files, patterns, and nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshkit import ReadError, read
from meshkit.readers.openfoam.dictionary import read_dictionary
from meshkit.readers.openfoam.entries import fits
from meshkit.readers.openfoam.plain_settings import plain
from tests.readers.openfoam.case_writer import Style, dictionary, write_case
from tests.readers.openfoam.example_mesh import example


def said(folder: Path, text: str) -> dict[str, object]:
    path = folder / "system" / "it"
    dictionary(path, text)
    return plain(read_dictionary(path, folder)[1])


def test_values(tmp_path: Path) -> None:
    found = said(
        tmp_path,
        'a 1; b -2.5e-3; c word; d "a text; with // signs";\n'
        "e (1 2 (3 x)); f [0 2 -1 0 0 0 0]; g nu [0 2 -1 0 0 0 0] 0.01; // comment\n"
        "h 2(a b); i List<word> 1(wall); /* more\n comment */ div(phi,U) Gauss linear;\n"
        "j { k 1; l { m 2; } } n 1e5; empty; o 1.2.3; p on;\n",
    )
    assert found == {
        "a": 1, "b": -0.0025, "c": "word", "d": "a text; with // signs", "e": [1, 2, [3, "x"]],
        "f": "m^2/s", "g": {"value": 0.01, "unit": "m^2/s"}, "h": ["a", "b"], "i": ["wall"],
        "div(phi,U)": ["Gauss", "linear"], "j": {"k": 1, "l": {"m": 2}}, "n": 100000.0,
        "empty": [], "o": "1.2.3", "p": "on",
    }  # fmt: skip


def test_macros(tmp_path: Path) -> None:
    found = said(
        tmp_path,
        "x 1; top { x 2; mid { x 3; a $x; b $..x; c $...x; d $:x; e ${x}; f $:top.x; } }\n"
        "v (1 0 0); w uniform $v; other { $top; y 5; } copy $top; z $top/x;\n",
    )
    top = found["top"]
    assert isinstance(top, dict)
    assert top["mid"] == {"x": 3, "a": 3, "b": 2, "c": 1, "d": 1, "e": 3, "f": 2}
    assert found["w"] == ["uniform", [1, 0, 0]] and found["z"] == 2
    assert found["other"] == {**top, "y": 5} and found["copy"] == top


def test_a_later_entry_overrides_and_dictionaries_merge(tmp_path: Path) -> None:
    found = said(tmp_path, "a 1; a 2; d { x 1; y 1; } d { y 2; z 3; } #remove a\n")
    assert found == {"d": {"x": 1, "y": 2, "z": 3}}


def test_macros_with_a_default_and_of_a_name_that_is_put_together(tmp_path: Path) -> None:
    found = said(
        tmp_path,
        "n b; a_b 4; p ${a_${n}}; q ${a_$n}; r ${none:-5}; s ${none:-(1 $n)}; t ${n:-7};\n"
        "u ${none:-${also:-8}}; v ${a_${none}};\n",
    )
    assert {k: found[k] for k in "pqrstu"} == {
        "p": 4, "q": 4, "r": 5, "s": [1, "b"], "t": "b", "u": 8,
    }  # fmt: skip
    assert found["v"] == "$a_${none}"


def test_what_would_be_worked_out_is_passed_over_whole(tmp_path: Path) -> None:
    found = said(
        tmp_path,
        'a #eval{ 3*(2 + ${x}) }; b #calc{ sin("}"); }; c #eval "1+1"; d 2;\n'
        "e #codeStream { code #{ if (x) { y(); } } #}; };\nf 3;\n".replace('"}"', "x[0]"),
    )
    assert found["a"] == "#eval 3*(2 + ${x})" and found["b"] == "#calc sin(x[0]);"
    assert found["c"] == "#eval 1+1" and found["d"] == 2 and found["f"] == 3
    assert str(found["e"]).startswith("#codeStream")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("merge", {"a": 2, "d": {"x": 2, "y": 1, "z": 3}}),
        ("default", {"a": 2, "d": {"x": 2, "y": 1, "z": 3}}),
        ("overwrite", {"a": 2, "d": {"x": 2, "z": 3}}),
        ("protect", {"a": 1, "d": {"x": 1, "y": 1}}),
        ("warn", {"a": 1, "d": {"x": 1, "y": 1}}),
    ],
)
def test_input_modes(tmp_path: Path, mode: str, expected: dict[str, object]) -> None:
    first = f"a 1; d {{ x 1; y 1; }}\n#inputMode {mode}\n"
    assert said(tmp_path, first + "a 2; d { x 2; z 3; } e { }\n") == {**expected, "e": {}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#if 1\nx 1;\n#else\nx 2;\n#endif\n", 1),
        ("#if off\nx 1;\n#else\nx 2;\n#endif\n", 2),
        ("#if $no\nx 1;\n#endif\n", 0),
        ("#if ${yes}\nx 1;\n#endif\n", 1),
        ("#if ${none:-true}\nx 1;\n#endif\n", 1),
        ("#ifeq $word b\nx 1;\n#else\nx 2;\n#endif\n", 1),
        ("#ifeq $word c\nx 1;\n#else\nx 2;\n#endif\n", 2),
        ('#ifeq 2 2.0\nx 1;\n#endif\n#if 0\n#codeStream { } "}" #{ } #} x 3;\n#endif\n', 1),
        ("#if 0\n#if 1\nx 1;\n#else\n#endif\n#else\n#if 0\n#else\nx 3;\n#endif\n#endif\n", 3),
        ("#if 1\n#if 0\nx 1;\n#endif\nx 4;\n#else\n#ifeq a a\nx 2;\n#endif\n#endif\n", 4),
    ],
)
def test_branches(tmp_path: Path, text: str, expected: int) -> None:
    known = "no false; yes 1; word b;\n"
    found = said(tmp_path, f"x 0; {known}{text}after 5;\n")
    assert found["x"] == expected and found["after"] == 5
    inner = said(tmp_path, f"{known}sub {{ x 0;\n{text}}} after 5;\n")
    assert inner["sub"] == {"x": expected} and inner["after"] == 5


def test_the_input_mode_of_an_included_file_lasts(tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "mode").write_text("#inputMode protect\n")
    assert said(tmp_path, 'a 1;\n#include "mode"\na 2; "b.*" 3; "b.*" 4;\n') == {
        "a": 1, '"b.*"': 3,
    }  # fmt: skip


def test_entries_that_are_removed(tmp_path: Path) -> None:
    text = 'a 1; b 2; c1 3; c2 4; d 5; "e.*" 6;\n#remove (a b)\n#remove "c."\n#remove "e.*"\n'
    assert said(tmp_path, text) == {"d": 5}


def test_units_that_are_not_those_of_si_stay_beside_their_value(tmp_path: Path) -> None:
    found = said(
        tmp_path,
        "a [mm^2/s] 1.5; b [m^2/s] 2; c [%] 50; d [g/m^3] (1 2); e mu [Pa s] 3; f [0 1 -1] 4;\n",
    )
    assert found == {
        "a": {"value": 1.5, "unit": "mm^2/s"},
        "b": {"value": 2, "unit": "m^2/s"},
        "c": {"value": 50, "unit": "%"},
        "d": {"value": [1, 2], "unit": "g/m^3"},
        "e": {"value": 3, "unit": "kg/m/s"},
        "f": ["0 1 -1", 4],
    }


def test_included_files(tmp_path: Path) -> None:
    dictionary(tmp_path / "constant" / "values", "nu 2e-5;\ndeep { $above; }\n")
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "more").write_text("b 2;\n")
    found = said(
        tmp_path,
        'above { c 3; }\n#include "more"\n#include "../constant/values"\n'
        '#includeIfPresent "nowhere"\nsub { #include "$FOAM_CASE/system/more"\n }\n',
    )
    expected = {"above": {"c": 3}, "b": 2, "nu": 2e-05, "deep": {"c": 3}, "sub": {"b": 2}}
    assert found == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#include "../../secret"', "includes '../../secret', out of its case"),
        ('#include "/etc/passwd"', "includes '/etc/passwd', out of its case"),
        ('#include "$HOME/x"', "expected a file of the case without other variables"),
        ('#include "gone"', "includes 'gone', which is missing"),
        ('#include "it"', "includes itself: it > it"),
        ('#include "one"', "includes itself: it > one > it"),
        ("a { b 1;", "a dictionary has no end"),
        ("a 1; }", "found '}'; expected a key"),
        ("a (1 2;", "entry 'a' .* has no end|found"),
        ("a " + "(" * 100 + ");", "nested too deep"),
        ("a {" * 100, "nested too deep"),
        ("a 1; b $a$a", "entry 'b' .* has no end"),
        ("a 'x';", "a ' stands alone"),
        ("a #{ code", "code has no end"),
        ("a ${x", r"\$\{ has no end"),
        ("a #eval{ 1 + {", r"#eval \{ has no end"),
        ("a 1;\n#inputMode error\na 2;", "'a' stands twice; expected once, as #inputMode says"),
        ("#inputMode never", "#inputMode 'never'; expected default, merge"),
        ("#remove (a", "#remove has no end"),
        ("a " + "${x:-" * 200 + "1" + "}" * 200 + ";", "macros are nested too deep"),
        ("#if 1\na 1;\n", "#if has no end; expected #endif"),
        ("#if 0\na 1;\n#if 1\n#endif\n", "#if has no end; expected #endif"),
        ("#if maybe\n#endif", "#if 'maybe'; expected yes or no"),
        ("#ifeq a", "#ifeq 'a None'; expected yes or no"),
        ("#if $x\n#endif", r"#if \$x, which is not run"),
        ('#if #calc "1 > 0"\n#endif', "#if #calc, which is not run; write the entries it chooses"),
        ("a 1;\n#endif", "#endif without #if"),
        ("#if 1\n#else\n#else\n#endif", "a second #else; expected #endif"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "one").write_text('#include "it"\n')
    with pytest.raises(ReadError, match=message) as caught:
        said(tmp_path, text)
    assert "line " in str(caught.value)


@pytest.mark.parametrize(
    ("first", "each"),
    [
        ("a0 (1 1 1 1 1 1 1 1 1 1);", "a{i} $a{j} $a{j} $a{j} $a{j};"),
        ("a0 (1 1);", "a{i} ($a{j} $a{j} $a{j} $a{j});"),
        ("a0 {{ x 1; }}", "a{i} {{ p $a{j}; q $a{j}; r $a{j}; }}"),
        ("a0 {{ x 1; }}", "a{i} {{ p {{ $a{j}; }} q {{ $a{j}; }} r {{ $a{j}; }} }}"),
        ("a0 {{ x 1; }}", "a{i} {{ p $a{j}; }}"),
    ],
)
def test_a_bomb_of_macros_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, each: str
) -> None:
    monkeypatch.setattr("meshkit.readers.openfoam.dictionary._ITEMS", 20_000)
    lines = [first.format(), *(each.format(i=i, j=i - 1) for i in range(1, 200))]
    with pytest.raises(ReadError, match=r"has more than 20000 items|nested too deep"):
        said(tmp_path, "\n".join(lines))


def test_a_link_out_of_the_case_is_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password 1;\n")
    case = tmp_path / "case"
    (case / "system").mkdir(parents=True)
    (case / "system" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ReadError, match="out of its case"):
        said(case, '#include "link"')


def test_nothing_is_run(tmp_path: Path) -> None:
    folder = write_case(tmp_path, example(), {}, Style())
    mark = tmp_path / "ran"
    text = (
        f'nu #calc "system(\\"touch {mark}\\")";\nrho 1.2;\n'
        f"a #codeStream {{ code #{{ touch {mark} #}}; }};\n#includeFunc residuals\n"
        "#calc #{ x = 1; #};\nb $UNSET;\n"
    )
    dictionary(folder / "constant" / "transportProperties", text)
    mesh = read(folder)
    assert not mark.exists()
    found = mesh.info.attributes["transportProperties"]
    assert found["nu"].startswith("#calc system") and found["rho"] == 1.2 and found["b"] == "$UNSET"
    assert "nu" not in mesh.info.attributes or isinstance(mesh.info.attributes["nu"], str)
    noted = [e for e in mesh.info.report.converted if e.what == "setting"]
    assert any("#calc in line" in e.reason for e in noted)
    assert any("#codeStream" in e.reason for e in noted)
    assert mesh.info.report.lossless


def test_a_value_in_other_units_is_not_lifted_out_as_a_plain_number(tmp_path: Path) -> None:
    folder = write_case(tmp_path, example(), {}, Style())
    dictionary(folder / "constant" / "transportProperties", "nu [mm^2/s] 1.5; rho [kg/m^3] 2;")
    found = read(folder).info.attributes
    assert "nu" not in found and found["rho"] == 2
    assert found["transportProperties"]["nu"] == {"value": 1.5, "unit": "mm^2/s"}


def test_a_settings_file_that_is_damaged_is_counted(tmp_path: Path) -> None:
    folder = write_case(tmp_path, example(), {}, Style())
    dictionary(folder / "constant" / "turbulenceProperties", "simulationType {")
    report = read(folder).info.report
    (lost,) = report.losses
    assert lost.name == "constant/turbulenceProperties" and "has no end" in lost.reason


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        (".*", "inlet", True),
        ("in.*", "inlet", True),
        ("let", "inlet", False),
        ("(in|out)let", "outlet", True),
        ("wall[0-9]+", "wall12", True),
        ("(a+)+b", "a" * 60, False),  # would take for ever
        ("(a+)+b", "(a+)+b", True),
        (".*.*.*.*.*.*.*x", "a" * 60, False),
        ("[", "[", True),
    ],
)
def test_patterns(pattern: str, name: str, expected: bool) -> None:
    assert fits(pattern, name) == expected
