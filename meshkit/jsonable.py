"""What JSON can say: attributes of meshes, fields and regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meshkit.errors import MeshError


def plain(what: str, value: Any) -> Any:
    """The value as JSON gives it back: text keys, lists for tuples, Python's own numbers.

    NaN and infinities pass, as Python's JSON writes and reads them.

    >>> plain("attributes", {"rho": 1.2, "axes": ("x", "y")})
    {'rho': 1.2, 'axes': ['x', 'y']}

    Raises:
        MeshError: something in it is nothing JSON can say; the message says where.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise MeshError(f"{what}: expected names as text, found {key!r}")
        return {str(key): plain(f"{what}[{key!r}]", item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(f"{what}[{i}]", item) for i, item in enumerate(value)]
    for kind in (bool, int, float, str):  # of a subclass: an enum, a numpy float
        if isinstance(value, kind):
            return kind(value)
    raise MeshError(f"{what}: expected what JSON can say, found {type(value).__name__}")
