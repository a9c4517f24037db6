"""Whole pictures: what covers how much, which colours occur, that the legend is there."""

import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import meshkit as mk
from meshkit.errors import MeshError, WriteError
from meshkit.info import FieldInfo, MeshInfo
from meshkit.mesh import Mesh
from meshkit.pictures import window as window_module
from meshkit.pictures.colours import NOTHING, kinds, table_of
from meshkit.pictures.errors import NoWindow, PictureError
from meshkit.pictures.options import Options
from meshkit.pictures.picture import Film, Picture
from meshkit.pictures.plot import film, plot, strip
from meshkit.regions import Region
from meshkit.series import MeshSeries
from tests.drawing import dark, drawn, hued, near, share
from tests.meshes import (
    cube_hexes,
    cube_surface,
    hanging_polyhedron,
    l_prism_polyhedron,
    one_of_each,
    square_quads,
)
from tests.random_meshes import random_meshes

pytestmark = pytest.mark.usefixtures("can_draw")

SIZE = (400, 300)
BODY = (slice(0, 260), slice(0, 310))
LEGEND = (slice(0, 260), slice(310, 400))
CAPTION = (slice(262, 300), slice(0, 400))


def square(**info: Any) -> Mesh:
    """The unit square, with x on its points as a pressure."""
    mesh = square_quads(8)
    known = MeshInfo(length_unit="mm", fields={("point_data", "p"): FieldInfo(unit="Pa")}, **info)
    return mesh.with_data(point={"p": mesh.points[:, 0]}).replace(info=known)


