"""What every test runs under."""

import os
from pathlib import Path

import hypothesis
import pytest
import torch

ROOT = Path(__file__).parents[1]

# Deadlines and slowness depend on the machine, not on the code. In CI the examples are the same
# at every run, so that a red run can be repeated; elsewhere each run tries new ones.
_slow_is_fine = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("local", deadline=None, suppress_health_check=_slow_is_fine)
hypothesis.settings.register_profile(
    "ci",
    deadline=None,
    suppress_health_check=_slow_is_fine,
    derandomize=True,
    database=None,
    print_blob=True,
)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local")
)

# Workers of pytest-xdist share the cores: threads in each would only wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    # torch.manual_seed notes whole tracebacks for devices that nobody has used yet: 2 ms a test.
    torch.default_generator.manual_seed(0)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(0)


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of real solver files, which is not part of the repository."""
    given = os.environ.get("MESHKIT_SAMPLES")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        if given:
            pytest.fail(f"MESHKIT_SAMPLES={given} is not a folder")
        pytest.skip("no sample files: set MESHKIT_SAMPLES to the folder that holds them")
    return folder
