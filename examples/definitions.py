"""The picture of docs/definitions.md: what a warped face, a solid and a normal are taken for.

Run it as `python definitions.py [FOLDER]`; it writes fan.svg to FOLDER, or to definitions/.
"""

import math
import sys
from pathlib import Path

import torch
from torch import Tensor

import meshkit as mk
from meshkit import operators as ops

WIDTH, HEIGHT, SCALE = 900, 300, 150
# Where a point is seen: from the right, from in front and from above.
TURN, LIFT = math.radians(28), math.radians(22)
INK, FAINT, FILL, ACCENT = "#1f2937", "#94a3b8", "#bfdbfe", "#b91c1c"


def seen(points: Tensor) -> Tensor:
    """Points [n, 3] on the sheet [n, 2], y downward."""
    x = points[:, 0] * math.cos(TURN) - points[:, 1] * math.sin(TURN)
    back = points[:, 0] * math.sin(TURN) + points[:, 1] * math.cos(TURN)
    up = points[:, 2] * math.cos(LIFT) + back * math.sin(LIFT)
    return torch.stack([x, -up], 1) * SCALE


def warped_quad() -> mk.Mesh:
    """A square with two opposite corners lifted."""
    points = [[0, 0, 0], [1, 0, 0.45], [1, 1, 0], [0, 1, 0.45]]
    return mk.make_mesh(torch.tensor(points), [[0, 1, 2, 3]], types="quad")


def cube(warp: float = 0.0, at: float = 0.0) -> mk.Mesh:
    """A unit cube, its top lifted at two corners."""
    ring = [(0, 0), (1, 0), (1, 1), (0, 1)]
    points = [[x + at, y, z] for z in (0, 1) for x, y in ring]
    mesh = torch.tensor(points, dtype=torch.float64)
    mesh[[5, 7], 2] += warp
    return mk.make_mesh(mesh, [list(range(8))], types="hexahedron")


class Sheet:
    """Lines of an SVG file."""

    def __init__(self) -> None:
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="15">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        ]

    def ring(self, at: Tensor, fill: str = "none", line: str = INK, dash: str = "") -> None:
        """A closed line."""
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in at.tolist())
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(
            f'<polygon points="{corners}" fill="{fill}" fill-opacity="0.55" stroke="{line}" '
            f'stroke-width="1.4" stroke-linejoin="round"{dashes}/>'
        )

    def dot(self, at: Tensor, colour: str = ACCENT) -> None:
        """A point."""
        x, y = at.tolist()
        self.lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')

    def arrow(self, tail: Tensor, tip: Tensor) -> None:
        """A line with a head."""
        along = (tip - tail) / (tip - tail).norm()
        side = torch.stack([-along[1], along[0]])
        self.ring(torch.stack([tail, tip]), line=ACCENT)
        head = torch.stack([tip, tip - 10 * along + 4 * side, tip - 10 * along - 4 * side])
        self.ring(head, fill=ACCENT, line=ACCENT)

    def text(self, x: float, y: float, words: str, colour: str = INK) -> None:
        """A line of words about x."""
        self.lines.append(
            f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="middle">{words}</text>'
        )


def fan(sheet: Sheet, shift: Tensor) -> None:
    """A warped quad as the triangles that stand for it."""
    parts = ops.simplices(warped_quad())
    at = seen(parts.points) + shift
    for triangle in parts.cells.dense:
        sheet.ring(at[triangle], fill=FILL)
    sheet.dot(at[-1])


def tets(sheet: Sheet, shift: Tensor) -> None:
    """A warped hexahedron and the tets on one of its faces."""
    mesh = cube(warp=0.3)
    mesh = mesh.replace(points=mesh.points * 0.9)
    at = seen(mesh.points) + shift
    for face in (0, 3, 4):
        sheet.ring(at[_ring(mesh, face)], line=FAINT, dash="4 4")
    parts = ops.simplices(mesh)
    ends = seen(parts.points) + shift
    rows = parts.cells.dense.tolist()
    top = next(f for f in {row[2] for row in rows} if _ends(rows, f) == {4, 5, 6, 7})
    on_top = [row for row in rows if row[2] == top]
    for a, b, _, middle in on_top:
        sheet.ring(ends[[a, b, middle]], line=FAINT)
    for a, b, face, _ in on_top:
        sheet.ring(ends[[a, b, face]], fill=FILL)
    for face in (1, 2):
        sheet.ring(at[_ring(mesh, face)])
    sheet.dot(ends[on_top[0][2]])
    sheet.dot(ends[on_top[0][3]])


def _ends(rows: list[list[int]], mean: int) -> set[int]:
    """The points of the tets on the face with this mean."""
    return {p for row in rows if row[2] == mean for p in row[:2]}


def _ring(mesh: mk.Mesh, face: int) -> list[int]:
    """The ring of a boundary face of a mesh of one cell."""
    table = ops.faces(mesh)
    begin, end = table.offsets[face : face + 2].tolist()
    ring: list[int] = table.connectivity[begin:end].tolist()
    return ring


def normal(sheet: Sheet, shift: Tensor) -> None:
    """Two cells, the face between them, and its area vector."""
    for mesh in (cube(), cube(at=1.0)):
        flat = mesh.replace(points=mesh.points * 0.8)
        at = seen(flat.points) + shift
        for face in range(6):
            sheet.ring(at[_ring(flat, face)], line=FAINT)
    left = cube()
    points = left.points * 0.8
    at = seen(points) + shift
    sheet.ring(at[_ring(left, 1)], fill=FILL)
    middle = 0.8 * ops.face_centroids(left)[1:2]
    tip = middle + 0.5 * ops.face_area_vectors(left)[1:2]
    sheet.arrow((seen(middle) + shift)[0], (seen(tip) + shift)[0])
    own, other = (seen(torch.tensor([[x, 0.4, 0.4]])) + shift for x in (0.25, 1.5))
    sheet.text(float(own[0, 0]), float(own[0, 1]) + 40, "owner")
    sheet.text(float(other[0, 0]), float(other[0, 1]) + 25, "neighbour")


def main() -> None:
    """The command."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "definitions")
    folder.mkdir(parents=True, exist_ok=True)
    sheet = Sheet()
    for draw, x, y, words in (
        (fan, 105, 215, "a warped face: its fan"),
        (tets, 395, 240, "a solid: tets to its mean"),
        (normal, 665, 225, "an area vector: owner to neighbour"),
    ):
        draw(sheet, torch.tensor([x, y], dtype=torch.float64))
        sheet.text(x + 40, HEIGHT - 12, words)
    file = folder / "fan.svg"
    file.write_text("\n".join([*sheet.lines, "</svg>", ""]), encoding="utf-8")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
