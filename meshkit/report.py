"""What became of everything: kept, converted or dropped, with counts and reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Outcome = Literal["kept", "converted", "dropped"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a report.

    `what` is the kind of thing ("points", "cells", "field", "region", "time", ...), `name` which
    of them (a cell type, a field's path), `count` how many rows. A dropped entry is a `loss`
    unless what was dropped is held elsewhere (a ghost cell, a duplicate).
    """

    outcome: Outcome
    what: str
    name: str
    count: int
    reason: str = ""
    loss: bool = False

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        thing = f"{self.what} {self.name}" if self.name else self.what
        return f"{self.outcome:9} {thing} ({self.count}){why}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a read or a write did with each thing. A value; `Ledger` writes one.

    >>> ledger = Ledger()
    >>> ledger.kept("points", "", 8)
    >>> ledger.dropped("cells", "ghost", 4, "owned by another piece", loss=False)
    >>> report = ledger.report()
    >>> report.lossless, len(report.dropped)
    (True, 1)
    """

    entries: tuple[Entry, ...] = ()

    @property
    def kept(self) -> tuple[Entry, ...]:
        """What arrived as it was."""
        return tuple(e for e in self.entries if e.outcome == "kept")

    @property
    def converted(self) -> tuple[Entry, ...]:
        """What arrived in another form; the reason says which."""
        return tuple(e for e in self.entries if e.outcome == "converted")

    @property
    def dropped(self) -> tuple[Entry, ...]:
        """What did not arrive."""
        return tuple(e for e in self.entries if e.outcome == "dropped")

    @property
    def losses(self) -> tuple[Entry, ...]:
        """What did not arrive and is held nowhere else."""
        return tuple(e for e in self.entries if e.loss)

    @property
    def lossless(self) -> bool:
        """Whether nothing was lost."""
        return not self.losses

    def __add__(self, other: Report) -> Report:
        return Report(self.entries + other.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __str__(self) -> str:
        return "\n".join(str(e) for e in self.entries)

    def to_json(self) -> list[dict[str, Any]]:
        """A list of plain dicts, one an entry."""
        return [asdict(e) for e in self.entries]

    @staticmethod
    def from_json(entries: Sequence[Mapping[str, Any]]) -> Report:
        """The inverse of `to_json`."""
        return Report(tuple(Entry(**e) for e in entries))


class Ledger:
    """Where a reader, a writer or a change of a mesh writes down what it does.

    Args:
        refuse: makes the error that `settle` raises when something was lost; None allows losses.
    """

    def __init__(self, refuse: Callable[[Report], Exception] | None = None) -> None:
        self._entries: list[Entry] = []
        self._refuse = refuse

    def kept(self, what: str, name: str, count: int, reason: str = "") -> None:
        """Something arrives as it was."""
        self._entries.append(Entry("kept", what, name, count, reason))

    def converted(self, what: str, name: str, count: int, reason: str) -> None:
        """Something arrives in another form."""
        self._entries.append(Entry("converted", what, name, count, reason))

    def dropped(self, what: str, name: str, count: int, reason: str, *, loss: bool = True) -> None:
        """Something does not arrive; `loss=False` where it is held elsewhere."""
        self._entries.append(Entry("dropped", what, name, count, reason, loss))

    def add(self, report: Report) -> None:
        """All lines of another report."""
        self._entries += report.entries

    def settle(self) -> None:
        """Raise if something was lost and losses are not allowed; before the costly part."""
        report = self.report()
        if self._refuse is not None and not report.lossless:
            raise self._refuse(report)

    def report(self) -> Report:
        """All that was written so far."""
        return Report(tuple(self._entries))
