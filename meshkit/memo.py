"""What is worked out once and kept while the arrays it came from are unchanged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

import torch
from torch import Tensor

P = ParamSpec("P")
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
        # Later calls may follow derivatives: what they find must be able to, whatever holds now.
        with torch.inference_mode(False):
            made = make()
        self._answers[key] = (tuple((t, _version(t)) for t in sources), made)
        return made


def constant(make: Callable[P, T]) -> Callable[P, T]:
    """The same function of hashable values, called once for each; its tensors, which all later
    calls share, are normal ones under inference mode too."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        with torch.inference_mode(False):
            return make(*args, **kwargs)

    return cast(Callable[P, T], cache(made))


def lasting(make: Callable[P, T]) -> Callable[P, T]:
    """The same function, whose answer outlives the call: under inference mode its tensors are
    normal ones all the same, though nothing is followed."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        if not torch.is_inference_mode_enabled():
            return make(*args, **kwargs)
        with torch.inference_mode(False), torch.no_grad():
            return make(*args, **kwargs)

    return made


class Keeping:
    """What keeps a memo, which neither pickles nor copies."""

    _memo: Memo

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_memo"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _memo=Memo())


def _version(tensor: Tensor) -> int:
    # Inference tensors keep no version counter.
    return -1 if tensor.is_inference() else int(tensor._version)
