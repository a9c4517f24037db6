"""The parts that readers of plain numbers share, against the slow and obvious way."""

from __future__ import annotations

import math
from itertools import pairwise
from time import process_time

import numpy as np
import pytest
from hypothesis import given, strategies as st

from meshkit.readers import ascii_numbers
from meshkit.readers.ascii_numbers import BadNumber, parsed, words_count, words_end
from meshkit.readers.lattice import lattice_cells, lattice_counts
from meshkit.readers.ragged_rows import row_starts, with_counts, without_counts

FLOATS = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=50)


@given(FLOATS)
def test_floats_as_python_reads_them(values: list[float]) -> None:
    found = parsed(" \n".join(map(repr, values)).encode(), len(values), np.dtype(float))
    assert np.array_equal(found, values, equal_nan=True)


@pytest.mark.parametrize("name", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_to_their_ends_and_not_beyond(name: str) -> None:
    dtype = np.dtype(name)
    ends = np.iinfo(dtype)
    text = f"{ends.min} 0 {ends.max}"
    assert parsed(text.encode(), 3, dtype).tolist() == [ends.min, 0, ends.max]
    for beyond in (ends.min - 1, ends.max + 1):
        with pytest.raises(BadNumber) as caught:
            parsed(f"{text} {beyond}".encode(), 4, dtype)
        assert (caught.value.index, caught.value.word) == (3, str(beyond))


@pytest.mark.parametrize("word", ["x", "1-2", "1.5.2", "0x10", "1_0", "--1", "1,5", "1\0", "é"])
@pytest.mark.parametrize("dtype", [np.dtype(float), np.dtype(int)])
def test_what_is_no_number(word: str, dtype: np.dtype) -> None:
    with pytest.raises(BadNumber) as caught:
        parsed(f"1 2\n{word} 3".encode(), 4, dtype)
    assert caught.value.index == 2


@given(
    words=st.lists(st.text("abc.-", min_size=1, max_size=5), max_size=30),
    gaps=st.lists(st.text(" \t\r\n\v\f", min_size=1, max_size=3), min_size=31, max_size=31),
    window=st.integers(1, 9),
)
def test_words_across_windows(words: list[str], gaps: list[str], window: int) -> None:
    text = gaps[-1] + "".join(w + g for w, g in zip(words, gaps, strict=False))
    raw = np.frombuffer(text.encode(), np.uint8)
    ends = []
    at = 0
    for word in words:
        at = text.index(word, at) + len(word)
        ends.append(at)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ascii_numbers, "_WINDOW", window)
        assert words_count(raw, 0) == len(words)
        assert [words_end(raw, 0, i + 1) for i in range(len(words))] == ends
        assert words_end(raw, 0, len(words) + 1) is None


@given(st.lists(st.lists(st.integers(-5, 5), max_size=6), max_size=40))
def test_rows_with_their_counts(rows: list[list[int]]) -> None:
    flat = np.array([x for row in rows for x in (len(row), *row)], np.int64)
    found = without_counts(flat, len(rows))
    assert found is not None
    offsets, values = found
    assert [values[a:b].tolist() for a, b in pairwise(offsets)] == rows
    assert np.array_equal(with_counts(offsets, values), flat)
    assert without_counts(np.append(flat, 0), len(rows)) is None
    if rows:
        assert without_counts(flat[:-1], len(rows)) is None


def test_negative_counts_are_no_rows() -> None:
    assert without_counts(np.array([2, 1, 1, -1]), 2) is None


@pytest.mark.parametrize("seed", range(3))
def test_rows_longer_than_a_window(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.concatenate(
        [rng.integers(0, 9, 30_000), [200_000, 0, 70_000], rng.integers(0, 9, 99)]
    )
    rng.shuffle(sizes)
    flat = with_counts(np.concatenate([[0], np.cumsum(sizes)]), np.full(int(sizes.sum()), 3))
    starts = row_starts(len(sizes), len(flat), lambda at: flat[at] + 1)
    assert np.array_equal(starts, np.concatenate([[0], np.cumsum(sizes + 1)]))


def test_speed_of_mixed_rows() -> None:
    """Rows of mixed length are found without a loop over them: 200 000 in well under a second."""
    sizes = np.random.default_rng(0).integers(3, 9, 200_000)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = np.arange(offsets[-1])
    flat = with_counts(offsets, values)
    began = process_time()
    rows = without_counts(flat, len(sizes))
    assert process_time() - began < 1.0
    assert rows is not None
    assert np.array_equal(rows[0], offsets)
    assert np.array_equal(rows[1], values)


@pytest.mark.parametrize("dims", [(3, 4, 5), (1, 4, 5), (3, 1, 1), (1, 1, 1), (0, 3, 3)])
def test_lattice_counts_and_ids(dims: tuple[int, int, int]) -> None:
    n_points, n_cells = lattice_counts(dims)
    types, offsets, ids = lattice_cells(dims, straight=True)
    assert n_points == math.prod(dims)
    assert len(types) == n_cells == len(offsets) - 1
    assert n_cells == (math.prod(max(d - 1, 1) for d in dims) if n_points else 0)
    # Every point is used, and the first cell begins at point 0.
    assert sorted(set(ids.tolist())) == list(range(n_points))
