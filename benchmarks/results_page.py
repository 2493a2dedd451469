"""Write docs/results.md and docs/claims.md: every number in them is read from a page of results."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pages import PAGES, read_stamp
from results_families import family_of
from results_rules import (
    ABSENT,
    FAILS,
    HOLDS,
    MIXED,
    all_of,
    as_published,
    at_most_one,
    below,
    every,
    improves,
    kept_for_nothing,
    lowers,
    near_one,
    near_zero,
    no_worse,
    said,
    share_of_gap,
    wins_of_means,
)

TARGET = PAGES.parent / "results.md"
ALL_CLAIMS = "claims.md"
IN_COUNTS = "{1} better, {2} within noise, {3} worse"
COUNTS = r"(\d+) better, (\d+) within noise, (\d+) worse"
Rule = Callable[..., str]


@dataclass(frozen=True)
class Claim:
    """A sentence, where on a page it is measured, and how the measurement decides.

    Attributes
    ----------
    page : str
        Name of the page, without its ending.
    text : str
        What is claimed.
    pattern : str
        Regular expression of the place on the page. Its groups go to the rule.
    rule : callable
        From the groups of the first match to the verdict.
    evidence : str
        What is shown; {0} is the match, {1} its first group, {count} the number of matches.
    """

    page: str
    text: str
    pattern: str
    rule: Rule
    evidence: str = "{0}"

    def judged(self, page: str) -> tuple[str, str]:
        """Return the verdict and its evidence on the text of a page."""
        matches = list(re.finditer(self.pattern, page, re.MULTILINE))
        if not matches:
            return ABSENT, ""
        first = matches[0]
        groups = [" ".join(group.split()) for group in first.groups(default="")]
        shown = self.evidence.format(" ".join(first[0].split()), *groups, count=len(matches))
        if self.rule is every:
            return self.rule(*(match[1] for match in matches)), shown
        return self.rule(*groups), shown


def bar(page: str, text: str, work: str) -> Claim:
    """Return the claim that one line of a table of speed bars meets its bar."""
    row = rf"^\| {re.escape(work)}[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\| *(pass|MISSED) *\|$"
    return Claim(page, text, row, lambda *cells: said(cells[-1]), "{3} (bar: {4})")


def faster(text: str, work: str) -> Claim:
    """Return the claim that ours takes less time than a peer."""
    row = rf"^\| {re.escape(work)} *\|([^|]*)\|([^|]*)\| *([\d.]+)×"
    return Claim(
        "speed_peers", text, row, lambda ours, theirs, ratio: at_most_one(ratio), "{3} times"
    )


def fct(text: str, compared: str) -> Claim:
    """Return a claim about wins, losses and ties of feature construction trees."""
    row = rf"^\| {re.escape(compared)} *\| *([\d-]+) \((\d+)-(\d+)-(\d+)\) *\| *([^|]*)\|"
    return Claim(
        "fctree",
        text,
        row,
        lambda all_pairs, won, lost, tied, published: wins_of_means(all_pairs, won, lost, tied),
        "{2} wins, {3} losses, {4} ties beyond noise (all: {1}; published: {5})",
    )


CHAPTERS: dict[str, tuple[Claim, ...]] = {
    "The publications": (
        *(
            Claim(
                "constructive",
                f"Construction lowers the error of {learners}",
                rf"- {re.escape(names)}: {COUNTS}",
                improves,
                IN_COUNTS,
            )
            for names, learners in (
                ("tree + look-ahead beside tree", "single trees"),
                ("RF + random beside RF", "random forests"),
                ("ET + random beside ET", "Extra-Trees"),
                ("stumps + random beside stumps", "boosted stumps"),
                (
                    "stumps + random, 0.1n beside stumps",
                    "boosted stumps with a tenth of a formula per column",
                ),
                ("depth 3 + random beside depth 3", "boosted trees of depth 3"),
                ("depth 5 + random beside depth 5", "boosted trees of depth 5"),
            )
        ),
        Claim(
            "constructive",
            "Trees that construct: errors no higher than published",
            rf"Beside the published errors: {COUNTS}",
            no_worse,
            IN_COUNTS,
        ),
        *(
            Claim(
                page,
                f"{what}, large sets: errors no higher than published",
                rf"Beside the published errors: {COUNTS}",
                no_worse,
                IN_COUNTS,
            )
            for page, what in (
                ("constructive_large", "Every strategy in ensembles"),
                ("constructive_boosting", "Single trees and boosting"),
            )
        ),
        *(
            Claim(
                "constructive",
                f"Plain {learners} err no more than scikit-learn's",
                rf"Plain {name} beside scikit-learn's on the same splits: {COUNTS}",
                no_worse,
                IN_COUNTS,
            )
            for name, learners in (
                ("tree with Gini", "trees (Gini)"),
                ("RF with Gini", "forests (Gini)"),
                ("ET with Gini", "Extra-Trees (Gini)"),
                ("tree", "trees (our criterion)"),
                ("RF", "forests (our criterion)"),
                ("ET", "Extra-Trees (our criterion)"),
            )
        ),
        *(
            Claim(
                "budget", text, rf"(?<=- {name}: ).*Published: [^;]*; here (\w+)", said, "here {1}"
            )
            for name, text in (
                ("single tree", "Every larger budget helps single trees"),
                ("Extra-Trees", "Extra-Trees are best with 0.1 to 10 candidates a column"),
                ("boosted stumps", "The smallest budget helps boosted stumps"),
            )
        ),
        *(
            Claim(
                "budget",
                f"Five symbols are a fair size of formulas for {learners}",
                rf"- {name}: .* with D .*the least ([\d.]+) with D (\d+)\. D 5 (is not|is)",
                lambda least, size, word: said(word),
                "D 5 {3} within 3% of the least error (D {2})",
            )
            for name, learners in (
                ("single tree", "single trees"),
                ("Extra-Trees", "Extra-Trees"),
                ("boosted stumps", "boosted stumps"),
            )
        ),
        Claim(
            "search_trace",
            "Look-ahead search finds the formula behind the classes of two columns",
            r"After (\d+) scores this round has found ([^,]+), ([\d.]+);\s+the formula behind the "
            r"classes scores ([\d.]+)\.$",
            lambda scored, formula, ours, theirs: HOLDS if float(ours) >= float(theirs) else FAILS,
            "{2} after {1} scores: {3}, {4} for the formula itself",
        ),
        *(
            Claim(
                "ensemble_size",
                f"Construction lowers the error of {learners} of ten trees",
                rf"^- {name}: construction is [^;]*; {COUNTS} with 10 trees",
                improves,
                IN_COUNTS,
            )
            for name, learners in (
                ("forest", "forests"),
                ("Extra-Trees", "Extra-Trees"),
                ("stumps", "boosted stumps"),
                ("boosting, depth 3", "boosting"),
            )
        ),
        Claim(
            "paths",
            "Paths help a linear SVM",
            rf"Paths against original columns, area under the curve: {COUNTS}",
            improves,
            IN_COUNTS,
        ),
        Claim(
            "paths",
            "Paths help a linear SVM, by accuracy",
            rf"By accuracy paths are {COUNTS}",
            improves,
            IN_COUNTS,
        ),
        Claim(
            "paths",
            "Paths help the nearest neighbour",
            rf"Paths are {COUNTS} on \d+ sets",
            improves,
            IN_COUNTS,
        ),
        Claim(
            "paths",
            "The path kernel is better aligned with the classes",
            rf"Paths without roots against original columns, alignment: {COUNTS}",
            improves,
            IN_COUNTS,
        ),
        Claim(
            "paths",
            "Paths help ML-kNN on sets with several labels",
            r"Paths are better (?:than columns in the range 0 to 1 )?on (\d+) of (\d+) sets[^;]*; "
            r"published: (\d+) of \d+",
            as_published,
        ),
        *(
            fct(f"{text}, {kind}", f"{compared}, {kind}")
            for kind in ("balanced", "skewed")
            for text, compared in (
                ("FCT columns beat the original ones", "FCT against original"),
                ("FCT columns beat TFC's", "FCT against TFC"),
                ("Learned weights help FCTree", "FCTree against FCTree without weighting"),
                (
                    "FCTree itself beats a Gaussian SVM by its labels",
                    "FCTree itself against the Gaussian SVM",
                ),
            )
        ),
        fct(
            "FCTree itself beats a Gaussian SVM by its margins, skewed",
            "FCTree itself against the Gaussian SVM by margins, skewed",
        ),
        Claim(
            "fctree",
            "FCTree itself beats naive Bayes, a linear SVM and C4.5 at once, skewed",
            r"at once, skewed: on \d+ with original columns, on (\d+) with any columns of (\d+)",
            lambda above, fields: as_published(above, fields, fields),
            "on {1} of {2} mine fields",
        ),
        Claim(
            "fctree",
            "The cost of FCTree grows slower with columns than the batch constructor's",
            r"FCTree grows with the power ([\d.]+) of\s+the columns, that of BatchConstructor "
            r"with the power (\d+\.\d+)",
            below,
            "power {1} against {2}",
        ),
        *(
            Claim(
                "recursive",
                f"The best recursion has a lower log loss than {others}",
                rf"Beside {others}, the best recursion is lower on (\d+) of (\d+) sets "
                r"\(published: (\d+)\)",
                as_published,
                "lower on {1} of {2} sets (published: {3})",
            )
            for others in ("the original columns", "the best PCA", "LDA")
        ),
        *(
            Claim(
                "recursive_variants",
                "The default of recursive selection has a lower log loss than the original columns "
                + words,
                rf"columns {words}, the default has a lower log loss on (\d+) of (\d+) sets, by "
                r"more than two standard errors on (\d+); it is higher by more than two standard "
                r"errors on (\d+)",
                lambda lower, sets, clear, worse: improves(clear, "0", worse),
                "lower on {1} of {2} sets; beyond noise lower on {3}, higher on {4}",
            )
            for words in ("calibrated as published", "calibrated as the default is")
        ),
        *(
            Claim(
                "recursive_nonlinear",
                f"A recursion over landmarks lowers the log loss on {name}",
                rf"^\| {name}, landmarks *\|[^|]*\|[^|]*\| *([+-][\d.]+) ± ([\d.]+) *\|",
                lambda mean, error: below(mean, str(-2 * float(error))),
                "{1} ± {2}",
            )
            for name in ("sonar", "letter", "mnist")
        ),
        *(
            Claim(
                "landmarks",
                f"Kernel features lower the error of {learners}",
                rf"- {name}: kernel features are {COUNTS}",
                improves,
                IN_COUNTS,
            )
            for name, learners in (
                ("subspace", "random subspaces"),
                ("bagging", "bagging"),
                (r"AdaBoost\.M1", "AdaBoost.M1"),
                ("forest", "forests"),
            )
        ),
        Claim(
            "landmarks",
            "Kernel features: errors no higher than published",
            rf"Beside the published errors: {COUNTS}",
            no_worse,
            IN_COUNTS,
        ),
    ),
    "Speed": (
        *(
            Claim(page, text, r"(\d+) of (\d+) bars hold", all_of)
            for page, text in (
                ("speed", "All bars beside scikit-learn hold"),
                ("speed_growth", "Time grows no faster than rows to the power of 1.1"),
                ("speed_boosting", "All bars of boosting beside LightGBM hold"),
                ("speed_paths", "All bars of path encodings hold"),
                ("speed_landmarks", "All bars of kernel features hold"),
                ("speed_relations", "All bars of links hold"),
            )
        ),
        *(
            bar(page, text, work)
            for page, text, work in (
                ("speed", "Import, against sklearn.ensemble", "import, against"),
                (
                    "speed",
                    "Fit of a plain forest, of scikit-learn's time",
                    "plain forest, 100k × 50, 1 thread: fit",
                ),
                (
                    "speed",
                    "Fit of plain Extra-Trees, of scikit-learn's time",
                    "plain Extra-Trees, 100k × 50, 1 thread: fit",
                ),
                (
                    "speed",
                    "Extra-Trees that construct, of a plain random forest's time",
                    "Extra-Trees, K = 10f, D = 5, against plain sklearn RF, 1 thread",
                ),
                (
                    "speed",
                    "A forest that constructs, of a plain random forest's time",
                    "forest, K = 10f, D = 5, against plain sklearn RF, 1 thread",
                ),
                (
                    "speed",
                    "Peak memory at a million rows, of the data",
                    "one tree, 10k → 1M rows, search=random: peak memory",
                ),
                (
                    "speed",
                    "First fit with nothing compiled",
                    "first fit of all, nothing compiled",
                ),
                (
                    "speed",
                    "First fit of a later process, over scikit-learn's",
                    "first fit of a process, compiled before",
                ),
                ("speed_paths", "Path encoding against decision_path", "path encoding, "),
                ("speed_paths", "Path kernel against the product", "path kernel, "),
            )
        ),
        *(
            faster(
                f"Our {ours} takes less time than {theirs}", f"our {ours} against {peer}, 1000 rows"
            )
            for ours in ("forest", "AutoFeatures")
            for theirs, peer in (("gplearn", "gplearn"), ("OpenFE", "openfe"))
        ),
        Claim(
            "halving",
            "Halving candidates costs no accuracy",
            rf"- Start auto: error {COUNTS}[^,]*, at ([\d.]+) times the time",
            lambda better, same, worse, time: no_worse(better, same, worse),
            "{1} better, {2} within noise, {3} worse, at {4} times the time",
        ),
        Claim(
            "boosting_budget",
            "The default budget of boosting costs no accuracy",
            r"## The other half\s+\|.*\n\|.*\n\| auto +\| *([\d.]+) ± ([\d.]+) \|.*\| *([\d.]+) ±",
            near_one,
            "error {1} ± {2} times, at {3} times the time",
        ),
        *(
            Claim(
                "oblique",
                f"Weighted sums of columns as candidates lower the loss of {learner}",
                rf"- {learner} with learned sums: loss ([\d.]+) ± ([\d.]+) times, lower on "
                r"(\d+ of \d+) sets, at ([\d.]+)",
                lowers,
                "{1} ± {2} times, lower on {3} sets, at {4} times the time; not adopted",
            )
            for learner in ("boosting", "Extra-Trees")
        ),
    ),
    "Accuracy beside others": (
        *(
            Claim(
                "compare_features",
                f"AutoFeatures ranks before the best peer under {model}",
                rf"^{name}: mean rank of AutoFeatures ([\d.]+), of the best peer, (\w+), ([\d.]+)",
                lambda ours, peer, theirs: below(ours, theirs),
                "mean rank {1}, {2} {3}",
            )
            for name, model in (
                ("Linear model", "a linear model"),
                ("Five nearest neighbours", "nearest neighbours"),
                ("Boosting", "boosting"),
            )
        ),
        *(
            Claim(
                "learners",
                f"Our {ours} ranks before the best of the others",
                rf"our {ours} alone among the others: mean rank ([\d.]+) on \d+ sets; "
                r"the best other, ([\w ]+), has (\d+\.\d+)",
                lambda ours, name, theirs: below(ours, theirs),
                "mean rank {1}, {2} {3}",
            )
            for ours in ("boosting", "Extra-Trees", "forest")
        ),
        *(
            Claim(
                "learners",
                f"Our {ours} takes no longer than {theirs}",
                rf"our {ours}: ([\d.]+) times as long as {theirs}",
                at_most_one,
                "{1} times as long",
            )
            for ours, theirs in (
                ("boosting", "sklearn HGB"),
                ("boosting", "LightGBM"),
                ("Extra-Trees", "sklearn ET"),
                ("forest", "sklearn RF"),
            )
        ),
    ),
    "AutoFeatures": (
        *(
            Claim(
                page,
                f"{title} take a linear model as far as the best tree ensemble",
                rf"{name}: mean share ([\d.]+), median ([\d.]+), over (\d+) sets",
                share_of_gap,
                "mean share of the gap {1} over {3} sets",
            )
            for page, name, title in (
                ("auto_gap", "50 formulas", "50 formulas"),
                ("auto_gap", "all methods", "All methods"),
                ("auto_gap_quick", "50 formulas", "50 formulas of a quick search"),
                ("auto_gap_quick", "all methods", "All methods of a quick search"),
            )
        ),
        *(
            Claim(
                "auto_numbers",
                f"Numbers in formulas lower the error of {title}, one split of each problem",
                rf"- {name}: mean change of the error ([+-][\d.]+) over (\d+) problems, "
                r"(\d+) better, (\d+) worse",
                lambda change, *_: below(change, "0"),
                "mean change {1} over {2} problems, {3} better, {4} worse",
            )
            for name, title in (
                ("linear", "linear models"),
                ("knn", "nearest neighbours"),
                ("boosting", "boosting"),
            )
        ),
        Claim("auto_mixed", "It makes estimators better, none worse", COUNTS, improves),
        Claim(
            "auto_mixed",
            "The gain it claims is the gain on new rows",
            r"claimed minus real (-?[\d.]+) ± ([\d.]+)",
            near_zero,
        ),
        Claim(
            "auto_same",
            "It finds the same on a busy machine, with any number of threads, on other processors",
            r"^(\d+) of (\d+) runs found the same",
            all_of,
            "{1} of {2} runs",
        ),
        Claim(
            "auto_noise",
            "It keeps nothing where there is nothing to find",
            r"\((\d+) of (\d+) fits kept something\)",
            kept_for_nothing,
            "kept something in {1} of {2} fits",
        ),
    ),
    "Rows that belong together": (
        Claim(
            "relations",
            "Links explain a customer's spending better than its own columns",
            r"^\| retail[^|]*\|[^|]*\|[^|]*\| *([\d.]+) \| *([\d.]+)",
            below,
            "R² {1} without, {2} with links",
        ),
        Claim(
            "relations",
            "A station's earlier hours help to foresee its air",
            r"^\| air[^|]*\|[^|]*\|[^|]*\| *([\d.]+) \| *([\d.]+)",
            below,
            "R² {1} without, {2} with links",
        ),
        Claim(
            "relations",
            "Positions in races are foreseen better with links, everything before a row in sight",
            r"^\| f1, finishing position, live *\|[^|]*\| *([\d.]+) \|[^|]*\| *([\d.]+)",
            lambda constant, linked: below(linked, constant),
            "mean absolute error {1} of a constant, {2} with links",
        ),
        Claim(
            "relations",
            "Features for retirements are better than a human expert's, by the published protocol",
            r"^\| f1, retirement, published protocol *\|[^|]*\|[^|]*\|[^|]*\| *([\d.]+)[\s\S]*"
            r"deep learning and ([\d.]+)",
            lambda ours, human: below(human, ours),
            "AUC {1}, expert {2}",
        ),
        Claim(
            "auto_links",
            "A search with links is better on later rows than one without",
            r"higher than the search without them on (\d+) of (\d+) fits",
            all_of,
            "{1} of {2} fits",
        ),
        Claim(
            "auto_links",
            "Group links make estimators of flat tables no worse",
            COUNTS,
            no_worse,
            IN_COUNTS,
        ),
        *(
            Claim(
                "relations_peers",
                f"A feature over links takes {peer} at least 20 times as long, on {rows}",
                rf"^- {rows}[^:]*: a feature of {peer}[^\n]* takes (\d+) times as long",
                lambda times: below("20", times),
                "{1} times",
            )
            for peer in ("featuretools", "tsfresh", "getML")
            for rows in ("generated shop", "retail", "air")
        ),
    ),
    "Exports and clusters": (
        Claim(
            "exports",
            "SQL and ONNX agree with the model on every row",
            r"\| *(?:duckdb|sqlite|onnx) \|.*\| *(\d+) \|$",
            every,
            "{count} exports compared",
        ),
        Claim(
            "files",
            "A model that was saved and loaded is the same to the last bit",
            r"ms \| *(yes|no) \|$",
            every,
            "{count} models compared",
        ),
        Claim(
            "distributed",
            "A forest takes at most 1.25 times the time, and the processor time, on two worker "
            "processes as in two threads",
            r"processes take ([\d.]+) times the time of the threads and ([\d.]+) times",
            lambda *ratios: below(max(ratios, key=float), "1.255"),
            "{1} times the time, {2} times the processor time",
        ),
        Claim(
            "distributed",
            "A forest grown on worker processes is the same to the last bit",
            r"models are (the same to the last bit|NOT THE SAME)",
            lambda words: HOLDS if words.startswith("the same") else FAILS,
        ),
    ),
}
RESULTS_HEAD = """# Claims and verdicts

