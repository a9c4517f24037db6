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
    for row in rows:
        does = "read, write" if row["write"] else "read"
        needs = f"; needs meshkit[{row['extra']}]" if row["extra"] else ""
        print(f"{row['name']:<8} {does:<12} {row['title']}: {' '.join(row['suffixes'])}{needs}")
