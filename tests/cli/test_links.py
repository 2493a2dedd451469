"""Linked tables on the command line."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tests.relations.test_features import shop

import featurewright
from featurewright.cli import sources
from featurewright.cli.links import make_links, parse_link, parse_links, parse_newer

SHORT = ("--methods", "batch", "--effort", "quick", "--folds", 3)
LINK = "on=customer,time=date"


@pytest.fixture(scope="module")
def shops(tmp_path_factory, call):
    """Fit customers with their orders; give the folder, the files and what was said."""
    folder = tmp_path_factory.mktemp("shops")
    for seed, prefix in ((0, ""), (3, "new_")):
        customers, orders, y = shop(seed=seed, n=300)
        customers.with_columns(rich=pl.Series(y)).write_csv(folder / f"{prefix}customers.csv")
        orders.write_csv(folder / f"{prefix}orders.csv")
        orders.write_parquet(folder / f"{prefix}orders.parquet")
    model = folder / "model.fw"
    result = call(
        "fit", folder / "customers.csv", "-t", "rich", "--as-of", "now", *SHORT,
        "--link", f"{folder / 'orders.csv'}:{LINK}", "-o", model,
        "--report", folder / "report.html",
    )  # fmt: skip
    return SimpleNamespace(folder=folder, model=model, result=result)


def test_fit_tells_features_over_links(shops, call):
    assert "sum(orders.amount, where channel =" in " ".join(shops.result.stdout.split())
    assert "--order-by" not in shops.result.stderr
    model = featurewright.load(shops.model)
    assert [link.title for link in model.links] == ["orders"]
    assert model.links[0].table is None
    assert model.as_of == "now"
    inspected = call("inspect", shops.model).stdout
    assert "sum(orders.amount, where channel =" in " ".join(inspected.split())


def test_predict_with_newer_rows(shops, call, tmp_path, monkeypatch):
    table = shops.folder / "new_customers.csv"
    outputs = []
    for number, link in enumerate(("orders=new_orders.csv", "orders=new_orders.parquet")):
        name, _, file = link.partition("=")
        out = tmp_path / f"{number}.csv"
        newer = f"{name}={shops.folder / file}"
        call("predict", shops.model, table, "-o", out, "--link", newer, "--keep", "rich")
        outputs.append(pl.read_csv(out))
    assert outputs[0].equals(outputs[1])
    assert (outputs[0]["rich"] == outputs[0]["prediction"]).mean() > 0.85
    # A few rows at a time, and the same link as in the fit.
    monkeypatch.setattr(sources, "MAX_ROW", 1 << 12)
    again = f"{shops.folder / 'new_orders.csv'}:{LINK},name=orders"
    call("transform", shops.model, table, "-o", tmp_path / "t.parquet", "--link", again)
    assert pl.read_parquet(tmp_path / "t.parquet").height == 300


def test_what_a_model_needs_is_told(shops, call, tmp_path):
    table, out = shops.folder / "new_customers.csv", tmp_path / "p.csv"
    said = call("predict", shops.model, table, "-o", out, code=1).stderr
    assert "needs the rows of its link 'orders'" in " ".join(said.split())
    assert "add --link orders=FILE" in " ".join(said.split())
    orders = shops.folder / "orders.csv"
    said = call(
        "predict", shops.model, table, "-o", out, "--link", orders, "--link", orders, code=1
    )
    assert "Two links are called 'orders'" in said.stderr
    said = call("predict", shops.model, table, "-o", out, "--link", f"lines={orders}", code=1)
    assert "The model has no link 'lines'" in said.stderr
    # The key is left out of the columns, but rows are found by it.
    without = tmp_path / "without.csv"
    pl.read_csv(table).drop("customer").write_csv(without)
    said = call("predict", shops.model, without, "-o", out, "--link", f"orders={orders}", code=1)
    assert "The table lacks 'customer'" in said.stderr
    assert not out.exists()


def test_sql_names_the_tables_of_links(shops, call):
    assert 'FROM "orders"' in call("sql", shops.model).stdout
    assert 'FROM "shop"."o"' in call("sql", shops.model, "--link", "orders=shop.o").stdout
    said = call("sql", shops.model, "--link", "lines=a", code=1)
    assert "links has a table for 'lines'" in said.stderr
    said = call("sql", shops.model, "--link", "orders", code=1)
    assert "must be a name and a table" in said.stderr


def test_a_folder_of_parquet_files_and_keys_of_other_names(shops, call, tmp_path):
    parts = tmp_path / "orders"
    parts.mkdir()
    orders = pl.read_parquet(shops.folder / "orders.parquet").rename({"customer": "id"})
    orders[:1000].write_parquet(parts / "1.parquet")
    orders[1000:].write_parquet(parts / "2.parquet")
    model = tmp_path / "m.fw"
    call(
        "fit", shops.folder / "customers.csv", "-t", "rich", "--as-of", "now", *SHORT, "--quiet",
        "--link", f"{parts}:on=customer=id,time=date", "-o", model,
    )  # fmt: skip
    ours, theirs = featurewright.load(model), featurewright.load(shops.model)
    assert [f.name for f in ours.features_] == [f.name for f in theirs.features_]
    np.testing.assert_array_equal(ours.gain_per_fold_, theirs.gain_per_fold_)


def test_history_and_group(call, tmp_path):
    rng = np.random.default_rng(0)
    n_stores, n_days = 160, 6  # so many stores that formulas for each of them do not do
    level = np.repeat(rng.normal(size=n_stores), n_days)
    frame = pl.DataFrame(
        {
            "store": np.repeat([f"s{k}" for k in range(n_stores)], n_days),
            "day": np.tile(np.arange(n_days), n_stores),
            "price": rng.normal(size=n_stores * n_days),
            "sold": level + 0.3 * rng.normal(size=n_stores * n_days),
        }
    )
    frame.write_csv(tmp_path / "sales.csv")
    for link in (
        "history:on=store,time=day,target_delay=1",
        "group:on=store,name=rows of the store",
    ):
        model = tmp_path / "m.fw"
        call("fit", tmp_path / "sales.csv", "-t", "sold", *SHORT, "--link", link, "-o", model, "-q")
        fitted = featurewright.load(model)
        assert fitted.gain_ > 0.2
        if link.startswith("group"):
            call("predict", model, tmp_path / "sales.csv", "-o", tmp_path / "p.csv", "-q")
            continue
        said = call("predict", model, tmp_path / "sales.csv", "-o", tmp_path / "h.csv", code=1)
        assert "add --link history=FILE" in " ".join(said.stderr.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("orders.csv", "does not say which key"),
        (":on=a", "does not say which key"),
        ("orders.csv:on=", "says nothing for 'on'"),
        ("orders.csv:on=a,tme=b", "did you mean 'time'?"),
        ("orders.csv:on=a,time=b,time=c", "says 'time' twice"),
        ("orders.csv:on=a,time", "says nothing for 'time'"),
        ("orders.csv:on=a,target_delay=1", "is for history:… and group:… alone"),
        ("group:on=a,target_delay=1", "of the group 'same a' needs"),
        ("history:on=a", "needs a time"),
        ("history:on=a,time=b,target_delay=soon", "give days, such as 1"),
        ("history:on=a=b,time=c", "name each key once"),
        ("group:on=a,time=b", "a group has none"),
        ("orders.csv:on=a,time=b", "add --as-of"),
        ("nowhere.csv:on=customer", "There is no file"),
    ],
)
def test_bad_links_are_refused_in_one_sentence(call, shops, tmp_path, text, said):
    arguments = ("-t", "rich", "--link", text, "-o", tmp_path / "m.fw")
    result = call("fit", shops.folder / "customers.csv", *arguments, code=1)
    assert said in " ".join(result.stderr.split())
    assert not (tmp_path / "m.fw").exists()


def test_columns_of_links_are_checked(call, shops):
    table, orders = shops.folder / "customers.csv", shops.folder / "orders.csv"
    timed = ("--as-of", "now", "--link")
    for arguments, said in (
        (("--link", f"{orders}:on=custmer"), "There is no column 'custmer': did you mean"),
        (("--link", f"{orders}:on=customer=custmer"), "did you mean 'customer'?"),
        ((*timed, f"{orders}:on=customer,time=day"), "There is no column 'day' in"),
        ((*timed, f"{orders}:{LINK}", "--drop", "customer"), "'customer' is dropped, but"),
        ((*timed, f"{orders}:{LINK}", "--order-by", "now"), "leave --order-by out"),
        ((*timed, f"{orders}:{LINK}", "--target", "now"), "cannot be the target and something"),
        (("--as-of", "then"), "There is no column 'then'"),
    ):
        target = () if "--target" in arguments else ("-t", "rich")
        result = call("fit", table, *target, *arguments, code=1)
        assert said in " ".join(result.stderr.split())


def test_targets_of_groups_are_known_after_a_delay():
    texts = parse_links(["group:on=store,target_delay=2", "group:on=shelf"], "day", None)
    assert [link.target_delay for link in make_links(texts, (), None)] == [2.0, 0.0]


def test_newer_rows_have_a_name_and_a_file():
    assert parse_newer("orders=a/b.csv").path == Path("a/b.csv")
    assert parse_newer("a/orders.csv.gz").title == "orders"
    assert parse_newer(f"a/b.csv:{LINK},name=orders").title == "orders"
    assert parse_link("C:/a/orders.csv:on=a").path == Path("C:/a/orders.csv")
    assert parse_link("group:on=a,on=b").title == "same a, b"
    for text, said in (("=b.csv", "must be a name and a file"), ("history:on=a,time=b", "=FILE")):
        with pytest.raises(Exception, match=said):
            parse_newer(text)
