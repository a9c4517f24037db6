"""`plot`: a mesh, or a series of them, as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from meshkit.mesh import Mesh
from meshkit.pictures.colours import Bar
from meshkit.pictures.drawing import draw
from meshkit.pictures.errors import PictureError
from meshkit.pictures.few_colours import frame_of, palette_of
from meshkit.pictures.options import (
    FITTING,
    Options,
    background_of,
    camera_of,
    checked_size,
    checked_span,
    colours_of,
    floats,
    plane_of,
)
from meshkit.pictures.picture import Film, Picture, Pixels
from meshkit.pictures.scale_marks import apart
from meshkit.pictures.scene import Scene
from meshkit.pictures.sheet import AXES_COLOURS, Sheet, divided
from meshkit.series import MeshSeries

SIZE: Final = (1200, 900)
"""Of a picture, unless another is asked for; a film's frames are smaller."""

MOST_PANELS: Final = 36
"""So many times fit on one sheet."""

MOST_FRAMES: Final = 1000
"""So many times fit in a film."""

_FRAME: Final = (800, 600)
_PANEL: Final = 420


def plot(
    mesh: Mesh | MeshSeries,
    field: str | None = None,
    *,
    component: str | int | None = None,
    regions: bool = False,
    edges: bool = False,
    clip: str | Sequence[float] | None = None,
    clip_at: Sequence[float] | None = None,
    camera: str | Sequence[float] | None = None,
    size: Sequence[int] | None = None,
    cmap: str | None = None,
    range: Sequence[float] | None = None,
    background: str = "white",
) -> Picture:
    """A picture of a mesh, coloured by a field or by region; a notebook shows it.

    Drawn off screen through pyvista: no window opens and no X server is needed. Of solids the
    skin is seen, high-order cells are curved, points and vertices are small spheres. What has no
    value (NaN) is grey, and the legend says so. The legend names the field with its unit; below
    stand the axes, the bounds with the unit of length, and the time where there is one. A series
    gives one picture with a panel for each time, all with the same colours and the same scale.

    Args:
        mesh: a mesh, or a series of at most 36 times.
        field: of points or cells, with or without its home ("p", "cell_data/p"). None: the first
            of floating-point values, else the regions, else any other field, else no colour.
            Texts, truth values and up to 12 different whole numbers have a colour each; other
            values lie along a bar.
        component: of a vector or tensor, "x", "y", "z", a name, a number from 0 or "magnitude",
            which is the default (of tensors Frobenius' norm).
        regions: colour by region. On the skin, regions of sides, of faces and of cells that lie
            on it come before those of the solids; of several the smallest shows.
        edges: draw the edges of the cells.
        clip: cut the mesh open: "x", "y" or "z", and the half nearer to the camera goes; "+x" or
            a normal (1, 0, 1), and the half to which it points goes.
        clip_at: a point of the plane; None for the centre of the bounds.
        camera: "iso" (from -y, a little from +x and above), "+x", "-x", ... (from that side), or
            azimuth and elevation in degrees. None: "iso", or straight on for a flat mesh.
        size: width and height in pixels; None: 1200 x 900, for a series as it fits.
        cmap: a colour map of matplotlib. None: viridis, or coolwarm with zero in the middle for
            values of both signs.
        range: values at the ends of the colour bar; None: the least and the greatest of all.
        background: any colour that matplotlib knows.

    Returns:
        A `Picture`: `.array` uint8 [height, width, 3], `.save("p.png")`. Deterministic on one
        machine; another graphics driver may round a colour otherwise.

    Raises:
        MeshError: no such field, nothing to draw, or the mesh is not sound.
        PictureError: an option has no meaning.
        NoWindow: the machine has no way to draw; the message says what to install.
    """
    options = Options(
        field=field,
        component=None if component is None else str(component),
        regions=regions,
        edges=edges,
        plane=None if clip is None else plane_of(_text("clip", clip), clip_at),
        camera=None if camera is None else camera_of(_text("camera", camera)),
        size=None if size is None else checked_size(size),
        colours=FITTING if cmap is None else colours_of(cmap),
        span=None if range is None else checked_span(range),
        background=background_of(background),
    )
    if isinstance(mesh, MeshSeries):
        return strip(mesh.__getitem__, len(mesh), options)
    return still(mesh, options)


