"""Compiled code on disk: written once, shared by processes, read where it cannot be written."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import requires
from pathlib import Path

import numba
import numpy as np
import pytest
from packaging.requirements import Requirement

from featurewright.engine.compiler import cache, kernel
from featurewright.engine.compiler.decorator import SWITCH
from featurewright.engine.leaves import number_leaves

RUN = """
import sys
import numpy as np
from featurewright.engine.leaves import number_leaves
left = np.array([1, -1, -1], np.int32)
sys.stdin.readline()
assert number_leaves(left) == 2
hits = sum(number_leaves.whole.stats.cache_hits.values())
print(hits, left.tolist())
"""


def start(cache: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a process that waits for a line and then calls a kernel."""
    source = str(Path(__file__).parents[2] / "src")
    known = {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": source, **environment}
    return subprocess.Popen(
        [sys.executable, "-c", RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=known,
    )  # fmt: skip


def answers(*processes: subprocess.Popen[str]) -> list[str]:
    """Let processes go on together; return what they print."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [process.communicate(timeout=300)[0].strip() for process in processes]


def test_processes_that_compile_together_share_what_they_made(tmp_path):
    expected = "[1, -1, -2]"
    for answer in answers(start(tmp_path), start(tmp_path)):
        assert answer.endswith(expected)
    (later,) = answers(start(tmp_path))
    assert later == f"1 {expected}"


def test_plain_numba_gives_the_same(tmp_path):
    (answer,) = answers(start(tmp_path, **{SWITCH: "numba"}))
    assert answer == "0 [1, -1, -2]"


def test_an_unknown_compiler_is_refused(tmp_path):
    process = start(tmp_path, **{SWITCH: "gcc"})
    process.stderr = None
    process.communicate("\n")
    assert process.returncode == 1


@pytest.fixture
def nothing_can_be_written(monkeypatch):
    """Numba finds out by a file whether it can write to a directory."""

    def refuse(*arguments, **options):
        raise OSError("Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)


def call_anew() -> dict[str, int]:
    """Call a kernel as a new process would; return hits and misses of the cache."""
    again = kernel(_plain(number_leaves.function))
    assert again(np.array([1, -1, -1], np.int32)) == 2
    stats = again.whole.stats
    return {"hits": sum(stats.cache_hits.values()), "misses": sum(stats.cache_misses.values())}


def _plain(function):
    """Take the fingerprint off the name of a function that was a kernel before."""
    function.__qualname__ = function.__name__
    return function


@pytest.mark.usefixtures("nothing_can_be_written")
def test_compiled_code_is_read_where_it_cannot_be_written():
    number_leaves(np.array([1, -1, -1], np.int32))  # compiled and on disk, if not before
    if not number_leaves.is_cached:
        pytest.skip("the kernel was compiled where nothing can be written")
    assert call_anew() == {"hits": 1, "misses": 0}


@pytest.mark.usefixtures("nothing_can_be_written")
def test_a_kernel_that_cannot_be_stored_runs_all_the_same(monkeypatch):
    monkeypatch.setattr(cache.ReadOnlyInTree, "holds", lambda self, name: False)
    before = set(Path(__file__).parent.rglob("*.nb?"))

    @kernel
    def add_three(x):
        return x + 3

    assert add_three(4) == 7
    assert type(add_three.whole._cache._impl.locator) is cache.Nowhere
    assert set(Path(__file__).parent.rglob("*.nb?")) == before


def test_a_kernel_without_a_file_leaves_nothing_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    names = {}
    exec("def add_four(x):\n    return x + 4\n", names)
    made = kernel(names["add_four"])
    assert made(4) == 8
    assert type(made.whole._cache._impl.locator) is cache.Nowhere
    assert [path.name for path in tmp_path.rglob("*")] == ["__pycache__"]


def test_numba_is_a_version_that_is_known_to_work():
    listed = [Requirement(line) for line in requires("featurewright") or []]
    (bound,) = (item.specifier for item in listed if item.name == "numba")
    assert numba.__version__ in bound, (
        f"Numba {numba.__version__} is outside of {bound}: run make test-all, with "
        f"{SWITCH}=numba too; if only plain Numba passes, mend engine/compiler; if both do, raise "
        "the bound in pyproject.toml."
    )
