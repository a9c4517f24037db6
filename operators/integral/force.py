"""The force and the moment of a fluid on a body."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor

from meshkit.cells import brief
from meshkit.devices import need_known
from meshkit.errors import MeshError
from meshkit.mesh import Mesh
from meshkit.operators.adjacency.sides import need_point_ids
from meshkit.operators.integral.flux import on_patch
from meshkit.operators.integral.patch import Patch, need_faces
from meshkit.operators.integral.patch_kernel import force_on_rings
from meshkit.operators.integral.patches import patch_of, skin
from meshkit.operators.integral.pieces import Pieces, pieces, spread
from meshkit.operators.integral.summation import narrow_dtype, total, wide
from meshkit.operators.integral.values import On, found_region, need_values
from meshkit.operators.integral.weights import cell_share
from meshkit.operators.measure.coordinates import cross, in_space
from meshkit.operators.of_mesh import of_mesh
from meshkit.operators.values import need_choice
from meshkit.regions import Region

ShearOn = Literal["fluid", "body"]
Normals = Literal["into_body", "into_fluid"]
_SIGN: Final = {"body": 1.0, "fluid": -1.0, "into_body": 1.0, "into_fluid": -1.0}


@of_mesh
def force(
    mesh: Mesh,
    pressure: Tensor,
    shear: Tensor | None = None,
    *,
    on: On = "cells",
    region: str | Region | None = None,
    about: Tensor | None = None,
    shear_on: ShearOn | None = None,
    normals: Normals = "into_body",
) -> tuple[Tensor, Tensor]:
    """The force of a fluid on a body and its moment, from pressure and wall shear.

    force = integral of p n + t over the surface, with n the unit normal from the fluid into the
    body and t the traction on the body. The mesh is the fluid by default: normals point out of
    it, so into the body, on faces, sides, and on what `boundary` and `domain` make of it. Where
    the mesh is the body, or its skin with normals outward, say normals="into_fluid".

    On points, pressure and shear are linear in the fan of each face, and force and moment are
    exact for that: a hydrostatic pressure gives Archimedes' force through the centroid of the
    enclosed volume to round-off. On cells a face has the pressure of its owner, the cell behind
    it (a face between two cells that of both, interpolated); a surface cell that lies on no face
    has its own row. On faces it has its own. Uniform pressure on a closed surface gives neither
    force nor moment.

    Args:
        mesh: any whose cells fill its space, or that is a surface in it (a curve in the plane,
            whose forces are per unit depth).
        pressure: [n, ...] a row for each point, cell or face; further axes (times, cases) are
            carried along.
        shear: [n, ..., d], the wall shear stress as a vector; None where there is none.
        on: "points", "cells" or "faces", for both.
        region: a name in `mesh.regions`, or a Region, of faces, sides or surface cells. None is
            the whole boundary, or the whole of a mesh that is a surface.
        about: [d], what the moment is about; None is the origin.
        shear_on: whose traction `shear` is: that on the "body", or that on the "fluid", its
            opposite (OpenFOAM's wallShearStress). Has to be said where there is shear: solvers
            differ, and the sign is the drag's.
        normals: where the normals of the surface point: "into_body" or "into_fluid".

    Returns:
        force [..., d], and moment [..., 3], in the plane [...] about the axis out of it; in the
        wider dtype of the values and points, worked out in float64. Force in the unit of pressure
        times area: where pressure is kinematic, both are per density. Differentiable in pressure,
        shear and points.

    Raises:
        MeshError: values do not fit, shear without `shear_on`, an unknown convention, the region
            is unknown or has no normal.
    """
    d = mesh.points.shape[1]
    need_values("force", "pressure", mesh, pressure, on)
    _need_conventions(shear, shear_on, normals)
    if shear is not None:
        need_values("force", "shear", mesh, shear, on, d)
        if shear.shape[:-1] != pressure.shape:
            raise MeshError(
                f"force: expected shear {[*pressure.shape, d]} as pressure, found "
                f"{list(shear.shape)}"
            )
    if d == 1:
        raise MeshError("force: expected points in 2 or 3 dimensions, found 1")
    need_point_ids(mesh)
    points = in_space(mesh.points).double()
    if about is not None:
        centre = _centre(about, d).to(points)
        points = points - in_space(centre[None])[0]
    patch = skin(mesh) if region is None else patch_of(mesh, found_region(mesh, region))
    if on == "faces":
        need_faces(patch)
    share = cell_share(mesh, points, patch) if on == "cells" else None
    dtype = narrow_dtype(pressure, mesh.points)
    dtype = dtype if shear is None else narrow_dtype(shear, pressure.new_empty(0, dtype=dtype))
    if d == 3 and patch.compiled(points, pressure, *([] if shear is None else [shear])):
        both = _compiled(points, patch, on, share, (pressure, shear), (normals, shear_on)).to(dtype)
        return both[..., :3], both[..., 3:]
    forces, moments = [], []
    for part in pieces(patch, points):
        values = _Values(patch, part, on, share)
        f, m = _of_pressure(part, *values.at_corners(pressure), _SIGN[normals])
        if shear is not None and shear_on is not None:
            g, k = _of_shear(part, *values.at_corners(_in_space(shear)), _SIGN[shear_on])
            f, m = f + g, m + k
        forces.append(f)
        moments.append(m)
    if not forces:
        zero = wide(pressure[:0]).sum(0)[..., None].expand(*pressure.shape[1:], 3)
        forces, moments = [zero], [zero]
    whole, moment = (total(torch.stack(x)).to(dtype) for x in (forces, moments))
    return whole[..., :d], moment if d == 3 else moment[..., 2]


def _compiled(
    points: Tensor,
    patch: Patch,
    on: On,
    share: Tensor | None,
    values: tuple[Tensor, Tensor | None],
    signs: tuple[Normals, ShearOn | None],
) -> Tensor:
    """float64 [..., 6]: the force and the moment."""

    def on_rings(found: Tensor) -> Tensor:
        return wide(found) if on == "points" else on_patch(found, on, patch, share, None)

    pressure, shear = values
    p, t = on_rings(pressure), None
    count = math.prod(pressure.shape[1:])
    if shear is not None and signs[1] is not None:
        t = on_rings(shear).reshape(len(p), count, 3) * _SIGN[signs[1]]
    found = force_on_rings(
        points,
        patch.offsets,
        patch.connectivity,
        patch.signs * _SIGN[signs[0]],
        p.reshape(len(p), count),
        t,
        on == "points",
    )
    return found.reshape(*pressure.shape[1:], 6)


def _numbers(given: object) -> Tensor:
    """An array as it is; numbers in float64, so that none loses digits."""
    return torch.as_tensor(
        given, dtype=torch.float64 if isinstance(given, Sequence) else None, device="cpu"
    )


def _centre(about: object, d: int) -> Tensor:
    """The point that moments are about, from a tensor, an array or a sequence of numbers.

    Raises:
        MeshError: it is none of these, or has another number of coordinates.
    """
    need_known("force: about", about)
    try:
        found = about if isinstance(about, Tensor) else _numbers(about)
    except (TypeError, ValueError, RuntimeError):
        found = torch.empty(0, device="cpu")
    if found.shape != (d,) or found.is_complex() or not bool(torch.isfinite(found).all()):
        shown = f"{about!r:.60}" if isinstance(about, Sequence) else brief(about)
        raise MeshError(f"force: expected about [{d}], finite and real, found {shown}")
    return found


def _need_conventions(shear: Tensor | None, shear_on: str | None, normals: str) -> None:
    if shear is not None and shear_on is None:
        raise MeshError(
            'force: say whose traction the shear is: shear_on="body", or shear_on="fluid" '
            "(OpenFOAM's wallShearStress)"
        )
    if shear_on is not None:
        need_choice("force: expected shear_on", shear_on, ("fluid", "body"))
    need_choice("force: expected normals", normals, ("into_body", "into_fluid"))


def _in_space(shear: Tensor) -> Tensor:
    return torch.nn.functional.pad(shear, (0, 3 - shear.shape[-1]))


@dataclass(frozen=True, eq=False)
class _Values:
    """How values reach the corners of the pieces of a patch."""

    patch: Patch
    part: Pieces
    on: On
    share: Tensor | None

    def at_corners(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """float64 values [m, p or 1, c or 1, ...], and corners [m, p, c, 3, 1s] beside them."""
        if self.on == "points":
            found = spread(wide(values[self.part.points]))
        else:
            found = on_patch(values, self.on, self.patch, self.share, self.part.rows)[:, None, None]
        return found, self.part.at


def _of_pressure(part: Pieces, p: Tensor, at: Tensor, sign: float) -> tuple[Tensor, Tensor]:
    """Force and moment [..., 3] of pressures [m, p, c, ...]."""
    normal = _carrying(part.vectors * sign, p.ndim - 3)  # [m, p, 1s, 3]
    f = _whole(p.mean(2).unsqueeze(-1) * normal)
    first = _moment(at, p.unsqueeze(-1))  # the mean of x p over each piece
    return f, _whole(cross(first, normal.to(first.dtype).expand_as(first)))


def _of_shear(part: Pieces, t: Tensor, at: Tensor, sign: float) -> tuple[Tensor, Tensor]:
    """Force and moment [..., 3] of tractions [m, p, c, ..., 3]."""
    size = _carrying(part.sizes.unsqueeze(-1) * sign, t.ndim - 4)
    f = _whole(t.mean(2) * size)
    return f, _whole(_moment(at, t, turned=True) * size)


def _moment(at: Tensor, values: Tensor, turned: bool = False) -> Tensor:
    """[m, p, ..., 3]: the mean of position times value, or of position x value, over pieces.

    Exact for values that are linear in a piece: with c corners, the mean of a product of linear
    functions is (sum a sum b + sum of a b) / (c (c + 1)).
    """
    c = at.shape[2]
    x = _carrying(at, values.ndim - 4).to(values.dtype)
    values = values.expand(-1, at.shape[1], c, *values.shape[3:])
    product = cross if turned else torch.mul
    return (product(x.sum(2), values.sum(2)) + product(x, values).sum(2)) / (c * (c + 1))


def _carrying(x: Tensor, axes: int) -> Tensor:
    """Axes of 1 put in before the last."""
    for _ in range(axes):
        x = x.unsqueeze(-2)
    return x


def _whole(x: Tensor) -> Tensor:
    """[...]: the sum over rows and pieces [m, p, ...]."""
    return total(x.flatten(0, 1))
