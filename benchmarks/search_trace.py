"""A trace of one node's look-ahead search (method E, figure 2 of its publication).

Two columns a and b, two constructors + and ×, formulas of at most five symbols in reverse Polish
notation. Before each symbol the search completes the formula once at random for every symbol that
may follow, scores each completion on the rows of the node, and appends the next symbol of the best
formula so far. Here it is written in Python, over the automaton that the library draws from, so
that every formula it scores can be shown; the tree beside it is the library's own.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pages import PAGES, shown, write_page
from plots import drawing
from runner import markdown_table

from featurewright import ConstructiveTreeClassifier
from featurewright.expressions import (
    Expression,
    Real,
    build_automaton,
    from_program,
    resolve_operators,
)
from featurewright.expressions.opcodes import END

NAMES = ("a", "b")
OPERATORS = ("add", "mul")
SIGNS = ("+", "×")
MAX_SIZE = 5
ROWS = 400
SHOWN_STEPS = 3
BUDGETS = (1, 2, 5, 10, 20, 50, 100)
GREEN, GREY = "tab:green", "0.45"


@dataclass(frozen=True)
class Trial:
    """A formula that was scored: the symbol it was drawn for, all its symbols and its score."""

    symbol: int
    program: tuple[int, ...]
    score: float


@dataclass
class Step:
    """What was tried after a prefix, and the best formula at its end."""

    prefix: tuple[int, ...]
    trials: list[Trial] = field(default_factory=list)
    best: Trial | None = None


def rows_of_node(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows of a node: the classes are the signs of a × b + b, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(ROWS, 2))
    a, b = X.T
    return X, made_by(a, b) + rng.normal(0, 0.3, ROWS) > 0


def made_by(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the formula behind the classes."""
    return a * b + b


def entropy(counts: np.ndarray) -> np.ndarray:
    """Return the entropy in bits of counts along the last axis."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return -np.sum(shares * np.log2(np.maximum(shares, 1e-300)), axis=-1)


def score(values: np.ndarray, y: np.ndarray) -> float:
    """Return the best 2 I(split; class) / (H(split) + H(class)) over all thresholds."""
    order = np.argsort(values, kind="stable")
    sides = np.flatnonzero(np.diff(values[order]) > 0) + 1
    if len(sides) == 0:
        return 0.0
    total = np.array([np.sum(~y), np.sum(y)])
    left = np.cumsum(np.column_stack([~y[order], y[order]]), axis=0)[sides - 1]
    n_left = left.sum(axis=1)
    split = entropy(np.column_stack([n_left, len(y) - n_left]))
    apart = n_left * entropy(left) + (len(y) - n_left) * entropy(total - left)
    gain = entropy(total) - apart / len(y)
    return float(np.max(2 * gain / (split + entropy(total))))


class LookAhead:
    """The search at one node: level 1 of nested Monte Carlo search."""

    def __init__(self, X: np.ndarray, y: np.ndarray, seed: int) -> None:
        self.X, self.y = X, y
        self.rng = np.random.default_rng(seed)
        domains = [Real] * X.shape[1]
        self.automaton = build_automaton(domains, resolve_operators(OPERATORS), MAX_SIZE)

    def following(self, program: Sequence[int]) -> list[int]:
        """Return the symbols that may come next, END among them."""
        state = 0
        tables = self.automaton
        for symbol in program:
            if symbol >= 0:
                state = int(tables.input_next[state, Real])
            else:
                state = int(tables.op_next[state, list(tables.op_symbol).index(symbol)])
        return tables.valid_symbols(state)

    def complete(self, program: list[int]) -> tuple[int, ...]:
        """Add valid symbols, drawn alike, until the formula ends."""
        while len(program) < MAX_SIZE:
            symbol = self.rng.choice(self.following(program))
            if symbol == END:
                break
            program = [*program, int(symbol)]
        return tuple(program)

    def values(self, program: tuple[int, ...]) -> np.ndarray:
        """Work out a formula on the rows."""
        return np.asarray(self.formula(program).evaluate(self.X), dtype=float)

    def formula(self, program: tuple[int, ...]) -> Expression:
        """Return the formula of some symbols."""
        return from_program(program, NAMES, [Real] * len(NAMES))

    def text(self, symbols: Sequence[int]) -> str:
        """Write symbols in reverse Polish notation."""
        signs = dict(zip(self.automaton.op_symbol.tolist(), SIGNS, strict=True))
        names = dict(enumerate(NAMES)) | signs | {END: "end"}
        return " ".join(names[symbol] for symbol in symbols)

    def run(self) -> list[Step]:
        """Build one formula, symbol by symbol."""
        steps: list[Step] = []
        best: Trial | None = None
        prefix: tuple[int, ...] = ()
        while len(prefix) < MAX_SIZE:
            step = Step(prefix)
            for symbol in self.following(prefix):
                program = prefix if symbol == END else self.complete([*prefix, symbol])
                trial = Trial(symbol, program, score(self.values(program), self.y))
                step.trials.append(trial)
                if best is None or trial.score > best.score:
                    best = trial
            assert best is not None
            step.best = best
            steps.append(step)
            if len(best.program) == len(prefix):
                break
            prefix = best.program[: len(prefix) + 1]
        return steps


def draw(path: Path, search: LookAhead, steps: Sequence[Step]) -> None:
    """Draw the first steps: a state, the symbols that may follow, and the formulas drawn."""
    steps = steps[:SHOWN_STEPS]
    with drawing(path, rows=len(steps), size=(7.4, 1.9)) as grid:
        for k, (axes, step) in enumerate(zip(grid[:, 0], steps, strict=True)):
            draw_step(axes, search, step, k)


def draw_step(axes: Any, search: LookAhead, step: Step, k: int) -> None:
    """Draw one step; the best formula so far and the symbol that it appends are green."""
    assert step.best is not None
    axes.set(xlim=(0, 10), ylim=(-0.6, len(step.trials) - 0.4))
    axes.axis("off")
    middle = (len(step.trials) - 1) / 2
    chosen = step.best.program[k] if k < len(step.best.program) else END
    square, round_ = {"boxstyle": "square,pad=0.35"}, {"boxstyle": "round,pad=0.35"}
    state = search.text(step.prefix) or "(empty)"
    axes.text(0.9, middle, state, ha="center", va="center", bbox=square | {"fc": "white"})
    for i, trial in enumerate(reversed(step.trials)):
        taken, best = trial.symbol == chosen, trial is step.best
        width, colour = (2.0, GREEN) if taken else (0.8, GREY)
        axes.annotate(
            "", (2.85, i), (1.75, middle), arrowprops={"arrowstyle": "-", "color": colour}
        )
        box = square | {"fc": "white", "ec": colour, "lw": width}
        axes.text(3.2, i, search.text([trial.symbol]), ha="center", va="center", bbox=box)
        curve = {"arrowstyle": "->", "color": GREY, "connectionstyle": "arc3,rad=-0.15"}
        axes.annotate("", (4.75, i), (3.65, i), arrowprops=curve)
        box = round_ | {"fc": "white", "ec": GREEN if best else GREY, "lw": 2.0 if best else 0.8}
        axes.text(4.95, i, search.text(trial.program), va="center", bbox=box)
        axes.text(7.0, i, f"{trial.score:.3f}", va="center", color=GREEN if best else "black")
    best = f"best so far: {search.text(step.best.program)}, {step.best.score:.3f}"
    axes.set_title(f"step {k + 1}; {best}", fontsize=9, loc="left")


def trace_table(search: LookAhead, steps: Sequence[Step]) -> str:
    """Lay out all formulas that were scored."""
    rows = []
    for k, step in enumerate(steps):
        for trial in step.trials:
            assert step.best is not None
            mark = "best so far" if trial is step.best else ""
            cells = [search.text([trial.symbol]), search.text(trial.program)]
            cells += [str(search.formula(trial.program)), f"{trial.score:.3f}", mark]
            rows.append([f"{k + 1}: {search.text(step.prefix) or '(empty)'}", *cells])
    head = ["step: formula so far", "next symbol", "completed at random", "reads", "score", ""]
    return markdown_table(head, rows)


def by_budget(X: np.ndarray, y: np.ndarray) -> str:
    """Lay out what the library's own tree tests at its root, by the formulas it may score."""
    rows = []
    for budget in BUDGETS:
        tree = ConstructiveTreeClassifier(
            budget=budget, max_size=MAX_SIZE, max_depth=1, operators=OPERATORS, random_state=0
        ).fit(pd.DataFrame(X, columns=NAMES), y)
        if tree.features_:
            expression = tree.features_[0].expression
            tested, values = str(expression), expression.evaluate(X)
        else:  # a column as it is
            column = int(np.argmax(tree.feature_importances_))
            tested, values = NAMES[column], X[:, column]
        rows.append([str(budget), tested, f"{score(values, y):.3f}"])
    return markdown_table(["formulas scored", "the root tests", "score"], rows)


