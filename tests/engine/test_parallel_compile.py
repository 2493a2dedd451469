"""Kernels that a second process compiles, and what happens where there can be none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from featurewright.engine.compiler import parallel_compile
from featurewright.engine.compiler.parallel_compile import compiled_in_second_process
from featurewright.engine.grow import kernel_addresses, scorer_address


class Stored:
    """A kernel that was compiled before, or was not."""

    def __init__(self, is_cached):
        self.is_cached = is_cached


@pytest.fixture
def helper(tmp_path, monkeypatch):
    """A module that another process finds; its function leaves a file."""
    code = "from pathlib import Path\ndef leave():\n    Path(__file__).with_name('left').touch()\n"
    (tmp_path / "leaves_a_file.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(parallel_compile, "cpu_count", lambda: 2)
    return tmp_path


def test_another_process_has_done_its_part_when_the_context_ends(helper):
    with compiled_in_second_process(Stored(is_cached=False), "leaves_a_file", "leave"):
        pass
    assert (helper / "left").exists()


@pytest.mark.parametrize("executable", ["", "/usr/bin/uwsgi", "/nowhere/python3"])
def test_without_a_python_to_run_nothing_is_started_and_nothing_fails(
    helper, monkeypatch, executable
):
    monkeypatch.setattr(sys, "executable", executable)
    with compiled_in_second_process(Stored(is_cached=False), "leaves_a_file", "leave"):
        pass
    assert not (helper / "left").exists()


def test_what_was_compiled_before_is_not_compiled_again(helper):
    with compiled_in_second_process(Stored(is_cached=True), "leaves_a_file", "leave"):
        pass
    assert not (helper / "left").exists()


def test_an_error_ends_the_other_process_too(helper, monkeypatch):
    started = []
    popen = subprocess.Popen

    def start(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(parallel_compile.subprocess, "Popen", start)
    with (
        pytest.raises(KeyboardInterrupt),
        compiled_in_second_process(Stored(is_cached=False), "time", "sleep"),
    ):
        raise KeyboardInterrupt
    assert started[0].poll() is not None


def test_trees_use_what_the_other_process_compiles():
    assert kernel_addresses()["scorer"] == scorer_address() != 0
