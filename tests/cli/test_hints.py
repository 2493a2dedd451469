"""Sentences about names that are not known, places that cannot be written to, and full disks."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import polars as pl
import pytest

from featurewright.cli.errors import UserError, _sentence, closest
from featurewright.cli.sinks import check_output


def test_the_beginning_of_a_name_is_taken_for_it():
    assert closest("acc", ["jaccard", "balanced_accuracy", "accuracy"]) == "accuracy"
    assert closest("jacard", ["jaccard", "accuracy"]) == "jaccard"


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), RuntimeError("io: No space left on device")],
)
def test_a_full_disk_is_said(error):
    assert _sentence(error).startswith("There is no space left on the disk")


def test_folders_that_take_no_files_are_refused_first():
    if not Path("/proc/self").exists():
        pytest.skip("the system has no /proc")
    with pytest.raises(UserError, match="Files cannot be written to the folder /proc"):
        check_output(Path("/proc/model.fw"))


def test_labels_that_the_fit_never_saw_are_told_of_once(work, call, tmp_path):
    other = tmp_path / "other.csv"
    rows = pl.read_csv(work.table, infer_schema=False).with_columns(code=pl.lit("elsewhere"))
    pl.concat([rows] * 60).write_csv(other)
    said = call("transform", work.model, other, "-o", tmp_path / "out.csv").stderr
    assert said.replace("\n", " ").count("labels are none that the fit saw") == 1
    assert "UserWarning" not in said
    assert not call("transform", work.model, other, "-o", tmp_path / "out.csv", "-q").stderr
