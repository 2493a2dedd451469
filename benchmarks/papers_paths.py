"""Path encodings beside the published figures (method A).

Linear support vector machines, nearest neighbours and target alignment on the published two-class
tasks, with and without encoding, and encoded out of bag; noise added to sonar; learning sin(1/x);
ML-kNN on sets with several labels. ``--full`` repeats everything ten times with as many trees as
the kernel needs, as published; the default is a short run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from data import present
from pages import add_size_options, image, settle_page, shown
from paths_tables import (
    ALIGNMENT,
    MACHINE,
    Cells,
    Figures,
    apart_sentence,
    beside_table,
    curve_table,
    direction_sentence,
    draw_plots,
    far_sentence,
    gaussian_sentence,
    label_sentence,
    label_table,
    neighbour_sentences,
    noise_sentence,
    noise_table,
    oob_sentences,
    oob_table,
    pair_table,
    size_sentence,
    size_table,
    wilcoxon_over_sets,
)
from paths_tasks import (
    FOLDS,
    LARGE,
    LARGE_LABELS,
    NEIGHBOURS,
    PUBLISHED,
    PUBLISHED_LABELS,
    PUBLISHED_NOISE,
    SIN_TEST_ROWS,
    compile_kernels,
    measure,
)
from runner import (
    Settings,
    Store,
    add_common_options,
    finish,
    run,
    tally,
)

from featurewright.publications import PUBLISHED as PUBLICATIONS

CURVE_ROWS = (125, 250, 500, 1000, 2000)
NOISE_REPETITIONS = 5  # at least: folds of 21 rows say little


def plan(options: argparse.Namespace) -> Cells:
    """List the jobs of every cell of the tables."""
    published = PUBLICATIONS["forest_paths"].settings
    trees = published | {"n_estimators": options.trees}
    common = {"family": "ForestPathEncoder", "n_jobs": options.jobs}
    every = range(FOLDS * options.repetitions)

    def jobs(experiment: str, name: str, splits: Sequence[int], **more: object) -> list[Settings]:
        made = {"experiment": experiment, "set": name, "params": trees, **common, **more}
        return [{**made, "split": split} for split in splits]

    cells: Cells = {}
    for rows in CURVE_ROWS:
        cells["curve", rows] = jobs("curve", "sin(1/x)", range(options.curves), n_rows=rows)
    for share in PUBLISHED_NOISE:
        splits = range(FOLDS * max(options.repetitions, NOISE_REPETITIONS))
        cells["noise", share] = jobs("noise", "sonar", splits, noise=share)
    for name in options.label_sets:
        params = published | {"n_estimators": options.label_trees}
        cells["labels", name] = jobs("labels", name, [0], max_rows=None, params=params)
    for name in options.sets:
        cells["uci", name] = jobs("uci", name, every)
    for name in options.sets:
        cells["size", name] = jobs("size", name, range(options.size_folds), params=published)
    return cells


def tree_count(text: str) -> int | str:
    """Read a number of trees, or "auto"."""
    return text if text == "auto" else int(text)


def number_of_trees(trees: int | str) -> str:
    """Say how many trees there are."""
    return "as many trees as the kernel needs" if trees == "auto" else f"{trees} trees"


def section(figures: Figures, experiment: str, write: Callable[[], str]) -> str:
    """Write a section if it has results."""
    return write() if figures.done(experiment) else "No run was finished."


def report(figures: Figures, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    trees = number_of_trees(options.trees)
    left = [name for name in PUBLISHED if name not in options.sets]
    shared = " Repetitions share their rows, so that these errors are too small."
    shared = shared if options.repetitions > 1 else ""
    left += [name for name in PUBLISHED_LABELS if name not in options.label_sets]

    def machines() -> str:
        lines = (
            f"{direction_sentence(figures, MACHINE)} "
            f"{apart_sentence(figures, MACHINE.value, MACHINE.spaces)} "
            f"{wilcoxon_over_sets(figures, 'uci', 'auc', '0.09')}",
            far_sentence(figures, MACHINE),
        )
        return "\n\n".join((beside_table(figures, MACHINE), *lines))

    def accuracies() -> str:
        names = figures.done("uci")
        found = [figures.compare(name, "accuracy", "paths", "original") for name in names]
        picture = shown(image(options, "machines"), "accuracy of the linear machine")
        line = (
            f"By accuracy paths are {tally(found)} on {len(names)} sets (published: a picture). C "
            "is chosen by the accuracy on the rows held out for it, and of values that are as good "
            "by the area under the curve."
        )
        return f"{pair_table(figures, ('accuracy',))}\n\n{picture}\n\n{line}"

    def sizes() -> str:
        return f"{size_table(figures)}\n\n{size_sentence(figures)}"

    def neighbours() -> str:
        names = figures.done("uci")
        found = [figures.compare(name, "1-NN", "paths", "original") for name in names]
        higher = sum(
            figures.mean("uci", name, "1-NN paths") > figures.mean("uci", name, "1-NN original")
            for name in names
        )
        line = (
            f"Paths are {tally(found)} on {len(names)} sets, and their mean is higher on {higher}; "
            "published: 12 better, 1 worse of 20 (worse: libras). "
            f"{apart_sentence(figures)} {wilcoxon_over_sets(figures, 'uci', '1-NN', '0.0004')}"
        )
        picture = shown(image(options, "neighbours"), "accuracy of the nearest neighbour")
        more = "\n".join(f"- {line}" for line in neighbour_sentences(figures))
        table = pair_table(figures, tuple(f"{k}-NN" for k in NEIGHBOURS))
        return f"{table}\n\n{picture}\n\n{line}\n\n{more}"

    def alignment() -> str:
        lines = (
            f"{direction_sentence(figures, ALIGNMENT)} "
            f"{apart_sentence(figures, ALIGNMENT.value, ALIGNMENT.spaces)} "
            f"{wilcoxon_over_sets(figures, 'uci', 'alignment', '0.12')}",
            far_sentence(figures, ALIGNMENT),
            gaussian_sentence(figures),
        )
        return "\n\n".join((beside_table(figures, ALIGNMENT), *lines))

    def oob() -> str:
        lines = "\n".join(f"- {line}" for line in oob_sentences(figures))
        return f"{oob_table(figures)}\n\n{lines}"

    def noise() -> str:
        return f"{noise_table(figures)}\n\n{noise_sentence(figures)}"

    def labels() -> str:
        test = wilcoxon_over_sets(figures, "labels", "micro-AUC", "0.05")
        return f"{label_table(figures)}\n\n{label_sentence(figures)} {test}"

    def curve() -> str:
        pictures = (
            shown(image(options, "curve"), "learning curve on sin(1/x)"),
            shown(image(options, "kernel"), "the path kernel around four points"),
        )
        line = "Around points in the complex part, to the left, the kernel is narrow along x."
        return "\n\n".join((curve_table(figures), *pictures, line))

    return f"""# Path encodings beside the published figures

