"""Topology worked out once and kept while the arrays it came from are unchanged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

from torch import Tensor

T = TypeVar("T")


class Memo:
    """Answers by key, each stamped with the tensors it was made from and their versions.

    A write into one of those tensors through torch makes the answer stale and it is made again.
    (A write through a numpy view is not seen; the mesh's documentation calls both undefined.)
    """

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[tuple[tuple[Tensor, int], ...], Any]] = {}

    def get(self, key: Hashable, sources: Sequence[Tensor], make: Callable[[], T]) -> T:
        """The kept answer, or a new one from `make`."""
        found = self._answers.get(key)
        if found is not None:
            stamp, answer = found
            fresh = len(stamp) == len(sources) and all(
                held is source and version == _version(source)
                for (held, version), source in zip(stamp, sources, strict=True)
            )
            if fresh:
                return cast(T, answer)
        made = make()
        self._answers[key] = (tuple((t, _version(t)) for t in sources), made)
        return made


def _version(tensor: Tensor) -> int:
    # Inference tensors keep no version counter.
    return -1 if tensor.is_inference() else int(tensor._version)