def test_a_square_fills_its_place_with_the_colour_map() -> None:
    picture = plot(square(), size=SIZE)
    pixels = picture.array
    assert pixels.shape == (300, 400, 3)
    assert pixels.dtype == np.uint8
    assert picture.title == "p [Pa]"
    assert picture.span == (0, 1)
    body = drawn(pixels[BODY])
    assert 0.6 < share(body) < 0.9  # a square in a place that is wider than high
    rows, columns = np.nonzero(body)
    side = columns.max() - columns.min() + 1
    assert abs(side - (rows.max() - rows.min() + 1)) <= 2, "it is no square"
    assert share(body) * body.size > 0.99 * side**2
    # Flat meshes are not lit: along the middle row stand the colours of the map themselves.
    row = pixels[(rows.min() + rows.max()) // 2, columns.min() + 2 : columns.max() - 1]
    wanted = table_of("viridis")[np.linspace(2, 253, len(row)).round().astype(int)]
    assert near(row, wanted, 0.03).all()


def test_the_legend_and_the_caption_are_there() -> None:
    coloured, plain = plot(square(), size=SIZE), plot(square_quads(2), size=SIZE)
    legend, nothing = coloured.array[LEGEND], plain.array[LEGEND]
    assert dark(legend[:30]).sum() > 40, "no title"
    rows = np.flatnonzero(dark(legend[40:, 30:]).any(1))
    assert len(np.flatnonzero(np.diff(rows) > 3)) >= 3, "no numbers beside the bar"
    for end in (0, 128, 255):
        assert near(legend, table_of("viridis")[end], 0.02).any()
    assert dark(nothing).sum() == 0
    assert plain.title == ""
    caption = coloured.array[CAPTION]
    assert (caption.max(-1) < 140).sum() > 100
    assert not drawn(coloured.array[:4]).any() and not drawn(coloured.array[-2:]).any()


def test_the_body_touches_neither_legend_nor_caption() -> None:
    for aspect in ((20.0, 1.0), (1.0, 20.0), (1.0, 1.0)):
        mesh = square()
        stretched = mesh.replace(points=mesh.points * torch.tensor(aspect))
        pixels = plot(stretched, size=SIZE, cmap="Reds", range=(-9, 9)).array
        columns = np.flatnonzero(drawn(pixels[:260]).any(0))
        gaps = np.flatnonzero(np.diff(columns) > 6)
        assert len(gaps) >= 1, "no white between body and legend"
        assert not drawn(pixels[257:262]).any(), "no white between body and caption"


def test_what_has_no_value_is_grey_and_named() -> None:
    mesh = square_quads(8)
    values = torch.arange(64.0)
    values[:16] = float("nan")
    whole = plot(mesh.with_data(cell={"c": torch.arange(64.0)}), "c", size=SIZE)
    partly = plot(mesh.with_data(cell={"c": values}), "c", size=SIZE)
    grey = near(partly.array[BODY], NOTHING, 0.01)
    assert grey.sum() == pytest.approx(0.25 * drawn(partly.array[BODY]).sum(), rel=0.03)
    assert near(partly.array[LEGEND], NOTHING, 0.01).sum() > 20, "no swatch"
    assert near(whole.array[BODY], NOTHING, 0.01).sum() == 0
    nothing = plot(mesh.with_data(cell={"c": values * float("nan")}), "c", size=SIZE)
    assert nothing.span is None
    assert near(nothing.array[BODY], NOTHING, 0.01).sum() > 0.98 * drawn(nothing.array[BODY]).sum()


def test_points_without_a_value_spoil_the_cells_around_them_only() -> None:
    mesh = square()
    values = mesh.point_data["p"].clone()
    values[0] = float("nan")
    picture = plot(mesh.with_data(point={"p": values}), size=SIZE)
    grey = near(picture.array[BODY], NOTHING, 0.02).sum() / drawn(picture.array[BODY]).sum()
    assert 0.3 / 64 < grey < 1.2 / 64


def test_a_range_and_what_lies_outside() -> None:
    picture = plot(square(), size=SIZE, range=(0.25, 0.75))
    assert picture.span == (0.25, 0.75)
    body = picture.array[BODY]
    for end in (0, 255):
        found = near(body, table_of("viridis")[end], 0.02).sum() / drawn(body).sum()
        assert found == pytest.approx(0.25, abs=0.02)


def test_values_of_both_signs_meet_in_the_middle_colour() -> None:
    mesh = square()
    picture = plot(mesh.with_data(point={"p": mesh.points[:, 0] - 0.4}), size=SIZE)
    assert picture.span == (-0.6, 0.6)
    assert near(picture.array[BODY], table_of("coolwarm")[128], 0.03).any()


def test_regions_on_the_boundary_have_the_colours_of_their_names() -> None:
    sides = [[i, side] for i in range(8) for side in range(6)]
    mesh = cube_hexes(2)
    boundary = {(int(c), int(f)) for c, f in sides}
    top = [[i, 5] for i in range(4, 8)]
    front = [[i, 2] for i in (0, 1, 4, 5)]
    assert {(c, f) for c, f in top + front} <= boundary
    mesh = mesh.replace(
        regions=[
            Region("top", "side", top),
            Region("front", "side", front),
            Region("far", "side", [[2, 3]]),
        ]
    )
    picture = plot(mesh, regions=True, size=SIZE)
    table = kinds(("top", "front", "far")).table
    body = picture.array[BODY]
    shares = [hued(body, colour, 0.08).sum() / drawn(body).sum() for colour in table]
    assert shares[0] > 0.2 and shares[1] > 0.2
    assert shares[2] < 0.01, "what lies behind cannot be seen"
    for colour in table:
        assert near(picture.array[LEGEND], colour, 0.02).sum() > 20, "no swatch"
    assert near(picture.array[LEGEND], NOTHING, 0.02).sum() > 20, "the right side has no region"


def test_edges_darken_lines_and_leave_the_faces() -> None:
    mesh = cube_hexes(4)
    bare, edged = plot(mesh, size=SIZE).array[BODY], plot(mesh, edges=True, size=SIZE).array[BODY]
    assert dark(bare).sum() == 0
    assert 0.01 < dark(edged).sum() / drawn(edged).sum() < 0.25
    assert abs(share(drawn(bare)) - share(drawn(edged))) < 0.01


@pytest.mark.parametrize("camera", ["+x", "-x", "+y", "-y", "+z", "-z"])
def test_the_camera_looks_from_where_it_is_said(camera: str) -> None:
    mesh = cube_surface(1)
    centre = mesh.points[mesh.cells.connectivity.long()].reshape(-1, 3, 3).mean(1) - 0.5
    axis, sign = "xyz".index(camera[1]), 1 if camera[0] == "+" else -1
    seen = (sign * centre[:, axis] > 0.49).long()
    picture = plot(mesh.with_data(cell={"seen": seen}), "seen", camera=camera, size=SIZE)
    table = kinds(("0", "1")).table
    body = picture.array[BODY]
    assert hued(body, table[1], 0.08).sum() > 0.97 * drawn(body).sum()


def test_a_clip_takes_the_nearer_half_away_or_the_one_it_is_told() -> None:
    mesh = cube_hexes(4)
    mesh = mesh.with_data(
        cell={"x": mesh.points[mesh.cells.connectivity.long()].reshape(-1, 8, 3).mean(1)[:, 0]}
    )
    spans = {}
    for clip in ("x", "+x", "-x"):
        body = plot(mesh, "x", clip=clip, camera="+x", size=SIZE, range=(0, 1)).array[BODY]
        row = body[125, np.flatnonzero(drawn(body)[125])[60]].astype(float) / 255
        distance = np.abs(table_of("viridis") - row / max(row) * 0.98).max(1)
        spans[clip] = row
        assert distance.min() < 0.5
    assert np.allclose(spans["x"], spans["+x"])
    assert not np.allclose(spans["x"], spans["-x"], atol=0.05)
    # The section is not lit: its colour is that of the third layer's neighbour behind the plane.
    assert np.abs(table_of("viridis")[round(0.375 * 255)] - spans["x"]).max() < 0.02


def test_the_notch_of_a_cut_polyhedron_stays_open() -> None:
    mesh = l_prism_polyhedron()
    body = drawn(plot(mesh, clip="+z", camera="+z", size=SIZE).array[:260])
    side = np.ptp(np.flatnonzero(body.any(0))) + 1
    assert body.sum() == pytest.approx(0.75 * side**2, rel=0.02)


@pytest.mark.parametrize(
    "mesh",
    [
        hanging_polyhedron(),
        one_of_each(),
        mk.make_mesh(torch.rand(50, 3, generator=torch.Generator().manual_seed(1))),
        mk.make_mesh(torch.rand(9, 1, generator=torch.Generator().manual_seed(1))),
        mk.make_mesh([[0.0, 0, 0]]),
        mk.make_mesh([[0.0, 0], [1, 0], [1, 1]], [[0, 1], [1, 2]]),
        square_quads(1, 3),
    ],
    ids=["polyhedra", "mixed", "cloud", "1-D", "a point", "curve", "flat in 3-D"],
)
def test_no_picture_is_blank(mesh: Mesh) -> None:
    for edges in (False, True):
        pixels = plot(mesh, edges=edges, size=SIZE).array
        assert share(drawn(pixels[:260])) > 0.0004
        assert not drawn(pixels[:, :2]).any()


def test_what_cannot_be_seen_is_refused_and_white_on_white_is_not() -> None:
    flat = square()
    with pytest.raises(MeshError, match="nothing can be seen: from this camera"):
        plot(flat, camera="+x", size=SIZE)
    edge_on = plot(flat, camera="+x", edges=True, size=SIZE)
    assert 100 < drawn(edge_on.array[BODY]).sum() < 2000
    white = flat.with_data(point={"p": torch.zeros(81)})
    pixels = plot(white, cmap="Greys", range=(0, 1), size=SIZE).array
    assert not drawn(pixels[BODY]).any()


@settings(max_examples=12)
@given(
    random_meshes(),
    st.sampled_from(
        [{}, {"regions": True}, {"clip": "x", "edges": True}, {"edges": True, "camera": "+z"}]
    ),
)
def test_any_mesh_is_drawn_or_refused_in_one_line(mesh: Mesh, how: dict[str, Any]) -> None:
    try:
        pixels = plot(mesh, size=(160, 120), **how).array
    except MeshError as why:
        said = str(why)
    else:
        said = "" if drawn(pixels[:80, :110]).any() else "a blank\npicture"
    assert "\n" not in said


def test_far_away_small_and_float32() -> None:
    mesh = cube_surface(2)
    usual = plot(mesh, size=SIZE).array[BODY]
    for scale, offset in ((1e-9, 0.0), (1.0, 1e6)):
        moved = mesh.replace(points=mesh.points * scale + offset)
        assert np.abs(plot(moved, size=SIZE).array[BODY].astype(int) - usual).mean() < 1


def test_a_dark_background_has_light_letters() -> None:
    pixels = plot(square(), size=SIZE, background="#101820").array
    assert near(pixels[:4], (16 / 255, 24 / 255, 32 / 255), 0.01).all()
    assert (pixels[LEGEND].min(-1) > 200).sum() > 60


def test_edges_are_seen_on_a_dark_background_and_on_light_colours() -> None:
    black = plot(square(), camera="+x", edges=True, size=SIZE, background="black").array[BODY]
    assert (black.max(-1) > 80).any(-1).sum() > 0, "seen edge-on, nothing but edges is there"
    mesh = square()
    for value, background in ((0.0, "#1b2a41"), (1.0, "#1b2a41")):
        one = mesh.with_data(point={"p": torch.full((81,), value)})
        how: dict[str, Any] = {"range": (0, 1), "size": SIZE, "background": background}
        bare = plot(one, **how).array[BODY].astype(int)
        edged = plot(one, edges=True, **how).array[BODY].astype(int)
        assert 0.01 < (np.abs(edged - bare).max(-1) > 80).mean() < 0.3


def moving(n: int) -> MeshSeries:
    mesh = square()
    return MeshSeries.of(
        [
            mesh.with_data(point={"p": mesh.points[:, 0] * (i + 1)}).replace(
                info=mesh.info.replace(time=i / 2)
            )
            for i in range(n)
        ]
    )


def test_times_share_colours_and_scale() -> None:
    picture = plot(moving(3), size=(800, 300))
    assert picture.span == (0, 3)
    table = table_of("viridis")
    columns = np.flatnonzero(drawn(picture.array[150]))
    parts = np.split(columns, np.flatnonzero(np.diff(columns) > 6) + 1)[:3]
    widths = [len(part) for part in parts]
    assert max(widths) - min(widths) <= 1
    for i, part in enumerate(parts):
        last = picture.array[150, part[-3]]
        assert near(last[None], table[round((i + 1) / 3 * 250)], 0.06).all()
        assert dark(picture.array[:40, part]).any(), "no time above it"
    assert plot(moving(5)).size[0] > plot(moving(2)).size[0]


def test_a_field_that_comes_later_is_grey_before() -> None:
    series = moving(2)
    first = series[0].replace(point_data={})
    meshes = [first, series[1]]
    picture = strip(meshes.__getitem__, 2, Options(field="p", size=(800, 300)))
    assert near(picture.array[150, :300], NOTHING, 0.01).sum() > 150
    with pytest.raises(MeshError, match="no field 'q'"):
        strip(meshes.__getitem__, 2, Options(field="q"))


def test_a_film_has_a_frame_a_time(tmp_path: Path) -> None:
    from PIL import Image

    series = moving(15)
    made = film(series.__getitem__, 15, Options(field="p", size=(240, 180)))
    assert isinstance(made, Film) and len(made) == 15
    assert made.span == (0, 15)
    made.save(tmp_path / "p.gif")
    with Image.open(tmp_path / "p.gif") as found:
        assert (found.format, found.size, getattr(found, "n_frames", 0)) == ("GIF", (240, 180), 15)
        frames = []
        for i in range(15):
            found.seek(i)
            frames.append(np.array(found.convert("RGB")))
    assert all(share(drawn(frame)) > 0.2 for frame in frames), "a blank frame"
    brightness = [float(frame[:140, :180].mean()) for frame in frames]
    assert brightness[0] < brightness[7] < brightness[14]
    with pytest.raises(WriteError, match=r"cannot end in '.png'; expected \.gif"):
        made.save(tmp_path / "p.png")


def test_too_many_times_for_one_picture() -> None:
    with pytest.raises(PictureError, match="37 times: expected 1 to 36 on one picture"):
        strip(moving(1).__getitem__, 37, Options())


def test_pictures_are_saved_whole(tmp_path: Path) -> None:
    from PIL import Image

    picture = mk.plot(square(), size=SIZE)
    assert isinstance(picture, Picture)
    for name, kind in (("a.png", "PNG"), ("b/c.JPG", "JPEG"), ("d.gif", "GIF")):
        picture.save(tmp_path / name)
        with Image.open(tmp_path / name) as found:
            assert (found.format, found.size) == (kind, SIZE)
    with Image.open(tmp_path / "a.png") as found:
        assert (np.array(found) == picture.array).all()
    assert picture._repr_png_() == (tmp_path / "a.png").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b", "d.gif"]
    (tmp_path / "full.png").mkdir()
    for name, said in (("x.bmp", "cannot end in '.bmp'"), ("full.png", "is a directory")):
        with pytest.raises(WriteError, match=said):
            picture.save(tmp_path / name)
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="cannot be written"):
        picture.save(tmp_path / "file" / "a.png")
    assert repr(picture) == "Picture(400 x 300, p [Pa])"


