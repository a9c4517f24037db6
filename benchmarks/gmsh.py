"""MSH files through meshkit, meshio and gmsh, in processes of their own: CPU seconds, peak memory.

Not run with the others: `python -m benchmarks.gmsh [-n 32] [--record]` takes a minute or two. Gmsh
is there only where the extra "gmsh-tests" is installed; it writes the files that all read. Where it
is not, they read meshkit's binary one.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.apart import apart
from benchmarks.cases import tets
from benchmarks.timing import copy_bandwidth, machine

VERSIONS = {
    "4.1 binary": (4.1, 1),
    "4.1 ascii": (4.1, 0),
    "2.2 binary": (2.2, 1),
    "2.2 ascii": (2.2, 0),
}
# This folder comes first in a process of `apart`, and this file would be the gmsh that is imported.
_START = (
    "import sys; sys.path.pop(0)\nimport gmsh; gmsh.initialize(['-v', '0'])\n"
    "gmsh.option.setNumber('General.Terminal', 0)\n"
)
READERS = {
    "meshkit": ("import meshkit\nmeshkit.read({small!r})", "meshkit.read({file!r})"),
    "meshio": ("import meshio\nmeshio.read({small!r})", "meshio.read({file!r})"),
    "gmsh": (_START + "gmsh.open({small!r}); gmsh.clear()", "gmsh.open({file!r})"),
}
WRITERS = {
    "meshkit": (
        "import meshkit\nmesh = meshkit.read({file!r}); meshkit.write(mesh, {out!r})",
        "meshkit.write(mesh, {out!r})",
    ),
    "meshio": (
        "import meshio\nmesh = meshio.read({file!r})",
        "mesh.write({out!r}, file_format='gmsh')",
    ),
    "gmsh": (
        _START + "gmsh.open({file!r}); gmsh.option.setNumber('Mesh.Binary', 1)",
        "gmsh.write({out!r})",
    ),
}
_SAVE = (
    _START + "gmsh.open({source!r})\n"
    "gmsh.option.setNumber('Mesh.MshFileVersion', {version})\n"
    "gmsh.option.setNumber('Mesh.Binary', {binary})\ngmsh.write({target!r})"
)


def files(n: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """6 n^3 tets in one group in each version that can be made here."""
    import meshkit as mk

    ours = folder / "ours.msh"
    mesh = tets(n)
    group = mk.Region("all", "cell", list(range(mesh.n_cells)))
    mk.write(mesh.replace(regions=[group], point_data={}), ours)
    yield "4.1 binary, by meshkit", ours
    for name, (version, binary) in VERSIONS.items():
        target = folder / f"{name.replace(' ', '_')}.msh"
        program = _SAVE.format(source=str(ours), version=version, binary=binary, target=str(target))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        if done.returncode == 0:
            yield name, target


def table(n: int, runs: int) -> str:
    """Markdown: CPU seconds, megabytes a second and peak memory of each library on each file."""
    lines = [
        "| operation | MB | library | CPU s | MB/s | peak memory / file |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        small = folder / "small"
        small.mkdir()
        found = dict(files(n, folder))
        little = dict(files(1, small))
        for name, file in found.items():
            size = os.path.getsize(file)
            for verb, works in (("read", READERS), ("write", WRITERS)):
                if verb == "write" and not name.endswith("meshkit"):
                    continue
                filled = {
                    peer: tuple(
                        step.format(
                            file=str(file), small=str(little[name]), out=str(folder / "out.msh")
                        )
                        for step in steps
                    )
                    for peer, steps in works.items()
                }
                for peer, cost in apart({k: (v[0], v[1]) for k, v in filled.items()}, runs).items():
                    if cost is None:
                        lines.append(f"| {verb} {name} | {size / 1e6:.1f} | {peer} | - | - | - |")
                        continue
                    lines.append(
                        f"| {verb} {name} | {size / 1e6:.1f} | {peer} | {cost.cpu:.3f} "
                        f"| {size / 1e6 / max(cost.cpu, 1e-9):.0f} | {cost.peak / size:.2f} |"
                    )
    return "\n".join(lines)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=32, help="6 n^3 tets (default %(default)s)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="keep the table")
    args = parser.parse_args()
    today = datetime.date.today().isoformat()
    text = (
        f"# {today}: MSH of {6 * args.n**3} tets\n\n{machine()}.\nOne thread copies "
        f"{copy_bandwidth() / 1e9:.1f} GB/s. Medians of {args.runs}.\n\n"
        f"{table(args.n, args.runs)}\n"
    )
    print(text)
    if args.record:
        file = Path(__file__).parent / "results" / f"{today}-gmsh-{6 * args.n**3}-tets.md"
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
