"""docs/operators.md has each public name of the operators, with what its docstring says first."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from meshkit import operators as ops

_PAGE = Path(__file__).parents[1] / "docs" / "operators.md"


def test_the_page_of_operators() -> None:
    said = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", _PAGE.read_text(encoding="utf-8"), re.M))
    docstrings = {name: inspect.getdoc(getattr(ops, name)) or "" for name in ops.__all__}
    assert said == {
        name: text.partition("\n\n")[0].replace("\n", " ") for name, text in docstrings.items()
    }
