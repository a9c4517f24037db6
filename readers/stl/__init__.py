"""STL: triangles without shared points, in binary or as text.

Reading merges corners that are equal to the bit into points, numbered by first appearance, and
makes each named solid of a text file a cell region of kind "solid". Facet normals are kept only
where they say something that the corners do not. Writing gives binary, or text where binary would
lose something: named solids, or coordinates that float32 cannot hold.

`reading` and `writing` do it.

Source: 3D Systems, StereoLithography Interface Specification (1989), as in M. Burns, Automated
Fabrication (1993), section 6.5.
"""

from meshkit.readers.stl.reading import read
from meshkit.readers.stl.writing import write

__all__ = ["read", "write"]
