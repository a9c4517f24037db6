"""What can be told of a file at first sight: whether anything reads it, and what.

Nothing here imports torch, so that a wrong name is answered before anything heavy is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshkit.cli.lines import complain, named
from meshkit.errors import MeshkitError

if TYPE_CHECKING:
    from meshkit.readers.formats import Format


def problem_of(file: str | Path) -> str | None:
    """Why nothing reads a file, in one line; None where something will try.

    It is what reading it would say: it is not there, is empty, a pipe, or of no known format.
    """
    from meshkit.places import place_of
    from meshkit.readers.formats import FALLBACK, reader_for

    try:
        place = place_of(file)
        if reader_for(place) is FALLBACK:
            from meshkit.readers.fallback import need_known_suffix

            need_known_suffix(Path(place))
    except MeshkitError as why:
        return str(why)
    return None


def need_reader(file: str) -> None:
    """End with exit code 1 and a line where nothing reads this file."""
    problem = problem_of(file)
    if problem is not None:
        complain(named(file, problem))
        raise typer.Exit(1)


def modules_for(files: Iterable[str | Path], output: Format | None = None) -> tuple[str, ...]:
    """The modules that read files of these suffixes, and write that format.

    What has no suffix of a format may be a directory of one.
    """
    from meshkit.readers.formats import FALLBACK, FORMATS

    rows = (*FORMATS, FALLBACK)
    suffixes = {Path(file).suffix.lower() for file in files}
    odd = not suffixes <= {suffix for row in rows for suffix in row.suffixes}
    wanted = [
        row
        for row in rows
        if not suffixes.isdisjoint(row.suffixes) or (odd and row.directory is not None)
    ]
    places = [place for row in wanted for place in (row.reader, row.series)]
    if output is not None:
        places += [output.writer, output.series_writer]
    found = [place.partition(":")[0] for place in places if place is not None]
    beside = () if output is None else output.writes_with
    return tuple(dict.fromkeys((*found, *beside)))
