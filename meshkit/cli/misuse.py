"""What a user asked for cannot be: said in one line, exit code 2."""

from __future__ import annotations

import typer


class Misuse(typer.TyperException):
    """The command was called wrongly; nothing has been done."""

    exit_code = 2
