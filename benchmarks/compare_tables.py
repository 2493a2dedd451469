"""Tables, ranks and plots of the comparison of features."""

from __future__ import annotations

import argparse

import numpy as np
from pages import image, shown
from peers import PINS, is_there
from plots import critical_difference_plot
from runner import NO_VALUE, Settings, Store, column, markdown_table, mean_and_error
from significance import LEVEL, Ranking, rank_methods, ranking_sentences, wilcoxon_sentence

MODELS = {"linear": "Linear model", "knn": "Five nearest neighbours", "boosting": "Boosting"}
BASE, OURS = "original", "AutoFeatures"
Cells = dict[tuple[str, str], list[Settings]]


class Errors:
    """Errors of all methods on all sets under one model."""

    def __init__(self, cells: Cells, store: Store, model: str, options: argparse.Namespace) -> None:
        self.sets, self.methods = list(options.sets), list(options.methods)
        self.splits = {key: column(store, jobs, model) for key, jobs in cells.items()}
        self.reasons = {
            key: next((found["reason"] for found in map(store.get, jobs) if reason_of(found)), "")
            for key, jobs in cells.items()
        }

    def mean(self, name: str, method: str) -> float:
        """Return the mean error of a method, NaN where there is none."""
        return mean_and_error(self.splits[name, method])[0]

    def scores(self) -> np.ndarray:
        """Return errors by set and method; one that gave no columns leaves the original ones."""
        found = np.array([[self.mean(n, m) for m in self.methods] for n in self.sets])
        if BASE in self.methods:
            base = found[:, self.methods.index(BASE)]
            for i, name in enumerate(self.sets):
                for j, method in enumerate(self.methods):
                    if np.isnan(found[i, j]) and self.reasons[name, method]:
                        found[i, j] = base[i]
        return found

    def why_behind(self, rival: str) -> str:
        """Say where AutoFeatures leaves errors as they are, and what it and a peer do to them."""
        scores = self.scores()
        ours, theirs, base = (scores[:, self.methods.index(m)] for m in (OURS, rival, BASE))
        return (
            f" {OURS} has the same error as the {BASE} columns on {int((ours == base).sum())} "
            f"sets ({rival} on {int((theirs == base).sum())}), since it keeps them where its folds "
            f"prove no gain, and a higher one on {int((ours > base).sum())} "
            f"({int((theirs > base).sum())}); over all sets its error is "
            f"{mean_ratio(ours, base):.2f} times theirs, with {rival} "
            f"{mean_ratio(theirs, base):.2f} times."
        )

    def table(self) -> str:
        """Lay out the errors; the lowest of a row is bold."""
        rows = []
        for name in self.sets:
            means = np.array([self.mean(name, method) for method in self.methods])
            texts = [NO_VALUE if np.isnan(mean) else f"{mean:.3f}" for mean in means]
            if np.isfinite(means).any():
                for place in np.flatnonzero(means == np.nanmin(means)):
                    texts[place] = f"**{texts[place]}**"
            rows.append([name, *texts])
        return markdown_table(["set", *self.methods], rows)

    def against_base(self) -> str:
        """Say how each method stands beside the original columns."""
        lines = []
        scores = self.scores()
        for j, method in enumerate(self.methods):
            if method == BASE or BASE not in self.methods:
                continue
            base = scores[:, self.methods.index(BASE)]
            known = np.isfinite(scores[:, j]) & np.isfinite(base)
            if not known.any():
                continue
            change = (scores[:, j] - base)[known]
            lower, higher = int((change < 0).sum()), int((change > 0).sum())
            ratio = mean_ratio(scores[:, j], base)
            none = sum(bool(self.reasons[name, method]) for name in self.sets)
            lines.append(
                f"- {method}: error {ratio:.2f} times that of the original columns (geometric "
                f"mean), lower on {lower}, higher on {higher} of {int(known.sum())} sets. "
                f"{wilcoxon_sentence(scores[:, j], base)}"
                + (f" No columns on {none} sets." if none else "")
            )
        return "\n".join(lines)


def mean_ratio(errors: np.ndarray, base: np.ndarray) -> float:
    """Return the geometric mean of errors over others; no error at all has no ratio."""
    positive = (base > 0) & (errors > 0)
    return float(np.exp(np.mean(np.log(errors[positive] / base[positive]))))


