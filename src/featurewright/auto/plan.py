"""What a search tries, planned from the shape of the table, the settings and the effort alone.

No plan looks at a clock: the same table, settings and seed give the same result on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_MIN_STAGE_ROWS = 500
_STAGE_GROWTH = 4  # factor by which the rows grow from stage to stage
_COLUMNS_AT_ONCE = 20  # up to this many columns, rows alone count
_BOOSTING_FOLDS = 5
_BOOSTING_COLUMNS = 100  # without formulas: each tree of boosting reads all columns
MAX_FIT_CELLS = 50_000_000  # rows times constructed columns of the last fit
_SCORES_AT_ONCE = 3  # up to this many scores of a row (one for each class), rows alone count


@dataclass(frozen=True)
class Effort:
    """How much work a search does.

    Parameters
    ----------
    first_rows : int
        Training rows of the first stage, in which all methods are compared.
    max_rows : int
        Training rows of the last stage at most, of a table of twenty columns and few classes.
    check_rows : int
        Training rows at most of the folds on which a choice is checked with more rows.
    n_check_folds : int
        Number of those folds.
    n_folds : int
        Folds of the last stage, where none are asked for.
    n_first_folds : int
        Folds of the stages before.
    max_cost : float
        Methods whose nominal cost is larger are left out (`Method.cost`).
    stage_cost : float
        Sum of the costs of the methods that enter the last stage, beside those with formulas;
        twice as much enters the stage before, and so on.
    fit_cost : float
        Rows times the square of columns, up to which methods without formulas offer columns: a
        linear model takes as long.
    scale : float
        Factor on the numbers of trees and rounds of methods.
    n_polished : int
        Formulas that any change of a symbol may improve.
    polish_rows : int
        Rows on which formulas are compared.
    n_finalists : int
        Candidates that are tried on further folds, where rows are few.
    n_repetitions : int
        Further folds, as multiples of the folds.
    front_sizes : tuple of int
        Numbers of formulas that are tried.
    checks_others : bool
        Whether the other standard estimators are scored too.
    link_budget : int
        Candidates over links that are compared in a fold.
    n_link_columns : int
        Columns over links, at most, that methods have as operands.
    """

    first_rows: int
    max_rows: int
    check_rows: int
    n_check_folds: int
    n_folds: int
    n_first_folds: int
    max_cost: float
    stage_cost: float
    fit_cost: float
    scale: float
    n_polished: int
    polish_rows: int
    n_finalists: int
    n_repetitions: int
    front_sizes: tuple[int, ...]
    checks_others: bool
    link_budget: int
    n_link_columns: int

    def folds_for(self, *, boosting: bool) -> int:
        """Return the number of folds: boosting gains little, which few folds do not prove."""
        return max(self.n_folds, _BOOSTING_FOLDS) if boosting else self.n_folds

    def sizes_for(self, *, boosting: bool) -> tuple[int, ...]:
        """Return the numbers of formulas to try: every second one for boosting, which is slow."""
        return self.front_sizes[::2] if boosting else self.front_sizes


EFFORTS = {
    "quick": Effort(
        first_rows=1_000,
        max_rows=2_500,
        check_rows=10_000,
        n_check_folds=0,
        n_folds=3,
        n_first_folds=1,
        max_cost=1.5,
        stage_cost=1.5,
        fit_cost=4e8,
        scale=0.4,
        n_polished=8,
        polish_rows=1_500,
        n_finalists=2,
        n_repetitions=1,
        front_sizes=(1, 2, 3, 5, 8, 12, 20, 30, 50),
        checks_others=False,
        link_budget=500,
        n_link_columns=30,
    ),
    "standard": Effort(
        first_rows=1_500,
        max_rows=100_000,
        check_rows=200_000,
        n_check_folds=1,
        n_folds=5,
        n_first_folds=1,
        max_cost=3.0,
        stage_cost=3.5,
        fit_cost=2e9,
        scale=1.0,
        n_polished=15,
        polish_rows=2_000,
        n_finalists=4,
        n_repetitions=2,
        front_sizes=(1, 2, 3, 5, 8, 12, 20, 30, 50, 100),
        checks_others=True,
        link_budget=1000,
        n_link_columns=50,
    ),
    "thorough": Effort(
        first_rows=5_000,
        max_rows=400_000,
        check_rows=1_000_000,
        n_check_folds=2,
        n_folds=5,
        n_first_folds=2,
        max_cost=10.0,
        stage_cost=10.0,
        fit_cost=2e10,
        scale=2.0,
        n_polished=30,
        polish_rows=5_000,
        n_finalists=6,
        n_repetitions=4,
        front_sizes=(1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 200),
        checks_others=True,
        link_budget=2000,
        n_link_columns=50,
    ),
}
"""The efforts by name; `AutoFeatures(effort=...)` and ``--effort`` take these names."""


@dataclass(frozen=True)
class Stage:
    """Methods compared on folds with a number of rows.

    Parameters
    ----------
    n_rows : int
        Training rows of a fold at most.
    n_folds : int or None
        Folds; None for all.
    chooses : bool
        Whether only the better methods enter, beside those with formulas.
    """

    n_rows: int
    n_folds: int | None
    chooses: bool


def make_stages(effort: Effort, n_rows: int, n_columns: int, n_scores: int) -> tuple[Stage, ...]:
    """Return the stages of a search: few rows and all methods first, more rows for fewer later.

    Parameters
    ----------
    effort : Effort
        How much work to do.
    n_rows, n_columns : int
        Shape of the training rows of a fold.
    n_scores : int
        Scores that a model has for each row: one for each class, where there are more than two.

    Returns
    -------
    tuple of Stage
        At least one.

    Examples
    --------
    >>> [(stage.n_rows, stage.chooses) for stage in make_stages(EFFORTS["standard"], 8000, 20, 1)]
    [(2000, False), (8000, True)]
    >>> len(make_stages(EFFORTS["standard"], 800, 20, 1))
    1
    """
    width = max(1.0, n_columns / _COLUMNS_AT_ONCE) * max(1.0, n_scores / _SCORES_AT_ONCE)
    most = max(_MIN_STAGE_ROWS, int(effort.max_rows / width))
    first = max(_MIN_STAGE_ROWS, int(effort.first_rows / width))
    rows = [min(n_rows, most)]
    while rows[0] >= 2 * first:
        rows.insert(0, max(first, rows[0] // _STAGE_GROWTH))
    stages = []
    for place, size in enumerate(rows):
        is_last = place + 1 == len(rows)
        stages.append(Stage(size, None if is_last else effort.n_first_folds, place > 0))
    return tuple(stages)


def column_sizes(
    offered: Sequence[int],
    effort: Effort,
    n_rows: int,
    n_fold_rows: int,
    *,
    formulas: bool,
    boosting: bool,
    limit: int | None = None,
) -> list[int]:
    """Return the numbers of columns to try: fewer where rows are few, or very many.

    Parameters
    ----------
    offered : sequence of int
        Numbers of columns that a method offers.
    effort : Effort
        How much work to do.
    n_rows, n_fold_rows : int
        Training rows, and those of a fold of the last stage.
    formulas : bool
        Whether the columns are formulas.
    boosting : bool
        Whether the estimator boosts trees.
    limit : int or None
        Largest number of columns, where one was asked for.

    Returns
    -------
    list of int
        At least one, in ascending order.

    Examples
    --------
    >>> column_sizes((30, 100, 300), EFFORTS["quick"], 900, 600, formulas=False, boosting=True)
    [30, 100]
    """
    if formulas:
        most = n_rows // 10
    else:
        most = min(n_rows, int(np.sqrt(effort.fit_cost / n_fold_rows)))
        most = min(most, _BOOSTING_COLUMNS) if boosting else most
    most = max(min(offered), most)
    most = min(most, max(1, MAX_FIT_CELLS // n_rows), limit or most)
    found = {size for size in offered if size <= most} or {most}
    if max(found) < max(offered) and most >= 2 * max(found):
        found.add(most)
    return sorted(found | ({most} if most == limit else set()))
