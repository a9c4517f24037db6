"""Kept code is loaded while nothing changed that it follows from, and compiled anew otherwise."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import cast

import pytest

from meshkit.operators import kept_code
from meshkit.operators.adjacency.bucket_kernels import count_lows
from meshkit.operators.differential.sparse_kernels import sums
from meshkit.operators.kernels import Kernel, bare_kernel, kernel, unaliased

ROOT = Path(__file__).parents[2]

PROCESSES = '''
import importlib
import os
import sys
import zipfile
from pathlib import Path

import numba

from meshkit.operators import kernels

FILES = {
    "kept/__init__.py": "",
    "kept/numbers.py": "SHIFT = 1",
    "kept/inner.py": """
from kept.numbers import SHIFT
from meshkit.operators.kernels import kernel, inlined

FACTOR = 2

@kernel
def inner(x):
    return FACTOR * x + SHIFT
""",
    "kept/middle.py": """
from kept.inner import inner
from meshkit.operators.kernels import kernel

@kernel
def middle(x):
    return inner(x)
""",
    "kept/caller.py": """
from kept.middle import middle
from meshkit.operators.kernels import kernel, bare_kernel

@kernel
def caller(x):
    return middle(x)

@kernel
def added(x, more=7):
    return x + more
""",
}
EDITS = {
    "first": (),
    "nothing": (),
    "a remark": ("kept/inner.py", "FACTOR = 2", "FACTOR = 2  # and no more"),
    "callee": ("kept/inner.py", "+ SHIFT", "- SHIFT"),
    "its constant": ("kept/inner.py", "FACTOR = 2", "FACTOR = 3"),
    "one it imports": ("kept/numbers.py", "SHIFT = 1", "SHIFT = 2"),
    "its options": ("kept/inner.py", "@kernel", "@inlined"),
    "own options": ("kept/caller.py", "@kernel", "@bare_kernel"),
    "a default": ("kept/caller.py", "more=7", "more=8"),
    "nothing more": (),
}


def write(folder, zipped):
    """All files, with nothing in their times and sizes to tell a change by."""
    if zipped:
        with zipfile.ZipFile(folder / "kept.zip", "w") as made:
            for name, text in FILES.items():
                made.writestr(zipfile.ZipInfo(name), text)
        return folder / "kept.zip"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        os.utime(folder / name, (10**9, 10**9))
    return folder


def tell():
    from kept.caller import added, caller

    answers = caller(10), added(10)
    loads = [sum(k._compiled.stats.cache_hits.values()) for k in (caller, added)]
    print(*answers, *("loaded" if n else "compiled" for n in loads), flush=True)


sys.dont_write_bytecode = True
folder, zipped, numba.config.CACHE_DIR = Path(sys.argv[1]), sys.argv[2] == "zip", sys.argv[3]
kernels.kernel(lambda x: x + 1)._jit()(1)  # what all processes need is loaded before they part
for said in sys.argv[4:]:
    edit = EDITS[said]
    if edit:
        name, old, new = edit
        assert old in FILES[name]
        FILES[name] = FILES[name].replace(old, new)
    sys.path.insert(0, str(write(folder, zipped)))
    importlib.invalidate_caches()
    print(said, end=": ", flush=True)
    if sys.argv[2] == "beside the source":
        child = os.fork()
        if not child:
            tell()
            break
        assert os.waitpid(child, 0)[1] == 0
    else:  # cheaper: the modules are loaded anew, and so is what was kept
        tell()
        for name in [name for name in sys.modules if name.partition(".")[0] == "kept"]:
            del sys.modules[name]
'''

ANSWERS = [
    "first: 21 17 compiled compiled",
    "nothing: 21 17 loaded loaded",
    "a remark: 21 17 loaded loaded",
    "callee: 19 17 compiled loaded",
    "its constant: 29 17 compiled loaded",
    "one it imports: 28 17 compiled loaded",
    "its options: 28 17 compiled loaded",
    "own options: 28 17 compiled compiled",
    "a default: 28 18 loaded compiled",
    "nothing more: 28 18 loaded loaded",
]


def steps(answers: list[str]) -> list[str]:
    return [answer.partition(":")[0] for answer in answers]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize("place", ["beside the source", "a given folder", "zip"])
def test_what_changes_anywhere_is_seen_by_the_next_process(tmp_path: Path, place: str) -> None:
    script, given = tmp_path / "processes.py", tmp_path / "given"
    script.write_text(PROCESSES)
    folder = given if place == "a given folder" else ""
    answers = ANSWERS if place == "a given folder" else [ANSWERS[i] for i in (0, 1, 3)]
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), place, str(folder), *steps(answers)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.stdout.splitlines() == answers, done.stderr[-3000:]
    kept = {"beside the source": tmp_path / "kept", "zip": tmp_path / "cache"}.get(place, given)
    assert list(kept.rglob("*.nbi"))


def test_each_kernel_can_be_kept() -> None:
    seen = 0
    for file in sorted(ROOT.glob("operators/**/*.py")) + sorted(ROOT.glob("readers/**/*.py")):
        text = file.read_text("utf-8")
        if "@kernel" not in text and "@unaliased" not in text and "@bare_kernel" not in text:
            continue
        dotted = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        found = vars(import_module(f"meshkit.{dotted}")).values()
        stamps = [each.stamp for each in found if isinstance(each, Kernel)]
        seen += len(stamps)
    assert seen > 100


def test_generated_loops_are_told_apart_by_what_was_generated() -> None:
    plus, minus = sums(((0, 0, 0, 1),)), sums(((0, 0, 0, -1),))
    assert plus.stamp == sums.__wrapped__(((0, 0, 0, 1),)).stamp
    assert plus.stamp != minus.stamp


def test_kernels_of_one_text_and_another_closure_are_kept_side_by_side() -> None:
    one, other = count_lows(((0, 1),)), count_lows(((0, 2),))
    assert one.stamp == other.stamp
    held = [kept_code.closure_stamp(cast(FunctionType, each.python)) for each in (one, other)]
    assert held[0] != held[1]


def halved(x: float) -> float:
    return x / 2


def test_how_a_kernel_is_compiled_is_part_of_its_stamp() -> None:
    assert kernel(halved).stamp == kernel(halved).stamp
    assert len({made(halved).stamp for made in (kernel, bare_kernel, unaliased)}) == 3


THING = object()
real = object()


def reads_what_may_change(x: float) -> float:
    return x if THING else 0.0


def has_an_attribute_of_that_name(x: complex) -> float:
    return x.real


def test_a_global_whose_change_would_not_be_seen_is_refused() -> None:
    with pytest.raises(TypeError, match=r"reads_what_may_change: kept code would not see THING"):
        kernel(reads_what_may_change)(1.0)
    assert kernel(has_an_attribute_of_that_name)(2j) == 0.0


def test_where_numba_cannot_be_told_kernels_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = SimpleNamespace(cache_path="there", _cache_file=SimpleNamespace(source="mtime"))
    dispatcher = SimpleNamespace(enable_caching=lambda: None, _cache=changed)
    with pytest.warns(RuntimeWarning, match="has changed how it keeps compiled code"):
        assert not kept_code.keep(dispatcher, "stamp", lambda: None)
    monkeypatch.setattr("meshkit.operators.kernels.keep", lambda *_: False)
    made = kernel(halved)
    assert made(3.0) == 1.5
    assert type(made.compiled()._cache).__name__ == "NullCache"  # type: ignore[attr-defined]
