"""Run benchmarks and print a table; `--record` also keeps it in benchmarks/results/."""

from __future__ import annotations

import argparse
import datetime
from importlib import import_module
from pathlib import Path

from benchmarks.timing import RUNS, Timed, copy_bandwidth, machine, timed

NAMES = (
    *("reading", "files", "openfoam", "gmsh", "store"),
    *("geometry", "measures", "adjacency", "calculus"),
)


def table(rows: list[Timed], bandwidth: float) -> str:
    """Markdown: the floor (bytes over bandwidth), our time, and each peer as a ratio to ours."""
    twice = any(row.comparison.beside for row in rows)
    ours_ms, *more = ("meshkit CPU ms", "meshkit wall ms") if twice else ("meshkit ms",)
    said = ("operation", "bytes that must move", "floor ms", ours_ms, "meshkit / floor", "peers")
    lines = [f"| {' | '.join((*said, *more))} |", "|---" * (6 + len(more)) + "|"]
    for row in rows:
        (ours, *peers) = row.seconds.items()
        median, low, high = ours[1]
        floor = row.comparison.bytes / bandwidth
        peers_said = ", ".join(f"{n} {t[0] / median:.2f}x our time" for n, t in peers) or "none"
        wall = ""
        if twice:
            mine, *others = row.beside.items()
            ratios = "".join(f", {n} {t / mine[1]:.2f}x" for n, t in others)
            wall = f" {mine[1] * 1e3:.1f}{ratios} |"
        lines.append(
            f"| {row.comparison.name} | {row.comparison.bytes / 1e6:.1f} MB | {floor * 1e3:.1f} "
            f"| {median * 1e3:.1f} ({low * 1e3:.1f} to {high * 1e3:.1f}) "
            f"| {median / floor:.1f} | {peers_said} |{wall}"
        )
    return "\n".join(lines)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=(*NAMES, []), help="all by default")
    parser.add_argument("-n", type=int, default=32, help="6 n^3 tets (default %(default)s)")
    parser.add_argument("--record", action="store_true", help="keep the table")
    args = parser.parse_args()
    bandwidth = copy_bandwidth()
    rows, sections = [], []
    for name in args.names or NAMES:
        module = import_module(f"benchmarks.{name}")
        if hasattr(module, "section"):  # measured in processes of their own
            sections.append(module.section(args.n, bandwidth))
        else:
            rows += [timed(comparison) for comparison in module.comparisons(args.n)]
    today = datetime.date.today().isoformat()
    text = (
        f"# {today}: {6 * args.n**3} tets\n\n{machine()}.\nOne thread copies "
        f"{bandwidth / 1e9:.1f} GB/s. Medians of {RUNS}, (least to greatest).\n\n"
        + "\n".join(([f"{table(rows, bandwidth)}\n"] if rows else []) + sections)
    )
    print(text)
    if args.record:
        file = (
            Path(__file__).parent
            / "results"
            / "-".join((today, *args.names, f"{6 * args.n**3}-tets.md"))
        )
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
