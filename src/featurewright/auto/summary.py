"""A fitted `AutoFeatures` as a dict of plain values, from which the page is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

import featurewright
from featurewright.auto.link_words import explain_links
from featurewright.auto.links import used_links as needed_links
from featurewright.auto.methods import ADDITIVE, FORMULAS
from featurewright.auto.originals import ORIGINAL_KINDS
from featurewright.auto.outcomes import Reason, reason_of
from featurewright.auto.score_text import Score
from featurewright.expressions import Feature

ORIGINAL = "original"
"""Label of the original columns, which all methods are compared with."""

JOINED = " + "
"""What separates the methods in the label of a combination."""

CLEAR_ERRORS = 2.0
"""Standard errors above which a gain is called clear."""

ESTIMATORS = {
    "linear": "linear model",
    "knn": "nearest neighbours",
    "boosting": "boosted trees",
}
TASKS = {
    "classification": "classification",
    "regression": "regression",
    "multilabel": "several labels",
}
_MANY_VALUES = 100  # different numbers above which nobody would call a target classes
_MAX_LEFT_OUT = 20  # columns left out for one reason which are listed
_MAX_REFUSED = 3  # methods that looked better which are told of


def summarize(model: Any, y: Any = None) -> dict[str, Any]:
    """Collect what a fitted `AutoFeatures` found, as plain values for JSON.

    Parameters
    ----------
    model : AutoFeatures
        Fitted.
    y : array-like, optional
        The target, whose different numbers are counted; that of the training rows by default, where
        they are at hand.

    Returns
    -------
    dict
        ``verdict`` (``keep_original``, ``helps``, ``clear``, ``sentence``), ``before`` and
        ``after`` (value, spread, text), ``gain`` and ``gain_error``, ``estimators``,
        ``is_sum`` (whether it is what `to_additive` returned), ``methods``, ``features``,
        ``links`` (what the columns over links in these are, in words),
        ``needed_links`` (names of links whose rows are needed), ``columns`` that are not formulas,
        ``front`` (a point for each number of formulas) with ``front_measured`` (a sentence) and
        ``path`` (the formulas in that order),
        ``refused`` (a sentence for each method that looked better), ``left_out``, ``cut_short`` (a
        sentence, or empty) and what was asked: ``task``, ``taken_for``, ``target``, ``score``.

    Examples
    --------
    >>> from featurewright.auto.summary import summarize
    >>> summarize("a model")
    Traceback (most recent call last):
    ...
    TypeError: A report needs a fitted AutoFeatures, got str: fit one first.
    """
    if not hasattr(model, "results_") or not hasattr(model, "best_method_"):
        got = "one that is not fitted" if hasattr(model, "effort") else type(model).__name__
        raise TypeError(f"A report needs a fitted AutoFeatures, got {got}: fit one first.")
    if y is None and getattr(model, "_training", None) is not None:
        y = model._training.y
    score = Score(str(model.scoring_))
    methods = [_method(result, score, model.best_method_) for result in model.results_]
    estimators = [_estimator(entry, score) for entry in _compared(model)]
    # What the search measured is not about a sum of terms.
    is_sum = model.best_method_ == ADDITIVE
    front = [] if is_sum else getattr(model, "front_", None) or []
    features = _features(model)
    names = {feature["name"] for feature in features}
    originals, others = _other_columns(model, names)
    profile = getattr(model, "profile_", None) or {}
    return {
        "version": featurewright.__version__,
        "task": TASKS.get(model.task_, str(model.task_)),
        "taken_for": _taken_for(model, y),
        "target": None if model.target_name_ is None else str(model.target_name_),
        "columns_in": int(model.n_features_in_),
        "columns_out": len(model.columns_),
        "originals_out": originals,
        "score": {
            "scoring": score.scoring,
            "name": score.name,
            "is_share": score.is_share,
            "meaning": score.meaning,
            "lower_is_better": score.lower_is_better,
        },
        "folds": len(model.gain_per_fold_),
        "measured": _how_measured(
            len(model.gain_per_fold_),
            _short_of_time(model),
            _in_order(model),
            model.best_method_ != ORIGINAL,
        ),
        "cut_short": _cut_short(model),
        "best_method": str(model.best_method_),
        "before": _amount(score, model.baseline_score_, _spread_of(estimators, "before")),
        "after": _amount(score, model.score_, _spread_of(estimators, "after")),
        **_difference(score, model.gain_, model.gain_std_),
        "verdict": _verdict(model, score, estimators, len(features) + len(others)),
        "is_sum": is_sum,
        "estimators": [] if is_sum else estimators,
        "methods": methods,
        "classes": list(profile.get("classes", [])),
        "profiled_rows": int(profile.get("rows", 0)),
        "features": features,
        "links": explain_links(model, (name for f in features for name in f["inputs"])),
        "needed_links": needed_links(model),
        "columns": others,
        "front": [_point(point, score) for point in front],
        "front_measured": _front_measured(model, score, front),
        "path": _path(model),
        "refused": _refused(model, score, methods),
        "left_out": _left_out(model.left_out_),
    }


def _left_out(reasons: dict[str, str]) -> list[dict[str, str]]:
    """List columns that are not used, of many with one reason the first ones."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(str(reason), []).append(str(name))
    found = []
    for reason, names in by_reason.items():
        found += [{"name": name, "reason": reason} for name in names[:_MAX_LEFT_OUT]]
        if len(names) > _MAX_LEFT_OUT:
            more = f"and {len(names) - _MAX_LEFT_OUT:,} more"
            found.append({"name": more, "reason": reason})
    return found


