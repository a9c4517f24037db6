"""`meshkit view`: a picture of what a file holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from meshkit.cli import workers
from meshkit.cli.leftovers import remove_leftovers
from meshkit.cli.lines import complain, counted, named, shown
from meshkit.cli.misuse import Misuse
from meshkit.cli.moments import moment_of
from meshkit.cli.sight import modules_for, need_reader
from meshkit.words import one_line

if TYPE_CHECKING:
    from meshkit.pictures.options import Options
    from meshkit.pictures.picture import Film, Picture

_ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the child is asked for; moments are None for all times."""

    file: str
    out: str
    moments: tuple[str | int | float, ...] | None
    options: Options


def view(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Any file meshkit reads.")],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PICTURE",
            help="A .png, .jpg or .gif to write; folders are made.",
        ),
    ],
    field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A field of points or cells: p, cell_data/p.",
            show_default="the first, else regions",
        ),
    ] = None,
    component: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="x, y, z, a number, or magnitude."),
    ] = None,
    regions: Annotated[bool, typer.Option("--regions", help="Colour by region.")] = False,
    edges: Annotated[bool, typer.Option("--edges", help="Draw the edges of cells.")] = False,
    clip: Annotated[
        str | None,
        typer.Option(
            metavar="PLANE",
            help="Cut open: x, y or z takes the nearer half away; +x, -x or a normal "
            "'nx,ny,nz' the half it points to.",
        ),
    ] = None,
    clip_at: Annotated[
        str | None,
        typer.Option(metavar="X,Y,Z", help="A point of the plane.", show_default="the centre"),
    ] = None,
    camera: Annotated[
        str | None,
        typer.Option(
            metavar="FROM",
            help="iso, +x, -x, +y, ..., or degrees 'azimuth,elevation'.",
            show_default="iso; flat meshes from the front",
        ),
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="In pixels.", show_default="1200x900")
    ] = None,
    cmap: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A colour map of matplotlib.", show_default="viridis"),
    ] = None,
    range_: Annotated[
        str | None,
        typer.Option("--range", metavar="MIN,MAX", help="Ends of the colour bar."),
    ] = None,
    time: Annotated[
        list[str] | None,
        typer.Option(
            help='"first", "last", a step (3, -1) or a time (0.5), or "all". Several give a strip '
            "of pictures, in a .gif one after the other. Repeatable.",
            show_default="last",
        ),
    ] = None,
    background: Annotated[str, typer.Option(metavar="COLOUR", help="white, #1b2a41.")] = "white",
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Draw what a file holds, off screen, into a picture.

    The legend names the field with its unit; below stand
    the bounds with the unit of length, and the time.
    """
    wish = Wish(
        file,
        out,
        _moments(time or ["last"]),
        _options(
            field, component, regions, edges, clip, clip_at, camera, size, cmap, range_, background
        ),
    )
    _need_picture_name(out)
    need_reader(file)
    # In a process of its own, so that a crash in a graphics driver still gets its line.
    needed = (*modules_for([file]), "meshkit.pictures.plot")
    (ending,) = workers.run(_draw, [wish], jobs=1, modules=needed)
    if ending.problem is not None:
        remove_leftovers([Path(out)])
        about_picture = ending.problem.startswith(one_line(out))
        complain(ending.problem if about_picture else named(file, ending.problem))
        raise typer.Exit(1)
    if "no_window" in ending.answer:
        complain(ending.answer["no_window"])
        raise typer.Exit(1)
    if as_json:
        print(json.dumps(ending.answer, indent=2))
    else:
        print(_line(ending.answer))


def _moments(texts: list[str]) -> tuple[str | int | float, ...] | None:
    if _ALL in texts:
        if len(texts) > 1:
            raise Misuse(f"--time {_ALL}: expected no other --time beside it")
        return None
    return tuple(moment_of(text) for text in texts)


def _options(
    field: str | None,
    component: str | None,
    regions: bool,
    edges: bool,
    clip: str | None,
    clip_at: str | None,
    camera: str | None,
    size: str | None,
    cmap: str | None,
    range_: str | None,
    background: str,
) -> Options:
    from meshkit.pictures import options
    from meshkit.pictures.errors import PictureError

    if regions and field is not None:
        raise Misuse("--regions and --field: expected one of them")
    if component is not None and field is None:
        raise Misuse("--component: expected --field beside it")
    if clip_at is not None and clip is None:
        raise Misuse("--clip-at: expected --clip beside it")
    try:
        return options.Options(
            field=field,
            component=component,
            regions=regions,
            edges=edges,
            plane=None if clip is None else options.plane_of(clip, clip_at),
            camera=None if camera is None else options.camera_of(camera),
            size=None if size is None else options.size_of(size),
            colours=options.FITTING if cmap is None else options.colours_of(cmap),
            span=None if range_ is None else options.span_of(range_),
            background=options.background_of(background),
        )
    except PictureError as why:
        raise Misuse(f"--{why}") from None


def _need_picture_name(out: str) -> None:
    from meshkit.pictures.picture import MOVING, STILL

    suffix = Path(out).suffix.lower()
    if suffix not in STILL and suffix != MOVING:
        raise Misuse(f"--out {out}: expected a name that ends in {', '.join((*STILL, MOVING))}")


def _draw(wish: Wish) -> dict[str, Any]:
    """The child's work."""
    from meshkit.pictures.errors import NoWindow

    try:
        made, times = _drawn(wish)
    except NoWindow as why:  # not the fault of the file
        return {"no_window": str(why)}
    made.save(wish.out)
    return {
        "file": wish.file,
        "picture": wish.out,
        "size": list(made.size),
        "shown": made.title or None,
        "range": None if made.span is None else list(made.span),
        "times": times,
        "left_out": made.left_out,
    }


def _drawn(wish: Wish) -> tuple[Picture | Film, list[float | None]]:
    """The picture and its times."""
    from meshkit.pictures.picture import MOVING
    from meshkit.pictures.plot import film, still, strip
    from meshkit.readers.reading import read, read_series
    from meshkit.series import step_of

    if wish.moments is not None and len(wish.moments) == 1:
        mesh = read(wish.file, time=wish.moments[0])
        return still(mesh, wish.options), [mesh.info.time]
    series = read_series(wish.file)
    steps = list(range(len(series)))
    if wish.moments is not None:
        steps = [step_of(series.times, moment) for moment in wish.moments]
    made = film if Path(wish.out).suffix.lower() == MOVING else strip
    picture = made(lambda i: series[steps[i]], len(steps), wish.options)
    return picture, [series.times[step] for step in steps]


def _line(answer: dict[str, Any]) -> str:
    said = [f"{shown(answer['picture'])}: {answer['size'][0]} x {answer['size'][1]}"]
    if answer["shown"]:
        said.append(shown(answer["shown"]))
    if answer["range"]:
        said[-1] += " from {:.6g} to {:.6g}".format(*answer["range"])
    if len(answer["times"]) > 1:
        said.append(counted(len(answer["times"]), "time"))
    if answer["left_out"]:
        said.append(f"{counted(answer['left_out'], 'cell')} without a finite position left out")
    return ", ".join(said)
