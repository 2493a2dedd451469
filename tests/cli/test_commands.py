"""The commands: what they write and say, and what they refuse in one line."""

from __future__ import annotations

import importlib.util
import itertools
import json
import re

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.cases import loop_over
from tests.cli.tables import mixed

import featurewright
from featurewright.auto.timing import Clock
from featurewright.cli import catalogue, sources, streams
from featurewright.cli.fitting import training_table

SHORT = ("--methods", "batch", "--effort", "quick", "--folds", 2)
FIT = (*SHORT, "--quiet")


def features(work) -> pl.DataFrame:
    """Compute the features in Python, from the table as the fit saw it."""
    model = featurewright.load(work.model)
    frame = mixed().drop("sign", "size")
    return pl.DataFrame(
        np.asarray(model.transform(frame)), schema=list(model.get_feature_names_out())
    )


def test_fit_says_what_it_found(work):
    assert "a * b" in work.result.stdout
    assert "linear model" in work.result.stdout
    assert "Use the new features" in work.result.stdout
    assert "240 rows, 9 columns beside the target 'sign'." in work.result.stderr
    assert "best so far" in work.result.stderr
    model = featurewright.load(work.model)
    assert type(model) is featurewright.AutoFeatures
    assert model.target_name_ == "sign"
    assert set(model.left_out_) == {"key", "constant"}
    assert "<math " in (work.folder / "report.html").read_text(encoding="utf-8")


def test_fit_says_what_the_target_was_taken_for(call, tmp_path):
    frame = mixed(120).with_columns(count=pl.int_range(pl.len()) % 28, few=pl.int_range(120) % 3)
    frame.drop("sign", "size").write_csv(tmp_path / "t.csv")
    said = call("fit", tmp_path / "t.csv", "-t", "count", *SHORT).stdout
    told = "treated as a number (28 different values); --task classification changes that."
    assert told in " ".join(said.split())
    said = call("fit", tmp_path / "t.csv", "-t", "few", *SHORT).stdout
    assert "treated as 3 classes; --task regression changes that." in " ".join(said.split())


@pytest.mark.parametrize("option", ["--max-formulas", "--features"])
def test_fit_keeps_few_formulas(work, call, tmp_path, option):
    arguments = ("-t", "size", "--drop", "sign", *SHORT, option, 2, "-o", tmp_path / "m.fw")
    said = call("fit", work.table, *arguments)
    assert "How many formulas" in said.stdout
    model = featurewright.load(tmp_path / "m.fw")
    assert (model.effort, model.n_features_out, model.time_budget) == ("quick", 2, None)
    assert 1 <= len(model.features_) <= 2
    assert [point["n_formulas"] for point in model.front_] == [0, 1, 2]


def test_a_search_that_was_cut_short_says_so(work, call, tmp_path, monkeypatch):
    seconds = itertools.count()  # every look at the clock is a second later
    clock = staticmethod(lambda budget: Clock(budget, now=lambda: float(next(seconds))))
    monkeypatch.setattr(featurewright.AutoFeatures, "_make_clock", clock)
    page = tmp_path / "r.html"
    options = ("--time", 3, "--report", page)
    said = call("fit", work.table, "-t", "size", "--drop", "sign", *SHORT, *options)
    assert "cut short by its time limit of 3 seconds" in " ".join(said.stdout.split())
    assert "cut short by its time limit of 3 seconds" in page.read_text(encoding="utf-8")


def test_folds_in_time_follow_the_effort(call, tmp_path):
    mixed(120).write_parquet(tmp_path / "t.parquet")
    options = ("--methods", "batch", "--effort", "quick", "--order-by", "day", "-q")
    call("fit", tmp_path / "t.parquet", "-t", "sign", *options, "--out", tmp_path / "m.fw")
    assert featurewright.load(tmp_path / "m.fw").cv.n_splits == 3


def test_python_tells_what_the_command_line_tells(work, call):
    """The text is the same but for how to change things, and for how lines are broken."""
    model = featurewright.load(work.model)
    shown = call("inspect", work.model).stdout + work.result.stdout
    unbroken = "".join(shown.split())  # tables break a long formula inside a word
    told = {word.strip(".,;") for word in model.summary().split()}
    hints = {word for word in told if "limit(" in word or "task=" in word}
    assert not {word for word in told - hints if word not in unbroken}
    assert "a * b" in model.summary()
    assert "How many formulas" in model.summary()


