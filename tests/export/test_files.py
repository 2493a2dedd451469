"""Models are the same after a way through a file."""

from __future__ import annotations

import io
import math
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from tests.cases import loop_over
from tests.export.cases import (
    ESTIMATORS,
    N_ROWS,
    TABLES,
    answers,
    as_bytes,
    fitted,
    make,
    pack,
    same,
    saved,
    table,
    target,
    unpack,
)

import featurewright
from featurewright import Operator, Real
from featurewright.auto.parts import learn_part
from featurewright.export import ModelFileError, load, save
from featurewright.export.files import load_to_transform
from featurewright.export.stored.foreign import Unread
from featurewright.export.stored.models import DERIVED, get_estimator, learned_kinds
from featurewright.export.stored.models import ESTIMATORS as STORED
from featurewright.export.stored.registry import CHOICES, RECORDS, get_choices, get_record
from featurewright.report import summarize

every_estimator = loop_over("name", ESTIMATORS)
# What the model in format_1.fw said when it was saved.
FIRST_NAMES = ["a", "b", "c", "(a + b) / a", "b / a", "b + b / a"]
FIRST_SHARES = [
    [0.005102040711790323, 0.9948979616165161],
    [1.0, 0.0],
    [0.7551020407117903, 0.2448979616165161],
]
FIRST_CLASSES = ["yes", "no", "no"]
SCRIPT = """
import pickle, sys
from pathlib import Path
import featurewright
from tests.export.cases import answers
folder = Path(sys.argv[1])
for path in sorted(folder.glob("*.fw")):
    rows = pickle.loads((folder / path.name.split(" ")[1]).with_suffix(".rows").read_bytes())
    found = answers(featurewright.load(path), rows)
    path.with_suffix(".answers").write_bytes(pickle.dumps(found))
"""


def reload(model):
    return load(io.BytesIO(as_bytes(model)))


def parts(data):
    """Take a file apart; skops writes the time into what it makes."""
    document, members = unpack(data)
    foreign = {name for name in members if name.endswith(".skops")}
    return document, {name: members[name] for name in members if name not in foreign}, foreign