{trees.capitalize()}; {FOLDS * options.repetitions} folds (published: 100, and as many trees as the
kernel needs, mostly 150 to 200). Mean ± standard error over folds; better, worse: by more than
two standard errors of the paired folds, where the publication compares standard deviations over
repetitions.{shared} Tasks have two
classes as published. Original columns are filled, one-hot encoded and
standardised, for every learner but our encoder, which takes the table as it is. C is chosen on a
ninth of the training rows, which the encoder that serves to choose has not seen. Left out:
{", ".join(left) or "nothing"}.

## Linear SVM, AUROC

{section(figures, "uci", machines)}

Our cylinder bands have 540 rows, the published ones 512.

## Linear SVM, accuracy

{section(figures, "uci", accuracies)}

## Nearest neighbours, accuracy

{section(figures, "uci", neighbours)}

## Target alignment on held-out rows

{section(figures, "uci", alignment)}

All kernels are normalised. The published text counts the root of a tree among the nodes of a path,
but the published figures are closer to a kernel that leaves out the roots, which all rows share: of
the forms tried on some of the sets (with and without roots, leaves alone, over the longer path, not
normalised) it came closest, and is shown for that reason. `ForestPathEncoder.kernel` counts roots
unless `root=False`: see "with roots". Distances, and machines with a bias, do not notice.

