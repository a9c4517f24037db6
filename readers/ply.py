"""PLY files: read any, write binary little-endian.

`ply_read` and `ply_write` do it: `ply_header` knows the header, `ply_body` the numbers, and
`ply_note` what our writer says in comments.
"""

from meshkit.readers.ply_read import read
from meshkit.readers.ply_write import write

__all__ = ["read", "write"]