def summary_of(ranking: Ranking, title: str, errors: Errors) -> str:
    """Say how AutoFeatures stands beside the original columns and the best peer; "" without it."""
    ranks = dict(zip(ranking.labels, ranking.ranks, strict=True))
    peers = [name for name in PINS if name in ranks]
    if OURS not in ranks or not peers:
        return ""
    best = min(peers, key=lambda name: ranks[name])
    rivals = {BASE, *peers}
    apart = [
        f"{other} (p = {p:.2g})"
        for pair, p in ranking.pairs.items()
        if OURS in pair and p < LEVEL and (other := next(n for n in pair if n != OURS)) in rivals
    ]
    far = [n for n in sorted(rivals) if abs(ranks[n] - ranks[OURS]) > ranking.critical]
    return (
        f"{title}: mean rank of {OURS} {ranks[OURS]:.2f}, of the best peer, {best}, "
        f"{ranks[best]:.2f}, of the {BASE} columns {ranks[BASE]:.2f}; on {ranking.n_sets} sets it "
        f"differs beyond chance from {', '.join(apart) or 'none of them'} by Wilcoxon's test with "
        f"Holm's correction, from {', '.join(far) or 'none of them'} by Nemenyi's."
    ) + (errors.why_behind(best) if ranks[best] < ranks[OURS] else "")


def behind_original(ranking: Ranking) -> str:
    """Name our methods that are ranked behind the original columns; "" without any."""
    ranks = dict(zip(ranking.labels, ranking.ranks, strict=True))
    behind = [f"{n} ({ranks[n]:.2f})" for n in ranks if n not in PINS and ranks[n] > ranks[BASE]]
    if not behind:
        return ""
    return (
        f"Behind the {BASE} columns ({ranks[BASE]:.2f}): {', '.join(behind)}. A method by itself "
        f"adds or replaces columns without asking whether that helps this model: {OURS} asks."
    )


def reason_of(found: dict | None) -> str:
    """Return the reason why a job has no columns."""
    return (found or {}).get("reason", "")


def seconds_table(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Lay out the seconds of learning the columns, and below why there are none on some sets."""
    rows, missing = [], []
    for name in options.sets:
        texts = []
        for method in options.methods:
            jobs = cells[name, method]
            reason = next(filter(None, (reason_of(store.get(job)) for job in jobs)), "")
            mean, _ = mean_and_error(column(store, jobs, "fit_seconds"))
            texts.append("none" if reason else NO_VALUE if np.isnan(mean) else f"{mean:.3g}")
            if reason:
                missing.append(f"- {name}, {method}: {reason.rstrip('.')}.")
        rows.append([name, *texts])
    table = markdown_table(["seconds", *options.methods], rows)
    return "\n\n".join([table, "\n".join(missing)] if missing else [table])


def report(cells: Cells, store: Store, options: argparse.Namespace) -> str:
    """Write everything as Markdown."""
    parts, rank_rows = [], []
    for model, title in MODELS.items():
        errors = Errors(cells, store, model, options)
        ranking = rank_methods(errors.scores(), options.methods)
        text = [f"## {title}", errors.table(), errors.against_base()]
        if ranking:
            path = image(options, model)
            critical_difference_plot(path, ranking, f"{title}: mean ranks, lower is better")
            text += [
                ranking_sentences(ranking),
                summary_of(ranking, title, errors),
                behind_original(ranking),
                shown(path, f"mean ranks, {title.lower()}"),
            ]
            best = ranking.ranks == ranking.ranks.min()
            ranks = [
                f"**{rank:.2f}**" if top else f"{rank:.2f}"
                for rank, top in zip(ranking.ranks, best, strict=True)
            ]
            rank_rows.append([title, str(ranking.n_sets), *ranks])
        parts.append("\n\n".join(part for part in text if part))
    absent = [peer for peer in PINS if peer in options.methods and not is_there(peer)]
    ranks_text = markdown_table(["mean rank", "sets", *options.methods], rank_rows)
    return f"""# Features of each library under three models

Error on a third of the rows (share of wrong classes, or root mean squared error over the spread of
the target), at most {options.max_rows} rows to learn from; splits: {options.splits}; threads:
{options.jobs}. Linear: logistic regression, or ridge regression with the penalty chosen by
leave-one-out, on standardised columns; five nearest neighbours on standardised columns;
scikit-learn's histogram gradient boosting; all at their defaults.

Ours: forest, Extra-Trees, boosting, FCTree and Batch add their formulas to the original columns,
landmarks adds 50 similarities; paths (hashed onto 1,024 columns) and RST replace them; AutoFeatures
searches for each model with effort {options.effort!r}. OpenFE and gplearn add ten features (gplearn
shares them among the classes), autofeat what it selects, AutoGluon's generators for numbers up to
2,050; a fit of theirs is ended after {options.limit:g} s. Undefined values of peers are set to 0.
Not installed: {", ".join(absent) or "none"}.

## Mean ranks

1 is the best; over the sets that every method has done. Where a method gives no columns, the
original ones count, as they would for a user who has no more time.

{ranks_text}

{(chr(10) * 2).join(parts)}

## Seconds of learning the columns

AutoFeatures: the sum of its three fits.

{seconds_table(cells, store, options)}
"""
