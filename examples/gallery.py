"""The pictures of the README, of meshes that are made here.

Run it as `python gallery.py [FOLDER]`; it writes PNG files to FOLDER, or to gallery/.
"""

import math
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import torch
from sample_case import pipe_bend, pipe_coordinates

import meshkit as mk
from meshkit import operators as ops

SIZE = (800, 600)
BLOCKS = 7  # coarse cells along each side of the block
AROUND, ALONG, TUBE = 20, 260, 0.42  # cells of the knot, and the radius of its tube in m

Corner = tuple[int, ...]

CORNERS: list[Corner] = list(product((0, 1), repeat=3))
# The faces of a unit cube, seen from outside, and the way to the neighbour behind each.
FACES: list[tuple[list[Corner], Corner]] = [
    ([(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0)], (-1, 0, 0)),
    ([(1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)], (1, 0, 0)),
    ([(0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)], (0, -1, 0)),
    ([(0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)], (0, 1, 0)),
    ([(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)], (0, 0, -1)),
    ([(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)], (0, 0, 1)),
]


def heating(time: float) -> mk.Mesh:
    """The pipe bend while a hot front runs through it; times from 0 to 1."""
    mesh = pipe_bend()
    way, radius, _ = pipe_coordinates(mesh.points)
    front = 1.5 * time - 0.15 - 0.25 * radius**2
    hot = 293.15 + 40 * torch.special.expit(20 * (front - way))
    return mesh.with_data(point={"T": hot}).replace(info=mesh.info.replace(time=time))


def refined_block() -> mk.Mesh:
    """A cube whose cells are halved around its centre, as a mesher refines around a body.

    A coarse cell beside halved ones is a polyhedron with more faces and more points than six and
    eight: nothing hangs.
    """
    coarse = [c for c in product(range(BLOCKS), repeat=3) if not halved(c)]
    fine = [c for c in product(range(BLOCKS), repeat=3) if halved(c)]
    # Places are counted in halves of a coarse cell.
    cells = [(scaled(c, 2), 2) for c in coarse]
    cells += [(moved(scaled(c, 2), half), 1) for c in fine for half in CORNERS]
    fine_points = {moved(low, corner) for low, size in cells if size == 1 for corner in CORNERS}
    number: dict[Corner, int] = {}
    solids = [
        [
            [number.setdefault(p, len(number)) for p in ring]
            for ring in rings(low, size, fine_points)
        ]
        for low, size in cells
    ]
    points = torch.tensor(list(number), dtype=torch.float64) / (2 * BLOCKS)
    mesh = mk.make_mesh(
        points,
        polyhedra=solids,
        info=mk.MeshInfo(
            length_unit="m", fields={("cell_data", "c"): mk.FieldInfo(unit="mol/m^3")}
        ),
    )
    distance = (ops.cell_centroids(mesh) - 0.5).norm(dim=1)
    return mesh.with_data(cell={"c": 5 * torch.exp(-((distance / 0.4) ** 2))})


def halved(cell: Corner) -> bool:
    """Whether a coarse cell is near the centre."""
    return math.dist([(i + 0.5) / BLOCKS for i in cell], (0.5, 0.5, 0.5)) < 0.33


def rings(low: Corner, size: int, fine_points: set[Corner]) -> Iterator[list[Corner]]:
    """The faces of one cell: in four where finer cells meet it, else one with all its points."""
    for face, way in FACES:
        corners = [moved(low, scaled(c, size)) for c in face]
        neighbour = tuple(a // 2 + b for a, b in zip(low, way, strict=True))
        inside = all(0 <= i < BLOCKS for i in neighbour)
        if size == 2 and inside and halved(neighbour):
            middle = between(corners[0], corners[2])
            for i, corner in enumerate(corners):
                after, before = corners[(i + 1) % 4], corners[i - 1]
                yield [corner, between(corner, after), middle, between(before, corner)]
            continue
        ring = []
        for i, corner in enumerate(corners):
            ring.append(corner)
            halfway = between(corner, corners[(i + 1) % 4])
            if size == 2 and halfway in fine_points:
                ring.append(halfway)
        yield ring


def scaled(place: Corner, by: int) -> Corner:
    """A place so many times as far away."""
    return tuple(by * x for x in place)


def moved(place: Corner, by: Corner) -> Corner:
    """The sum of two places."""
    return tuple(a + b for a, b in zip(place, by, strict=True))


def between(a: Corner, b: Corner) -> Corner:
    """The middle of two places."""
    return tuple((x + y) // 2 for x, y in zip(a, b, strict=True))


def knot() -> mk.Mesh:
    """A closed surface of quads, a tube tied in a trefoil knot, with a velocity along it."""
    t = torch.linspace(0, 2 * math.pi, ALONG + 1, dtype=torch.float64)[:-1]

    def path(t: torch.Tensor) -> torch.Tensor:
        x, y = t.sin() + 2 * (2 * t).sin(), t.cos() - 2 * (2 * t).cos()
        return torch.stack([x, y, -(3 * t).sin()], 1)

    step = 1e-4
    along = torch.nn.functional.normalize(path(t + step) - path(t - step))
    bent = path(t + step) - 2 * path(t) + path(t - step)
    out = torch.nn.functional.normalize(bent - (bent * along).sum(1, keepdim=True) * along)
    side = torch.linalg.cross(along, out)
    angle = torch.linspace(0, 2 * math.pi, AROUND + 1, dtype=torch.float64)[:-1, None]
    ring = angle.cos() * out[:, None] + angle.sin() * side[:, None]  # [ALONG, AROUND, 3]
    points = path(t)[:, None] + TUBE * ring
    at = torch.arange(ALONG * AROUND).reshape(ALONG, AROUND)
    quads = torch.stack([at, at.roll(-1, 0), at.roll((-1, -1), (0, 1)), at.roll(-1, 1)], 2)
    mesh = mk.make_mesh(
        points.reshape(-1, 3),
        quads.reshape(-1, 4),
        types="quad",
        info=mk.MeshInfo(length_unit="m", fields={("point_data", "U"): mk.FieldInfo(unit="m/s")}),
    )
    # Faster where the tube bends, and on the inside of the bend.
    speed = 3 + 1.2 * (3 * t).cos()[:, None] + 0.8 * angle[:, 0].cos()
    velocity = speed[..., None] * along[:, None]
    return mesh.with_data(point={"U": velocity.reshape(-1, 3)})


def pictures() -> dict[str, mk.Picture]:
    """All of them, by name."""
    pipe = pipe_bend()
    times = mk.MeshSeries.of([heating(t) for t in (0.0, 0.3, 0.6, 0.9)])
    return {
        "field": mk.plot(pipe, "p", edges=True, size=SIZE),
        "regions": mk.plot(pipe, regions=True, camera="-150,35", size=SIZE),
        "clip": mk.plot(heating(0.6), "T", clip="z", edges=True, camera="-60,50", size=SIZE),
        "polyhedra": mk.plot(refined_block(), "c", clip="y", edges=True, size=SIZE),
        "surface": mk.plot(knot(), "U", camera="-70,55", size=(640, 480)),
        "times": mk.plot(times, "T", camera="-70,60", size=(1200, 360)),
    }


def main() -> None:
    """Write the pictures into the folder that the command line names."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "gallery")
    for name, picture in pictures().items():
        picture.save(folder / f"{name}.png")
        print(f"wrote {folder / name}.png: {picture.size[0]} x {picture.size[1]}")


if __name__ == "__main__":
    main()
