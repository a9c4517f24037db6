"""What is coloured: a field, the regions, or nothing; the same colours for several meshes.

Each looks at the meshes one after the other (`shades`), at what is drawn of them (`see`), and
then says which colours stand for what (`colours`, `legend`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from meshkit.info import FieldKey
from meshkit.mesh import Mesh
from meshkit.pictures.bodies import Body, Shades
from meshkit.pictures.colours import Bar, Kinds, bar, kinds
from meshkit.pictures.facets import SHADE
from meshkit.pictures.legend import BarLegend, KindsLegend, Legend
from meshkit.pictures.options import FITTING, Options
from meshkit.pictures.region_shades import region_shades
from meshkit.pictures.shades import Nature, shade

Reals = NDArray[np.float64]

_FEW: Final = 12
"""Up to so many different whole numbers are shown as kinds, not along a bar."""


class Colouring(Protocol):
    """Something that can be coloured."""

    def shades(self, mesh: Mesh) -> Shades:
        """The numbers of one mesh; it is remembered what occurs."""
        ...

    def see(self, bodies: Iterable[Body]) -> None:
        """Remember what of it can be seen."""
        ...

    def colours(self) -> Bar | Kinds | None:
        """Which colour stands for which number; None where nothing is coloured."""
        ...

    def legend(self) -> Legend | None:
        """What the colours mean."""
        ...


class Plain:
    """Nothing is coloured."""

    def shades(self, mesh: Mesh) -> Shades:
        """None."""
        return Shades()

    def see(self, bodies: Iterable[Body]) -> None:
        """Nothing to remember."""

    def colours(self) -> Bar | Kinds | None:
        """None."""
        return None

    def legend(self) -> Legend | None:
        """None."""
        return None


class ByRegion:
    """Each region has a colour; regions of one name share it."""

    def __init__(self, options: Options) -> None:
        self._map = options.colours
        self._codes: dict[str, int] = {}
        self._seen: set[float] = set()
        self._gaps = False

    def shades(self, mesh: Mesh) -> Shades:
        """Codes of the regions.

        Raises:
            MeshError: a region names what the mesh does not have.
        """
        return region_shades(mesh, self._codes)

    def see(self, bodies: Iterable[Body]) -> None:
        """Remember which regions can be seen."""
        for values in _drawn(bodies):
            self._gaps |= bool(np.isnan(values).any())
            self._seen.update(np.unique(values[~np.isnan(values)]).tolist())

    def colours(self) -> Kinds:
        """A colour a region, in the order of the regions."""
        return kinds(tuple(self._codes), self._map)

    def legend(self) -> Legend:
        """The regions that can be seen, and how many more there are."""
        shown = tuple(int(code) for code in sorted(self._seen))
        nothing = "no region" if self._gaps else None
        return KindsLegend("regions", self.colours(), shown, nothing, len(self._codes) - len(shown))


class ByField:
    """The values of one field."""

    def __init__(self, key: FieldKey, options: Options) -> None:
        self._key, self._options = key, options
        self.title = ""
        self._nature: Nature = "measure"
        self._texts: dict[str, int] = {}
        self._wholes: set[float] = set()
        self._span: tuple[float, float] | None = None
        self._infinite = [False, False]
        self._seen: set[float] = set()
        self._gaps = False

    def shades(self, mesh: Mesh) -> Shades:
        """Its values; no value anywhere where the mesh lacks it.

        Raises:
            PictureError: the field has no such component.
        """
        on_points = self._key[0] == "point_data"
        found = shade(mesh, self._key, self._options.component)
        if found is None:
            values = np.full(mesh.n_points if on_points else mesh.n_cells, np.nan)
        else:
            self.title, self._nature, values = found.title, found.nature, found.values
            if found.nature == "text":
                values = self._coded(values, found.vocabulary)
            self._remember(values)
        return Shades(point=values) if on_points else Shades(cell=values)

    def see(self, bodies: Iterable[Body]) -> None:
        """Remember which kinds can be seen, and whether something has no value."""
        for values in _drawn(bodies):
            self._gaps |= bool(np.isnan(values).any())
            if self._nature != "measure" and len(self._seen) <= _FEW + len(self._texts):
                self._seen.update(np.unique(values[~np.isnan(values)]).tolist())

    def colours(self) -> Bar | Kinds | None:
        """Names for texts, truth values and a few whole numbers; else a bar."""
        wanted = self._options
        if self._nature == "text":
            return kinds(tuple(self._texts), wanted.colours)
        if wanted.span is None and wanted.colours == FITTING:
            if self._nature == "truth":
                return kinds(("no", "yes"))
            if self._nature == "whole" and 0 < len(self._wholes) <= _FEW:
                values = sorted(self._wholes)
                return kinds(tuple(str(int(v)) for v in values), values=values)
        return bar(self._span, wanted.span, wanted.colours)

    def legend(self) -> Legend:
        """The title with the unit, the colours, and what is outside of them."""
        colours = self.colours()
        if isinstance(colours, Kinds):
            places = colours.place(np.array(sorted(self._seen), np.float64))
            shown = tuple(sorted({int(place) for place in places if place >= 0}))
            nothing = "no value" if self._gaps else None
            hidden = len(colours.names) - len(shown)
            return KindsLegend(self.title, colours, shown, nothing, hidden)
        below, above = self._infinite
        if colours is not None and self._span is not None:
            below |= self._span[0] < colours.span[0]
            above |= self._span[1] > colours.span[1]
        return BarLegend(self.title, colours, below, above, self._gaps)

    def _coded(self, values: Reals, vocabulary: tuple[str, ...]) -> Reals:
        """Codes of this mesh as codes of all of them."""
        for text in vocabulary:
            self._texts.setdefault(text, len(self._texts))
        codes = np.array([*(self._texts[text] for text in vocabulary), np.nan])
        there = (values >= 0) & (values < len(vocabulary))
        return codes[np.where(there, values, -1).astype(np.int64)]

    def _remember(self, values: Reals) -> None:
        if self._nature == "whole" and len(self._wholes) <= _FEW:
            self._wholes.update(np.unique(values)[: _FEW + 1].tolist())
        self._infinite[0] |= bool((values == -np.inf).any())
        self._infinite[1] |= bool((values == np.inf).any())
        finite = values[np.isfinite(values)]
        if len(finite):
            low, high = float(finite.min()), float(finite.max())
            before = self._span or (low, high)
            self._span = min(before[0], low), max(before[1], high)


def _drawn(bodies: Iterable[Body]) -> Iterator[Reals]:
    """The shades of what is drawn."""
    for body in bodies:
        for data in (body.data.cell_data, body.data.point_data):
            if SHADE in data:
                yield np.asarray(data[SHADE], np.float64)