@pytest.fixture(scope="module")
def other_process(tmp_path_factory):
    """Save all models here, and let another process load and ask them."""
    folder = tmp_path_factory.mktemp("models")
    for kind in TABLES:
        (folder / f"{kind}.rows").write_bytes(pickle.dumps(table(kind)))
        for name in ESTIMATORS:
            save(fitted(name, kind), folder / f"{name} {kind}.fw")
    run = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SCRIPT, str(folder)]
    subprocess.run(run, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    return folder


@every_estimator
@loop_over("kind", TABLES)
def test_another_process_says_the_same(name, kind, other_process):
    found = pickle.loads((other_process / f"{name} {kind}.answers").read_bytes())
    assert same(found, answers(fitted(name, kind), table(kind)))


def test_every_public_estimator_and_record_is_known():
    for name in ESTIMATORS:
        assert get_estimator(name) is ESTIMATORS[name]
    assert set(STORED) - set(ESTIMATORS) == {"CalibratedMember", "NeverMember"}
    for name in RECORDS:
        assert get_record(name).made.__name__ == name
    for name in CHOICES:
        assert get_choices(name).__name__ == name


@every_estimator
def test_loaded_models_are_estimators(name):
    model = load(io.BytesIO(saved(name, "pandas")))
    assert type(model) is ESTIMATORS[name]
    original = fitted(name, "pandas")
    assert repr(model.get_params()) == repr(original.get_params())
    assert set(vars(model)) == set(vars(original)) - {"_training"}
    assert list(model.feature_names_in_) == list(table("pandas").columns)
    again = clone(model)
    assert set(vars(again)) == set(model.get_params(deep=False))


@every_estimator
def test_fits_after_loading(name):
    model = load(io.BytesIO(saved(name))).fit(table("numbers"), target(name))
    assert same(answers(model, table("numbers")), answers(fitted(name), table("numbers")))


@every_estimator
def test_unfitted_models(name):
    model = reload(ESTIMATORS[name](random_state=np.int64(3)))
    assert model.random_state == 3
    assert type(model.random_state) is np.int64
    assert set(vars(model)) == set(model.get_params(deep=False))


@every_estimator
def test_the_same_model_gives_the_same_bytes(name):
    assert parts(as_bytes(fitted(name))) == parts(saved(name))


@every_estimator
def test_a_second_way_changes_nothing(name):
    data = saved(name, "polars")
    assert parts(as_bytes(load(io.BytesIO(data)))) == parts(data)


def test_dtypes_order_and_writing():
    model = fitted("ConstructiveForestClassifier")
    loaded = load(io.BytesIO(saved("ConstructiveForestClassifier")))
    for field, array in vars(model.forest_).items():
        other = getattr(loaded.forest_, field)
        assert other.dtype == array.dtype
        assert other.flags.c_contiguous == array.flags.c_contiguous
        assert other.flags.writeable
        assert other.flags.aligned
    assert not loaded._schema.domains.flags.writeable


def test_what_was_one_object_stays_one():
    tree = reload(fitted("FCTreeClassifier"))
    assert tree.node_operator_weights_ is tree.forest_.operator_weights
    ensemble = reload(fitted("KernelFeatureEnsembleClassifier"))
    assert ensemble.estimators_[0][0] is ensemble._runs[0].member.learner
    assert ensemble._base.schema is ensemble._schema
    features = reload(fitted("LandmarkKernelFeatures"))
    assert features.landmarks_ is features._map.landmarks


def test_random_states_go_on_where_they_were():
    random = np.random.RandomState(7)
    random.normal(size=3)
    model = reload(make("ConstructiveTreeClassifier", random_state=random))
    assert np.array_equal(model.random_state.normal(size=9), random.normal(size=9))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b"]),
        np.array(["ä\ud800", "b"], dtype=object),
        np.array([False, True]),
        np.array([-(2**60), 3]),
        np.array([1.0, 2.0], dtype=np.float32),
        pd.Categorical(["up", "down"]),
    ],
    ids=str,
)
def test_classes_of_all_kinds(labels):
    rows, codes = table("numbers"), (target("Classifier") > 0).astype(int)
    model = make("ConstructiveTreeClassifier").fit(rows, labels[codes])
    found, expected = reload(model).predict(rows), model.predict(rows)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


def test_levels_of_all_kinds():
    kinds = [True, 1, 2.5, b"x", "x", "\ud800", None]
    column = pd.Series([kinds[k % 7] for k in range(N_ROWS)], dtype=object)
    frame = pd.DataFrame({"mixed": column, "size": table("numbers")[:, 0]})
    model = make("ConstructiveForestClassifier").fit(frame, target("Classifier"))
    loaded = reload(model)
    assert repr(loaded._schema.levels) == repr(model._schema.levels)
    assert same(answers(loaded, frame), answers(model, frame))


def test_odd_parameters():
    weights = {0: 1.0, 1: float("inf"), 2: -0.0}
    model = make("ConstructiveForestClassifier", class_weight=weights, max_depth=10**30)
    model.set_params(operators=("add", "div"), max_samples=np.float32(0.3), min_gain=float("nan"))
    loaded = reload(model)
    assert loaded.class_weight == weights
    assert math.copysign(1, loaded.class_weight[2]) == -1
    assert loaded.max_depth == 10**30
    assert loaded.operators == ("add", "div")
    assert loaded.max_samples == np.float32(0.3)
    assert math.isnan(loaded.min_gain)


def test_output_and_routing_settings_stay():
    with sklearn.config_context(enable_metadata_routing=True):
        model = make("ConstructiveForestRegressor").set_output(transform="pandas")
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight="weights")
        loaded = reload(model.fit(table("pandas"), target("Regressor")))
        assert str(loaded.get_metadata_routing()) == str(model.get_metadata_routing())
    assert isinstance(loaded.transform(table("pandas")), pd.DataFrame)


def _ratio_to_sum(a, b):
    return a / (a + b)


def test_operators_of_the_user_go_by_name():
    own = Operator("ratio_to_sum", (Real, Real), Real, _ratio_to_sum)
    model = make("ConstructiveForestClassifier", operators=[own, "add"])
    data = as_bytes(model.fit(table("numbers"), target("Classifier")))
    with pytest.raises(ModelFileError, match="'ratio_to_sum', which is not registered"):
        load(io.BytesIO(data))
    featurewright.register_operator(own)
    loaded = load(io.BytesIO(data))
    assert loaded.operators[0] is own
    assert same(answers(loaded, table("numbers")), answers(model, table("numbers")))


