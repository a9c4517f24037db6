"""Run benchmarks and print each line as it is measured; `--record` also keeps them in
benchmarks/results/.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.timing import FEWER, RUNS, SLOW, Timed, copy_bandwidth, machine, timed

NAMES = (
    *("reading", "files", "openfoam", "gmsh", "store"),
    *("geometry", "measures", "adjacency", "calculus"),
)


def heading(twice: bool) -> str:
    """Of a table of comparisons; `twice`: by two clocks."""
    ours_ms, *more = ("meshkit CPU ms", "meshkit wall ms") if twice else ("meshkit ms",)
    said = ("operation", "bytes that must move", "floor ms", ours_ms, "meshkit / floor", "peers")
    return f"| {' | '.join((*said, *more))} |\n" + "|---" * (6 + len(more)) + "|"


def line(row: Timed, bandwidth: float) -> str:
    """Markdown: the floor (bytes over bandwidth), our time, and each peer as a ratio to ours."""
    (ours, *peers) = row.seconds.items()
    median, low, high = ours[1]
    floor = row.comparison.bytes / bandwidth
    peers_said = ", ".join(f"{n} {t[0] / median:.2f}x our time" for n, t in peers) or "none"
    peaks = ", ".join(f"{who} {most / 1e6:.0f}" for who, most in row.peaks.items())
    name = row.comparison.name + (f" (peak MB: {peaks})" if len(row.peaks) > 1 else "")
    wall = ""
    if row.comparison.beside:
        mine, *others = row.beside.items()
        ratios = "".join(f", {n} {t / mine[1]:.2f}x" for n, t in others)
        wall = f" {mine[1] * 1e3:.1f}{ratios} |"
    return (
        f"| {name} | {row.comparison.bytes / 1e6:.1f} MB | {floor * 1e3:.1f} "
        f"| {median * 1e3:.1f} ({low * 1e3:.1f} to {high * 1e3:.1f}) "
        f"| {median / floor:.1f} | {peers_said} |{wall}"
    )


def pieces(names: Sequence[str], n: int, bandwidth: float) -> Iterator[str]:
    """Lines of Markdown, each as soon as it was measured."""
    twice: bool | None = None  # of the table that is open
    for name in names:
        module = import_module(f"benchmarks.{name}")
        if hasattr(module, "comparisons"):
            for comparison in module.comparisons(n):
                row = timed(comparison)
                if twice != bool(comparison.beside):
                    twice = bool(comparison.beside)
                    yield f"\n{heading(twice)}"
                yield line(row, bandwidth)
        if hasattr(module, "section"):  # measured in processes of their own
            yield f"\n{module.section(n, bandwidth).rstrip()}"
            twice = None


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=(*NAMES, []), help="all by default")
    parser.add_argument("-n", type=int, default=32, help="6 n^3 tets (default %(default)s)")
    parser.add_argument("--record", action="store_true", help="keep the table")
    args = parser.parse_args()
    bandwidth = copy_bandwidth()
    today = datetime.date.today().isoformat()
    said = [
        f"# {today}: {6 * args.n**3} tets\n\n{machine()}.\nOne thread copies "
        f"{bandwidth / 1e9:.1f} GB/s. Medians of {RUNS}, (least to greatest); of {FEWER} for what "
        f"takes over {SLOW:.0f} s."
    ]
    print(said[0], flush=True)
    for piece in pieces(args.names or NAMES, args.n, bandwidth):
        print(piece, flush=True)
        said.append(piece)
    if args.record:
        file = (
            Path(__file__).parent
            / "results"
            / "-".join((today, *args.names, f"{6 * args.n**3}-tets.md"))
        )
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(said) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
