"""`meshkit COMMAND`: a module a command. Only in here is anything printed, or an exit decided.

Exit codes: 0 done, 1 the data said no (one line a problem on stderr), 2 misuse (one line).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from meshkit.cli import convert, formats, info, view
from meshkit.cli.lines import complain
from meshkit.errors import MeshkitError

app = typer.Typer(
    name="meshkit",
    help="Solver meshes and fields as tensors, with nothing lost uncounted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("convert", cls=convert.ConvertCommand)(convert.convert)
app.command("info")(info.info)
app.command("formats")(formats.formats)
app.command("view")(view.view)


def _version(wanted: bool) -> None:
    if wanted:
        from meshkit import __version__

        print(f"meshkit {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the arguments; those of the process if None.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files need not be UTF-8
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(argv, prog_name="meshkit", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as why:
        command = getattr(getattr(why, "ctx", None), "command_path", None)
        said = why.format_message() or "expected a command"
        complain(said + (f" (see {command} --help)" if command else ""))
        return why.exit_code
    except MeshkitError as why:
        complain(str(why))
        return 1
    except typer.Abort:
        return 130
    except SystemExit as why:  # how typer answers a closed pipe
        code = why.code
        _silence()
    except BrokenPipeError:
        code = 1
        _silence()
    return code if isinstance(code, int) else 0


def _silence() -> None:
    """Nobody reads on; let the interpreter's last flush not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