def test_an_operator_of_another_kind_is_refused():
    own = Operator("files_own", (Real, Real), Real, _ratio_to_sum)
    data = as_bytes(make("ConstructiveTreeClassifier", operators=[own]))
    featurewright.register_operator(Operator("files_own", (Real,), Real, math.sqrt))
    with pytest.raises(ModelFileError, match="other inputs"):
        load(io.BytesIO(data))


def _kernel(x, z):
    return float(x @ z)


@pytest.mark.parametrize(
    "value",
    [_kernel, lambda x, z: 0.0, {1, 2}, np.random, object()],
    ids=["function", "lambda", "set", "module", "object"],
)
def test_what_no_file_can_hold(value, tmp_path):
    path = tmp_path / "model.fw"
    save(make("LandmarkKernelFeatures"), path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match=r"LandmarkKernelFeatures\.kernel is a .* cannot hold"):
        save(make("LandmarkKernelFeatures", kernel=value), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.fw"]


def test_values_that_contain_themselves():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        as_bytes(make("ConstructiveTreeClassifier", class_weight=loop))


@pytest.mark.parametrize("model", [None, "model", ESTIMATORS["BatchConstructor"], sklearn])
def test_only_our_estimators_are_saved(model, tmp_path):
    with pytest.raises(TypeError, match="featurewright's own estimators"):
        save(model, tmp_path / "model.fw")
    assert not list(tmp_path.iterdir())


def test_a_subclass_and_attributes_of_others_are_refused():
    class Own(featurewright.BatchConstructor):
        pass

    with pytest.raises(TypeError, match="featurewright's own estimators"):
        as_bytes(Own())
    model = make("BatchConstructor")
    model.note = "mine"
    with pytest.raises(TypeError, match="note is not an attribute"):
        as_bytes(model)


def test_a_class_of_ours_that_listens_is_saved_as_what_it_listens_to():
    own = {"__module__": "featurewright.cli.listening"}
    listening = type("Listening", (featurewright.AutoFeatures,), own)(time_budget=2)
    assert type(reload(listening)) is featurewright.AutoFeatures
    assert reload(listening).time_budget == 2


def test_dates_and_parts_of_every_kind():
    days = pd.date_range("2024-01-01", periods=N_ROWS, freq="31h")
    frame = table("pandas").assign(
        when=days, until=days + pd.Timedelta("3D"), took=pd.to_timedelta(range(N_ROWS), "min")
    )
    model = make("AutoFeatures", methods="batch").fit(frame, target("Classifier"))
    read = model.reader_.read(model, frame)
    made = {
        "landmark": make("LandmarkKernelFeatures"),
        "component": make("RecursiveSelectiveTransformer"),
        "path": make("ForestPathEncoder"),
    }
    for kind, part in made.items():
        part.fit(read, target("Classifier"))
        names = part.get_feature_names_out()
        added = learn_part(kind, kind, read, transformer=part, names=names, keep=[0, 2])
        model.parts_.append(added)
        model.columns_ += added.columns
    model.model_.fit(model.transform(frame), target("Classifier"))
    loaded = reload(model)
    assert same(answers(loaded, frame), answers(model, frame))
    assert same(answers(loaded, frame[3:4]), answers(model, frame[3:4]))
    assert loaded.reader_.times[0][2] is model.reader_.times[0][2]


@pytest.mark.parametrize("name", ["AutoFeatures", "RecursiveSelectiveTransformer"])
def test_columns_are_computed_without_reading_the_predictor(name, tmp_path):
    model, path = fitted(name, "pandas"), tmp_path / "model.fw"
    save(model, path)
    loaded = load_to_transform(path)
    rows = table("pandas")
    np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows), strict=True)
    if name == "AutoFeatures":
        assert isinstance(loaded.model_, Unread)
        assert not hasattr(loaded, "predict")


