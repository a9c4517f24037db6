"""Functions from a mesh (and fields) to tensors or a new mesh: no state, no input or output."""

from meshkit.operators.adjacency.boundary import boundary
from meshkit.operators.adjacency.components import components, feature_patches
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
from meshkit.operators.differential.curl import curl
from meshkit.operators.differential.curl_operator import curl_operator
from meshkit.operators.differential.divergence import divergence
from meshkit.operators.differential.divergence_operator import divergence_operator
from meshkit.operators.differential.gradient import gradient
from meshkit.operators.differential.gradient_operator import gradient_operator
from meshkit.operators.differential.laplacian import laplacian
from meshkit.operators.differential.laplacian_operator import laplacian_operator
from meshkit.operators.differential.mass_matrix import mass_matrix
from meshkit.operators.differential.mesh_operator import MeshOperator, TransposedOperator
from meshkit.operators.differential.stiffness_matrix import stiffness_matrix
from meshkit.operators.domain import domain
from meshkit.operators.integral.flux import flux
from meshkit.operators.integral.force import force
from meshkit.operators.integral.integrate import average, integrate
from meshkit.operators.integral.weights import integration_weights
from meshkit.operators.measure.cell_centroids import cell_centroids
from meshkit.operators.measure.cell_measures import cell_measures
from meshkit.operators.measure.cell_normals import cell_normals
from meshkit.operators.measure.corner_angles import corner_angles
from meshkit.operators.measure.curvature import angle_defects, gauss_curvature, mean_curvature
from meshkit.operators.measure.dihedral_angles import DihedralAngles, dihedral_angles
from meshkit.operators.measure.dual_measures import dual_measures
from meshkit.operators.measure.edge_angles import edge_angles
from meshkit.operators.measure.face_geometry import face_area_vectors, face_centroids
from meshkit.operators.measure.point_normals import point_normals
from meshkit.operators.quality.first_cell_heights import first_cell_heights
from meshkit.operators.quality.quality import face_quality, quality
from meshkit.operators.quality.worst import Worst, worst
from meshkit.operators.simplices import simplices

__all__ = [
    "Adjacency",
    "DihedralAngles",
    "Finding",
    "MeshOperator",
    "TransposedOperator",
    "Worst",
    "angle_defects",
    "average",
    "boundary",
    "cell_cells",
    "cell_centroids",
    "cell_faces",
    "cell_measures",
    "cell_normals",
    "check",
    "components",
    "corner_angles",
    "curl",
    "curl_operator",
    "dihedral_angles",
    "divergence",
    "divergence_operator",
    "domain",
    "dual_measures",
    "edge_angles",
    "edges",
    "face_area_vectors",
    "face_centroids",
    "face_quality",
    "faces",
    "feature_patches",
    "first_cell_heights",
    "flux",
    "force",
    "gauss_curvature",
    "gradient",
    "gradient_operator",
    "integrate",
    "integration_weights",
    "laplacian",
    "laplacian_operator",
    "mass_matrix",
    "mean_curvature",
    "point_cells",
    "point_normals",
    "point_points",
    "quality",
    "simplices",
    "stiffness_matrix",
    "worst",
]
