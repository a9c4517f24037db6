"""The shape of the source: who may import whom, what a file may be called, what is documented.

The rules are read off the syntax trees, so that a file is judged by what it says, also in
functions and branches that no test runs.
"""

import ast
import doctest
import inspect
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("meshkit", "readers", "operators", "sharding", "data_contracts")
FILES = sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*.py"))
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# Room -> the rooms it may import. "heart" stands for the modules directly in meshkit/.
FOUNDATION = {"heart", "operators", "readers", "store", "data_contracts", "sharding"}
MAY_IMPORT: dict[str, set[str]] = {
    "heart": {"heart"},
    "operators": {"operators", "heart"},
    "readers": {"readers", "operators", "heart"},
    "pictures": {"pictures", "readers", "operators", "heart"},
    "store": {"store", "operators", "heart"},
    "data_contracts": {"data_contracts", "store", "operators", "heart"},
    "sharding": {"sharding", "store", "operators", "heart"},
    **{
        room: {room, *FOUNDATION}
        for room in ("training", "models", "physics", "evaluation", "pipeline")
    },
    "__main__": {"cli"},
}
MAY_IMPORT["cli"] = {"cli", *MAY_IMPORT} - {"__main__"}

JUNK = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "base", "core"}


@cache
def dotted(file: Path) -> str:
    """readers/obj.py -> meshkit.readers.obj; a package has the name of its folder."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts if parts[0] == "meshkit" else ("meshkit", *parts))
    return name.removesuffix(".__init__")


def room(name: str) -> str:
    """The room of a module, given by its full name."""
    part = [*name.split("."), ""][1]
    return part if part in MAY_IMPORT else "heart"


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"), str(file))


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """All that its syntax tree holds."""
    return tuple(ast.walk(tree(file)))


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of all that a file imports, `import_module("...")` included."""
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name | ast.Attribute)
            and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
            in {"import_module", "__import__"}
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, str(node.args[0].value)


def in_library(file: Path) -> bool:
    """Neither the command line nor the module that starts it."""
    return room(dotted(file)) not in {"cli", "__main__"}


Check: TypeAlias = Callable[[Path], None]


def of_each(files: list[Path]) -> Callable[[Check], Callable[[], None]]:
    """What is asserted of a file, as one test of all: as many tests as files take a minute."""

    def of_all(check: Check) -> Callable[[], None]:
        def test() -> None:
            wrong = []
            for file in files:
                try:
                    check(file)
                except AssertionError as error:
                    wrong.append(f"{dotted(file)}: {error}")
            assert not wrong, "\n".join(wrong)

        return test

    return of_all


every_file = of_each(FILES)
every_library_file = of_each([f for f in FILES if in_library(f)])


@every_file
def test_imports_stay_within_the_rooms(file: Path) -> None:
    here = dotted(file)
    if here == "meshkit":  # the public names of all rooms, loaded on first use
        return
    wrong = []
    for line, name in imports(file):
        parts = name.split(".")
        if parts[0] in FOLDERS[1:]:
            wrong.append(f"{line}: say meshkit.{name}")
        elif parts[0] == "meshkit":
            there = room(name)
            if there not in MAY_IMPORT[room(here)]:
                wrong.append(f"{line}: {room(here)} may not import {there} ({name})")
            elif (
                in_library(file)
                and name != "meshkit.__version__"
                and not _is_module(".".join(parts[:2]))
            ):
                # `meshkit.read` would be a way round the rule: it loads another room.
                wrong.append(f"{line}: import {name} from the module that defines it")
    assert not wrong, "\n".join([str(file), *wrong])


def _is_module(name: str) -> bool:
    return any(dotted(f) == name for f in FILES) and name != "meshkit"