def test_transform_equals_python(work, call, tmp_path):
    out = tmp_path / "out.parquet"
    said = call("transform", work.model, work.table, "-o", out)
    assert_frame_equal(pl.read_parquet(out), features(work))
    assert "240 rows written" in said.stderr


@pytest.mark.parametrize("ending", ["csv", "jsonl.gz", "parquet", "arrow"])
def test_transform_in_parts_from_and_to_any_format(work, call, tmp_path, monkeypatch, ending):
    frame = mixed().drop("sign", "size", "constant")
    path, out = tmp_path / f"t.{ending}", tmp_path / f"out.{ending}"
    with sinks_of(path) as sink:
        sink.write(frame)
    monkeypatch.setattr(streams, "BLOCK", 4000)
    monkeypatch.setattr(sources, "CELLS", 1)
    call("transform", work.model, path, "-o", out)
    source = sources.open_table(out)
    made = source.read().cast(pl.Float64)
    assert_frame_equal(made, features(work))


def sinks_of(path):
    from featurewright.cli.sinks import open_sink

    return open_sink(path)


def test_transform_to_the_standard_output(work, call, tmp_path):
    out = tmp_path / "features.csv"
    call("transform", work.model, work.table, "-o", out)
    for quiet in ([], ["--quiet"]):
        said = call("transform", work.model, work.table, "-o", "-", *quiet)
        assert said.stdout == out.read_text()
        assert ("rows written to the standard output" in said.stderr) == (not quiet)


def test_no_threads_are_refused_before_anything_is_read(call, tmp_path):
    said = call("fit", tmp_path / "missing.csv", "-t", "y", "--jobs", 0, code=2)
    assert "0 threads" in said.stderr


def test_transform_carries_columns_along(work, call, tmp_path):
    out = tmp_path / "out.csv"
    call("transform", work.model, work.table, "-o", out, "--keep", "key", "--keep", "sign")
    names = pl.read_csv(out).columns
    assert names[:2] == ["key", "sign"]
    call("transform", work.model, work.table, "-o", out, "--keep-all")
    every = pl.read_csv(out).columns
    assert set(every) == set(mixed().columns) | set(names)
    assert len(every) == len(set(every))


