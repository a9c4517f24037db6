"""What JSON can say: attributes of meshes, fields and regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from meshkit.errors import MeshError

_DEEPEST: Final = 100
"""Levels of nesting; without a limit, what can be written would hang on the caller's stack."""


def plain(what: str, value: Any, depth: int = 0) -> Any:
    """The value as JSON gives it back: text keys, lists for tuples, Python's own numbers.

    NaN and infinities pass, as Python's JSON writes and reads them.

    >>> plain("attributes", {"rho": 1.2, "axes": ("x", "y")})
    {'rho': 1.2, 'axes': ['x', 'y']}

    Raises:
        MeshError: something in it is nothing JSON can say, or it nests more than 100 levels deep;
            the message says where.
    """
    if depth > _DEEPEST:
        raise MeshError(f"{what.partition('[')[0]}: nests more than {_DEEPEST} levels deep")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise MeshError(f"{what}: expected names as text, found {key!r}")
        return {str(key): plain(f"{what}[{key!r}]", item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(f"{what}[{i}]", item, depth + 1) for i, item in enumerate(value)]
    for kind in (bool, int, float, str):  # of a subclass: an enum, a numpy float
        if isinstance(value, kind):
            return kind(value)
    raise MeshError(f"{what}: expected what JSON can say, found {type(value).__name__}")
