from meshkit.cells import Cells as Cells, Polyhedra as Polyhedra
from meshkit.celltypes import CELL_TYPES as CELL_TYPES, cell_type as cell_type
from meshkit.collation import collate as collate
from meshkit.errors import (
    FileError as FileError,
    LossError as LossError,
    MeshError as MeshError,
    MeshkitError as MeshkitError,
    MissingPackage as MissingPackage,
    ReadError as ReadError,
    UnitError as UnitError,
    UnknownFormat as UnknownFormat,
    WriteError as WriteError,
)
from meshkit.faces import Faces as Faces
from meshkit.info import (
    FieldInfo as FieldInfo,
    Grid as Grid,
    MeshInfo as MeshInfo,
    Source as Source,
)
from meshkit.making import make_mesh as make_mesh
from meshkit.mesh import DomainMesh as DomainMesh, Mesh as Mesh
from meshkit.operators.check import Finding as Finding, check as check
from meshkit.pictures.errors import NoWindow as NoWindow, PictureError as PictureError
from meshkit.pictures.picture import Film as Film, Picture as Picture
from meshkit.pictures.plot import plot as plot
from meshkit.readers.interop.meshio import from_meshio as from_meshio, to_meshio as to_meshio
from meshkit.readers.interop.physicsnemo import (
    from_physicsnemo as from_physicsnemo,
    to_physicsnemo as to_physicsnemo,
)
from meshkit.readers.interop.pyg import to_pyg as to_pyg
from meshkit.readers.interop.pyvista import from_pyvista as from_pyvista, to_pyvista as to_pyvista
from meshkit.readers.interop.trimesh import from_trimesh as from_trimesh, to_trimesh as to_trimesh
from meshkit.readers.reading import read as read, read_series as read_series
from meshkit.readers.writing import write as write
from meshkit.regions import Region as Region, Regions as Regions
from meshkit.report import Report as Report
from meshkit.series import MeshSeries as MeshSeries
from meshkit.store.handle import Store as Store, open_store as open_store

__version__: str
__all__: list[str]
