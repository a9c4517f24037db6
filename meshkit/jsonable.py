"""What JSON can say: attributes of meshes, fields and regions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from meshkit.errors import MeshError

_ATOMS: Final = frozenset({type(None), bool, int, float, str})
_DEEPEST: Final = 100
"""Levels of nesting; without a limit, what can be written would hang on the caller's stack."""


def plain(what: str, value: Any) -> Any:
    """The value as JSON gives it back: text keys, lists for tuples, Python's own numbers.

    NaN and infinities pass, as Python's JSON writes and reads them.

    >>> plain("attributes", {"rho": 1.2, "axes": ("x", "y")})
    {'rho': 1.2, 'axes': ['x', 'y']}

    Raises:
        MeshError: something in it is nothing JSON can say, or it nests more than 100 levels deep;
            the message says where.
    """
    try:
        return _plain(value, 0)
    except _TooDeep:
        raise MeshError(f"{what}: nests more than {_DEEPEST} levels deep") from None
    except _NotJson as why:
        raise MeshError(f"{what}{''.join(reversed(why.place))}: {why.problem}") from None


class _NotJson(Exception):
    """What is wrong, and where: the innermost first, since nobody asks but where it is."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.place: list[str] = []


class _TooDeep(Exception):
    """More levels than can be written."""


def _plain(value: Any, depth: int) -> Any:
    if type(value) in _ATOMS:
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _NotJson(f"expected names as text, found {key!r}")
        items = _items(value.items(), depth)
        return {str(key): item for key, item in zip(value, items, strict=True)}
    if isinstance(value, list | tuple):
        return _items(enumerate(value), depth)
    for kind in (bool, int, float, str):  # of a subclass: an enum, a numpy float
        if isinstance(value, kind):
            return kind(value)
    raise _NotJson(f"expected what JSON can say, found {type(value).__name__}")


def _items(pairs: Iterable[tuple[Any, Any]], depth: int) -> list[Any]:
    """What a list or a mapping holds, each made plain."""
    if depth == _DEEPEST:
        raise _TooDeep
    out = []
    for key, item in pairs:
        try:
            out.append(item if type(item) in _ATOMS else _plain(item, depth + 1))
        except _NotJson as why:
            why.place.append(f"[{key!r}]")
            raise
    return out