def test_results_of_earlier_versions_have_no_codes_of_reasons():
    document, members = unpack(saved("AutoFeatures", "pandas"))
    n_codes = 0
    for node in document["nodes"]:
        if node["kind"] == "dict":
            before = len(node["items"])
            node["items"] = [pair for pair in node["items"] if pair[0] != "reason_code"]
            n_codes += before - len(node["items"])
    assert n_codes > 0
    loaded = load(io.BytesIO(pack(document, members)))
    assert "reason_code" not in loaded.results_[0]
    assert summarize(loaded)["methods"]


def test_files_that_are_streams(tmp_path):
    with (tmp_path / "two.fw").open("wb") as file:
        file.write(b"before")
        save(make("BatchConstructor"), file)
    with (tmp_path / "two.fw").open("rb") as file:
        assert isinstance(load(file), featurewright.BatchConstructor)


def test_a_file_of_the_first_format():
    model = load(Path(__file__).with_name("format_1.fw"))
    assert model.get_feature_names_out().tolist() == FIRST_NAMES
    rows = pd.DataFrame({"a": [1.0, -2.0, np.nan], "b": [3.0, 3.0, 0.5], "c": ["x", None, "new"]})
    assert model.predict_proba(rows).tolist() == FIRST_SHARES
    assert model.predict(rows).tolist() == FIRST_CLASSES


@pytest.mark.parametrize("name", ["RecursiveSelectiveTransformer", "RecursiveSelectiveClassifier"])
def test_what_an_older_file_does_not_say_is_what_its_version_did(name):
    document, members = unpack(as_bytes(fitted(name)))
    parameters = document["nodes"][document["model"][0]]["parameters"]
    for parameter in ("project", "ranking", "remove_outliers", "calibration"):
        parameters.pop(parameter, None)
    loaded = load(io.BytesIO(pack(document, members)))
    assert (loaded.project, loaded.ranking, loaded.remove_outliers) == ("after", "class", False)
    assert loaded.get_params().get("calibration", "published") == "published"
    assert same(answers(loaded, table("numbers")), answers(fitted(name), table("numbers")))


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.fw"
    save(make("BatchConstructor"), path)
    before = path.read_bytes()

    def fail(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(fitted("BatchConstructor"), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.fw"]


def test_the_rights_of_a_file_and_links_stay(tmp_path):
    path, link = tmp_path / "model.fw", tmp_path / "link.fw"
    save(make("BatchConstructor"), path)
    path.chmod(0o640)
    link.symlink_to(path)
    save(fitted("BatchConstructor"), link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert hasattr(load(str(path)), "features_")


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*nothing\.fw': give one"):
        load(tmp_path / "nothing.fw")
    with pytest.raises(FileNotFoundError):
        save(make("BatchConstructor"), tmp_path / "nowhere" / "model.fw")


def test_very_regular_arrays_load_too():
    model = make("BatchConstructor")
    model._fill = np.zeros(9_000_000)
    data = as_bytes(model)
    with pytest.raises(ModelFileError, match="fitted, but lacks"):
        load(io.BytesIO(data))


def test_attributes_are_those_of_the_estimators():
    for name in ESTIMATORS:
        always, sometimes = learned_kinds(name)
        for kind in ("numbers", "pandas"):
            model = fitted(name, kind)
            held = set(vars(model)) - set(model.get_params()) - set(DERIVED)
            assert set(always) <= held <= {*always, *sometimes}


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        (None, TypeError, "path is a NoneType, but the name of a"),
        (b"m.fw", TypeError, "path is a bytes"),
        (io.StringIO(), TypeError, "path is a StringIO"),
    ],
)
def test_what_is_no_file_is_refused(path, error, message):
    with pytest.raises(error, match=message):
        save(make("ConstructiveTreeClassifier"), path)
    with pytest.raises(error, match=message):
        load(path)


def test_places_that_no_file_can_have_are_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, error, message in (
        (pipe, OSError, "is a device or a pipe, which a model file would replace"),
        (tmp_path, IsADirectoryError, "is a folder, but a file to write is expected"),
        (tmp_path / "no" / "m.fw", FileNotFoundError, "There is no folder to write"),
        ("a\0b", ValueError, "holds a NUL character"),
    ):
        with pytest.raises(error, match=message):
            save(make("ConstructiveTreeClassifier"), path)
    assert pipe.is_fifo()
    assert [*tmp_path.iterdir()] == [pipe]
