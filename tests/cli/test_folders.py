"""Tables in parts: a folder of files or a pattern, side by side in processes or on a cluster."""

from __future__ import annotations

import logging

import numpy as np
import polars as pl
import pytest
from distributed import LocalCluster
from typer.testing import CliRunner

import featurewright
from featurewright.cli.app import app
from featurewright.cli.folders import find_parts, open_parts

N_PARTS, PART = 3, 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return parts of a table, a model of it, and the whole."""
    place = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    (place / "parts").mkdir()
    frames = []
    for number in range(N_PARTS):
        frame = pl.DataFrame(rng.normal(size=(PART, 3)), schema=["a", "b", "c"], orient="row")
        frame = frame.with_columns(
            (pl.col("a") * pl.col("b")).alias("y"),
            pl.Series("id", np.arange(PART) + PART * number),
        )
        frame.write_parquet(place / "parts" / f"part-{number}.parquet")
        frames.append(frame)
    whole = pl.concat(frames)
    model = featurewright.AutoFeatures(effort="quick", methods="batch", random_state=0)
    featurewright.save(model.fit(whole.drop("y", "id"), whole["y"]), place / "model.fw")
    return place, whole


def run(*words):
    found = CliRunner().invoke(app, [str(word) for word in words])
    return found.exit_code, " ".join((found.output + found.stderr).split())


@pytest.mark.parametrize("which", ["parts", "parts/part-*.parquet"])
def test_each_part_becomes_a_file(folder, tmp_path, which):
    place, whole = folder
    out = tmp_path / "out"
    code, text = run(
        "transform", place / "model.fw", place / which, "-o", out, "--keep", "id", "--jobs", "1"
    )
    assert code == 0, text
    assert "600 rows of 3 parts" in text
    assert sorted(path.name for path in out.iterdir()) == [f"part-{k}.parquet" for k in range(3)]
    found = pl.read_parquet(out).sort("id")
    model = featurewright.load(place / "model.fw")
    np.testing.assert_array_equal(
        found.drop("id").to_numpy(), model.transform(whole.drop("y", "id"))
    )


@pytest.mark.slow  # processes import everything anew
def test_predictions_of_parts_in_processes(folder, tmp_path):
    place, whole = folder
    words = ["predict", place / "model.fw", place / "parts", "-o", tmp_path / "out", "--jobs", "2"]
    code, text = run(*words, "--keep", "id")
    assert code == 0, text
    found = pl.read_parquet(tmp_path / "out").sort("id")["prediction"].to_numpy()
    model = featurewright.load(place / "model.fw")
    np.testing.assert_array_equal(found, model.predict(whole.drop("y", "id")))


def test_workers_of_a_scheduler(folder, tmp_path):
    place, _ = folder
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with LocalCluster(1, threads_per_worker=2, processes=False, protocol="tcp", **quiet) as local:
        address = local.scheduler_address
        words = ["transform", place / "model.fw", place / "parts", "-o", tmp_path / "out"]
        code, text = run(*words, "--scheduler", address)
    assert code == 0, text
    assert pl.read_parquet(tmp_path / "out").height == N_PARTS * PART


def test_fit_reads_all_parts(folder, tmp_path):
    place, _ = folder
    words = ["fit", place / "parts", "-t", "y", "--effort", "quick", "--methods", "batch"]
    code, text = run(*words, "--drop", "id", "-o", tmp_path / "model.fw")
    assert code == 0, text
    assert "The table has 3 parts." in text
    assert "600 rows" in text
    assert "a * b" in text


def test_fit_draws_rows_of_many(folder):
    place, whole = folder
    found, n_rows = open_parts(find_parts(place / "parts")).sample(100, 0)
    assert (found.height, n_rows) == (100, 600)
    assert found["id"].is_sorted()
    whole.write_parquet(place / "whole.parquet")
    undivided, _ = open_parts([place / "whole.parquet"]).sample(100, 0)
    assert found["id"].equals(undivided["id"])


def test_what_cannot_be_done_is_refused(folder, tmp_path):
    place, _ = folder
    model, parts = place / "model.fw", place / "parts"
    code, text = run("transform", model, parts, "-o", parts)
    assert code == 1
    assert "has the parts themselves: name another folder" in text
    (tmp_path / "file.csv").write_text("a\n1\n")
    code, text = run("transform", model, parts, "-o", tmp_path / "file.csv")
    assert code == 1
    assert "is a file, but the table has parts" in text
    code, text = run("predict", model, parts, "-o", tmp_path / "new.csv")
    assert code == 1
    assert "new.csv is the name of a file, but the table has parts: name a folder" in text
    assert not (tmp_path / "new.csv").exists()
    (tmp_path / "nothing").mkdir()
    code, text = run("predict", model, tmp_path / "nothing", "-o", tmp_path / "out")
    assert code == 1
    assert "nothing is a folder without a table in it" in text
    words = ["transform", model, tmp_path / "file.csv", "-o", tmp_path / "x.csv"]
    code, text = run(*words, "--scheduler", "tcp://127.0.0.1:1")
    assert code == 1
    assert "--scheduler is for a table in parts" in text
    (tmp_path / "uneven").mkdir()
    pl.read_parquet(parts / "part-0.parquet").write_parquet(tmp_path / "uneven" / "0.parquet")
    lacking = pl.read_parquet(parts / "part-1.parquet").drop("a")
    lacking.write_parquet(tmp_path / "uneven" / "1.parquet")
    for words in (
        ["fit", tmp_path / "uneven", "-t", "y"],
        ["transform", model, tmp_path / "uneven"],
    ):
        code, text = run(*words, "-o", tmp_path / "written")
        assert code == 1
        assert "1.parquet lacks the column 'a' that 0.parquet has" in text
        assert not (tmp_path / "written").exists()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").write_text("a,y\n1,2\n")
    (tmp_path / "mixed" / "b.jsonl").write_text('{"a": 1, "y": 2}\n')
    code, text = run("fit", tmp_path / "mixed", "-t", "y")
    assert code == 1
    assert "csv and json lines files, but one format is expected" in text
