"""What a mesh means: units, frame, time, what each field is, where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, SupportsFloat

from meshkit.errors import MeshError
from meshkit.jsonable import plain
from meshkit.report import Report

FieldKey = tuple[str, ...]
"""Where a field lives: ("cell_data", "p"), ("point_data", "flow", "U"), and for the data of a
region ("regions", region name, entity, field)."""


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """What one field is.

    Args:
        unit: as text that pint understands ("m/s", "Pa"); None where the source has none.
        kind: the role the source gave it ("normals", "global_ids", "scalars", ...).
        oriented: a face field (a flux) that belongs to the area vector: it negates whenever
            owner and neighbour swap.
        statistic: "mean", "rms", ...; None for an instant.
        vocabulary: for codes, the text of each code: code i stands for vocabulary[i], -1 for
            a missing text.
        components: the names of the components.
        attributes: anything else, as JSON can say it.
    """

    unit: str | None = None
    kind: str | None = None
    oriented: bool = False
    statistic: str | None = None
    vocabulary: tuple[str, ...] | None = None
    components: tuple[str, ...] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", plain("field attributes", self.attributes))

    def to_json(self) -> dict[str, Any]:
        """What differs from the default, as JSON can say it."""
        blank = FieldInfo()
        return {k: v for k, v in asdict(self).items() if v != getattr(blank, k)}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> FieldInfo:
        """The inverse of `to_json`."""
        texts = {k: tuple(found[k]) for k in ("vocabulary", "components") if k in found}
        return FieldInfo(**{**found, **texts})


@dataclass(frozen=True, slots=True)
class Grid:
    """The lattice of a structured source: how many points an axis, and how they are spaced.

    `origin`, `spacing` and `direction` (row-major 3 x 3) hold for an image; a curvilinear or
    rectilinear grid has only `dims`. Points run fastest along the first axis.
    """

    dims: tuple[int, ...]
    origin: tuple[float, ...] | None = None
    spacing: tuple[float, ...] | None = None
    direction: tuple[float, ...] | None = None

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Grid:
        """The inverse of dataclasses.asdict."""
        parts: dict[str, Any] = {k: None if v is None else tuple(v) for k, v in found.items()}
        return Grid(**parts)


@dataclass(frozen=True, slots=True)
class Source:
    """The file a mesh was read from."""

    file: str
    format: str
    reader: str
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class MeshInfo:
    """What the numbers of a mesh mean.

    Args:
        length_unit: the unit of the points, as text that pint understands; None if unknown.
        frame: the name of the coordinate frame.
        time: the time of the fields, in the source's unit.
        fields: what is known of each field, by its place (`FieldKey`).
        grid: the lattice of a structured source.
        attributes: materials, solver settings and the like, as JSON can say them.
        source: the file.
        report: what reading and each change since kept, converted and dropped.
    """

    length_unit: str | None = None
    frame: str | None = None
    time: float | None = None
    fields: Mapping[FieldKey, FieldInfo] = field(default_factory=dict)
    grid: Grid | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    source: Source | None = None
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        for what in ("length_unit", "frame"):
            text = getattr(self, what)
            if text is not None and not isinstance(text, str):
                raise MeshError(f"info.{what}: expected text or None, found {text!r}")
        if self.time is not None:
            if isinstance(self.time, bool | str) or not isinstance(self.time, SupportsFloat):
                raise MeshError(f"info.time: expected a number or None, found {self.time!r}")
            try:
                time = float(self.time)
            except (TypeError, ValueError, RuntimeError):  # a tensor of several, or without values
                raise MeshError(
                    f"info.time: expected a number or None, found {self.time!r:.60}"
                ) from None
            object.__setattr__(self, "time", time)
        object.__setattr__(self, "fields", dict(self.fields))
        object.__setattr__(self, "attributes", plain("info.attributes", self.attributes))

    def replace(self, **parts: Any) -> MeshInfo:
        """The same with some parts exchanged."""
        if "attributes" in parts:
            return replace(self, **parts)
        # They are plain already; there may be megabytes of them.
        made = replace(self, attributes={}, **parts)
        object.__setattr__(made, "attributes", self.attributes)
        return made

    def field(self, *key: str) -> FieldInfo:
        """What is known of one field; the blank `FieldInfo` if nothing is."""
        return self.fields.get(key, FieldInfo())

    def with_fields(self, more: Mapping[FieldKey, FieldInfo]) -> MeshInfo:
        """The same, knowing more fields."""
        return self.replace(fields={**self.fields, **more})

    def noting(self, more: Report) -> MeshInfo:
        """The same with more lines in its report."""
        return self.replace(report=self.report + more)

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON can say it; fields as a list of [key, info]."""
        return {
            "length_unit": self.length_unit,
            "frame": self.frame,
            "time": self.time,
            "fields": [[list(k), v.to_json()] for k, v in self.fields.items()],
            "grid": None if self.grid is None else asdict(self.grid),
            "attributes": self.attributes,
            "source": None if self.source is None else asdict(self.source),
            "report": self.report.to_json(),
        }

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> MeshInfo:
        """The inverse of `to_json`."""
        grid, source = found.get("grid"), found.get("source")
        return MeshInfo(
            length_unit=found.get("length_unit"),
            frame=found.get("frame"),
            time=found.get("time"),
            fields={tuple(k): FieldInfo.from_json(v) for k, v in found.get("fields", [])},
            grid=None if grid is None else Grid.from_json(grid),
            attributes=found.get("attributes", {}),
            source=None if source is None else Source(**source),
            report=Report.from_json(found.get("report", [])),
        )