Every claim of this project with its verdict, the ones that fail included. Claims of one kind
share a row, which names those that do not hold, with what was measured. [All claims one by
one](claims.md) have their figures and the dates of their runs.

A claim of "better" *holds* if some comparisons are better by more than two standard errors and
none is worse, and is *mixed* if fewer are worse than better. A claim of "no worse" holds if at
most 5% of the comparisons are worse, and is mixed up to 20%. Other claims hold or *fail*. FCT is
the feature construction tree, TFC all operators on all pairs of columns."""
HEAD = """# All claims

Every claim by itself. [Claims and verdicts](results.md) has the same in short. Both pages are
written by `python benchmarks/results_page.py` from the pages under docs/results, which the
benchmarks write: `make papers`, `make bench` and `make compare`, each with `SIZE=full` for the
large size. Every measured number is read from the page that its line links to. A page ends with
its run: size, date, command, machine and versions; a "custom" run has sizes of its own, which
its command says. A page of a large run is not replaced by a small one.

"Better" and "worse" mean by more than two standard errors, everything else is "within noise".
Whether mean ranks differ by more than chance is on the pages. HGB is scikit-learn's histogram
gradient boosting, RF a random forest, ET Extra-Trees; [the other words](results.md)."""


def reservations(text: str) -> str:
    """Return what a page says about results that are missing or of other code."""
    older = re.search(r"^(\d+) results? comes? from other code", text, re.MULTILINE)
    parts = [f"{older[1]} results of older code"] if older else []
    if re.search(r"^Not complete:", text, re.MULTILINE):
        parts.append("not complete")
    return "".join(f"; {part}" for part in parts)


def source(name: str, text: str, folder: Path) -> str:
    """Return the link to a page, with the size and date of its run."""
    stamp = read_stamp(text)
    run = f"{stamp['size']}, {stamp['date']}" if stamp else "run not recorded"
    return f"[{name}]({folder.name}/{name}.md) ({run}{reservations(text)})"


def build(folder: Path = PAGES) -> str:
    """Return the index.

    Parameters
    ----------
    folder : Path
        Where the pages of the benchmarks are.

    Returns
    -------
    str
        Markdown; the same for the same pages.
    """
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    parts = [HEAD]
    for chapter, claims in CHAPTERS.items():
        rows = [
            f"| {claim.text} | {verdict} | {shown} | {source(claim.page, text, folder)} |"
            for claim in claims
            if (text := pages.get(claim.page)) is not None
            for verdict, shown in [claim.judged(text)]
        ]
        if rows:
            table = ["| claim | verdict | measured | page |", "|---|---|---|---|", *rows]
            parts.append("\n".join([f"## {chapter}", "", *table]))
    indexed = {claim.page for claims in CHAPTERS.values() for claim in claims}
    if others := [name for name in pages if name not in indexed]:
        lines = [f"- {source(name, pages[name], folder)}" for name in others]
        parts.append("\n".join(["## Without a claim", "", *lines]))
    return "\n\n".join(parts) + "\n"


Judged = tuple[Claim, str, str, str]


def family_row(title: str, members: list[Judged], folder: Path) -> str:
    """Return the row of some claims, of each its case, verdict and evidence."""
    verdicts = [verdict for _, _, verdict, _ in members]
    alike = len(set(verdicts)) == 1
    verdict = verdicts[0] if alike else f"{verdicts.count(HOLDS)} of {len(verdicts)} hold"
    if len(members) == 1:
        shown = members[0][-1]
    else:
        parts = []
        for kind in (FAILS, MIXED, ABSENT, HOLDS):
            cases = [
                case if kind == HOLDS else f"{case} ({evidence})"
                for _, case, found, evidence in members
                if found == kind
            ]
            if cases:
                parts.append(("" if alike else f"{kind}: ") + "; ".join(cases))
        shown = "<br>".join(parts)
    names = dict.fromkeys(claim.page for claim, *_ in members)
    links = ", ".join(f"[{name}]({folder.name}/{name}.md)" for name in names)
    return f"| {verdict} | {title} | {shown} | {links} |"


def shorten(folder: Path = PAGES) -> str:
    """Return the page with one row for all claims of a kind.

    Parameters
    ----------
    folder : Path
        Where the pages of the benchmarks are.

    Returns
    -------
    str
        Markdown; the same for the same pages.
    """
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    parts = [RESULTS_HEAD]
    for chapter, claims in CHAPTERS.items():
        families: dict[str, list[Judged]] = {}
        for claim in claims:
            if claim.page in pages:
                title, case = family_of(claim.text)
                judged = claim.judged(pages[claim.page])
                families.setdefault(title, []).append((claim, case, *judged))
        if families:
            rows = [family_row(title, members, folder) for title, members in families.items()]
            table = ["| verdict | claim | measured | pages |", "|---|---|---|---|", *rows]
            parts.append("\n".join([f"## {chapter}", "", *table]))
    return "\n\n".join(parts) + "\n"


def texts(folder: Path = PAGES, target: Path = TARGET) -> dict[Path, str]:
    """Return what the page, and the list of all claims beside it, should hold."""
    return {target: shorten(folder), target.with_name(ALL_CLAIMS): build(folder)}


def write_results(folder: Path = PAGES, target: Path = TARGET) -> None:
    """Write both, by names of their own first."""
    for path, text in texts(folder, target).items():
        part = path.with_name(f"{path.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)


def main() -> None:
    """Write it, or with --check leave with 1 if it is not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only tell whether it is up to date")
    if not parser.parse_args().check:
        write_results()
        return
    for path, text in texts(target=TARGET).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} is not what the pages say: run this without --check.")


if __name__ == "__main__":
    main()