## As many trees as the kernel needs

{section(figures, "size", sizes)}

## Encoding training rows out of bag

{section(figures, "uci", oob)}

## Noise on sonar, 1-NN accuracy

{FOLDS * max(options.repetitions, NOISE_REPETITIONS)} folds, noise drawn anew for every ten.

{section(figures, "noise", noise)}

## Learning sin(1/x), accuracy

{trees.capitalize()}, {options.curves} training sets of each size with as many rows of both
classes, {SIN_TEST_ROWS} test rows, x between 0.02 and 1 (the published range and sizes are not
known). Published: 96.5% on paths for the largest training set, the highest of all; the Gaussian SVM
cannot learn the concept.

{section(figures, "curve", curve)}

## ML-kNN on sets with several labels, micro-averaged AUROC

{number_of_trees(options.label_trees).capitalize()}, 10
neighbours, the sets' own split. Our rcv1v2 has 944 of the 47,236 columns and a split of
our own: its figures do not compare, and sentences leave it out.

{section(figures, "labels", labels)}

The distance of original columns is Euclidean, once with every column brought to the range 0 to 1 of
the training rows and once with columns as they are; paths are not scaled. The test is of paths
against the columns from 0 to 1. The average is taken over all pairs of row and label. The
publication tells neither.
"""


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size_options(parser, "a short run", "the published sizes: many hours")
    small = [name for name in PUBLISHED if name not in LARGE]
    parser.add_argument("--sets", nargs="+", metavar="SET", choices=tuple(PUBLISHED))
    parser.add_argument("--label-sets", nargs="+", metavar="SET", choices=tuple(PUBLISHED_LABELS))
    parser.add_argument("--trees", type=tree_count, help='trees, or "auto" (default: 100, auto)')
    parser.add_argument(
        "--label-trees", type=tree_count, help='with several labels, or "auto" (default: 50, auto)'
    )
    parser.add_argument("--size-folds", type=int, help="folds on which more trees are tried")
    parser.add_argument("--repetitions", type=int, help="times ten folds")
    parser.add_argument("--curves", type=int, help="training sets of each size of sin(1/x)")
    add_common_options(parser)
    options = parser.parse_args()
    options.sets = options.sets or (list(PUBLISHED) if options.full else small)
    options.label_sets = options.label_sets or [
        name for name in PUBLISHED_LABELS if options.full or name not in LARGE_LABELS
    ]
    options.repetitions = options.repetitions or (10 if options.full else 1)
    options.curves = options.curves or (10 if options.full else 3)
    options.trees = options.trees or ("auto" if options.full else 100)
    options.label_trees = options.label_trees or ("auto" if options.full else 50)
    options.size_folds = options.size_folds or (FOLDS if options.full else 1)
    settle_page(options, "paths")
    options.sets, missing = present(options.sets)
    options.label_sets, more = present(options.label_sets)
    noisy, _ = present(["sonar"])
    store = Store("papers_paths", options.reuse)
    cells = plan(options)
    jobs = [job for key, made in cells.items() for job in made if key[0] != "noise" or noisy]
    problems = run(
        store, jobs, max_minutes=options.max_minutes, work=measure, compile_all=compile_kernels
    )
    figures = Figures(cells, store)
    draw_plots(figures, options)
    text = report(figures, options)
    finish(text, [*missing, *more, *problems], options.write, store, options.size)


if __name__ == "__main__":
    main()
