"""What every public operator refuses before it begins."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import torch

from meshkit.errors import MeshError
from meshkit.mesh import DomainMesh, Mesh
from meshkit.series import MeshSeries

_IMPORTERS: Final = {
    "pyvista": "from_pyvista",
    "vtkmodules": "from_pyvista",
    "meshio": "from_meshio",
    "trimesh": "from_trimesh",
    "physicsnemo": "from_physicsnemo",
}
"""What makes a mesh of an object, by the package that its class is from."""

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

    return uncompiled(cast(F, checked))


def uncompiled(function: F) -> F:
    """The same function, which torch.compile calls as it stands, between its graphs: much is looked
    up and kept by the mesh, and numba's loops are compiled already."""
    made = torch.compiler.disable(function, reason="meshkit has compiled loops of its own")  # type: ignore[no-untyped-call]
    return cast(F, made)


def _need_mesh(what: str, mesh: object) -> None:
    if not isinstance(mesh, Mesh):
        raise MeshError(f"{what}: expected a Mesh, found {type(mesh).__name__}{_advice(mesh)}")
    if mesh.device.type == "meta":
        raise MeshError(f"{what}: the mesh is on the meta device, which has no values")


def _advice(found: object) -> str:
    """How to come from what was given to a mesh."""
    if isinstance(found, DomainMesh):
        return "; take its .interior or one of its .boundaries"
    if isinstance(found, MeshSeries):
        return "; take one of its times, series[i]"
    if isinstance(found, str | Path):
        return "; take meshkit.read(...) of it"
    for kind in type(found).__mro__:
        importer = _IMPORTERS.get(kind.__module__.partition(".")[0])
        if importer is not None:
            return f"; take meshkit.{importer}(mesh)"
    return ""
