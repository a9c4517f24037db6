"""PLY files: read any, write binary little-endian.

`reading` and `writing` do it: `header` knows the header, `body` the numbers, and `note` what our
writer says in comments.
"""

from meshkit.readers.ply.reading import read
from meshkit.readers.ply.writing import write

__all__ = ["read", "write"]
