"""Files in, meshes out, and back. One module a format, one row a format in `FORMATS`."""

from meshkit.readers.formats import FORMATS, Format

__all__ = ["FORMATS", "Format"]