def estimator_name(name: str) -> str:
    """Return what people call an estimator."""
    return ESTIMATORS.get(name, name)


def _known(value: Any) -> float | None:
    """Return a finite number; None for others, such as the error of a single fold."""
    return None if value is None or not np.isfinite(value) else float(value)


def _amount(score: Score, value: Any, spread: Any) -> dict[str, Any]:
    """Return a score with its spread, as numbers and as text."""
    mean = _known(value)
    return {
        "value": None if mean is None else score.value(mean),
        "spread": _known(spread) or 0.0,
        "text": score.text(mean),
        "spread_text": score.spread(_known(spread)),
    }


def _difference(score: Score, gain: Any, error: Any) -> dict[str, Any]:
    """Return a difference of scores with its standard error, as numbers and as text."""
    mean = _known(gain)
    return {
        "gain": None if mean is None else score.value(mean),
        "gain_error": _known(error),
        "gain_text": score.difference(mean),
        "gain_error_text": score.error(_known(error)),
    }


def _spread_of(estimators: Sequence[dict[str, Any]], when: str) -> float | None:
    """Return the spread across folds of the first estimator, the one the features are for."""
    known = estimators and estimators[0][when]["spread_text"]
    return float(estimators[0][when]["spread"]) if known else None


def _in_order(model: Any) -> bool:
    """Whether every fold is scored on rows that come after its training rows."""
    return isinstance(model.cv, TimeSeriesSplit) or bool(getattr(model, "later_folds_", False))


def _how_measured(n_folds: int, short_of_time: bool, in_order: bool, kept: bool) -> str:
    """Return a sentence about what scores are means of, and what their errors are."""
    later = " and that come after theirs in time" if in_order else ""
    seen = f"every score is measured on rows that neither the features nor the model saw{later}"
    if n_folds < 2:
        chosen = (
            ", but the same fold chose the features, so their score is a little too good. ± is the "
            "standard error of the gain, from parts of the fold's rows"
        )
        return (
            f"One fold{', as there was no time for more' * short_of_time}: {seen}{chosen * kept}. "
            f"{'Search longer' if short_of_time else 'Use more folds'} for a surer answer."
        )
    return (
        f"Means of {n_folds} folds: {seen}. ± is the spread across folds; for gains, the standard "
        "error of the paired differences."
    )


