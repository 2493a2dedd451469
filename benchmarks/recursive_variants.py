"""Forms of recursive selective transformation beside each other, and the default beside none.

Every form is measured by the log loss on held-out rows after one recursion, on splits of the
training rows of the first split alone. The default is then measured on other splits of all rows,
beside the original columns: these splits share rows with the former.
Without options it is a short run on some rows of the large sets; ``--full`` takes all rows.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from recursive_runs import (
    ALL_ROWS,
    Cells,
    difference,
    draw_rows,
    jobs_of,
    part_rows,
    run_program,
    signed,
    sizes_sentence,
)
from recursive_tables import RST
from runner import Settings, Store, Values, column, markdown_table, mean_and_error, show
from threadpoolctl import threadpool_limits

from featurewright import RecursiveSelectiveClassifier
from featurewright.recursive.members import log_loss

# Rows and splits of the short run; rows are drawn once with seed 0.
QUICK = {
    "iris": (150, 10),
    "glass": (214, 10),
    "sonar": (208, 10),
    "digits": (800, 5),
    "letter": (1_200, 5),
    "olivetti_faces": (100, 5),
    "otto_group": (1_500, 5),
    "mnist": (500, 5),
}
FULL_SPLITS = 10
# What the others change one thing of: published but for the ranking and the scale.
BASE = {name: RST[name] for name in ("project", "normalize", "keep")}
BASE |= {"ranking": "class", "scale": "auto"}
CHANGES: dict[str, dict[str, Any]] = {
    "(a) project after": {"project": "after"},
    "(b) w as fitted": {"normalize": None},
    "(b) largest entry 1": {"normalize": "max"},
    "(c) one scale": {"scale": RST["scale"]},
    "(d) shared ranking": {"ranking": RST["ranking"]},
    "(f) seven eighths less two": {"keep": "auto"},
    "(a), (b) as it was": {"project": "after", "normalize": None},
}
# Too many columns for schedules that the number of rows does not limit.
WIDE = ("olivetti_faces",)
ORIGINAL = {"n_recursions": 0}
PUBLISHED = {"calibration": RST["calibration"]}


def rows_of(name: str, n_rows: int, seed: int, part: str) -> tuple[np.ndarray, ...]:
    """Draw rows and split them 3:2, all of them or the training rows of the first split."""
    X, y = draw_rows(name, n_rows)
    train, test = part_rows(np.arange(len(y)), y, 0 if part == "inner" else 1 + seed)
    if part == "inner":
        train, test = part_rows(train, y, seed)
    return X[train], y[train], X[test], y[test]


def work(job: Settings) -> Values:
    """Do one job: the log loss of a classifier on held-out rows."""
    params, seed = job["params"], job["split"]
    X, y, Z, truth = rows_of(job["set"], params["rows"], seed, params["part"])
    model = RecursiveSelectiveClassifier(
        **params["settings"], n_jobs=job["n_jobs"], random_state=seed
    )
    with threadpool_limits(job["n_jobs"]):
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
        loss = log_loss(model.predict_proba(Z), truth, None)
    return {"error": loss, "recursions": model.n_recursions_, "fit_seconds": seconds}


def plan(options: argparse.Namespace) -> Cells:
    """List the runs of all cells."""
    cells = {}
    # Written out, so that results of another default are not taken for those of today's.
    default = {
        name: value
        for name, value in RecursiveSelectiveClassifier().get_params().items()
        if name not in ("estimator", "n_jobs", "random_state")
    }
    forms = {"original": BASE | ORIGINAL}
    forms |= {"base": BASE} | {label: BASE | change for label, change in CHANGES.items()}
    forms["(c) original, one scale"] = BASE | ORIGINAL | {"scale": RST["scale"]}
    outer = {
        "default": default,
        "no recursion": default | ORIGINAL,
        "no recursion, published": default | ORIGINAL | PUBLISHED,
        "one, published": default | {"n_recursions": 1} | PUBLISHED,
    }
    for name in options.sets:
        rows, splits = (ALL_ROWS, FULL_SPLITS) if options.full else QUICK[name]
        sizes = {"keep": RST["keep"]} if name in WIDE else {}
        tried = {
            label: ("inner", {"n_recursions": 1} | settings)
            for label, settings in forms.items()
            if name not in WIDE or settings["keep"] != "auto"
        }
        tried |= {label: ("outer", settings | sizes) for label, settings in outer.items()}
        for label, (part, settings) in tried.items():
            params = {"settings": settings, "rows": rows, "part": part}
            cells[label, name] = jobs_of(name, params, splits, options.jobs)
    return cells


def forms_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out the loss of the base, and what each change adds to it."""
    labels = ["base", "(c) original, one scale", *CHANGES]
    rows = [["original", *(show(column(store, cells["original", n], "error"), 3) for n in sets)]]
    for label in labels:
        against = "original" if label in ("base", labels[1]) else "base"
        title = f"{label}, less {against}"
        found = [difference(cells, store, name, (label, against)) for name in sets]
        rows.append([title, *(signed(values) for values in found)])
    return markdown_table(["log loss", *sets], rows)


def default_table(cells: Cells, store: Store, sets: Any) -> str:
    """Lay out the default beside the original columns."""
    rows = []
    for name in sets:
        default, none, published, one = (
            column(store, cells[label, name], "error")
            for label in ("default", "no recursion", "no recursion, published", "one, published")
        )
        chosen = column(store, cells["default", name], "recursions")
        rows.append(
            [
                name,
                show(published, 3),
                show(one, 3),
                show(default, 3),
                signed(default - published),
                signed(default - none),
                f"{np.nanmean(chosen):.1f}" if np.isfinite(chosen).any() else "",
            ]
        )
    head = ["log loss", "original, published", "one recursion, published", "default"]
    head += ["default less original, published", "default less no recursion", "recursions"]
    return markdown_table(head, rows)


