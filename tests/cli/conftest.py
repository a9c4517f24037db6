"""Files to convert, and work that fails as real work can."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from meshkit.cli import workers
from meshkit.cli.sight import modules_for
from meshkit.fields import nested
from meshkit.info import MeshInfo
from meshkit.making import make_mesh
from meshkit.mesh import Mesh
from meshkit.readers.formats import FORMATS
from meshkit.readers.writing import write
from meshkit.regions import Region

# A child finds this module by the parent's sys.path; what it does goes by the input's name.
WORK = """
import os, signal, time
from meshkit.cli import conversion

def convert_case(work):
    case = work.case
    name = case.input.stem
    if name.startswith(("crash", "slow")):
        scratch = case.output.parent / f".{case.output.name}.abcd_123"
        scratch.mkdir(parents=True)
        (scratch / case.output.name).write_text("half of it")
    if name.startswith("crash"):
        signal.raise_signal(signal.SIGSEGV)
    if name.startswith("slow"):
        pid = case.input.with_suffix(".pid")
        pid.with_suffix(".tmp").write_text(str(os.getpid()))
        pid.with_suffix(".tmp").rename(pid)
        time.sleep(600)
    if name.startswith("defect"):
        raise KeyError("nobody thought of it")
    return conversion.convert_case(work)
"""


def small(**info: object) -> Mesh:
    """Two tets with fields, one of them NaN, and two regions."""
    return make_mesh(
        torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]).double(),
        torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]),
        point_data=nested({("T",): torch.arange(5.0), ("flow", "U"): torch.ones(5, 3)}),
        cell_data={"p": torch.tensor([2.0, float("nan")]), "mat": ["steel", "air"]},
        regions=[Region("left", "cell", [0]), Region("wall", "side", [[0, 1]], kind="wall")],
        info=MeshInfo(**info),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="session", autouse=True)
def _server_for_all_formats() -> None:
    """One server for all tests; the first to need one would have it import its own formats only."""
    workers.start_server(modules_for(f"a{s}" for row in FORMATS for s in row.suffixes))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def case(here: Path) -> Path:
    """A file to convert."""
    write(small(), "a.npz")
    return Path("a.npz")


@pytest.fixture
def failing_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put work in place that crashes, hangs or fails for files that are named so."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "failing_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(folder))
    import failing_work  # type: ignore[import-not-found]

    monkeypatch.setattr("meshkit.cli.convert.convert_case", failing_work.convert_case)
    yield folder
    del sys.modules["failing_work"]