def _short_of_time(model: Any) -> bool:
    """Whether time was the reason why something was not tried, or no further."""
    reasons = (reason_of(result) for result in model.results_)
    return getattr(model, "stopped_by_time_", False) or any(
        reason is not None and reason.is_short_of_time for reason in reasons
    )


def _cut_short(model: Any) -> str:
    """Return a sentence where the time limit ended the search; "" where it did not."""
    if not getattr(model, "stopped_by_time_", False):
        return ""
    # The parameter may be another one by now.
    seconds = model.time_budget
    limit = "" if seconds is None else f" of {seconds:g} second{'s' * (seconds != 1)}"
    return (
        f"The search was cut short by its time limit{limit}: another run may find something else. "
        "Allow more time, or search with less effort."
    )


def _taken_for(model: Any, y: Any) -> dict[str, Any]:
    """Return what the target was taken for, as text, and the task that it could be instead."""
    if model.task_ == "multilabel":
        return {"text": "The target is treated as several labels", "other": None}
    if model.task_ == "classification":
        classes = np.asarray(model.classes_)
        # Two numbers are hardly ever a quantity.
        other = "regression" if classes.dtype.kind in "iuf" and len(classes) > 2 else None
        return {"text": f"The target is treated as {len(classes)} classes", "other": other}
    text, other = "The target is treated as a number", "classification"
    if y is not None and np.ndim(y) == 1:
        n_values = len(np.unique(np.asarray(y)))
        text += f" ({n_values:,} different values)"
        other = other if n_values <= _MANY_VALUES else None
    return {"text": text, "other": other}


def _point(point: dict[str, Any], score: Score) -> dict[str, Any]:
    """Describe the choice of some number of formulas; its spread is a standard error."""
    several = len(point["fold_gains"]) > 1  # files of earlier versions have 0 for what is unknown
    return {
        "n_formulas": int(point["n_formulas"]),
        "chosen": bool(point["chosen"]),
        **_amount(score, point["score"], point["score_std"] if several else None),
        **_difference(score, point["gain"], point["gain_std"] if several else None),
    }


def _front_measured(model: Any, score: Score, points: Sequence[dict[str, Any]]) -> str:
    """Return a sentence on what the front's scores are means of; "" where there is no front."""
    if len(points) < 2:
        return ""
    n_folds = len(points[0]["fold_gains"])
    if n_folds < 2:
        return "One fold was scored: errors are unknown."
    told = f"Means of {n_folds} folds; ± is one standard error."
    base, first = float(model.baseline_score_), float(points[0]["score"])
    if not np.isclose(base, first, rtol=1e-9, atol=0.0):
        told += (
            f" The scores above are from the {len(model.gain_per_fold_)} further folds that "
            "put the choice to the proof, so they differ."
        )
    tried = next((r for r in model.results_ if r["method"] == FORMULAS), None)
    if model.best_method_ == ORIGINAL and tried and len(tried["fold_scores"]) > n_folds:
        # Points may look good that the further folds did not confirm.
        gain, error = _known(tried["gain"]), _known(tried["gain_std"])
        told += (
            f" Over all {len(tried['fold_scores'])} folds, formulas gained "
            f"{score.difference(gain)} ± {score.error(error)}."
        )
    return told


def _path(model: Any) -> list[dict[str, Any]]:
    """List the formulas of all methods in the order in which they are taken."""
    path = getattr(model, "path_", None)
    if path is None:
        return []
    shares = getattr(model, "path_stability_", None)
    shares = [None] * len(path.features) if shares is None else shares
    # A formula that is kept is looked for among fewer: it has one share wherever it is shown.
    stability = getattr(model, "stability_", None)
    kept = {}
    if stability is not None:
        kept = {f.name: share for f, share in zip(model.features_, stability, strict=True)}
    return [
        {
            "name": feature.name,
            "words": feature.words(),
            "mathml": feature.mathml(),
            "stability_text": _found_again(kept.get(feature.name, share)),
        }
        for feature, share in zip(path.features, shares, strict=True)
    ]


