"""Sets without a data folder; OpenML is played by a stub."""

from __future__ import annotations

from types import SimpleNamespace
from urllib.error import URLError

import data
import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from fallback import MissingSetError, catalogue, fetch


@pytest.fixture
def no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FEATUREWRIGHT_DATA", str(tmp_path / "nothing"))
    caches = (data.manifest, data.why_missing, data.load, data.load_labels)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def answer(monkeypatch, frame=None, target=None, error=None):
    asked = []

    def stub(name, **options):
        asked.append((name, options["version"]))
        if error is not None:
            raise error
        return SimpleNamespace(data=frame, target=target)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", stub)
    return asked


def table(n_rows: int, names: list[str]) -> pd.DataFrame:
    values = np.random.default_rng(0).random((n_rows, len(names)))
    return pd.DataFrame(values, columns=names)


def test_a_set_of_openml(no_folder, monkeypatch):
    names = ["Speaker_Number", "Sex", *(f"f{k}" for k in range(10))]
    target = pd.Series([f"c{k % 11:02d}" for k in range(990)])
    asked = answer(monkeypatch, table(990, names), target)
    dataset = data.load("vowel")
    assert set(asked) == {("vowel", 2)}
    assert isinstance(dataset.X, np.ndarray)
    assert dataset.X.shape == (990, 10)
    np.testing.assert_array_equal(dataset.y, np.arange(990) % 11)
    assert data.present(["vowel"]) == (["vowel"], [])


def test_labels_that_are_numbers_keep_their_order(no_folder, monkeypatch):
    target = pd.Series([str(1 + k % 15) for k in range(360)], dtype="category")
    answer(monkeypatch, table(360, [f"f{k}" for k in range(90)]), target)
    np.testing.assert_array_equal(data.load("libras_movement").y, np.arange(360) % 15)


def test_words_for_numbered_classes(no_folder, monkeypatch):
    target = pd.Series(["tableware", "build wind non-float"] * 107)
    answer(monkeypatch, table(214, [f"f{k}" for k in range(9)]), target)
    assert list(fetch("glass")[1][:2]) == [4, 1]


def test_numbers_as_a_target(no_folder, monkeypatch):
    target = pd.Series([str(k % 6 + 3) for k in range(1599)])
    answer(monkeypatch, table(1599, [f"f{k}" for k in range(11)]), target)
    dataset = data.load("wine_quality_red")
    assert dataset.task == "regression"
    np.testing.assert_array_equal(dataset.y, np.arange(1599) % 6 + 3.0)


def test_several_labels(no_folder, monkeypatch):
    labels = pd.DataFrame(
        {f"l{k}": ["TRUE", "FALSE", "TRUE"] * 197 + ["FALSE"] * 2 for k in range(6)}
    )
    answer(monkeypatch, table(593, [f"f{k}" for k in range(72)]), labels)
    found = data.load_labels("mulan_emotions")
    assert found.X.shape == (593, 72)
    assert found.Y.shape == (593, 6)
    assert found.Y[0].tolist() == [1] * 6
    assert not found.own_split
    assert len(found.train) + len(found.test) == 593


def test_another_table_of_the_same_name_is_missing(no_folder, monkeypatch):
    answer(monkeypatch, table(10, ["a", "b"]), pd.Series(["x"] * 10))
    with pytest.raises(MissingSetError, match="another table, of shape"):
        fetch("sonar")


def test_no_network_makes_sets_missing_not_skipped(no_folder, monkeypatch):
    answer(monkeypatch, error=URLError("no route"))
    there, problems = data.present(["sonar", "twonorm", "landmine", "iris", "synthetic:50x8"])
    assert there == ["twonorm", "iris", "synthetic:50x8"]
    assert problems == [
        "sonar is missing: OpenML does not answer for sonar: URLError.",
        "landmine is missing: neither the data folder nor OpenML has it.",
    ]


@pytest.mark.parametrize("name", ["twonorm", "ringnorm", "waveform", "iris", "wine", "digits"])
def test_sets_that_need_no_network(no_folder, name):
    dataset = data.load(name)
    entry = catalogue()[name]
    assert dataset.X.shape == (entry["n_rows"], entry["n_features"])
    assert dataset.n_classes == entry["n_classes"]
    assert data.why_missing(name) == ""


def test_a_file_that_the_manifest_lists_but_is_gone(tmp_path, monkeypatch, no_folder):
    (tmp_path / "MANIFEST.json").write_text(
        '{"datasets": {"lost": {"file": "lost.parquet", "task": "binary", "n_rows": 1}}}'
    )
    monkeypatch.setenv("FEATUREWRIGHT_DATA", str(tmp_path))
    data.manifest.cache_clear()
    assert data.present(["lost"])[1] == [
        "lost is missing: the data folder lists it, but its file is not there."
    ]
