"""The README's pictures are there, small, and what the script makes today."""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.drawing import drawn, share

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"


def committed(name: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    with Image.open(GALLERY / name) as found:
        return np.array(found.convert("RGB"))


def test_the_readme_shows_all_of_them() -> None:
    shown = re.findall(r"docs/gallery/([\w.]+)", (ROOT / "README.md").read_text("utf-8"))
    assert sorted(shown) == sorted(path.name for path in GALLERY.iterdir())
    assert 4 <= len(shown) <= 6
    for name in shown:
        assert (GALLERY / name).stat().st_size <= 120 * 1024
        assert share(drawn(committed(name))) > 0.15, "a blank picture"


@pytest.mark.usefixtures("can_draw")
def test_the_script_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    try:
        made = import_module("gallery").pictures()
    finally:
        for name in ("gallery", "sample_case"):
            sys.modules.pop(name, None)
    assert sorted(f"{name}.png" for name in made) == sorted(p.name for p in GALLERY.iterdir())
    for name, picture in made.items():
        there = committed(f"{name}.png")
        assert picture.array.shape == there.shape
        # Another driver rounds otherwise; another picture differs in every tenth pixel.
        differs = np.abs(picture.array.astype(int) - there).max(-1) > 40
        assert share(differs) < 0.02, f"{name}.png is not what examples/gallery.py makes"
