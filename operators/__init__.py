"""Functions from a mesh (and fields) to tensors or a new mesh: no state, no input or output."""

from meshkit.operators.adjacency.boundary import boundary
from meshkit.operators.adjacency.edges import edges
from meshkit.operators.adjacency.faces import faces
from meshkit.operators.adjacency.neighbours import (
    Adjacency,
    cell_cells,
    cell_faces,
    point_cells,
    point_points,
)
from meshkit.operators.check import Finding, check
from meshkit.operators.domain import domain
from meshkit.operators.measure.cell_centroids import cell_centroids
from meshkit.operators.measure.cell_measures import cell_measures
from meshkit.operators.measure.cell_normals import cell_normals
from meshkit.operators.measure.face_geometry import face_area_vectors, face_centroids
from meshkit.operators.simplices import simplices

__all__ = [
    "Adjacency",
    "Finding",
    "boundary",
    "cell_cells",
    "cell_centroids",
    "cell_faces",
    "cell_measures",
    "cell_normals",
    "check",
    "domain",
    "edges",
    "face_area_vectors",
    "face_centroids",
    "faces",
    "point_cells",
    "point_points",
    "simplices",
]
