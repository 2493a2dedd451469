"""Tables that the memory does not suffice for."""

from __future__ import annotations

import pytest

from featurewright.cli import memory
from featurewright.cli.errors import UserError

GB = memory.GIGABYTE


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Return a function that sets the free memory, and the limit and use of a container."""
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)

    def set_memory(free, limit="max", used=0):
        text = f"MemTotal: 1 kB\nMemAvailable:   {free // 1024} kB\n"
        (tmp_path / "meminfo").write_text(text)
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text(f"{used}\n")

    return set_memory


def test_available_bytes(system):
    assert memory.available_bytes() is None
    system(8 * 1024**3)
    assert memory.available_bytes() == 8 * 1024**3
    system(8 * 1024**3, limit=3 * GB, used=GB)
    assert memory.available_bytes() == 2 * GB


def test_a_search_that_would_not_fit(system):
    memory.check_memory(10**6, 30)  # nothing is known
    system(3 * GB)
    memory.check_memory(10**6, 30)
    with pytest.raises(UserError, match=r"about 10\.6 GB of memory, but 3\.0 GB") as caught:
        memory.check_memory(10**7, 30)
    assert "use --max-rows 2083" in str(caught.value)
    system(GB)
    with pytest.raises(UserError, match="use a machine with more"):
        memory.check_memory(10**6, 30)


def test_reading_that_would_not_fit(system):
    memory.check_reading(10**12)
    system(2 * GB)
    memory.check_reading(GB)
    with pytest.raises(UserError, match=r"takes 3\.0 GB of memory so far"):
        memory.check_reading(3 * GB)