def _found_again(share: Any) -> str:
    """Return the share of folds in which a formula was found, as text; "" where it is unknown."""
    return "" if share is None or np.isnan(share) else f"{100 * float(share):.0f}%"


def _refused(
    model: Any, score: Score, methods: Sequence[dict[str, Any]], n_errors: float = 1.0
) -> list[str]:
    """Return a sentence for each of the few methods that gained more than what was kept.

    More by some standard errors: below that it is noise.
    """
    found = {
        r["method"]: (_known(r["gain"]) or 0.0, _known(r["gain_std"]) or 0.0)
        for r in model.results_
    }
    kept = max(float(model.gain_), found.get(model.best_method_, (0.0, 0.0))[0])

    def lead(method: dict[str, Any]) -> float:
        """Return the gain beyond what was kept, less some standard errors."""
        gain, error = found[method["name"]]
        return gain - n_errors * error - kept

    better = [m for m in methods if not m["is_best"] and m["gain_error_text"] and lead(m) > 0.0]
    better.sort(key=lambda method: -lead(method))
    n_folds = max((method["n_folds"] for method in methods), default=0)
    sentences = []
    for method in better[:_MAX_REFUSED]:
        gain = f"{method['gain_text']} ± {method['gain_error_text']}"
        tried = method["n_folds"]
        folds = f"all {n_folds}" if tried == n_folds else f"the {tried} of {n_folds}"
        where = f"{folds} folds" + " where it was tried" * (tried < n_folds)
        looked = f"{method['shown']} gained more on {where} ({gain})"
        if method["reason"]:
            sentences.append(f"{looked}, but was not kept: {method['reason']}.")
        elif model.best_method_ == ORIGINAL:
            sentences.append(f"{looked}, but the best of many may do so by chance.")
        else:
            sentences.append(f"{looked}, but not clearly more than what was kept.")
    return sentences


def unexpected(model: Any) -> list[str]:
    """Return what the user of a search should be told unasked, as sentences.

    That nothing could be tried, or that something was refused which gained clearly more; what
    gained a little more is in the summary.
    """
    score = Score(str(model.scoring_))
    methods = [_method(result, score, model.best_method_) for result in model.results_]
    told = []
    if not any(m["n_folds"] for m in methods if not m["is_original"]):
        reasons = dict.fromkeys(m["reason"] for m in methods if m["reason"])
        if {reason_of(r) for r in model.results_ if r["reason"]} == {Reason.NOTHING_NEW}:
            return ["No method found anything beyond the original columns: these are kept."]
        why = f" ({'; '.join(reasons)})" if reasons else ""
        told.append(f"No method could be tried{why}: the original columns are kept.")
    return [*told, *_refused(model, score, methods, CLEAR_ERRORS)]


def _one_fold(results: Sequence[dict[str, Any]]) -> bool:
    """Whether something gained, and no method was tried on more than one fold."""
    tried = [r for r in results if r["method"] != ORIGINAL and r["fold_scores"]]
    return all(len(r["fold_scores"]) < 2 for r in tried) and any(r["gain"] > 0.0 for r in tried)


