"""Numbers to colours: exact at the ends, honest about what has none."""

import numpy as np
import pytest

from meshkit.pictures.colours import NOTHING, bar, kinds, table_of
from meshkit.pictures.options import FITTING
from meshkit.pictures.scale_marks import apart, marks, written


def test_a_bar_of_one_sign_spans_the_values() -> None:
    made = bar((2.0, 6.0), None, FITTING)
    assert made is not None
    assert made.span == (2, 6)
    assert made.share(np.array([2.0, 4.0, 6.0])).tolist() == [0, 0.5, 1]
    assert (made.table == table_of("viridis")).all()


def test_both_signs_put_zero_in_the_middle() -> None:
    made = bar((-1.0, 4.0), None, FITTING)
    assert made is not None
    assert made.span == (-4, 4)
    assert (made.table == table_of("coolwarm")).all()
    few_below = bar((-0.1, 4.0), None, FITTING)
    assert few_below is not None
    assert few_below.span == (-0.1, 4)


def test_a_wanted_range_is_taken_as_it_is() -> None:
    made = bar((-5.0, 5.0), (-1.0, 3.0), "cividis")
    assert made is not None
    assert made.span == (-1, 3)
    assert (made.table == table_of("cividis")).all()


@pytest.mark.parametrize("value", [0.0, 7.0, -3.0, 1e-300, 5e-324])
def test_one_value_lies_in_the_middle(value: float) -> None:
    made = bar((value, value), None, FITTING)
    assert made is not None
    assert made.share(np.array([value])).tolist() == pytest.approx([0.5])


def test_values_that_are_not_finite() -> None:
    made = bar((-1e308, 1e308), None, FITTING)
    assert made is not None
    share = made.share(np.array([np.nan, np.inf, -np.inf, 0.0]))
    assert np.isnan(share[0])
    assert share[1] > 1
    assert share[2] < 0
    assert share[3] == pytest.approx(0.5)
    assert bar(None, None, FITTING) is None


def test_kinds_have_colours_of_their_own() -> None:
    for n in (1, 9, 18, 60):
        made = kinds(tuple(map(str, range(n))))
        assert made.table.shape == (n, 3)
        assert len({*map(tuple, made.table.round(3).tolist())}) == n
        assert (np.ptp(made.table, axis=1) > 0.08).all(), "a grey would look like no value"


def test_kinds_of_other_values_have_none() -> None:
    made = kinds(("a", "b"), values=(3, 8))
    assert made.place(np.array([3.0, 8.0, 4.0, np.nan, 9.0])).tolist() == [0, 1, -1, -1, -1]
    grey = np.round(255 * np.array(NOTHING)).astype(int).tolist()
    assert made.rgb(np.array([5.0]))[0].tolist() == grey


def test_marks_are_round_and_inside() -> None:
    assert marks(0, 1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert marks(28.57, 1171.4, 7) == [200, 400, 600, 800, 1000]
    assert marks(1, 1, 5) == []
    for low, high in ((-3.7, 9.1), (1e-12, 3e-12), (-5e8, 2e9), (0, 5e-324)):
        found = marks(low, high, 6)
        assert len(found) <= 8
        assert all(low - 1e-9 * (high - low) <= x <= high + 1e-9 * (high - low) for x in found)


def test_numbers_are_told_apart() -> None:
    assert written(101325) == "1.013e5"
    assert written(0.0) == "0"
    assert apart([1.0, 1.0]) == ["1", "1"]
    assert len({*apart([0.1 + i * 1e-9 for i in range(5)])}) == 5