def still(mesh: Mesh, options: Options) -> Picture:
    """A picture of one mesh.

    Raises:
        as `plot`.
    """
    scene = Scene(lambda _: mesh, 1, options)
    return _picture(scene, _sheet(scene, options.size or SIZE, options, [""]), options)


def strip(load: Callable[[int], Mesh], n: int, options: Options) -> Picture:
    """One picture with a panel for each of n meshes, headed by its time.

    Raises:
        as `plot`; PictureError: there are more than fit.
    """
    if not 0 < n <= MOST_PANELS:
        raise PictureError(
            f"{n} times: expected 1 to {MOST_PANELS} on one picture; "
            "choose some of them, or make a film of them (.gif)"
        )
    if n == 1:
        return still(load(0), options)
    scene = Scene(load, n, options)
    heads = _heads(scene.times)
    size = options.size or _strip_size(n, _aspect(scene))
    return _picture(scene, _sheet(scene, size, options, heads), options)


def film(load: Callable[[int], Mesh], n: int, options: Options) -> Film:
    """A frame for each of n meshes, headed by its time.

    Raises:
        as `plot`; PictureError: there are more than a film holds.
    """
    if not 0 < n <= MOST_FRAMES:
        raise PictureError(f"{n} times: expected 1 to {MOST_FRAMES} in a film")
    scene = Scene(load, n, options)
    size = options.size or _FRAME
    palette = palette_of(scene.colouring.colours(), options.background, np.array(AXES_COLOURS))
    frames = []
    title, span = "", None
    for i, head in enumerate(_heads(scene.times)):
        sheet = _sheet(scene, size, options, [head])
        picture = _finished(sheet, [_drawing(scene, i, sheet, options)], scene)
        title, span = picture.title, picture.span
        frames.append(frame_of(picture.array, palette))
    return Film(frames, size, title, span, left_out=scene.left_out)


def _picture(scene: Scene, sheet: Sheet, options: Options) -> Picture:
    drawings = [_drawing(scene, i, sheet, options) for i, _ in enumerate(sheet.panels)]
    return _finished(sheet, drawings, scene)


def _finished(sheet: Sheet, drawings: Sequence[Pixels], scene: Scene) -> Picture:
    colours = scene.colouring.colours()
    return Picture(
        sheet.filled(drawings, scene.view),
        title="" if sheet.legend is None else sheet.legend.title,
        span=colours.span if isinstance(colours, Bar) else None,
        left_out=scene.left_out,
    )


def _drawing(scene: Scene, i: int, sheet: Sheet, options: Options) -> Pixels:
    return draw(
        scene.bodies(i),
        scene.colouring.colours(),
        scene.view,
        scene.extent,
        sheet.panel_size,
        options.background,
    )


def _sheet(scene: Scene, size: tuple[int, int], options: Options, heads: Sequence[str]) -> Sheet:
    legend = scene.colouring.legend()
    return divided(size, _aspect(scene), legend, heads, scene.caption(), options.background)


def _aspect(scene: Scene) -> float:
    wide, high, _ = (float(x) for x in scene.extent.high - scene.extent.low)
    return min(10.0, max(0.1, (wide or 1e-3) / (high or 1e-3)))


def _strip_size(n: int, aspect: float) -> tuple[int, int]:
    """Panels in one row as long as they are few, each about as its drawing is."""
    columns = n if n <= 4 else -(-n // -(-n // 4))
    rows = -(-n // columns)
    high = round(min(1.3, max(0.45, 1 / aspect)) * _PANEL)
    return columns * _PANEL + 260, rows * (high + 50) + 130


def _heads(times: Sequence[float | None]) -> list[str]:
    """What stands above each drawing: its time."""
    said = iter(apart([time for time in times if time is not None]))
    return ["" if time is None else f"t = {next(said)}" for time in times]


def _text(what: str, given: str | Sequence[Any]) -> str:
    """What a caller gave as numbers, as the command line has it."""
    return given if isinstance(given, str) else ",".join(map(repr, floats(what, given)))