def test_the_same_picture_twice() -> None:
    mesh = square()
    assert (plot(mesh, size=SIZE).array == plot(mesh, size=SIZE).array).all()


def test_options_that_mean_nothing() -> None:
    for how, said in (
        ({"camera": "up"}, "camera 'up'"),
        ({"clip": (0, 0, 0)}, "clip '0.0,0.0,0.0'"),
        ({"size": (5, 5)}, "size 5x5"),
        ({"cmap": "virids"}, "did you mean viridis"),
        ({"range": (1, 1)}, "range 1,1"),
        ({"background": "nix"}, "background 'nix'"),
        ({"component": "q"}, "no component 'q'"),
    ):
        with pytest.raises(PictureError, match=said):
            plot(square(), size=how.pop("size", SIZE), **how)  # type: ignore[arg-type]
    with pytest.raises(MeshError, match="the mesh has none"):
        plot(square(), regions=True)
    with pytest.raises(MeshError, match="the clip leaves nothing"):
        plot(square(), clip="+x", clip_at=(-1, 0, 0))


def test_drawing_says_nothing_and_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot(square(), size=SIZE)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
    assert dict(os.environ) == before


def test_a_machine_that_cannot_draw(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from vtkmodules.vtkRenderingOpenGL2 import vtkOSOpenGLRenderWindow

    monkeypatch.setenv("VTK_DEFAULT_OPENGL_WINDOW", "vtkOSOpenGLRenderWindow")
    with window_module._captured_stderr() as said:
        vtkOSOpenGLRenderWindow()
    if b"OSMesa not found" not in said[0]:
        pytest.skip("OSMesa is installed")
    with pytest.raises(NoWindow, match="apt-get install libegl1 libgl1-mesa-dri") as why:
        plot(square(), size=SIZE)
    assert "\n" not in str(why.value)
    assert capfd.readouterr() == ("", "")


def test_caption_tells_bounds_unit_and_time() -> None:
    from meshkit.pictures.scene import Scene

    mesh = square(time=0.25)
    scene = Scene(lambda _: mesh, 1, Options())
    assert scene.caption() == ["x 0 to 1, y 0 to 1 mm", "81 points, 64 cells, time 0.25"]
    points = mesh.points.clone()
    points[0] = math.nan
    lost = mesh.replace(points=points, info=MeshInfo())
    assert Scene(lambda _: lost, 1, Options()).caption() == [
        "x 0 to 1, y 0 to 1 (unit unknown)",
        "81 points, 64 cells, 1 cell without a finite position",
    ]
    points[80] = math.nan
    lost = mesh.replace(points=points)
    assert (
        Scene(lambda _: lost, 1, Options())
        .caption()[1]
        .startswith("81 points, 64 cells, 2 cells without a finite position")
    )
