"""Mesh-centric geometry and data toolkit for CAE machine learning.

    import meshkit as mk
    mesh = mk.read("case.vtu")
    mk.write(mesh, "case.npz")

Every name is imported on first use, so that `import meshkit` costs nothing.
"""

from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import Any as _Any

__version__ = "0.1.0"

# A wheel has the rooms readers/, operators/, ... in here; a checkout has them beside.
_here = _Path(__file__).resolve().parent
if not (_here / "readers").is_dir():
    __path__.append(str(_here.parent))

_HOMES = {
    "meshkit.cells": ("Cells", "Polyhedra"),
    "meshkit.celltypes": ("CELL_TYPES", "cell_type"),
    "meshkit.collation": ("collate",),
    "meshkit.errors": (
        "FileError",
        "LossError",
        "MeshError",
        "MeshkitError",
        "MissingPackage",
        "ReadError",
        "UnitError",
        "UnknownFormat",
        "WriteError",
    ),
    "meshkit.faces": ("Faces",),
    "meshkit.info": ("FieldInfo", "Grid", "MeshInfo", "Source"),
    "meshkit.making": ("make_mesh",),
    "meshkit.mesh": ("DomainMesh", "Mesh"),
    "meshkit.operators.check": ("Finding", "check"),
    "meshkit.pictures.errors": ("NoWindow", "PictureError"),
    "meshkit.pictures.picture": ("Film", "Picture"),
    "meshkit.pictures.plot": ("plot",),
    "meshkit.readers.interop.meshio": ("from_meshio", "to_meshio"),
    "meshkit.readers.interop.physicsnemo": ("from_physicsnemo", "to_physicsnemo"),
    "meshkit.readers.interop.pyg": ("to_pyg",),
    "meshkit.readers.interop.pyvista": ("from_pyvista", "to_pyvista"),
    "meshkit.readers.interop.trimesh": ("from_trimesh", "to_trimesh"),
    "meshkit.readers.reading": ("read", "read_series"),
    "meshkit.readers.writing": ("write",),
    "meshkit.regions": ("Region", "Regions"),
    "meshkit.report": ("Report",),
    "meshkit.series": ("MeshSeries",),
    "meshkit.store.handle": ("Store", "open_store"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> _Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'meshkit' has no attribute {name!r}")
    value = getattr(_import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
