"""Sentences about names that are not known, places that cannot be written to, and full disks."""

from __future__ import annotations

import errno
import os
from pathlib import Path

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
