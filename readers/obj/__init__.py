"""Wavefront OBJ: points, vertices, lines and polygons, with objects, groups and materials.

Objects (`o`), groups (`g`) and materials (`usemtl`) become cell regions of the kinds "object",
"group" and "material"; smoothing groups (`s`) a cell field. Texture vertices and normals belong
to corners: where every point has exactly one they become the point fields "texture" and
"normals", else the cell fields "corner_texture" and "corner_normals", a row of corners a cell (see
`corners`). Free-form curves and surfaces are dropped and counted.

`reading` and `writing` do it.

Source: Wavefront Technologies, Advanced Visualizer Manual, appendix B1 (Object files).
"""

from meshkit.readers.obj.reading import read
from meshkit.readers.obj.writing import write

__all__ = ["read", "write"]
