"""OpenFOAM cases, read by our own parser: nothing in them is run.

`reading` is the door: `case` finds what lies where, `folder` opens it (whole, packed, collated),
`scanner`, `header`, `lists`, `dictionary` read text and bytes, `poly_mesh`, `zones`, `fields` say
what they mean, `decomposed` puts processors together, `cell_shapes` makes cells of faces, and
`assembly` the `Mesh`.
"""

from meshkit.readers.openfoam.reading import read, series

__all__ = ["read", "series"]
