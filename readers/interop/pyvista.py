"""Meshes from and to pyvista, sharing memory wherever vtk can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from meshkit.errors import MeshError, ReadError
from meshkit.mesh import Mesh
from meshkit.operators.soundness.structure import need_structure
from meshkit.readers.vtk import from_mesh, to_mesh
from meshkit.readers.vtk.arrays import refuse_unsound
from meshkit.readers.vtk.blocks import Block, mesh_of_blocks
from meshkit.readers.vtk.names import IN_MEMORY, decoded, encoded
from meshkit.readers.vtk.objects import from_vtk, to_unstructured
from meshkit.report import Ledger


def from_pyvista(dataset: Any) -> Mesh:
    """The mesh of a pyvista (or vtk) data set; `info.report` says what became of everything.

    Points, ids and numeric arrays share the data set's memory, and keep it alive. Copied are:
    texts (as codes with a vocabulary); bits; points of images and rectilinear grids, and all
    structured connectivity; wedges and polyhedra that are turned; poly data with several kinds of
    cells; ids of vtk's fixed-size storage; and everything of a MultiBlock, whose blocks become
    regions of one mesh, as in `readers.vtm`.

    Args:
        dataset: an UnstructuredGrid, PolyData, ImageData, RectilinearGrid, StructuredGrid or
            MultiBlock.

    Raises:
        MeshError: it is none of these, or its arrays contradict each other.
    """
    if not hasattr(dataset, "IsA"):
        raise MeshError(
            f"from_pyvista: expected a data set of pyvista or vtk, found {type(dataset).__name__}"
        )
    ledger = Ledger()
    path = Path(dataset.GetClassName())
    try:
        if dataset.IsA("vtkMultiBlockDataSet") or dataset.IsA("vtkMultiPieceDataSet"):
            mesh = mesh_of_blocks(_block(None, dataset, ledger), path, ledger)
        else:
            mesh = to_mesh(decoded(from_vtk(dataset, ledger), ledger), path, ledger, share_ids=True)
    except (TypeError, ReadError) as why:
        raise MeshError(f"from_pyvista: {why}") from None
    return mesh.replace(info=mesh.info.noting(ledger.report()))


def _block(name: str | None, dataset: Any, ledger: Ledger) -> Block:
    """A block and what is below it; one that holds nothing has no data and nothing below."""
    pieces = dataset.IsA("vtkMultiPieceDataSet")
    if not pieces and not dataset.IsA("vtkMultiBlockDataSet"):
        data = decoded(from_vtk(dataset, ledger), ledger)
        refuse_unsound(data, Path(name or dataset.GetClassName()))
        return Block(name, data)
    from vtkmodules.vtkCommonDataModel import vtkCompositeDataSet

    below = []
    count = dataset.GetNumberOfPieces() if pieces else dataset.GetNumberOfBlocks()
    for i in range(count):
        held = dataset.GetPieceAsDataObject(i) if pieces else dataset.GetBlock(i)
        said = dataset.GetMetaData(i).Get(vtkCompositeDataSet.NAME())
        below.append(Block(said) if held is None else _block(said, held, ledger))
    return Block(name, below=below, pieces=pieces)


def to_pyvista(mesh: Mesh) -> Any:
    """A `pyvista.UnstructuredGrid` of the mesh; `from_pyvista` gives the same mesh back.

    Points, ids and numeric fields share the mesh's memory, and keep it alive. Copied are: tensors
    on a device or not contiguous; points in 1-D or 2-D; offsets and ids of two widths; dtypes that
    vtk lacks (bool is shared as bytes; float16, complex); texts; cells of our own types. What
    VTK has no place for (regions, faces, units) rides in field arrays that begin with "meshkit_".

    Raises:
        MeshError: cells, faces or regions name what is not there, an attribute is not JSON, or a
            tensor is sparse or quantized.
    """
    from pyvista import UnstructuredGrid

    try:
        need_structure(mesh)
    except MeshError as why:
        raise MeshError(f"to_pyvista: {why}") from None
    data = encoded(from_mesh(mesh, Ledger()), IN_MEMORY)
    return UnstructuredGrid(to_unstructured(data), deep=False)