@every_file
def test_imports_are_absolute(file: Path) -> None:
    relative = [
        node.lineno for node in nodes(file) if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative, f"{file}: relative imports in lines {relative}"


def test_what_is_imported_is_declared() -> None:
    extras = {e for name, given in _extras().items() if name not in {"dev", "bench"} for e in given}
    declared = {_distribution(d) for d in (*CONFIG["project"]["dependencies"], *extras)}
    renamed = {"vtkmodules": "vtk", "PIL": "pillow", "physicsnemo": "nvidia-physicsnemo"}
    wrong = []
    for file in FILES:
        for line, name in imports(file):
            top = name.split(".")[0]
            known = top in sys.stdlib_module_names or top in FOLDERS
            if not known and _distribution(renamed.get(top, top)) not in declared:
                wrong.append(f"{file}:{line}: {top} is no dependency in pyproject.toml")
    assert not wrong, "\n".join(wrong)


def _extras() -> dict[str, list[str]]:
    found: dict[str, list[str]] = CONFIG["project"]["optional-dependencies"]
    return found


def _distribution(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


@every_file
def test_file_has_a_telling_name(file: Path) -> None:
    assert not {*file.relative_to(ROOT).with_suffix("").parts} & JUNK


@every_library_file
def test_only_the_command_line_prints_and_exits(file: Path) -> None:
    wrong = []
    for node in nodes(file):
        match node:
            case ast.Call(func=ast.Name(id="print" | "exit" | "quit" | "breakpoint" as name)):
                wrong.append(f"{node.lineno}: {name}()")
            case ast.Attribute(
                value=ast.Name(id="sys" | "os" as owner), attr="exit" | "_exit" as name
            ):
                wrong.append(f"{node.lineno}: {owner}.{name}")
            case ast.Raise(
                exc=ast.Name(id="SystemExit") | ast.Call(func=ast.Name(id="SystemExit"))
            ):
                wrong.append(f"{node.lineno}: raise SystemExit")
    assert not wrong, "\n".join([str(file), *wrong])


@every_library_file
def test_no_error_is_swallowed_unseen(file: Path) -> None:
    blind = [
        node.lineno
        for node in nodes(file)
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or any(
                isinstance(n, ast.Name) and n.id in {"Exception", "BaseException"}
                for n in ast.walk(node.type)
            )
        )
    ]
    assert not blind, f"{file}: `except` of everything in lines {blind}"


@every_file
def test_no_assert_guards_a_caller(file: Path) -> None:
    # `python -O` drops them, and AssertionError is not in our tree of errors.
    found = [node.lineno for node in nodes(file) if isinstance(node, ast.Assert)]
    assert not found, f"{file}: assert in lines {found}"


@every_file
def test_public_things_have_docstrings(file: Path) -> None:
    name = dotted(file)
    if any(part.startswith("_") for part in name.split(".")[1:-1]):
        return
    bare = list(_without_docstring(tree(file), name))
    if not ast.get_docstring(tree(file)):
        bare.insert(0, name)
    assert not bare, f"{file}: no docstring for {', '.join(bare)}"


def _without_docstring(parent: ast.Module | ast.ClassDef, name: str) -> Iterator[str]:
    for node in parent.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_") or _inherits_docstring(node):
            continue
        if not ast.get_docstring(node):
            yield f"{name}.{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from _without_docstring(node, f"{name}.{node.name}")


def _inherits_docstring(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """An overload, an override or a setter says the same as the thing that has the docstring."""
    names = {
        n.id if isinstance(n, ast.Name) else getattr(n, "attr", "")
        for n in (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    }
    return bool(names & {"overload", "override", "setter", "deleter"})


@pytest.mark.parametrize("package", ["meshkit", "meshkit.operators", "meshkit.readers"])
def test_public_names_exist_and_are_documented(package: str) -> None:
    module = import_module(package)
    names: list[str] = list(getattr(module, "__all__", ()))
    assert names, f"{package} has no __all__"
    assert len(set(names)) == len(names)
    bare = []
    for name in names:
        thing: Any = getattr(module, name)
        if inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing):
            text = thing.__doc__ or ""
            # What a dataclass writes for itself is its signature, not a docstring.
            if not text.strip() or text.startswith(f"{name}("):
                bare.append(name)
    assert not bare, f"{package}: no docstring for {', '.join(bare)}"


@pytest.mark.parametrize("file", FILES, ids=dotted)
def test_examples_in_docstrings(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = dotted(file)
    if name.endswith("__main__"):
        return
    monkeypatch.chdir(tmp_path)  # what an example writes is gone after it
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(import_module(name), optionflags=options).failed == 0


def test_every_package_is_shipped() -> None:
    shipped = CONFIG["tool"]["setuptools"]["packages"]
    assert sorted(shipped) == sorted(dotted(f) for f in FILES if f.stem == "__init__")


def test_every_folder_with_code_is_a_package() -> None:
    lonely = {f.parent for f in FILES if not (f.parent / "__init__.py").is_file()}
    assert not lonely


def test_rooms_are_linked_for_type_checkers() -> None:
    for folder in FOLDERS[1:]:
        link = ROOT / "typings" / "meshkit" / folder
        assert link.is_symlink()
        assert link.readlink() == Path("..", "..", folder)
    # A package file there would hide the heart from type checkers.
    assert not (ROOT / "typings" / "meshkit" / "__init__.py").exists()


def test_no_file_names_a_place_on_one_machine() -> None:
    # Written in pieces, or this file would name them too.
    places = re.compile(
        "|".join(
            [r"(?<![\w.])/" + r"(work|home|root|Users)/", "/tmp" + "/venv", r"\.\./" + "shared"]
        )
    )
    wrong = []
    for folder, below, names in os.walk(ROOT):
        hidden = {d for d in below if d.startswith(".") and d not in {".ci", ".github"}}
        below[:] = sorted({*below} - hidden - {"build", "dist", "demo", "__pycache__", "typings"})
        for file in (Path(folder) / name for name in sorted(names)):
            # In a second working tree of a repository, .git is a file.
            if file in (ROOT / ".ci" / "run", ROOT / ".git") or file.suffix == ".pyc":
                continue
            text = file.read_bytes()
            if b"\0" in text or file.parent.suffix == ".egg-info":
                continue
            for n, line in enumerate(text.decode("utf-8", "replace").splitlines(), start=1):
                if places.search(line):
                    wrong.append(f"{file.relative_to(ROOT)}:{n}: {line.strip()}")
    assert not wrong, "\n".join(wrong)


def test_version_is_one() -> None:
    assert import_module("meshkit").__version__ == CONFIG["project"]["version"]


def test_type_checkers_see_the_public_names() -> None:
    stub = ast.parse((ROOT / "meshkit" / "__init__.pyi").read_text("utf-8"))
    exported = {
        alias.asname
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert exported == set(import_module("meshkit").__all__)
