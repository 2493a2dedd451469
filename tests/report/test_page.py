"""Summaries and pages: what they say, that they are plain, and that names are only names."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit
from tests.report.cases import fitted

from featurewright import AutoFeatures
from featurewright.auto.score_text import Score
from featurewright.auto.text import Grid, Line, few_formulas, front_blocks, target_line
from featurewright.report import as_text, render, result_blocks, summarize, write_report
from featurewright.report.drawings import draw_profile, scale_of


def test_summary_is_plain_and_counts_right():
    summary = summarize(fitted())
    json.dumps(summary, allow_nan=False)
    assert summary["columns_in"] == summary["originals_out"] == 4
    assert summary["columns_out"] == 10
    assert [feature["rank"] for feature in summary["features"]] == [1, 2, 3, 4, 5, 6]
    assert summary["features"][0]["inputs"] == ["width", "height"]
    assert summary["features"][0]["profile"]["name"] == "width / height"
    assert summary["columns"] == []


def test_verdict_that_features_help():
    verdict = summarize(fitted())["verdict"]
    assert verdict["sentence"] == (
        "Use the new features: 6 constructed columns raise the held-out accuracy of the linear "
        "model from 78.8% to 81.4%."
    )
    assert verdict["clear"]
    assert not verdict["keep_original"]


def test_verdict_that_a_gain_may_be_chance():
    model = fitted()
    model.gain_std_ = 0.03
    verdict = summarize(model)["verdict"]
    assert not verdict["clear"]
    assert "can be chance" in verdict["sentence"]


def test_verdict_to_keep_the_original_columns():
    verdict = summarize(fitted(keep_original=True))["verdict"]
    assert verdict["keep_original"]
    assert verdict["sentence"].startswith("Keep the original columns: 3 methods tried")


def test_combinations_are_no_methods_of_their_own():
    model = fitted(keep_original=True)
    joined = {**model.results_[1], "method": "forest + batch"}
    model.results_.append(joined)
    assert "3 methods tried" in summarize(model)["verdict"]["sentence"]


def test_one_fold_has_no_spread():
    model = fitted()
    model.gain_per_fold_ = model.gain_per_fold_[:1]
    for entry in model.estimator_scores_:
        entry["before"], entry["after"] = entry["before"][:1], entry["after"][:1]
    summary = summarize(model)
    assert summary["before"]["spread_text"] == summary["after"]["spread_text"] == ""
    assert summary["measured"].startswith("One fold")
    assert "the same fold chose the features" in summary["measured"]
    model.best_method_ = "original"
    assert "chosen" not in summarize(model)["measured"]  # there are no features to flatter
    assert "across folds" not in render(summary)
    assert summarize(fitted())["measured"].startswith("Means of 5 folds")


@pytest.mark.parametrize(
    ("reason", "short"),
    [
        ({"status": "failed", "reason": "RuntimeError: it ran out of time"}, False),
        ({"status": "failed", "reason": "RuntimeError: no", "reason_code": "error"}, False),
        ({"status": "stopped", "reason": "no better with all rows"}, False),
        ({"status": "stopped", "reason": "the time is better spent on other methods"}, True),
        ({"status": "skipped", "reason": "in other words", "reason_code": "no_time"}, True),
    ],
)
def test_one_fold_is_for_want_of_time_only_where_that_is_the_reason(reason, short):
    """With the codes of reasons, and with the texts alone that earlier model files hold."""
    model = fitted()
    model.gain_per_fold_ = model.gain_per_fold_[:1]
    model.results_[-1] |= reason
    assert ("no time for more" in summarize(model)["measured"]) == short
    assert summarize(model)["methods"][-1]["reason"] == reason["reason"]


def test_folds_in_time_order_are_told():
    model = fitted()
    assert "after theirs in time" not in summarize(model)["measured"]
    model.cv = TimeSeriesSplit(5)
    summary = summarize(model)
    assert "nor the model saw and that come after theirs in time." in summary["measured"]
    assert "after theirs in time" in render(summary)


def test_verdict_without_any_method():
    model = fitted(keep_original=True)
    model.results_ = model.results_[:1]
    assert "too few rows" in summarize(model)["verdict"]["sentence"]


def test_errors_are_shown_without_a_sign():
    summary = summarize(fitted(task="regression"))
    assert summary["before"]["value"] > summary["after"]["value"] > 0
    assert "lower the held-out RMSE" in summary["verdict"]["sentence"]
    assert summary["estimators"][0]["verdict"] == "better"
    assert summary["gain_text"].startswith("−")


@pytest.mark.parametrize(
    ("scoring", "name", "text"),
    [
        ("accuracy", "accuracy", "12.5%"),
        ("roc_auc", "area under the ROC curve", "0.125"),
        ("roc_auc_ovr", "area under the ROC curve", "0.125"),
        ("neg_log_loss", "log loss", "−0.125"),
        ("my_own_score", "my own score", "0.125"),
    ],
)
def test_scores_in_words(scoring, name, text):
    assert Score(scoring).name == name
    assert Score(scoring).text(0.125) == text


@pytest.mark.parametrize("scoring", ["accuracy", "r2", "neg_mean_squared_error"])
def test_nothing_has_no_minus(scoring):
    score = Score(scoring)
    for value in (-1e-9, 0.0, 1e-9):
        assert "−" not in score.difference(value) or scoring == "neg_mean_squared_error"
    assert score.difference(-0.0).startswith("+0")
    assert "−" in Score("r2").difference(-0.01)


def test_page_is_one_file_without_addresses():
    page = render(summarize(fitted()))
    assert not re.search(r"(src|href)\s*=", page)
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src &#39;none&#39;" in page


@pytest.mark.parametrize("case", [{}, {"task": "regression"}, {"keep_original": True}])
def test_page_is_the_same_every_time(case):
    assert render(summarize(fitted(**case))) == render(summarize(fitted(**case)))


def test_page_escapes_every_name():
    names = ["<b>", "&amp;", "'\"`", "\ud800"]
    model = fitted(names=names, labels=["<i>x</i>"] * 2, target="<u>")
    model.best_method_ = model.results_[1]["method"] = "<s>"
    model.results_[4]["reason"] = "<q>"
    model.estimator_scores_[0]["estimator"] = "<em>"
    page = render(summarize(model), model_file="<tt>")
    for tag in ("<b>&", "<i>", "<u>", "<s>", "<q>", "<em>", "<tt>"):
        assert tag not in page
    assert "&lt;b&gt;" in page


def test_a_report_has_a_fitted_model_and_a_folder(tmp_path):
    with pytest.raises(TypeError, match="needs a fitted AutoFeatures, got one that is not fitted"):
        write_report(AutoFeatures(), tmp_path / "report.html")
    with pytest.raises(FileNotFoundError, match=r"There is no folder to write .*: make it"):
        write_report(fitted(), tmp_path / "no" / "report.html")


def test_write_report_leaves_nothing_half_written(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    write_report(fitted(names=["a", "b", "c", "\ud800"]), path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(fitted(), path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_bytes() == before


def test_front_in_summary_and_page():
    summary = summarize(fitted())
    points = summary["front"]
    assert [point["n_formulas"] for point in points] == [0, 1, 2, 3, 6]
    assert [point["chosen"] for point in points] == [False] * 4 + [True]
    assert points[0]["gain_text"] == "+0.0 points"
    assert points[2]["gain_text"] == "+2.0 points"
    assert summary["path"][0]["name"] == "width / height"
    assert summary["features"][2]["stability_text"] == "80%"
    page = render(summary)
    assert page.count('data-told="') == 5
    assert 'data-count="3" aria-pressed="false"' in page
    assert 'data-count="6" aria-pressed="true"' in page
    assert page.count("of the folds</small>") == 12  # of the features, and of the path


def test_where_something_else_was_kept_a_few_formulas_are_shown():
    model = fitted()
    model.front_ = [{**point, "chosen": False} for point in model.front_]
    page = render(summarize(model))
    assert "Something else was kept" in page
    assert 'class="ring"' not in page
    assert page.count("<li hidden>") == 3
    assert "What was kept (forest) is not one of these." in as_text(result_blocks(summarize(model)))
    assert render(summarize(fitted(keep_original=True))).count("<li hidden>") == 6


def test_models_of_earlier_versions_have_a_page_without_a_front():
    model = fitted()
    for name in ("front_", "path_", "path_stability_", "stability_", "stopped_by_time_"):
        delattr(model, name)
    summary = summarize(model)
    assert summary["front"] == summary["path"] == []
    assert summary["cut_short"] == summary["features"][0]["stability_text"] == ""
    page = render(summary)
    assert "How many formulas" not in page
    assert "of the folds</small>" not in page
    assert "found again" not in as_text(result_blocks(summary))


def test_a_search_that_was_cut_short_says_so():
    model = fitted()
    model.stopped_by_time_, model.time_budget = True, 2.5
    summary = summarize(model)
    assert "cut short by its time limit of 2.5 seconds" in summary["cut_short"]
    assert summary["cut_short"] in render(summary)
    assert "cut short" in as_text(result_blocks(summary))


def test_methods_that_gained_more_are_told_of():
    model = fitted()
    assert summarize(model)["refused"] == []
    model.results_[3] |= {"gain": 0.063, "gain_std": 0.012, "fold_scores": [0.84]}
    model.results_[3] |= {"status": "stopped", "reason": "far behind other methods"}
    sentence = (
        "batch gained more on the 1 of 5 folds where it was tried (+6.3 points ± 1.2), but was not "
        "kept: far behind other methods."
    )
    summary = summarize(model)
    assert summary["refused"] == [sentence]
    assert sentence in render(summary)
    original = summarize(fitted(keep_original=True))["refused"]
    assert [told.split()[0] for told in original] == ["forest", "batch"]
    assert original[0].endswith("but the best of many may do so by chance.")


def test_what_noise_may_do_is_not_told_of():
    model = fitted()
    gain = float(model.gain_)
    model.results_[3] |= {"gain": gain + 0.01, "gain_std": 0.012, "status": "done", "reason": ""}
    assert summarize(model)["refused"] == []


def test_one_fold_has_no_error():
    model = fitted()
    for point in model.front_:
        point["fold_gains"] = point["fold_gains"][:1]
    text = as_text(front_blocks(summarize(model)))
    assert "One fold was scored" in text
    assert "±" not in text


@pytest.mark.parametrize(
    ("task", "labels", "y", "told"),
    [
        ("classification", None, None, "The target is treated as 4 classes."),
        ("classification", [3, 4], None, "The target is treated as 2 classes."),
        ("classification", [3, 4, 5], None, "3 classes; --task regression changes that."),
        ("regression", None, None, "a number; --task classification changes that."),
        ("regression", None, np.arange(28), "(28 different values); --task classification"),
        ("regression", None, np.arange(5000), "a number (5,000 different values)."),
    ],
)
def test_what_the_target_was_taken_for(task, labels, y, told):
    model = fitted(task=task)
    model.classes_ = model.classes_ if labels is None else np.array(labels)
    summary = summarize(model, y)
    assert told in target_line(summary)
    page = render(summary)  # its reader may use Python or the command line
    assert target_line(summary, python=None) in page.replace("&#34;", '"')
    assert "--task" not in target_line(summary, python=True)


def test_text_wraps_and_holds_what_the_page_holds():
    summary = summarize(fitted(names=["w" * 70, "h" * 70, "mean radius", "\x1b[31mred"]))
    text = as_text(result_blocks(summary, python=True), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert summary["verdict"]["sentence"] in " ".join(text.split())
    assert "\x1b" not in text
    assert "Columns left out" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["6", "81.4%", "±", "0.6%", "+2.6", "points", "±", "0.8", "chosen"] in lines
    assert "limit(3) gives a model with 3" in text


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="needs a fitted AutoFeatures, got ndarray"):
        summarize(np.zeros(1))


def test_drawings_of_nothing():
    assert draw_profile(None, []) is None
    assert scale_of([None, float("nan")]) == (0.0, 1.0)
    low, high = scale_of([3.0])
    assert low < 3.0 < high


def test_the_example_of_fewer_formulas_is_less_than_was_kept():
    summary = summarize(fitted())
    chosen = next(point["n_formulas"] for point in summary["front"] if point["chosen"])
    assert chosen > few_formulas(summary) >= 1
    for point in summary["front"]:
        point["chosen"] = point["n_formulas"] == 1
    assert few_formulas(summary) is None
    assert "limit(" not in as_text(front_blocks(summary, python=True))
    assert "limit(" not in render(summary)


def test_where_other_folds_confirmed_the_choice_the_front_says_so():
    model = fitted()
    model.front_[0]["score"] = model.baseline_score_
    assert "further folds" not in summarize(model)["front_measured"]
    model.baseline_score_ += 0.01
    assert "further folds that put the choice to the proof" in summarize(model)["front_measured"]


def test_one_fold_that_gained_more_is_no_proof():
    model = fitted()
    model.results_[3] |= {"gain": 0.9, "gain_std": float("nan"), "fold_scores": [0.84]}
    assert summarize(model)["refused"] == []


def test_original_columns_are_not_compared_with_themselves():
    text = as_text(result_blocks(summarize(fitted(keep_original=True))))
    assert "original columns" in text
    assert "with features" not in text


def test_pages_without_a_gain_show_none():
    page = render(summarize(fitted(keep_original=True)))
    assert "after, with features" not in page
    assert "With and without the features" not in page
    assert "after, with features" in render(summarize(fitted()))
    summary = {**summarize(fitted()), "is_sum": True, "estimators": [], "front": []}
    assert "No model was compared" not in render(summary)


def test_gains_that_further_folds_did_not_confirm_are_told_of():
    model = fitted()
    told = "Over all 7 folds, formulas gained +1.0 points ± 2.0."
    scores = {"fold_scores": [0.8] * (len(model.front_[0]["fold_gains"]) + 2)}
    model.results_.append(
        model.results_[1] | scores | {"method": "formulas", "gain": 0.01, "gain_std": 0.02}
    )
    assert "Over all" not in summarize(model)["front_measured"]
    model.best_method_ = "original"
    assert summarize(model)["front_measured"].endswith(told)


def test_a_page_without_new_columns_does_not_speak_of_them():
    summary = summarize(fitted())
    assert "and the constructed ones" in render(summary)
    summary["originals_out"] = summary["columns_out"]
    assert "and the constructed ones" not in render(summary)
    assert "columns: the original ones, as numbers without missing values." in render(summary)


def test_a_table_after_a_table_has_one_blank_line_between():
    grid = Grid("A", ("a",), [("1",)])
    assert "\n\n\n" not in as_text([Line("First."), grid, grid, Line("Last.")])


def test_a_search_that_time_ended_is_not_told_to_use_more_folds():
    model = fitted(keep_original=True)
    model.stopped_by_time_, model.time_budget = True, 1
    model.gain_per_fold_ = model.gain_per_fold_[:1]
    model.results_ = [result for result in model.results_ if result["status"] == "done"]
    for result in model.results_:
        result["fold_scores"] = result["fold_scores"][:1]
    summary = summarize(model)
    assert "time ran out before any gain could be confirmed" in summary["verdict"]["sentence"]
    assert "Search longer for a surer answer" in summary["measured"]
    assert "its time limit of 1 second:" in summary["cut_short"]