def test_one_row_equals_the_batch(work, call, tmp_path):
    lines = work.table.read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join([lines[0], lines[5]]))
    call("transform", work.model, tmp_path / "one.csv", "-o", tmp_path / "out.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), features(work)[4:5])


def test_predict(work, call, tmp_path):
    out = tmp_path / "out.csv"
    call("predict", work.model, work.table, "-o", out, "--proba", "--keep", "sign", "--quiet")
    made = pl.read_csv(out)
    assert made.columns == ["sign", "prediction", "probability of minus", "probability of plus"]
    assert (made["sign"] == made["prediction"]).mean() > 0.9
    sums = made["probability of minus"] + made["probability of plus"]
    assert sums.to_list() == pytest.approx([1.0] * 240)


def test_inspect(work, call):
    said = call("inspect", work.model).stdout
    assert "a * b" in said
    assert "Methods tried" in said
    assert "How many formulas" in said
    assert "looks like an identifier" in " ".join(said.split())
    found = json.loads(call("inspect", work.model, "--json").stdout)
    assert found["best_method"] == "batch"
    assert [point["n_formulas"] for point in found["front"]][:3] == [0, 1, 2]
    assert found["path"][0].startswith("a * b")
    assert found["features"][0]["name"].startswith("a * b")
    assert found["features"][0]["stability"] == 1.0


def test_inspect_other_models(call, tmp_path):
    frame = mixed().select("a", "b")
    model = featurewright.ConstructiveTreeClassifier(random_state=0).fit(frame, mixed()["sign"])
    featurewright.save(model, tmp_path / "tree.fw")
    assert "ConstructiveTreeClassifier" in call("inspect", tmp_path / "tree.fw").stdout
    found = json.loads(call("inspect", tmp_path / "tree.fw", "--json").stdout)
    assert found["columns"] == ["a", "b"]
    frame.write_csv(tmp_path / "t.csv")
    call("predict", tmp_path / "tree.fw", tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    assert pl.read_csv(tmp_path / "p.csv")["prediction"].to_list() == model.predict(frame).tolist()
    refused = call("report", tmp_path / "tree.fw", "-o", tmp_path / "r.html", code=1)
    assert "needs a fitted AutoFeatures" in refused.stderr


def test_sql_is_executed_with_the_same_result(work, call, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    query = call("sql", work.model, "--table", "rows", "--key", "key").stdout
    connection = duckdb.connect()
    connection.execute(
        f"create table rows as select * from read_csv('{work.table}', all_varchar = false, "
        "types = {'code': 'VARCHAR'})"
    )
    made = pl.DataFrame(
        dict(zip(*[[c[0] for c in connection.execute(query).description]] * 2, strict=True))
    )
    rows = connection.execute(query).fetchall()
    expected = features(work)
    assert made.columns == ["key", *expected.columns]
    found = np.array([row[1:] for row in rows], dtype=float)
    order = np.argsort([int(row[0].split()[1]) for row in rows])
    np.testing.assert_allclose(found[order], expected.to_numpy(), rtol=1e-6)


def test_sql_to_a_file(work, call, tmp_path):
    call("fit", work.table, "-t", "sign", "--sql", tmp_path / "features.sql", *FIT)
    assert "my_table" in (tmp_path / "features.sql").read_text(encoding="utf-8")
    call("sql", work.model, "--dialect", "postgres", "-o", tmp_path / "f.sql", "-q")
    assert "my_table" in (tmp_path / "f.sql").read_text(encoding="utf-8")


def test_report_of_a_saved_model(work, call, tmp_path):
    call("report", work.model, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page == (work.folder / "report.html").read_text(encoding="utf-8")


def test_methods(call):
    said = call("methods").stdout
    listed = json.loads(call("methods", "--json").stdout)
    assert [entry["name"] for entry in listed] == [method.name for method in catalogue.methods()]
    assert all(entry["name"] in said for entry in listed)


def test_version(call):
    assert call("--version").stdout == f"featurewright {featurewright.__version__}\n"


@loop_over(
    "command", ["fit", "transform", "predict", "inspect", "sql", "report", "methods", "demo"]
)
def test_help_explains_and_shows_examples(call, command):
    said = call(command, "--help").stdout
    assert command in call("--help").stdout
    assert "--debug" in said
    if command not in {"methods", "demo"}:
        assert f"featurewright {command} " in said.split("Examples")[1]


def test_regression_as_json(work, call):
    said = call("fit", work.table, "-t", "size", "--drop", "sign", *FIT, "--json")
    found = json.loads(said.stdout)
    assert found["task"] == "regression"
    assert found["score"]["scoring"] == "r2"
    assert said.stderr == ""


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_task_is_what_it_is_told_to_be(call, tmp_path, task):
    mixed(120).with_columns(y=pl.Series(range(120)) % 3).write_csv(tmp_path / "t.csv")
    said = call("fit", tmp_path / "t.csv", "-t", "y", "--task", task, *FIT, "--json")
    assert json.loads(said.stdout)["task"] == task


def test_several_labels(call, tmp_path):
    frame = mixed(120).with_columns(p=pl.col("a") > 0, q=(pl.col("b") > 0).cast(int))
    frame.write_parquet(tmp_path / "t.parquet")
    said = call(
        "fit", tmp_path / "t.parquet", "-t", "p", "-t", "q", *FIT, "--json", "-o", tmp_path / "m.fw"
    )
    assert json.loads(said.stdout)["task"] == "several labels"
    call("predict", tmp_path / "m.fw", tmp_path / "t.parquet", "--proba", "-o", tmp_path / "p.csv")
    named = [f"{kind} {label}" for kind in ("prediction", "probability") for label in "pq"]
    assert pl.read_csv(tmp_path / "p.csv").columns == named


def test_rows_without_a_target_are_left_out(call, tmp_path):
    frame = mixed(120).with_columns(
        pl.when(pl.int_range(pl.len()) < 20).then(None).otherwise(pl.col("sign")).alias("sign")
    )
    frame.write_csv(tmp_path / "t.csv")
    said = call("fit", tmp_path / "t.csv", "-t", "sign", *SHORT)
    assert "Rows without a target that were left out: 20." in said.stderr
    assert "100 rows" in said.stderr


def test_groups_with_gaps(call, tmp_path):
    frame = mixed(120).with_columns(
        pl.when(pl.int_range(pl.len()) % 7 > 0).then(pl.col("code")).alias("code")
    )
    frame.write_parquet(tmp_path / "t.parquet")
    out = tmp_path / "m.fw"
    call("fit", tmp_path / "t.parquet", "-t", "sign", "--groups", "code", "--out", out, *FIT)
    assert "code" not in featurewright.load(out).feature_names_in_


def test_folds_in_order_of_time(call, tmp_path):
    frame = mixed(120).with_columns(day=pl.int_range(pl.len()).shuffle(seed=1))
    frame.write_parquet(tmp_path / "t.parquet")
    out = tmp_path / "m.fw"
    # A busy machine must not end the search before its last fold.
    options = ("--order-by", "day", "--out", out, *FIT, "--folds", 3)
    call("fit", tmp_path / "t.parquet", "-t", "sign", *options)
    model = featurewright.load(out)
    assert type(model.cv).__name__ == "TimeSeriesSplit"
    assert model.cv.get_n_splits() == len(model.results_[0]["fold_scores"]) == 3
    table = training_table(frame, ["sign"], drop=["day"], order="day")
    assert "day" not in table.X.columns
    assert_frame_equal(table.X, frame.sort("day").drop("sign", "day"))
    assert table.y.to_list() == frame.sort("day")["sign"].to_list()


def test_gaps_in_a_target_of_numbers(call, tmp_path):
    frame = mixed(120).with_columns(
        pl.when(pl.int_range(pl.len()) < 10).then(float("nan")).otherwise(pl.col("size")).alias("y")
    )
    frame.write_parquet(tmp_path / "t.parquet")
    said = call("fit", tmp_path / "t.parquet", "-t", "y", *SHORT)
    assert "Rows without a target that were left out: 10." in said.stderr


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pl.Series("odd", [[1], [2, 3]] * 30), "'odd'"),
        (pl.Series("odd", [1.0, float("inf")] * 30), "'odd'"),
    ],
    ids=["lists", "infinity"],
)
def test_columns_that_cannot_be_used_are_named(call, tmp_path, column, words):
    mixed(60).with_columns(column).write_parquet(tmp_path / "t.parquet")
    said = call("fit", tmp_path / "t.parquet", "-t", "sign", *FIT, code=1)
    assert words in said.stderr


def test_packages_are_missed_before_the_search(work, call, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "skops" else find(name)
    )
    said = call("fit", work.table, "-t", "sign", "--out", "m.fw", code=1)
    assert "needs skops" in said.stderr


def test_not_utf8_is_said(call, tmp_path):
    table = mixed(60).with_columns(pl.lit("é").alias("accent")).write_csv()
    (tmp_path / "t.csv").write_bytes(table.encode("cp1252"))
    said = call("fit", tmp_path / "t.csv", "-t", "sign", *SHORT)
    assert "not UTF-8" in said.stderr


@loop_over(
    ("arguments", "words"),
    [
        (["-t", "sgin"], "There is no column 'sgin': did you mean 'sign'?"),
        (["-t", "Sign"], "did you mean 'sign'?"),
        (["-t", "zzz"], "there are 'key', 'a'"),
        (["-t", "constant"], "is 1.0 in all 240 rows"),
        (["-t", "key", "--task", "classification"], "240 different values in 240 rows"),
        (["-t", "sign", "--drop", "nope"], "There is no column 'nope'"),
        (["-t", "sign", "--drop", "sign"], "cannot be the target and something else"),
        (["-t", "sign", "--groups", "nope"], "There is no column 'nope'"),
        (["-t", "sign", "--order-by", "nope"], "There is no column 'nope'"),
        (["-t", "sign", "--order-by", "sign"], "cannot be the target and something else"),
        (["-t", "sign", "--order-by", "with gaps"], "so they have no place in time"),
        (["-t", "sign", "--order-by", "key", "--groups", "code"], "by group and by time"),
        (["-t", "sign", "--order-by", "key", "--folds", "240"], "need at least 241 rows"),
        (["-t", "sign", "--task", "regression"], "Regression needs numbers"),
        (["-t", "sign", "-t", "a"], "must be labels of 0 and 1"),
        (["-t", "sign", "--out", "no/such/m.fw"], "There is no folder no/such"),
    ],
)
def test_fit_refuses_in_one_line(work, call, arguments, words):
    assert words in call("fit", work.table, *FIT, *arguments, code=1).stderr


def test_fit_refuses_to_overwrite_its_table(work, call):
    before = work.table.read_bytes()
    said = call("fit", work.table, "-t", "sign", "--out", work.table, code=1)
    assert "would be overwritten" in said.stderr
    assert work.table.read_bytes() == before
    said = call("fit", work.table, "-t", "sign", "--out", "x.fw", "--report", "x.fw", code=1)
    assert "named twice" in said.stderr


def test_first_row_that_looks_like_data(call, tmp_path):
    (tmp_path / "t.csv").write_text("1.5,2,a\n3,4,b\n5,6,a\n")
    said = call("fit", tmp_path / "t.csv", "-t", "class", code=1)
    assert "--no-header" in said.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit"],
        ["fit", "t.csv"],
        ["fit", "t.csv", "-t", "y", "--estimator", "magic"],
        ["fit", "t.csv", "-t", "y", "--time", "0"],
        ["fit", "t.csv", "-t", "y", "--methods", "forets"],
        ["fit", "t.csv", "-t", "y", "--scoring", "nope"],
        ["sql", "m.fw", "--dialect", "oracle9"],
        ["nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(call, arguments):
    assert "Error" in call(*arguments, code=2).stderr


def test_misspelt_scorer_is_guessed_before_the_table_is_read(call):
    said = call("fit", "absent.csv", "-t", "y", "--scoring", "roc_auk", code=2).stderr
    assert "did you mean 'roc_auc'?" in said


def test_misspelt_method_is_guessed(call):
    said = call("fit", "t.csv", "-t", "y", "--methods", "forets", code=2).stderr
    assert "did you mean" in said
    assert re.search(r"forest", said)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop("a"), "lacks 'a'"),
        (lambda f: f.with_columns(pl.lit("x").alias("a")), "'a' holds 'x', but it held numbers"),
        (lambda f: f.with_columns(pl.lit(9).alias("is open")), "held booleans"),
        (lambda f: f.head(0), "has no rows"),
    ],
)
def test_transform_refuses_other_tables(work, call, tmp_path, change, words):
    change(mixed()).write_csv(tmp_path / "t.csv")
    out = tmp_path / "out.csv"
    said = call("transform", work.model, tmp_path / "t.csv", "-o", out, code=1)
    assert words in said.stderr
    assert not out.exists()