def report(search: LookAhead, steps: Sequence[Step], picture: Path) -> str:
    """Write the page."""
    last = steps[-1].best
    assert last is not None
    n_scored = sum(len(step.trials) for step in steps)
    return f"""# A trace of the search at one node

Figure 2 of the publication on trees that construct features, with formulas that were drawn here.
{ROWS} rows have two columns a and b, and two classes: the sign of a × b + b, with some noise.
Formulas have at most {MAX_SIZE} symbols: columns, + and ×, in reverse Polish notation.

Look-ahead search starts with nothing. For every symbol that may follow it completes the formula
once at random and scores it (2 I / (H(split) + H(class)) at the best threshold); then it appends
the next symbol of the *best formula so far*, which may be of an earlier step. At the end it starts
again, until the budget is spent. `step` completes once in each step, whatever the next symbol;
`random` has complete formulas only.

{shown(picture, "three steps of look-ahead search")}

Boxes are the formula so far and the symbols that may follow; rounded boxes are the formulas
completed at random, with their scores. The best formula so far and the symbol that it appends are
green; where no rounded box is green, the best one is of an earlier step.

## All of it

{trace_table(search, steps)}

After {n_scored} scores this round has found {search.formula(last.program)}, {last.score:.3f};
the formula behind the classes scores {score(made_by(*search.X.T), search.y):.3f}.

## The library's own search

`ConstructiveTreeClassifier(search="look_ahead", budget=K, max_depth=1)` on the same rows, with
random numbers of its own: what the root tests where K formulas may be scored. The same seed draws
the same formulas, so that a larger budget goes on where a smaller one ends.

{by_budget(search.X, search.y)}
"""


def main() -> None:
    """Run, draw and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=2, help="of rows and search (default: 2)")
    parser.add_argument("--write", type=Path, default=PAGES / "search_trace.md", metavar="FILE")
    options = parser.parse_args()
    search = LookAhead(*rows_of_node(options.seed), options.seed)
    steps = search.run()
    picture = options.write.with_suffix(".png")
    draw(picture, search, steps)
    write_page(options.write, report(search, steps, picture), "full")


if __name__ == "__main__":
    main()
