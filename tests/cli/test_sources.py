"""Tables from files: any delimiter, encoding and compression; odd files get one sentence."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from pathlib import Path

import polars as pl
import pytest
import zstandard
from polars.testing import assert_frame_equal
from tests.cli.tables import mixed

from featurewright.cli import sources, streams
from featurewright.cli.errors import UserError
from featurewright.cli.kinds import find_types
from featurewright.cli.sources import open_table


def read(path, **options):
    source = open_table(path, **options)
    frame = source.read()
    return find_types(frame) if source.is_text else frame


def refusal(path, **options) -> str:
    with pytest.raises(UserError) as error:
        read(path, **options)
    return str(error.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_delimiters_are_found(tmp_path, delimiter):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y, z;"], "c": [0.5, 1e9]})
    frame.write_csv(tmp_path / "t.csv", separator=delimiter)
    if delimiter != " ":
        assert_frame_equal(read(tmp_path / "t.csv"), frame)
    assert_frame_equal(read(tmp_path / "t.csv", delimiter=delimiter), frame)
    if delimiter == "\t":  # as it is typed in a shell
        assert_frame_equal(read(tmp_path / "t.csv", delimiter=r"\t"), frame)


def test_single_column_has_no_delimiter(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert read(tmp_path / "t.csv")["a"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("ending", "pack"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", zstandard.compress),
    ],
)
@pytest.mark.parametrize("name", ["t.csv.{}", "no ending"])
def test_compression_is_seen_by_content(tmp_path, ending, pack, name):
    path = tmp_path / name.format(ending)
    whole = pack(mixed().write_csv().encode())
    path.write_bytes(whole)
    assert read(path).height == 240
    path.write_bytes(whole[: len(whole) // 2])
    assert "damaged" in refusal(path)


def test_other_formats(tmp_path):
    frame = mixed()
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ipc(tmp_path / "t.feather", compression="lz4")
    frame.write_ndjson(tmp_path / "t.jsonl")
    frame.write_json(tmp_path / "t.json")
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress((tmp_path / "t.jsonl").read_bytes()))
    for name in ("t.parquet", "t.arrow", "t.feather", "t.jsonl", "t.json", "t.jsonl.gz"):
        assert_frame_equal(read(tmp_path / name), frame)
    # The content counts, not the name.
    (tmp_path / "t.parquet").rename(tmp_path / "t.csv")
    assert_frame_equal(read(tmp_path / "t.csv"), frame)


@pytest.mark.parametrize(
    ("encoding", "recoded"),
    [("utf-8", False), ("utf-8-sig", False), ("utf-16", False), ("cp1252", True)],
)
def test_encodings(tmp_path, encoding, recoded):
    (tmp_path / "t.csv").write_bytes("café,b\nnaïve,1\n".encode(encoding))
    source = open_table(tmp_path / "t.csv")
    assert source.read().rows() == [("naïve", "1")]
    assert source.read().columns == ["café", "b"]
    assert source.recoded == recoded


@pytest.mark.parametrize("block", [16, 37, 100])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_are_never_cut(tmp_path, monkeypatch, block, end):
    rows = [f'"{k}, ""quoted""{end}and broken",{k}' for k in range(50)]
    (tmp_path / "t.csv").write_bytes(end.join(["text,number", *rows]).encode())
    expected = read(tmp_path / "t.csv")
    assert expected["number"].to_list() == list(range(50))
    monkeypatch.setattr(streams, "BLOCK", block)
    assert len(list(open_table(tmp_path / "t.csv").batches())) > 10
    assert_frame_equal(read(tmp_path / "t.csv"), expected)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_parts_make_the_whole(tmp_path, monkeypatch, ending):
    frame, path = mixed(2500), tmp_path / f"t.{ending}"
    {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "jsonl": frame.write_ndjson}[ending](
        path
    )
    monkeypatch.setattr(sources, "CELLS", 1)
    monkeypatch.setattr(streams, "BLOCK", 100_000)
    parts = list(open_table(path).batches())
    assert len(parts) > 2
    assert_frame_equal(pl.concat(parts), frame)


def test_json_lines_may_lack_keys(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n{"b": "x"}\n')
    assert read(tmp_path / "t.jsonl").rows() == [(1, None), (None, "x")]


def test_no_header(tmp_path):
    (tmp_path / "t.csv").write_text("1,x\n2,y\n")
    frame = read(tmp_path / "t.csv", header=False)
    assert frame.rows() == [(1, "x"), (2, "y")]
    assert frame.columns == ["column_1", "column_2"]


def test_columns_without_a_name_are_numbered(tmp_path):
    (tmp_path / "t.csv").write_text(",a\n1,2\n")
    assert read(tmp_path / "t.csv").columns == ["column_1", "a"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "has no rows"),
        (b"a,a\n1,2\n", "more than one column called 'a'"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 fields, more fields than the header's 2"),
        (b"FEA1....", "old Feather"),
    ],
)
def test_odd_files(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    assert words in refusal(tmp_path / "t.csv")


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "table.csv").write_text("a\n1\n")
    assert "did you mean table.csv?" in refusal(tmp_path / "tabel.csv")
    assert "check the path" in refusal(tmp_path / "other" / "x.csv")
    assert "is a folder" in refusal(tmp_path)


def test_streams(tmp_path):
    assert "is a stream" in refusal(Path("-"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
        assert "write it to a file first" in refusal(tmp_path / "pipe.csv")


def test_wrong_names(tmp_path):
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
    assert "is no parquet file" in refusal(tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("{broken\n")
    assert "cannot be read as json lines" in refusal(tmp_path / "t.jsonl")
    (tmp_path / "p").write_bytes(b"PAR1 and nothing else")
    assert "cannot be read as parquet" in refusal(tmp_path / "p")


def test_delimiter_of_two_characters(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert "one character" in refusal(tmp_path / "t.csv", delimiter="::")


def test_quote_that_never_closes(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 100)
    monkeypatch.setattr(streams, "MAX_ROW", 1000)
    (tmp_path / "t.csv").write_text('a,b\n"1,2\n' + "3,4\n" * 1000)
    assert "never closed" in refusal(tmp_path / "t.csv")


def test_columns_of_json_lines_keep_their_order(tmp_path):
    """The values make polars mix the columns."""
    names = [f"c{k}" for k in range(34)]
    rows = [
        {name: 1.0 if (k + row) % 3 else None if k % 2 else 2 for k, name in enumerate(names)}
        for row in range(40)
    ]
    rows[5] = {"z": 1, "y": 2, **rows[5]}
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert open_table(path).read().columns == [*names, "y", "z"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_samples_of_the_rows(tmp_path, monkeypatch, ending):
    """A sample is drawn in blocks of any size, and follows from the file and the seed alone."""
    frame, path = mixed(400), tmp_path / f"t.{ending}"
    {"parquet": frame.write_parquet, "csv": frame.write_csv, "jsonl": frame.write_ndjson}[ending](
        path
    )
    found, n_rows = open_table(path).sample(50, seed=3)
    assert (found.height, n_rows) == (50, 400)
    keys = [int(key.removeprefix("row ")) for key in found["key"].to_list()]
    assert keys == sorted(keys)
    assert keys != list(range(50))
    monkeypatch.setattr(streams, "BLOCK", 700)
    monkeypatch.setattr(sources, "CELLS", 1)
    assert_frame_equal(open_table(path).sample(50, seed=3)[0], found)
    assert not open_table(path).sample(50, seed=4)[0].equals(found)
    assert_frame_equal(open_table(path).sample(1000, seed=3)[0], open_table(path).read())


def test_large_tables_are_sampled(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    mixed(400).write_csv(path)
    monkeypatch.setattr(streams, "BLOCK", 700)
    monkeypatch.setattr(sources, "MIN_SAMPLED_ROWS", 10)
    monkeypatch.setattr(sources, "MAX_CELLS", 100 * mixed(1).width)
    assert open_table(path).sample(None, seed=0)[0].height == 100
    monkeypatch.setattr(sources, "MAX_BYTES", 8000)
    assert 10 <= open_table(path).sample(None, seed=0)[0].height < 100


def test_wide_tables_are_parsed_many_rows_at_a_time(tmp_path, monkeypatch):
    names = [f"c{k}" for k in range(50)]
    frame = pl.DataFrame({name: [f"{k}.5" for k in range(60)] for name in names})
    frame.write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(streams, "BLOCK", 500)
    monkeypatch.setattr(sources, "MANY_COLUMNS", 40)
    monkeypatch.setattr(sources, "MIN_PARSED_ROWS", 25)
    parts = list(open_table(tmp_path / "t.csv").batches())
    assert 2 <= len(parts) <= 3
    assert_frame_equal(pl.concat(parts), frame)


@pytest.mark.parametrize("name", ["__index_level_0__", "__null_dask_index__"])
def test_numbers_of_rows_that_pandas_and_dask_store_are_not_read(tmp_path, name):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1.0, 2.0], name: [7, 3], "__index": [0, 1]}).write_parquet(path)
    assert read(path).columns == ["a", "__index"]
    assert [batch.columns for batch in open_table(path).batches()] == [["a", "__index"]]
