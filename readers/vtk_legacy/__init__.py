"""Legacy VTK files (.vtk): read any, write version 5.1.

`reading` goes through a file over the cursor of `scan`, `data` makes a data set of what it found,
`writing` writes one, in the words of `words`. `readers.vtk` makes meshes of what VTK holds, and the
reverse.
"""

from meshkit.readers.vtk_legacy.reading import read
from meshkit.readers.vtk_legacy.writing import write

__all__ = ["read", "write"]
