"""The command line as a process of its own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import polars as pl
import pytest

from featurewright import cli


def run(*arguments, code=0, **options):
    done = subprocess.run(
        [sys.executable, "-m", "featurewright", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == code, done.stderr
    return done


def test_fit_and_transform_in_new_processes(work, tmp_path):
    done = run("fit", work.table, "-t", "sign", "--drop", "size", "--methods", "batch",
               "--folds", 2, "--effort", "quick", "-o", tmp_path / "m.fw", "--json")  # fmt: skip
    assert json.loads(done.stdout)["files"] == [str(tmp_path / "m.fw")]
    run("transform", tmp_path / "m.fw", work.table, "-o", tmp_path / "o.csv", "-q")
    assert pl.read_csv(tmp_path / "o.csv").height == 240


def test_errors_are_one_line(work):
    done = run("fit", work.table, "-t", "nope", code=1)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_output_that_nobody_reads(work):
    command = f"{sys.executable} -m featurewright inspect {work.model} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_a_table_that_nobody_reads_to_the_end(work, tmp_path):
    """More than a pipe holds, so that writing fails; that is no error worth telling."""
    long = tmp_path / "long.csv"
    rows = pl.read_csv(work.table)
    pl.concat([rows] * 60).write_csv(long)
    command = f"{sys.executable} -m featurewright transform {work.model} {long} -q -o - | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "typer" else name)
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    said = capsys.readouterr().err
    assert said == (
        "featurewright: the command line needs typer: install it with pip install "
        "'featurewright[cli]'.\n"
    )
