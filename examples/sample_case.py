"""A small case like a solver's: flow through a heated pipe bend, hexes around a core of wedges.

Run it as `python sample_case.py [FILE]`; it writes pipe_bend.vtu, or FILE in the format that the
name says. The numbers are made up but shaped like the real thing: a parabolic velocity along the
pipe, a pressure that falls with the distance, a temperature that rises towards the wall.
"""

import math
import sys

import torch
from torch import Tensor

import meshkit as mk
from meshkit import operators as ops

SECTORS, RINGS, STATIONS = 12, 3, 21  # cells around, outwards and along
RADIUS, BEND = 0.025, 0.1  # of the pipe, and of its centre line; in m


def sections() -> Tensor:
    """Points [STATIONS + 1, 1 + RINGS * SECTORS, 3]: the centre, then rings from the inside out."""
    turn = torch.linspace(0, math.pi / 2, STATIONS + 1, dtype=torch.float64)[:, None]
    around = torch.arange(SECTORS, dtype=torch.float64) * (2 * math.pi / SECTORS)
    rings = torch.arange(1, RINGS + 1, dtype=torch.float64)[:, None] * (RADIUS / RINGS)
    # The rings turn from z to the outside: counterclockwise about the direction of the flow.
    z = torch.cat([torch.zeros(1), (rings * around.cos()).flatten()])
    r = BEND + torch.cat([torch.zeros(1), (rings * around.sin()).flatten()])
    return torch.stack([r * turn.cos(), r * turn.sin(), z.expand(len(turn), -1)], 2)


def pipe_coordinates(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Share of the way along the pipe, share of the radius, and the direction along the pipe."""
    turn = torch.atan2(x[:, 1], x[:, 0])
    zero = torch.zeros_like(turn)
    centre = BEND * torch.stack([turn.cos(), turn.sin(), zero], 1)
    along = torch.stack([-turn.sin(), turn.cos(), zero], 1)
    return turn / (math.pi / 2), torch.linalg.vector_norm(x - centre, dim=1) / RADIUS, along


def sides(*parts: tuple[Tensor, int]) -> Tensor:
    """Sides [n, 2] from cells and the local face of each."""
    return torch.cat([torch.cartesian_prod(c.flatten(), torch.tensor([f])) for c, f in parts])


def pipe_bend() -> mk.Mesh:
    """Wedges station by station, then hexes; patches inlet, outlet and wall; fields p, U and T."""
    points = sections()
    n = points.shape[1]
    i = torch.arange(SECTORS)
    left = 1 + torch.arange(RINGS)[:, None] * SECTORS + i  # [RINGS, SECTORS]
    right = 1 + torch.arange(RINGS)[:, None] * SECTORS + (i + 1) % SECTORS

    # The corners in one section; a cell has the same again in the next one.
    triangles = torch.stack([torch.zeros_like(i), left[0], right[0]], 1)
    quads = torch.stack([left[:-1], left[1:], right[1:], right[:-1]], 2).reshape(-1, 4)
    up = n * torch.arange(STATIONS)[:, None, None]
    wedges = (torch.cat([triangles, triangles + n], 1) + up).reshape(-1, 6)
    hexes = (torch.cat([quads, quads + n], 1) + up).reshape(-1, 8)
    sizes = torch.tensor([6] * len(wedges) + [8] * len(hexes))

    # Local faces are numbered as in VTK: 0 and 1 close a wedge, 4 and 5 a hex, and 1 is the
    # face of these hexes that looks away from the centre line.
    wedge = torch.arange(len(wedges)).reshape(STATIONS, SECTORS)
    hexa = len(wedges) + torch.arange(len(hexes)).reshape(STATIONS, RINGS - 1, SECTORS)
    mesh = mk.make_mesh(
        points.reshape(-1, 3),
        torch.cat([wedges.flatten(), hexes.flatten()]),
        types=torch.tensor([13] * len(wedges) + [12] * len(hexes), dtype=torch.uint8),
        offsets=torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)]),
        regions=(
            mk.Region("inlet", "side", sides((wedge[0], 0), (hexa[0], 4))),
            mk.Region("outlet", "side", sides((wedge[-1], 1), (hexa[-1], 5))),
            mk.Region("wall", "side", sides((hexa[:, -1], 1))),
        ),
        info=mk.MeshInfo(
            length_unit="m",
            fields={
                ("cell_data", "p"): mk.FieldInfo(unit="Pa"),
                ("cell_data", "U"): mk.FieldInfo(unit="m/s"),
                ("point_data", "T"): mk.FieldInfo(unit="K"),
            },
        ),
    )

    way, radius, along = pipe_coordinates(ops.cell_centroids(mesh))
    cell = {"p": 1200 * (1 - way), "U": 2 * (1 - radius[:, None] ** 2) * along}
    _, radius, _ = pipe_coordinates(mesh.points)
    return mesh.with_data(point={"T": 293.15 + 40 * radius**4}, cell=cell)


def main() -> None:
    """Write the case to the file that the command line names."""
    path = sys.argv[1] if len(sys.argv) > 1 else "pipe_bend.vtu"
    mesh = pipe_bend()
    mk.write(mesh, path)
    print(f"wrote {path}: {mesh.n_points} points, {mesh.n_cells} cells")


if __name__ == "__main__":
    main()
