"""What can be wrong with the wish for a picture, apart from the mesh."""

from __future__ import annotations

from meshkit.errors import MeshkitError


class PictureError(MeshkitError, ValueError):
    """An option of a picture has no meaning: a camera, a plane, a colour map, a size."""


class NoWindow(MeshkitError):
    """This machine has nothing to draw with; the message says what to install."""
