"""Docstrings of public functions say all that a caller has to know, in one form.

`tests/test_layout.py` holds that there is one; here it is held to its parts: each argument, what
is given, in which shape and how far it can be followed, and what is refused.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

SECTIONS = ["Args", "Returns", "Raises"]


def _public(package: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions of a package, and methods of its classes, by name."""
    module = import_module(package)
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isroutine(thing):
            yield name, thing
        elif inspect.isclass(thing) and not issubclass(thing, Exception):
            for key in vars(thing):
                method = getattr(thing, key)
                if not key.startswith("_") and inspect.isroutine(method):
                    yield f"{name}.{key}", method


OPERATORS = dict(_public("meshkit.operators"))
EVERYTHING = {**dict(_public("meshkit.readers")), **dict(_public("meshkit")), **OPERATORS}

every_function = pytest.mark.parametrize("name", sorted(EVERYTHING))
every_operator = pytest.mark.parametrize(
    "name", sorted(name for name in OPERATORS if name[0].islower())
)


def _said(name: str, seen: frozenset[str] = frozenset()) -> str:
    """A docstring, with those to which it sends its reader ("arguments as of `gradient`")."""
    text = inspect.getdoc(EVERYTHING[name]) or ""
    asked = set(re.findall(r"\b(?:as|as (?:in|of|for)|derivatives of) `([\w.]+)`", text))
    others = sorted((asked & EVERYTHING.keys()) - seen - {name})
    return "\n".join([text, *(_said(other, seen | {name}) for other in others)])


def _returns(name: str) -> str:
    return str(inspect.signature(EVERYTHING[name]).return_annotation)


@every_function
def test_sections_have_their_names_and_their_order(name: str) -> None:
    text = inspect.getdoc(EVERYTHING[name]) or ""
    heads = re.findall(r"^([A-Z]\w+):$", text, re.MULTILINE)
    sections = [head for head in heads if head in SECTIONS]
    assert sections == sorted(set(sections), key=SECTIONS.index)
    assert not {"Arguments", "Parameters", "Return", "Yields", "Raise", "Errors"} & {*heads}


@every_function
def test_each_argument_is_named(name: str) -> None:
    given = [p for p in inspect.signature(EVERYTHING[name]).parameters if p not in {"self", "cls"}]
    # What a function is about is its first line: its mesh, or the one thing that it takes.
    about = 1 if "." not in name or len(given) == 1 else 0
    text = _said(name)
    assert [p for p in given[about:] if not re.search(rf"\b{p}\b", text)] == []


@every_function
def test_tensors_have_a_shape(name: str) -> None:
    if re.search(r"\bTensor\b", _returns(name)):
        assert re.search(r"\[[\w.+, ()]+\]", _said(name))


@every_operator
def test_operators_say_what_they_give_and_refuse(name: str) -> None:
    text = _said(name)
    assert "Returns:" in text
    assert "Raises:" in text or "Never raises" in text


@every_operator
def test_operators_say_how_far_they_can_be_followed(name: str) -> None:
    # Whole numbers are exact and have no derivative.
    assert re.search(r"ifferentiable|\bint(64)?\b|\bExact\b|Plain\s+numbers", _said(name))