def default_sentence(cells: Cells, store: Store, sets: Any) -> str:
    """Count the sets on which the default has a lower loss than the original columns."""
    parts = []
    for label, words in (
        ("no recursion, published", "calibrated as published"),
        ("no recursion", "calibrated as the default is"),
    ):
        found = [
            mean_and_error(difference(cells, store, name, ("default", label))) for name in sets
        ]
        found = [pair for pair in found if np.isfinite(pair[0])]
        lower = sum(mean < 0 for mean, _ in found)
        # One split has no standard error, and no difference beyond it.
        clear = sum(mean < -2 * error for mean, error in found if np.isfinite(error))
        worse = sum(mean > 2 * error for mean, error in found if np.isfinite(error))
        parts.append(
            f"- Beside the original columns {words}, the default has a lower log loss on {lower} "
            f"of {len(found)} sets, by more than two standard errors on {clear}; it is higher by "
            f"more than two standard errors on {worse}."
        )
    return "\n".join(parts)


def agreement_sentence(cells: Cells, store: Store, sets: Any) -> str:
    """Say whether splits of the training rows are for the form that was picked before."""
    parts = []
    for label, words in (
        ("(a) project after", "projecting after the choice of columns"),
        ("(b) w as fitted", "weights as fitted"),
        ("(a), (b) as it was", "both, as the default was before,"),
        ("(d) shared ranking", "one ranking for all classes, which is the default,"),
    ):
        found = [mean_and_error(difference(cells, store, name, (label, "base"))) for name in sets]
        found = [pair for pair in found if np.isfinite(pair[0])]
        higher = sum(mean > 0 for mean, _ in found)
        clear = [sum(s * mean > 2 * error for mean, error in found) for s in (1, -1)]
        parts.append(
            f"with {words} the loss is higher on {higher} of {len(found)} sets (beyond two "
            f"standard errors higher on {clear[0]}, lower on {clear[1]})"
        )
    return "; ".join(parts)


def few_splits(cells: Cells, store: Store, sets: Any, labels: Any = ("default", "base")) -> str:
    """Name the sets of which not all splits are done; empty if there are none."""
    counts = {}
    for name in sets:
        for label in labels:
            found = column(store, cells[label, name], "error")
            if (done := int(np.isfinite(found).sum())) < len(found):
                counts[name] = min(done, counts.get(name, done))
    if not counts:
        return ""
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f" Not all splits are done ({told}): a standard error of two or three says little."


def reasons(cells: Cells, store: Store, sets: Any) -> str:
    """Say of each set on which recursions do not lower the loss what is known."""
    lines = []
    for name in sets:
        mean, error = mean_and_error(difference(cells, store, name, ("default", "no recursion")))
        if not mean >= 0:
            continue
        chosen = column(store, cells["default", name], "recursions")
        told = f"- {name}: {signed(difference(cells, store, name, ('default', 'no recursion')))}"
        if np.nanmax(chosen) == 0:
            told += ": none is chosen in any split, so both are the same but for drawn folds"
        elif np.isnan(error):
            told += " on one split, which says little"
        elif mean <= 2 * error:
            told += ", within two standard errors of no difference"
        else:
            told += ": recursions that training rows are for do not help new rows"
        inner = difference(cells, store, name, ("base", "original"))
        if np.isfinite(inner).any():
            told += f"; one recursion on splits of training rows: {signed(inner)}"
        lines.append(f"{told}.")
    if not lines:
        return ""
    return "\n".join(["Where recursions do not lower the loss of the default:\n", *lines])


def report(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    used = sizes_sentence(QUICK, options, FULL_SPLITS)
    return f"""# Forms of recursive selective transformation

Log loss on held-out rows (lower is better), splits of 3:2; differences are paired by split, mean ±
standard error over splits. One linear SVM per class. {used}. Rows of cut sets are drawn once with
seed 0; of olivetti_faces the first ten people are taken.{few_splits(cells, store, options.sets)}

## The choice of the default

After one recursion, on splits of the training rows of one split of the table. Members are
calibrated on rows that the transformation has not seen
(`calibration="cross_fit"`). The base projects first (`project="first"`) along weights of unit
length (`normalize="unit"`), ranks columns by class, scales each column, and keeps the published
sizes; the other rows change what they name.

{forms_table(cells, store, options.sets)}

`project="first"`, `normalize="unit"` and then the published `ranking="shared"` became the default
after test rows of the splits of the next table had been seen. The splits of this table lie inside
training rows and check that choice:
{agreement_sentence(cells, store, options.sets)}.

## The default beside the original columns

Other splits, of all rows, which include those of the table above: the form of a recursion was
chosen with rows that are held out here. The default chooses the number of recursions on training
rows, and may choose none. "Published" calibrates members on rows that the transformation has seen,
each on a third of them. "No recursion" is the default's own calibration of the original columns.
Sizes are those of `keep="auto"`, except on {", ".join(WIDE)}, which has too many columns for them:
`keep="published"`.

{default_table(cells, store, options.sets)}

{default_sentence(cells, store, options.sets)}

The difference to "original, published" is what a user gains by the default; the difference to "no
recursion" is the part of it that comes from recursions. The rest comes from the calibration: one
sigmoid, fitted to pooled decision values of held-out rows, in place of the mean of three.

{reasons(cells, store, options.sets)}
"""


def main() -> None:
    """Run and report."""
    names = "recursive_variants", "recursive_variants"
    run_program(names, __doc__, (tuple(QUICK), FULL_SPLITS), plan=plan, work=work, report=report)


if __name__ == "__main__":
    main()
