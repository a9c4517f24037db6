"""The README is true: its blocks run in order and print what it says they print.

Blocks marked `python` run as doctests in one namespace, blocks marked `console` line by line
(`$ command`, then its output), all in one empty folder. `...` stands for any text. Blocks
marked `sh` are the commands for a fresh checkout; `.ci/run` runs those. Where nothing can be
drawn, blocks that draw are passed over.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from meshkit.readers.formats import FORMATS
from tests.drawing import why_no_drawing

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is the README's line of its first line."""

    language: str
    text: str
    line: int


def blocks(*languages: str) -> list[Block]:
    text = README.read_text("utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start(2)) + 1)
        for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, flags=re.M | re.S)
        if found[1] in languages
    ]


def test_blocks_run_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, command in (("python", ""), ("meshkit", "-m meshkit")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {command} "$@"\n')
        program.chmod(0o755)
    here = tmp_path / "here"
    here.mkdir()
    (here / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")

    names: dict[str, Any] = {}
    for block in blocks("python", "console"):
        if re.search(r"meshkit view|mk\.plot", block.text) and why_no_drawing() is not None:
            continue
        if block.language == "console":
            run_console(block)
        else:
            run_python(block, names)


def run_python(block: Block, names: dict[str, Any]) -> None:
    if ">>>" not in block.text:
        exec(compile("\n" * (block.line - 1) + block.text, str(README), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(
        block.text, names, "README.md", str(README), block.line - 1
    )
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not said, "".join(said)


def run_console(block: Block) -> None:
    checker = doctest.OutputChecker()
    line = block.line
    for part in re.split(r"^\$ ", block.text, flags=re.M):
        command, _, wanted = part.partition("\n")
        if command:
            done = subprocess.run(
                command,
                shell=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=300,
            )
            same = checker.check_output(
                wanted.rstrip() + "\n", done.stdout.rstrip() + "\n", OPTIONS
            )
            failed_unseen = done.returncode != 0 and not wanted.strip()
            if not same or failed_unseen:
                pytest.fail(f"README.md:{line}: $ {command}\nprints\n{done.stdout}")
        line += part.count("\n")


def test_ci_runs_the_commands_for_a_fresh_checkout() -> None:
    commands = [line for block in blocks("sh") for line in block.text.splitlines()]
    script = [line.strip() for line in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()]
    assert len(commands) == 2
    for command in commands:
        assert command in script, f"README says `{command}`, .ci/run does not run it"


def test_files_that_it_names_exist() -> None:
    named = re.findall(r"\]\((?!https?:|#)([^)#]+)", README.read_text("utf-8"))
    assert len(named) > 5
    for target in named:
        assert (ROOT / target).exists(), f"README.md links to {target}"


def test_the_table_of_formats_has_all() -> None:
    table = README.read_text("utf-8").partition("## Formats")[2].partition("\n\n## ")[0]
    words = set(re.findall(r"\w+", table.lower()))
    assert {row.name for row in FORMATS} <= words
