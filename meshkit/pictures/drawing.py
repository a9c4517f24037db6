"""Bodies to pixels: light, colours and the camera, in a window off screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from meshkit.errors import MeshError
from meshkit.pictures.bodies import Body
from meshkit.pictures.colours import NOTHING, PLAIN, Bar, Kinds, Rgb
from meshkit.pictures.facets import SHADE
from meshkit.pictures.lettering import LIGHT, ink_on
from meshkit.pictures.picture import Pixels
from meshkit.pictures.view_point import Extent, View
from meshkit.pictures.window import window

_FINER: Final = 2
"""Each pixel is the mean of so many by so many."""

_LARGEST: Final = 8192
"""A window has at most so many pixels a side."""

_MARGIN: Final = 1.05
_LIFT: Final = {"edge": 1.5e-3, "curve": 2.5e-3, "dot": 3.5e-3, "mark": 6e-3}
"""How far lines and dots are moved toward the eye, of the diagonal, to lie on their surface."""

_EDGE: Final[Rgb] = (0.13, 0.15, 0.18)
_RIM: Final[Rgb] = (0.80, 0.82, 0.85)
"""Of dark edges where the background is dark too, or nothing would be seen of them."""


def draw(
    bodies: Sequence[Body],
    colours: Bar | Kinds | None,
    view: View,
    extent: Extent,
    size: tuple[int, int],
    background: Rgb,
) -> Pixels:
    """uint8 [height, width, 3]: the bodies as the view shows them, `extent` filling the picture.

    Raises:
        MeshError: all of it is seen edge-on, or has no size.
        NoWindow: the machine cannot draw.
    """
    finer = _FINER if _FINER * max(size) <= _LARGEST else 1
    flat = bool((extent.high - extent.low)[2] < 1e-9)
    with window((finer * size[0], finer * size[1])) as plotter:
        plotter.set_background(background)
        _light(plotter)
        scale = _aim(plotter, view, extent, size)
        for body in bodies:
            pixels_per_length = finer * size[1] / (2 * scale)
            if body.kind == "edge":
                _add_edges(plotter, body, view, pixels_per_length, background)
            else:
                _add(plotter, body, colours, view, pixels_per_length, flat)
        plotter.renderer.ResetCameraClippingRange()
        pixels: Pixels = np.asarray(plotter.screenshot(None, return_img=True))[..., :3]
        if (pixels == pixels[0, 0]).all() and not np.isfinite(plotter.get_image_depth()).any():
            raise MeshError(
                "nothing can be seen: from this camera no cell has any extent; "
                "choose another camera, or draw the edges"
            )
    return np.ascontiguousarray(_coarsened(pixels, finer))


def _coarsened(pixels: Pixels, by: int) -> Pixels:
    if by == 1:
        return pixels
    height, width, _ = pixels.shape
    parts = pixels.reshape(height // by, by, width // by, by, 3).astype(np.float32)
    mean: Pixels = np.round(parts.mean((1, 3))).astype(np.uint8)
    return mean


def _light(plotter: Any) -> None:
    """A light over the left shoulder, a weaker one from the right and below, one from the eye."""
    from pyvista import Light

    for place, intensity in (((-0.6, 0.9, 0.8), 0.45), ((0.9, -0.3, 0.5), 0.10), ((0, 0, 1), 0.50)):
        light = Light(position=place, intensity=intensity, light_type="camera light")
        plotter.add_light(light)


def _aim(plotter: Any, view: View, extent: Extent, size: tuple[int, int]) -> float:
    """Point the camera; the answer is half the height that it sees."""
    middle = (extent.low + extent.high) / 2
    half = (extent.high - extent.low) / 2
    scale = _MARGIN * max(half[1], half[0] * size[1] / size[0], 1e-3)
    camera = plotter.camera
    focal = middle @ view.axes
    camera.SetParallelProjection(True)
    camera.SetFocalPoint(*focal)
    camera.SetPosition(*(focal + 3 * view.toward))
    camera.SetViewUp(*view.axes[1])
    camera.SetParallelScale(scale)
    return float(scale)


def _add(
    plotter: Any,
    body: Body,
    colours: Bar | Kinds | None,
    view: View,
    pixels_per_length: float,
    flat: bool,
) -> None:
    how = _coloured(body, colours)
    # The cut shows its colours as they stand in the legend, and so does what lies in a plane.
    lit = body.kind in ("surface", "dot", "mark") and not flat
    light = {"ambient": 0.54, "diffuse": 0.56, "specular": 0.06, "specular_power": 15}
    if body.kind == "curve":
        how["line_width"] = 8.0
    if body.kind in ("dot", "mark"):
        how |= {"style": "points", "render_points_as_spheres": True}
        how["point_size"] = _dot_size(body, pixels_per_length)
    actor = plotter.add_mesh(
        body.data,
        show_scalar_bar=False,
        reset_camera=False,
        lighting=lit,
        smooth_shading=False,
        copy_mesh=False,
        **(light if lit else {}),
        **how,
    )
    if body.kind == "surface" and "Normals" in body.data.point_data:
        actor.prop.interpolation = "Gouraud"
    actor.SetPosition(*(view.toward * _LIFT.get(body.kind, 0.0)))


def _add_edges(
    plotter: Any, body: Body, view: View, pixels_per_length: float, background: Rgb
) -> None:
    spacing = pixels_per_length / math.sqrt(max(body.data.n_cells, 1) / 3)
    width = min(2.4, max(0.9, spacing / 9))
    opacity = min(1.0, max(0.2, spacing / 12))  # many must not hide the colours
    lines = [(_EDGE, width, _LIFT["edge"])]
    if ink_on(background) == LIGHT:
        lines.insert(0, (_RIM, 2 * width, 0.9 * _LIFT["edge"]))
    for colour, wide, lift in lines:
        actor = plotter.add_mesh(
            body.data,
            color=colour,
            line_width=wide,
            opacity=opacity,
            lighting=False,
            reset_camera=False,
            copy_mesh=False,
        )
        actor.SetPosition(*(view.toward * lift))


def _coloured(body: Body, colours: Bar | Kinds | None) -> dict[str, Any]:
    """How `add_mesh` is told the colours of a body."""
    where = next((d for d in (body.data.cell_data, body.data.point_data) if SHADE in d), None)
    if where is None or colours is None:
        return {"color": PLAIN if where is None else NOTHING}
    shade: NDArray[np.float64] = np.asarray(where[SHADE], np.float64)
    if isinstance(colours, Kinds):
        return {"scalars": colours.rgb(shade), "rgb": True}
    from matplotlib.colors import ListedColormap

    return {
        "scalars": colours.share(shade),
        "clim": (0.0, 1.0),
        "cmap": ListedColormap(colours.table),
        "nan_color": NOTHING,
        "n_colors": len(colours.table),
        "interpolate_before_map": True,
    }


def _dot_size(body: Body, pixels_per_length: float) -> float:
    """About half the distance between neighbours, but neither lost nor a blob."""
    spacing = pixels_per_length / math.sqrt(max(body.data.n_points, 1))
    return min(40.0 if body.kind == "dot" else 16.0, max(5.0, spacing / 2))