def test_transform_refuses_other_files(work, call, tmp_path):
    out = tmp_path / "o.csv"
    for model, table, target, words in (
        (work.table, work.table, out, "Cannot load"),
        (work.model, work.table, work.table, "would be overwritten"),
        (work.model, work.table, work.model, "would be overwritten"),
        (work.folder / "no.fw", work.table, out, "There is no file"),
        (work.folder, work.table, out, "is a folder"),
        (work.model, work.table, tmp_path / "o.xlsx", "does not say a format"),
    ):
        assert words in call("transform", model, table, "-o", target, code=1).stderr
    said = call("transform", work.model, work.table, "-o", out, "--keep", "kye", code=1)
    assert "did you mean 'key'?" in said.stderr
    assert list(tmp_path.iterdir()) == []


def test_columns_that_are_not_used_may_be_absent(work, call, tmp_path):
    mixed().drop("key", "constant", "sign").write_csv(tmp_path / "t.csv")
    call("transform", work.model, tmp_path / "t.csv", "-o", tmp_path / "o.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "o.parquet"), features(work))


def test_new_labels_and_missing_values(work, call, tmp_path):
    frame = mixed(3).with_columns(
        pl.lit("never seen").alias("colour"), pl.Series("a", ["NA", "?", "1"])
    )
    frame.write_csv(tmp_path / "t.csv")
    call("transform", work.model, tmp_path / "t.csv", "-o", tmp_path / "o.parquet")
    assert np.isfinite(pl.read_parquet(tmp_path / "o.parquet").to_numpy()).all()


def test_debug_shows_the_trace(work):
    from typer.testing import CliRunner

    from featurewright.cli.app import app

    result = CliRunner().invoke(app, ["fit", str(work.table), "-t", "nope", "--debug"])
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_names_steer_nothing_on_the_terminal(call, tmp_path):
    name = "\x1b[31m[bold]red[/bold]\x07"
    frame = mixed(100).rename({"a": name})
    frame.write_parquet(tmp_path / "t.parquet")
    said = call("fit", tmp_path / "t.parquet", "-t", "sign", *SHORT, "--folds", 5, "--drop", "size")
    assert "\x1b" not in said.output
    assert "\x07" not in said.output
    assert "[bold]red[/bold]" in said.output


def test_mistakes_of_a_first_day(work, call, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("a\n1\n2\n")
    for arguments, code, told in (
        (("transform", work.table, work.model, "-o", tmp_path / "o.csv"), 1, "model first"),
        (("sql", work.model, "--dialect", "sqlit"), 2, "did you mean"),
        (("fit", work.table, "-t", "sign", "--seed", 2**32), 2, "--seed"),
        (("fit", one, "-t", "a"), 1, "columns beside the target"),
    ):
        result = call(*arguments, code=code)
        assert told in " ".join(result.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["one.csv"]
