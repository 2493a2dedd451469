"""Tables to files: every format, part by part, complete or not at all."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.cli.tables import mixed

from featurewright.cli.errors import UserError
from featurewright.cli.kinds import find_types
from featurewright.cli.sinks import check_output, open_sink
from featurewright.cli.sources import open_table

ENDINGS = ["csv", "tsv", "jsonl", "csv.gz", "jsonl.zst", "tsv.bz2", "csv.xz", "parquet", "arrow"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("n_parts", [1, 3])
def test_what_is_written_is_read_again(tmp_path, ending, n_parts):
    frame, path = mixed(60), tmp_path / f"out.{ending}"
    with open_sink(path) as sink:
        for part in range(n_parts):
            sink.write(frame[part * 60 // n_parts : (part + 1) * 60 // n_parts])
        assert not path.exists()
    source = open_table(path)
    again = source.read()
    assert_frame_equal(find_types(again) if source.is_text else again, frame, check_dtypes=False)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_failures_leave_what_was_there(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    path.write_text("old")

    def stop_midway():
        with open_sink(path) as sink:
            sink.write(pl.DataFrame({"a": [1]}))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stop_midway()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["out", "out.txt", "out.xlsx", "out.gz", "out.parquet.gz"])
def test_names_that_say_no_format(tmp_path, name):
    with pytest.raises(UserError), open_sink(tmp_path / name) as sink:
        sink.write(pl.DataFrame({"a": [1]}))
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(table)
    for path, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "x.csv", "There is no folder"),
        (table, "would be overwritten"),
        (tmp_path / "link.csv", "would be overwritten"),
    ):
        with pytest.raises(UserError, match=words):
            check_output(path, table)
