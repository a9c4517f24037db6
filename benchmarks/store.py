"""The store beside a plain Zarr group of the same codec, and beside a memory map."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks.cases import tets
from benchmarks.timing import Comparison


def comparisons(n: int) -> Iterator[Comparison]:
    """A mesh of 6 n^3 tets whole, one of its fields, and a sixteenth of its cells."""
    import zarr

    import meshkit as mk

    mesh = tets(n)
    # A region of a sixteenth of the cells, as scattered as a material is.
    ids = torch.arange(5, mesh.n_cells, 16, dtype=torch.int32)
    mesh = mesh.replace(regions=[mk.Region("rotor", "cell", ids)])
    arrays = {
        "points": mesh.points.numpy(),
        **{f"cells/{name}": getattr(mesh.cells, name).numpy() for name in _CELLS},
        **{f"point_data/{name}": x.numpy() for name, x in mesh.point_data.items()},
        "regions/0": ids.numpy(),
    }
    size = sum(x.nbytes for x in arrays.values())
    some = mesh.n_cells // 16
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        ours, plain, mapped = folder / "ours.zarr", folder / "plain.zarr", folder / "mapped"

        def read_plain() -> list[Any]:
            group = zarr.open_group(plain, mode="r")
            return [group[name][...] for name in arrays]

        def map_memory() -> None:
            shutil.rmtree(mapped, ignore_errors=True)
            mesh.to_tensordict().memmap(mapped)

        yield _comparison(
            "write the store (its files synced, the others' not)",
            size,
            {
                "meshkit": lambda: mk.write(mesh, ours),
                "zarr": lambda: _write_plain(arrays, plain),
                "memory map": map_memory,
            },
        )
        yield _comparison(
            "read the store", size, {"meshkit": lambda: mk.read(ours), "zarr": read_plain}
        )
        pressure = mesh.point_data["p"]
        yield _comparison(
            "open the store and read one field",
            pressure.numel() * pressure.element_size(),
            {
                "meshkit": lambda: mk.open_store(ours).field("point_data", "p"),
                "zarr": lambda: zarr.open_group(plain, mode="r")["point_data/p"][...],
            },
        )
        yield _comparison(
            "open the store and read 1/16 of the cells",
            some * (1 + 4 + 16),
            {"meshkit": lambda: mk.open_store(ours).cells(slice(some, 2 * some))},
        )
        yield _comparison(
            "open the store and read the ids of a region of 1/16 of the cells",
            4 * len(ids),
            {
                "meshkit": lambda: mk.open_store(ours).region("rotor"),
                "zarr": lambda: zarr.open_group(plain, mode="r")["regions/0"][...],
            },
        )


def _comparison(name: str, size: int, contenders: Mapping[str, Callable[[], object]]) -> Comparison:
    """By CPU seconds, which others on the machine do not disturb, and by the wall beside."""
    return Comparison(name, size, contenders, time.process_time, time.perf_counter)


_CELLS = ("types", "offsets", "connectivity")


def _write_plain(arrays: dict[str, Any], folder: Path) -> None:
    import zarr
    from zarr.codecs import BloscCodec, Crc32cCodec

    group = zarr.open_group(folder, mode="w")
    for name, x in arrays.items():
        rows = min(65_536, len(x))
        blosc = BloscCodec(cname="zstd", clevel=3, shuffle="shuffle", typesize=x.itemsize)
        group.create_array(
            name,
            data=x,
            chunks=(rows, *x.shape[1:]),
            shards=(-(-len(x) // rows) * rows, *x.shape[1:]),
            compressors=[blosc, Crc32cCodec()],
            config={"write_empty_chunks": True},
        )
