"""How much memory is left, by everybody who limits it, on a made-up /proc and /sys."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from meshkit import memory
from meshkit.errors import ReadError
from meshkit.memory import free_memory, need_room

PAGE = os.sysconf("SC_PAGE_SIZE")
GROUP2 = "sys/fs/cgroup"
GROUP1 = "sys/fs/cgroup/memory"


def put(system: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        file = system / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return system


def limits(space: str = "unlimited", data: str = "unlimited") -> str:
    """/proc/self/limits, with the soft limits."""
    return (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max cpu time              unlimited            unlimited            seconds   \n"
        f"Max data size             {data:20} unlimited            bytes     \n"
        "Max nice priority         0                    0                    \n"
        f"Max address space         {space:20} unlimited            bytes     \n"
    )


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A machine with 9 MB to spare, no swap, no group and no limit."""
    said = {
        "proc/meminfo": "MemTotal: 99000 kB\nMemFree: 1 kB\nMemAvailable: 9000 kB\nHugePages: 0\n",
        "proc/self/statm": "30 20 10 5 0 12 0\n",
        "proc/self/limits": limits(),
        "proc/self/cgroup": "",
    }
    return put(tmp_path, said)


def test_the_machine_alone(system: Path) -> None:
    assert free_memory(system) == 9000 << 10
    put(system, {"proc/meminfo": "MemAvailable: 9000 kB\nSwapFree: 50 kB\n"})
    assert free_memory(system) == 9050 << 10


@pytest.mark.parametrize("said", ["", "MemAvailable: many kB\n", "MemFree: 5 kB\n"])
def test_a_machine_that_does_not_say_has_all_its_memory(system: Path, said: str) -> None:
    put(system, {"proc/meminfo": said})
    assert free_memory(system) == os.sysconf("SC_PHYS_PAGES") * PAGE
    assert free_memory(system / "nowhere") == os.sysconf("SC_PHYS_PAGES") * PAGE


def test_the_limits_of_the_process_less_what_it_has(system: Path) -> None:
    put(system, {"proc/self/limits": limits(space=str(100 * PAGE))})
    assert free_memory(system) == 70 * PAGE
    put(system, {"proc/self/limits": limits(space=str(100 * PAGE), data=str(50 * PAGE))})
    assert free_memory(system) == 38 * PAGE
    put(system, {"proc/self/limits": limits(data=str(10 * PAGE))})
    assert free_memory(system) == 0


def test_a_control_group_of_version_2_and_those_above(system: Path) -> None:
    put(system, {"proc/self/cgroup": "0::/pod/case\n"})
    put(system, {f"{GROUP2}/pod/case/memory.max": "max\n"})
    assert free_memory(system) == 9000 << 10
    above = {"memory.max": "5000000\n", "memory.current": "1000000\n"}
    put(system, {f"{GROUP2}/pod/{name}": text for name, text in above.items()})
    assert free_memory(system) == 4_000_000
    inner = {"memory.max": "2000000\n", "memory.current": "1900000\n"}
    put(system, {f"{GROUP2}/pod/case/{name}": text for name, text in inner.items()})
    assert free_memory(system) == 100_000
    cached = "anon 7\nfile 1000000\ninactive_file 300000\nactive_file 200000\nslab 5\n"
    put(system, {f"{GROUP2}/pod/case/memory.stat": cached})
    assert free_memory(system) == 600_000


@pytest.mark.parametrize("name", ["/docker/4f1c", "/", "/../../other"])
def test_a_container_sees_its_own_group_as_the_root(system: Path, name: str) -> None:
    put(system, {"proc/self/cgroup": f"0::{name}\n"})
    put(system, {f"{GROUP2}/memory.max": "3000000", f"{GROUP2}/memory.current": "500000"})
    assert free_memory(system) == 2_500_000


def test_control_groups_of_version_1(system: Path) -> None:
    put(system, {"proc/self/cgroup": "5:devices:/x\n4:cpu,memory:/job\n1:name=systemd:/y\n0::/\n"})
    put(system, {f"{GROUP1}/memory.limit_in_bytes": "9223372036854771712\n"})
    put(system, {f"{GROUP1}/memory.usage_in_bytes": "700\n"})
    assert free_memory(system) == 9000 << 10
    inner = {
        "memory.limit_in_bytes": "6000000\n",
        "memory.usage_in_bytes": "5500000\n",
        "memory.stat": "cache 9\ninactive_file 1\ntotal_inactive_file 1000\ntotal_active_file 10\n",
    }
    put(system, {f"{GROUP1}/job/{name}": text for name, text in inner.items()})
    assert free_memory(system) == 501_010


def test_the_least_of_all_counts(system: Path) -> None:
    put(
        system,
        {
            "proc/self/cgroup": "4:memory:/\n0::/a\n",
            "proc/self/limits": limits(space=str(30 * PAGE + 4_000_000)),
            f"{GROUP1}/memory.limit_in_bytes": "3000000",
            f"{GROUP1}/memory.usage_in_bytes": "0",
            f"{GROUP2}/unified/a/memory.max": "2000000",
            f"{GROUP2}/unified/a/memory.current": "0",
        },
    )
    assert free_memory(system) == 2_000_000
    put(system, {f"{GROUP2}/unified/a/memory.max": "max"})
    assert free_memory(system) == 3_000_000
    put(system, {f"{GROUP1}/memory.limit_in_bytes": "8000000"})
    assert free_memory(system) == 4_000_000


def test_little_is_not_asked_about(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_SYSTEM", system)
    need_room("a.vtu", 60_000_000)
    with pytest.raises(ReadError) as caught:
        need_room("a.vtu", 70_000_000, place="array 'p'", hint="leave it out")
    assert str(caught.value) == (
        "a.vtu: array 'p': needs 0.1 GB of memory, and 0.0 GB are free; leave it out"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_real_limit_is_seen() -> None:
    code = (
        "import resource\n"
        "from meshkit.memory import free_memory\n"
        "resource.setrlimit(resource.RLIMIT_{}, (1 << 40, resource.RLIM_INFINITY))\n"
        "large = free_memory()\n"
        "resource.setrlimit(resource.RLIMIT_{}, (1 << 28, resource.RLIM_INFINITY))\n"
        "assert 0 < free_memory() < 1 << 28 < large < 1 << 40, (free_memory(), large)\n"
    )
    for which in ("AS", "DATA"):
        done = subprocess.run(
            [sys.executable, "-c", code.format(which, which)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
