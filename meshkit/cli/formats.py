"""`meshkit formats`: the table of formats."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer


def formats(
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """List the formats that can be read and written."""
    from meshkit.readers.formats import FALLBACK, FORMATS

    rows: list[dict[str, Any]] = [
        {
            "name": row.name,
            "title": row.title,
            "suffixes": list(row.suffixes),
            "read": True,
            "write": row.writer is not None,
            "extra": row.extra,
        }
        for row in (*FORMATS, FALLBACK)
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table("format", "what", "suffixes", "read", "write", "needs", box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(
            row["name"],
            row["title"],
            " ".join(row["suffixes"]),
            "yes",
            "yes" if row["write"] else "no",
            f"meshkit[{row['extra']}]" if row["extra"] else "",
        )
    Console(markup=False, emoji=False, highlight=False).print(table)
