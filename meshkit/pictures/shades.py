"""Fields as one number a point or cell: which field, and which component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from meshkit.errors import MeshError
from meshkit.fields import leaves
from meshkit.info import FieldInfo, FieldKey
from meshkit.mesh import Mesh
from meshkit.pictures.errors import PictureError

Numbers = NDArray[np.float64]

DRAWN: Final = ("point_data", "cell_data")
"""Whose fields can be drawn."""

# Numbers that count things are of less interest than those that measure.
_COUNTING: Final = ("global_ids", "pedigree_ids", "normals", "tcoords", "ghost")


Nature = Literal["measure", "whole", "truth", "text"]


@dataclass(frozen=True, eq=False)
class Shade:
    """What is coloured.

    Args:
        key: where the field lives.
        title: for the legend: name, component and unit.
        values: float64 [n_points] or [n_cells].
        nature: what the values are; of texts they are codes.
        vocabulary: the texts.
    """

    key: FieldKey
    title: str
    values: Numbers
    nature: Nature = "measure"
    vocabulary: tuple[str, ...] = ()


def chosen_key(mesh: Mesh, name: str | None) -> FieldKey | None:
    """The field that a name means; without one, what is best to look at.

    That is the first floating field of the points, else of the cells. A mesh without one is best
    seen by its regions; if it has none, by any other field. None stands for no field.

    Raises:
        MeshError: there is no such field, or one on points and one on cells.
    """
    there = {
        (home, *path): values
        for home in DRAWN
        for path, values in leaves(getattr(mesh, home))
        if values.shape[1:].numel()  # a row holds something
    }
    if name is None:
        floating = [
            key
            for key, x in there.items()
            if (x.is_floating_point() or x.is_complex())
            and mesh.info.field(*key).kind not in _COUNTING
        ]
        others = [] if len(mesh.regions) else list(there)
        return next(iter([*floating, *others]), None)
    found = [key for key in there if name in ("/".join(key), "/".join(key[1:]))]
    if not found:
        known = ", ".join("/".join(key) for key in there) or "none"
        raise MeshError(f"no field {name!r} on points or cells; there are {known}")
    if len(found) > 1:
        both = " and ".join("/".join(key) for key in found)
        raise MeshError(f"field {name!r} could be {both}; name one of them")
    return found[0]


def shade(mesh: Mesh, key: FieldKey, component: str | None) -> Shade | None:
    """One number a row of a field; None if the mesh has no such field.

    Of a vector or tensor the magnitude (Frobenius) unless a component is named; of complex
    numbers the absolute value.

    Raises:
        PictureError: the field has no such component.
    """
    found = dict(leaves(getattr(mesh, key[0]))).get(key[1:])
    if found is None:
        return None
    known = mesh.info.field(*key)
    name = "/".join(key[1:])
    values = found.detach()
    nature: Nature = "whole"
    if known.vocabulary is not None:
        nature = "text"
    elif values.dtype == torch.bool:
        nature = "truth"
    elif values.is_floating_point() or values.is_complex():
        nature = "measure"
    if values.is_complex():
        values = values.to(torch.complex128).abs()
    rows = values.double().reshape(len(values), values.shape[1:].numel())
    said = ""
    if component not in (None, "magnitude"):
        rows = rows[:, _component(name, component or "", values.shape[1:], known)]
        said = f" {component}"
    elif rows.shape[1] == 1:
        rows = rows[:, 0]
    else:
        rows, nature, said = torch.linalg.vector_norm(rows, dim=1), "measure", " magnitude"
    unit = f" [{known.unit}]" if known.unit else ""
    return Shade(key, f"{name}{said}{unit}", rows.numpy(), nature, known.vocabulary or ())


def _component(name: str, wanted: str, shape: torch.Size, known: FieldInfo) -> int:
    """The place of a component in the flattened row."""
    size = shape.numel()
    names = list(known.components or ())
    if wanted in names:
        return names.index(wanted)
    if len(shape) == 1 and 1 < size <= 3:
        names = names or ["x", "y", "z"][:size]
        if wanted in ("x", "y", "z")[:size]:
            return "xyz".index(wanted)
    if len(shape) == 2 and max(shape) <= 3:
        names = names or [a + b for a in "xyz"[: shape[0]] for b in "xyz"[: shape[1]]]
        if wanted in names:
            return names.index(wanted)
    if wanted.isdecimal() and int(wanted) < size:
        return int(wanted)
    listed = ", ".join(["magnitude", *names]) if size > 1 else "none"
    raise PictureError(
        f"field {name!r} has no component {wanted!r}; expected {listed} or a number below {size}"
    )