def _verdict(
    model: Any, score: Score, estimators: Sequence[dict[str, Any]], n_new: int
) -> dict[str, Any]:
    """Return the verdict: what to do, in one sentence."""
    tried = sum(
        result["status"] in {"done", "stopped"}
        and result["method"] not in (ORIGINAL, FORMULAS)
        and JOINED not in result["method"]
        for result in model.results_
    )
    whom = estimators[0]["name"] if estimators else "model"
    keep = model.best_method_ == ORIGINAL or n_new == 0
    clear = float(model.gain_) > CLEAR_ERRORS * float(model.gain_std_)
    if keep:
        unproved = _one_fold(model.results_)
        reasons = {r["reason"] for r in model.results_ if r["method"] != ORIGINAL and r["reason"]}
        if not tried and len(reasons) == 1:
            sentence = f"Keep the original columns: no method could be tried ({reasons.pop()})."
        elif not tried:
            sentence = (
                "Keep the original columns: there was too little time, or there are too few "
                "rows, to try any method."
            )
        elif unproved and _short_of_time(model):
            sentence = (
                "Keep the original columns for now: time ran out before any gain could be "
                "confirmed; search longer."
            )
        elif unproved:
            sentence = (
                "Keep the original columns for now: a single fold of so few rows is not enough "
                "evidence; use more folds."
            )
        else:
            sentence = (
                f"Keep the original columns: {tried} method{'s' * (tried != 1)} tried, and no "
                f"constructed feature raised the held-out {score.name} of the {whom} beyond "
                "chance (a gain counts if it is clearly above its standard error)."
            )
        return _decision(sentence, keep_original=True, helps=False, clear=not unproved)
    if model.best_method_ == ADDITIVE:
        sentence = (
            f"A sum of {len(model.terms_)} terms: its own held-out {score.name} was not measured; "
            "score it on rows that the search did not see."
        )
        if float(model.gain_) > 0.0:
            sentence += (
                f" What the search kept raised the {whom} from {score.text(model.baseline_score_)} "
                f"to {score.text(model.score_)}."
            )
        return _decision(sentence)
    columns = f"{n_new} constructed column{'s' * (n_new != 1)}"
    if float(model.gain_) <= 0.0:
        sentence = (
            f"These features do not help: with {columns}, the held-out {score.name} of the {whom} "
            f"is {score.text(model.score_)}, and {score.text(model.baseline_score_)} with the "
            "original columns alone."
        )
        return _decision(sentence, helps=False)
    change = ("lower" if score.lower_is_better else "raise") + "s" * (n_new == 1)
    figures = (
        f"the held-out {score.name} of the {whom} from {score.text(model.baseline_score_)} to "
        f"{score.text(model.score_)}"
    )
    sentence = (
        f"Use the new features: {columns} {change} {figures}."
        if clear
        else f"The new features may help: {columns} {change} {figures}, but a difference of that "
        "size can be chance; check them on more rows."
    )
    return _decision(sentence, clear=clear)


def _decision(
    sentence: str, *, keep_original: bool = False, helps: bool = True, clear: bool = False
) -> dict[str, Any]:
    """Return a verdict with what it says in words."""
    return {"keep_original": keep_original, "helps": helps, "clear": clear, "sentence": sentence}


def _shown(method: str) -> str:
    """Return what people call a method, or several together."""
    names = {ORIGINAL: "original columns", FORMULAS: "formulas of all methods"}
    return JOINED.join(names.get(part, part) for part in method.split(JOINED))


def _method(result: dict[str, Any], score: Score, best: str) -> dict[str, Any]:
    """Describe one method."""
    scored = bool(result["fold_scores"])
    amount = _amount(score, result["mean"] if scored else None, result["std"] if scored else None)
    return {
        "name": str(result["method"]),
        "shown": _shown(str(result["method"])),
        "is_best": result["method"] == best,
        "is_original": result["method"] == ORIGINAL,
        "status": str(result["status"]),
        "reason": str(result["reason"]),
        "seconds": float(result["seconds"]),
        "n_features": None if result["n_features"] is None else int(result["n_features"]),
        "n_folds": len(result["fold_scores"]),
        "folds": [_amount(score, value, None)["value"] for value in result["fold_scores"]],
        "mean": amount["value"],
        "std": _known(result["std"]) if scored else None,
        "mean_text": amount["text"],
        "std_text": amount["spread_text"],
        **_difference(
            score, result["gain"] if scored else None, result["gain_std"] if scored else None
        ),
    }


