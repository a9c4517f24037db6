"""Tests of whole pictures need a machine that can draw."""

import pytest

from tests.drawing import need_drawing


@pytest.fixture
def can_draw() -> None:
    need_drawing()
