"""Files and places that are not what a command expects."""

from __future__ import annotations

import json
import os
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from tests.cli.tables import mixed

import featurewright
from featurewright.cli.sources import open_table

FIT = ("--methods", "batch", "--effort", "quick", "--folds", 2, "--quiet")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04\x14\x00rest of an archive", "is a zip archive or an Excel file"),
        (b"a,b\r1,2\r3,4\r", "carriage returns alone"),
        (b'a,b\n1,2\n5" pipe,3\n4,5\n', "line 3 has a quote without its other half"),
    ],
)
def test_tables_that_cannot_be_read(call, tmp_path, content, words):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert words in " ".join(call("fit", path, "-t", "b", code=1).stderr.split())


def test_a_very_long_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{'x' * 200_000},b\n1,2\n", encoding="utf-8")
    assert open_table(path, header=False).read().shape == (2, 2)


def test_names_and_classes_have_a_limit(call, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"{'x' * 200_000},b\n1,2\n", encoding="utf-8")
    said = " ".join(call("fit", path, "-t", "b", code=1).stderr.split())
    assert "The name of column 1 of" in said
    assert "has 200,000 characters ('xxxxxxxxxxxxxxxxxxxx...'), but at most 1,000" in said
    rows = "\n".join(f"{k % 7},{'y' * 2000 if k % 2 else 'no'}" for k in range(40))
    path.write_text(f"a,b\n{rows}\n", encoding="utf-8")
    said = call("fit", path, "-t", "b", *FIT, code=1).stderr
    assert "A class of the target has 2,000 characters" in said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1\0,2\n", "holds NUL bytes"),
        ("a,b\n1,2\n".encode("utf-16-le"), "holds NUL bytes"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "holds NUL bytes"),
        (b'a,b\n"1,2\n3,4\n', "line 2 has a quote without its other half"),
        (b"a,b\n", "has no rows"),
        (b"a,b\n1,2\n", "is 2 in the only row"),
        (b"b\n1\n2\n", "No column is left"),
        (b"a,b\n1,\n2,\n", "is missing in all rows"),
        (b"a,b\n1,7\n2,7\n", "is 7 in all 2 rows"),
        (b"a,b\n1,inf\n2,3\n", "Input y contains infinity in 1 of 2 rows"),
        (b"a,b\ninf,1\n2,3\n", "Column 'a' contains infinity"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 fields, more fields than the header's 2; look for"),
        (b"# of May\na,b\n1,2\n", "more fields than the header's 1; if the names are further"),
        (b'{"a": NaN, "b": 1}\n', "NaN and Infinity are no JSON; write null"),
        (b"{}\n{}\n", "There is no column 'b': the table has no columns."),
    ],
)
def test_tables_that_say_nothing(call, tmp_path, content, words):
    path, out = tmp_path / f"t.{'jsonl' if content[:1] == b'{' else 'csv'}", tmp_path / "model.fw"
    path.write_bytes(content)
    said = call("fit", path, "-t", "b", "--out", out, *FIT, code=1)
    assert words in " ".join(said.stderr.split())
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "latin-1"])
def test_other_encodings(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\nä,2\nö,3\n".encode(encoding))
    assert open_table(path).read().rows() == [("ä", "2"), ("ö", "3")]


@pytest.mark.parametrize("values", [[[1], [2]] * 10, [{"u": 1}, {"u": 2}] * 10, [b"x", b"y"] * 10])
def test_targets_of_other_types(call, tmp_path, values):
    frame = pl.DataFrame({"a": range(20), "b": values})
    frame.write_parquet(tmp_path / "t.parquet")
    said = call("fit", tmp_path / "t.parquet", "-t", "b", *FIT, code=1).stderr
    assert "The target 'b' has the type" in said
    said = call("fit", tmp_path / "t.parquet", "-t", "a", *FIT, code=1).stderr
    assert "Column 'b' has the dtype" in said


def test_devices_and_pipes_are_not_replaced(work, call, tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for arguments in (
        ("sql", work.model, "-o", pipe),
        ("report", work.model, "-o", pipe),
        ("transform", work.model, work.table, "-o", pipe),
        ("fit", work.table, "-t", "sign", "--out", pipe, *FIT),
    ):
        assert "is a device or a pipe" in call(*arguments, code=1).stderr
        assert pipe.is_fifo()


def test_links_are_followed(work, call, tmp_path):
    for name, command in (("q.sql", ("sql",)), ("r.html", ("report",))):
        link, target = tmp_path / f"link-{name}", tmp_path / name
        link.symlink_to(target)
        call(*command, work.model, "-o", link)
        assert link.is_symlink()
        assert target.stat().st_size > 100


def test_sql_to_the_standard_output(work, call, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert call("sql", work.model, "-o", "-").stdout == call("sql", work.model).stdout
    assert "name a file" in call("report", work.model, "-o", "-", code=1).stderr
    assert not [*tmp_path.iterdir()]


def test_keys_that_no_row_of_json_lines_has(work, call, tmp_path):
    """They are missing where rows of another part have them, and refused where none does."""
    path, out = tmp_path / "t.jsonl", tmp_path / "out.csv"
    rows = mixed(40).drop("sign", "size").to_dicts()
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    expected = call("predict", work.model, path, "-o", "-").stdout
    gone = [{k: v for k, v in row.items() if k != "a"} for row in rows]
    path.write_text("\n".join(json.dumps(row) for row in gone), encoding="utf-8")
    assert "The table lacks 'a'" in call("predict", work.model, path, "-o", out, code=1).stderr
    assert not out.exists()
    many = [*gone[:2], *rows[2:]]
    path.write_text("\n".join(json.dumps(row) for row in many), encoding="utf-8")
    found = call("predict", work.model, path, "-o", "-").stdout
    assert found.splitlines()[3:] == expected.splitlines()[3:]


def test_a_first_part_without_a_key(work, call, tmp_path, monkeypatch):
    path = tmp_path / "t.jsonl"
    rows = mixed(40).drop("sign", "size").to_dicts()
    for row in rows[:20]:
        del row["a"]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    whole = call("predict", work.model, path, "-o", "-").stdout
    monkeypatch.setattr("featurewright.cli.streams.BLOCK", 500)
    assert call("predict", work.model, path, "-o", "-").stdout == whole


def test_a_score_for_another_task(work, call):
    said = call("fit", work.table, "-t", "size", "--scoring", "roc_auc", *FIT, code=1)
    assert "scoring='roc_auc' cannot score what RidgeCV predicts" in " ".join(said.stderr.split())


def test_a_target_of_decimals(call, tmp_path):
    frame = mixed().with_columns(
        pl.Series("price", [Decimal(f"{v:.2f}") for v in mixed()["size"]], dtype=pl.Decimal(10, 2))
    )
    frame.drop("sign", "size").write_parquet(tmp_path / "t.parquet")
    call("fit", tmp_path / "t.parquet", "-t", "price", "--out", tmp_path / "m.fw", *FIT)
    assert featurewright.load(tmp_path / "m.fw").task_ == "regression"


def test_probabilities_of_several_labels(call, tmp_path):
    frame = mixed().with_columns(plus=pl.col("a") > 0, minus=pl.col("b") < 0)
    frame.drop("sign", "size").write_csv(tmp_path / "t.csv")
    model, out = tmp_path / "m.fw", tmp_path / "out.csv"
    labels = ("-t", "plus", "-t", "minus")
    call("fit", tmp_path / "t.csv", *labels, "--estimator", "knn", "--out", model, *FIT)
    call("predict", model, tmp_path / "t.csv", "--proba", "-o", out)
    found = pl.read_csv(out)
    for label in ("plus", "minus"):
        shares = found[f"probability {label}"].to_numpy()
        np.testing.assert_array_equal(shares > 0.5, found[f"prediction {label}"].to_numpy() == 1)


def test_a_comma_before_three_digits_is_told_when_a_model_is_applied(work, call, tmp_path):
    frame = mixed(30).with_columns(a=pl.lit("1,234"))
    frame.write_csv(tmp_path / "t.csv", separator=";")
    said = call("predict", work.model, tmp_path / "t.csv", "-o", tmp_path / "out.csv")
    assert "Column 'a': '1,234' is read as the number 1.234." in said.stderr
    frame.write_csv(tmp_path / "t.csv")
    said = call("predict", work.model, tmp_path / "t.csv", "-o", tmp_path / "out.csv")
    assert "Column 'a': '1,234' is read as the number 1234." in said.stderr


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_blank_lines_are_no_rows(tmp_path, end, quote):
    rows = [
        "a,b",
        "",
        f"1,{quote}x{quote}",
        "",
        "",
        f'2,"u{end}{end}v"',
        f"{quote}3{quote},",
        "",
        "",
    ]
    path = tmp_path / "t.csv"
    path.write_bytes(end.join(rows).encode())
    found = open_table(path).read().rows()
    assert [row[0] for row in found] == ["1", "2", "3"]
    assert found[1][1].split() == ["u", "v"]


def test_blank_lines_of_one_column_are_missing_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n1\n\n3\n")
    assert open_table(path).read().rows() == [("1",), (None,), ("3",)]


@pytest.mark.parametrize("command", ["predict", "transform"])
def test_models_that_are_not_fitted(work, call, tmp_path, command):
    featurewright.save(featurewright.AutoFeatures(), tmp_path / "m.fw")
    said = call(command, tmp_path / "m.fw", work.table, "-o", tmp_path / "out.csv", code=1).stderr
    assert "not fitted" in said


def test_a_target_named_twice(work, call):
    said = call("fit", work.table, "-t", "sign", "-t", "sign", *FIT, code=1).stderr
    assert "--target names 'sign' 2 times" in said


def test_short_rows_are_told_of(work, call, tmp_path):
    rows = work.table.read_text(encoding="utf-8").splitlines()
    rows[3] = rows[3].rsplit(",", 2)[0]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    said = " ".join(call("predict", work.model, path, "-o", tmp_path / "out.csv").stderr.split())
    assert "have fewer cells than its header: 2 cells at their ends are missing." in said
    said = call("predict", work.model, work.table, "-o", tmp_path / "out.csv").stderr
    assert "fewer cells" not in said
