"""Every script in examples/ runs as it is, in an empty folder, without arguments."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.drawing import need_drawing

SCRIPTS = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_runs(script: Path, tmp_path: Path) -> None:
    if "mk.plot" in script.read_text("utf-8"):
        need_drawing()
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
