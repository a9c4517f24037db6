"""Legacy VTK files (.vtk): read any, write version 5.1.

`vtk_legacy_read` goes through a file over the cursor of `vtk_legacy_scan`, `vtk_legacy_data` makes
a data set of what it found, `vtk_legacy_write` writes one, in the words of `vtk_legacy_words`.
`vtk_data` makes meshes of what VTK holds, and the reverse.
"""

from meshkit.readers.vtk_legacy_read import read
from meshkit.readers.vtk_legacy_write import write

__all__ = ["read", "write"]