def _compared(model: Any) -> list[dict[str, Any]]:
    """Return the scores of the estimators, of the first one without the bias of choosing.

    The features were chosen by its scores, which are therefore too good; `gain_per_fold_` has the
    gains of what the other folds chose.
    """
    entries: list[dict[str, Any]] = []
    for entry in model.estimator_scores_:
        # Where time was over, the last folds have one score only.
        n_folds = min(len(entry["before"]), len(entry["after"]))
        before, after = (np.asarray(entry[when][:n_folds], float) for when in ("before", "after"))
        error = entry["gain_std"]
        if not entries and len(model.gain_per_fold_) == n_folds:
            after, error = before + model.gain_per_fold_, model.gain_std_
        if n_folds and np.isfinite(before).all() and np.isfinite(after).all():
            entries.append(
                {"name": entry["estimator"], "before": before, "after": after, "error": error}
            )
    return entries


def _estimator(entry: dict[str, Any], score: Score) -> dict[str, Any]:
    """Compare one model with and without the features."""
    before, after, error = entry["before"], entry["after"], _known(entry["error"]) or 0.0
    gain = float(np.mean(after - before))
    verdict = "no clear difference"
    if abs(gain) > CLEAR_ERRORS * error:
        verdict = "better" if gain > 0 else "worse"
    return {
        "name": estimator_name(str(entry["name"])),
        "before": _amount(score, np.mean(before), _spread(before)),
        "after": _amount(score, np.mean(after), _spread(after)),
        **_difference(score, gain, entry["error"]),
        "verdict": verdict,
    }


def _spread(scores: Any) -> float | None:
    """Return the standard deviation across folds."""
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else None


def _features(model: Any) -> list[dict[str, Any]]:
    """List the readable features by their gain, with what is known about their columns."""
    order = sorted(range(len(model.features_)), key=lambda k: -float(model.features_[k].gain))
    features = [model.features_[k] for k in order]
    stability = getattr(model, "stability_", None)
    shares = [None if stability is None else float(stability[k]) for k in order]
    profile = getattr(model, "profile_", None) or {"columns": []}
    profiles = {column["name"]: column for column in profile["columns"]}
    largest = float(features[0].gain) if features else 0.0
    holes = [float(profiles.get(f.name, {}).get("undefined", 0.0)) for f in features]
    return [
        {
            "rank": rank,
            "name": feature.name,
            "words": feature.words(),
            "mathml": feature.mathml(),
            "latex": feature.latex(),
            "gain": float(feature.gain),
            "share": float(feature.gain) / largest if largest > 0 else 0.0,
            "size": feature.expression.size,
            "inputs": _inputs(feature),
            "stability": shares[rank - 1],
            "stability_text": _found_again(shares[rank - 1]),
            "undefined": hole,
            "undefined_text": _undefined(hole),
            "profile": profiles.get(feature.name),
        }
        for rank, (feature, hole) in enumerate(zip(features, holes, strict=True), start=1)
    ]


def _undefined(share: float) -> str:
    """Return the share of rows in which a formula is undefined, as text."""
    if not share > 0.0:
        return ""
    return "less than 1%" if share < 0.01 else f"{100 * share:.0f}%"


def _inputs(feature: Feature) -> list[str]:
    """Return the names of the columns a feature is computed from, each once."""
    names: dict[str, None] = {}
    feature.expression.fold(lambda node: names.setdefault(node.name), lambda _, __: None)
    return list(names)


def _other_columns(model: Any, formulas: set[str]) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of original columns, and the constructed ones that are not formulas."""
    originals, others = 0, []
    for column in model.columns_:
        if column.kind in ORIGINAL_KINDS:
            originals += 1
        elif column.name not in formulas:
            others.append(
                {"name": str(column.name), "kind": str(column.kind), "source": str(column.source)}
            )
    return originals, others
