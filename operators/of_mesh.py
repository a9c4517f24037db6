"""What every public operator refuses before it begins."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from meshkit.errors import MeshError
from meshkit.mesh import DomainMesh, Mesh
from meshkit.series import MeshSeries

F = TypeVar("F", bound=Callable[..., Any])


def of_mesh(function: F) -> F:
    """The same function of a mesh, and one that says so when its first argument is none.

    Raises (the function it gives):
        MeshError: the first argument is no Mesh, or one on the meta device, which has no values.
    """

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if args or "mesh" in kwargs:
            _need_mesh(function.__name__, args[0] if args else kwargs["mesh"])
        return function(*args, **kwargs)

    return cast(F, checked)


def _need_mesh(what: str, mesh: object) -> None:
    if not isinstance(mesh, Mesh):
        hint = ""
        if isinstance(mesh, DomainMesh):
            hint = "; take its .interior or one of its .boundaries"
        elif isinstance(mesh, MeshSeries):
            hint = "; take one of its times, series[i]"
        raise MeshError(f"{what}: expected a Mesh, found {type(mesh).__name__}{hint}")
    if mesh.device.type == "meta":
        raise MeshError(f"{what}: the mesh is on the meta device, which has no values")
