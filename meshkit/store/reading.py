"""Meshes and series out of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from torch import Tensor

from meshkit import view
from meshkit.accounting import keep_all
from meshkit.errors import MeshError, ReadError
from meshkit.fields import Path as PartPath
from meshkit.mesh import Mesh
from meshkit.places import Place
from meshkit.report import Ledger
from meshkit.series import MeshSeries
from meshkit.store.contents import Contents, load
from meshkit.store.files import Files, LocalFiles
from meshkit.store.names import METADATA, plain_path
from meshkit.store.remote import RemoteFiles

T = TypeVar("T")

_TRIES: Final = 5


def read(path: Place, ledger: Ledger) -> Mesh:
    """Read the mesh that `write` wrote, bit for bit; of a series, the last.

    While another process replaces the sample, the answer is the old or the new one.

    Raises:
        ReadError: there is no sample, it is damaged or of a newer version; the message names
            what is wrong.
    """

    def last(contents: Contents) -> Mesh:
        return MeshLoader(contents).mesh(contents.n_steps - 1)

    mesh = steadily(path, last)
    ledger.add(mesh.info.report)
    return mesh


def read_held(path: Place) -> Mesh | MeshSeries:
    """The series that `write_series` wrote, or the mesh that `write` wrote: read once.

    The sample is held open: a mesh read later is still of the sample that was there, or an error.
    Meshes share what did not change between them while one of them is in memory.

    Raises:
        ReadError: as `read`, and again whenever a mesh is asked for.
    """

    def held(contents: Contents) -> Mesh | MeshSeries:
        loader = MeshLoader(contents)
        return MeshSeries(contents.times, loader.mesh) if contents.is_series else loader.mesh(0)

    return steadily(path, held)


def steadily(path: Place, take: Callable[[Contents], T]) -> T:
    """What `take` makes of the sample at a place, begun again when that is replaced meanwhile.

    Raises:
        ReadError: there is no sample, or what is read is damaged.
    """
    for tries in range(1, _TRIES + 1):
        files = files_at(path)
        try:
            return take(Contents(files))
        except ReadError:
            if tries == _TRIES or not files.replaced():
                raise
    raise ReadError(str(path), "is replaced again and again")


def files_at(path: Place) -> Files:
    """The files of the sample at a place.

    Raises:
        ReadError: there is no such place.
    """
    return RemoteFiles(path) if isinstance(path, str) else LocalFiles(path)


@contextmanager
def fitting(contents: Contents) -> Iterator[None]:
    """What arrays and metadata that contradict each other raise is the sample's error."""
    try:
        yield
    except MeshError as why:
        raise ReadError(contents.files.name, f"holds no sound mesh: {why}") from None
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as why:
        said = f"does not fit its arrays: {str(why)[:80]}"
        raise ReadError(contents.files.name, said, place=METADATA) from None


class MeshLoader:
    """Meshes of an opened sample by their step."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._held: WeakValueDictionary[tuple[str, int | None], Tensor] = WeakValueDictionary()

    def mesh(self, step: int) -> Mesh:
        """The mesh at a step; its report says what was kept.

        Raises:
            ReadError: what is read is damaged.
        """
        parts = self._contents.parts(step)
        places = {path: (part.array.key, part.step) for path, part in parts.items()}
        flat = {path: self._held.get(place) for path, place in places.items()}
        missing = [path for path, x in flat.items() if x is None]
        read = load([parts[path] for path in missing])
        flat |= dict(zip(missing, read, strict=True))
        whole = {path: x for path, x in flat.items() if x is not None}
        self._held.update({places[path]: x for path, x in whole.items()})
        return self._assembled(whole, step)

    def _assembled(self, flat: dict[PartPath, Tensor], step: int) -> Mesh:
        with fitting(self._contents):
            mesh = view.mesh_of(flat, self._contents.mesh(step))
        ledger = Ledger()
        keep_all(mesh, ledger)
        for path in sorted(map(plain_path, self._contents.fields - flat.keys())):
            reason = "absent at this time, other times have it"
            ledger.dropped("field", "/".join(path), 0, reason, loss=False)
        for key in self._contents.unknown:
            theirs = key.rsplit("/", 1)[-1].startswith(".")  # what file systems and desktops leave
            ledger.dropped("file", key, 1, "the manifest does not list it", loss=not theirs)
        return mesh.replace(info=mesh.info.noting(ledger.report()))
