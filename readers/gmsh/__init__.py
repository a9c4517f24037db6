"""Gmsh's MSH files: versions 2 to 4.1 in, ascii and binary; version 4.1 out.

`sections` finds the parts of a file, `numbers` gives what stands in them; `nodes`,
`element_blocks` (version 4) and `element_tables` (2), `entities`, `links`, `views` and `times` know
one part each, `elements` and `node_order` gmsh's elements. `cells`, `grouping` and `fields` make a
mesh of it. The other way, `carried` makes elements of points, edges and sides, `labels` entities of
regions that overlap, `data_out` writes fields, and `note` what MSH has no place for (`packed` the
tensors in it); `applying` gives that back.
"""

from meshkit.readers.gmsh.reading import read, series
from meshkit.readers.gmsh.writing import write, write_series

__all__ = ["read", "series", "write", "write_series"]
