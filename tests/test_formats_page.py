"""docs/formats.md is what the code does, and each of its statements has a test that holds it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from meshkit.readers.formats import FALLBACK, FORMATS, Format
from tests.formats_page import FACTS, OUTCOMES, PAGE, facts_of, outcome, page, probes

ROWS = (*FORMATS, FALLBACK)
each = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.formats_page"


def test_every_format_and_nothing_else_has_its_facts() -> None:
    assert {file.stem for file in FACTS.iterdir()} == {row.name for row in ROWS}


@cache
def functions(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@each
def test_each_statement_names_a_test_that_exists(row: Format) -> None:
    facts = facts_of(row)
    assert set(facts) == set(OUTCOMES) and facts["kept"]
    for fact in (fact for some in facts.values() for fact in some):
        file, _, test = fact.test.partition("::")
        assert test in functions(Path(__file__).parent / file), fact


def test_losses_and_conversions_are_told_apart(tmp_path: Path) -> None:
    named = {row.name: row for row in FORMATS}
    meshes = probes()
    assert outcome(named["npz"], meshes["polyhedra"], tmp_path) == "kept"
    assert outcome(named["stl"], meshes["point fields"], tmp_path) == "lost"
    assert outcome(named["stl"], meshes["tetrahedra"], tmp_path) == "lost"
    assert outcome(named["stl"], meshes["triangles, float64 points"], tmp_path) == "converted"
