"""A few terms that add up to a prediction: columns, formulas, and their bends and steps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from featurewright.auto.estimators import fit_estimator, make_folds, standard_estimator
from featurewright.auto.formulas import formula_values, spaced_rows
from featurewright.auto.originals import Originals
from featurewright.auto.thresholded import choose_thresholds
from featurewright.auto.workspace import Problem
from featurewright.estimators.selection import normalized
from featurewright.expressions import Boolean, Call, Column, Expression, Feature, Real, get_operator
from featurewright.expressions.numbers import number_code, number_text

Matrix = NDArray[np.float64]

_MAX_ROWS = 4_000  # on which terms are selected, about
_MAX_BENT = 40  # formulas, and columns, that are bent
_MAX_CANDIDATES = 400  # terms that the path selects from: those that correlate most
_N_PENALTIES = 25
_N_FOLDS = 5
_LEAST_SHARE = 1e-6  # a probability below it is no worse
_SHAPES = {"at_least": "bend", "over": "step"}


class Term(TypedDict):
    """One term of a sum: a coefficient for each score, times a shape of a formula."""

    formula: str
    shape: str
    threshold: float | None
    coefficients: list[float]


class Shape(NamedTuple):
    """What one column of the output is: a formula, bent or stepped at a threshold or as it is."""

    formula: str
    kind: str
    threshold: float | None
    expression: Expression | None

    def follow(self, values: Matrix) -> Matrix:
        """Return the column for values of the formula."""
        if self.threshold is None:
            return values
        if self.kind == "bend":
            return np.maximum(values - self.threshold, 0.0)
        return (values > self.threshold).astype(np.float64)


def read_shape(expression: Expression) -> Shape:
    """Return what a formula bends or steps.

    Examples
    --------
    >>> from featurewright.expressions import parse
    >>> read_shape(parse("max(a * b, 2.5)", "ab"))[:3]
    ('a * b', 'bend', 2.5)
    """
    if isinstance(expression, Call) and expression.operator.name in _SHAPES:
        inner = expression.arguments[0]
        kind = _SHAPES[expression.operator.name]
        return Shape(str(inner), kind, expression.number, inner)
    return Shape(str(expression), "line", None, expression)


def select_terms(
    originals: Originals, formulas: Sequence[Feature], problem: Problem, max_terms: int
) -> tuple[Originals, list[Feature]]:
    """Select original columns and formulas, bent and stepped, by a path of L1 penalties.

    The penalty is chosen in folds, by the loss of a linear model of the columns that it keeps. For
    several classes, a term is kept for all of them or for none.

    Parameters
    ----------
    originals : Originals
        The original columns.
    formulas : sequence of Feature
        Formulas.
    problem : Problem
        Training rows.
    max_terms : int
        Largest number of terms.

    Returns
    -------
    Originals
        Those that are kept.
    list of Feature
        Formulas, bends and steps that are kept.
    """
    places = spaced_rows(len(problem.y), _MAX_ROWS, problem.weights)
    rows = problem.take(places)
    base = originals.compute(np.asarray(rows.table.matrix, np.float64))
    options = _bent(formulas, rows)
    values, sound = formula_values(options, rows.table)
    columns = np.hstack([base, values[:, sound]])
    scaled, target = normalized(columns), rows.target - rows.target.mean(axis=0)
    strength = np.linalg.norm(scaled.T @ target, axis=1)
    kept = np.sort(np.argsort(-strength, kind="stable")[:_MAX_CANDIDATES])
    kept = kept[strength[kept] > 0.0]
    chosen = _choose(columns[:, kept], rows, max_terms) if len(kept) else np.zeros(1, np.intp)
    chosen = kept[chosen] if len(kept) else chosen
    first = [int(at) for at in chosen if at < base.shape[1]]
    own = Originals(
        tuple(originals.columns[at] for at in first),
        tuple(originals.steps[at] for at in first),
        originals.frequencies,
        originals.ranges,
    )
    later = [options[sound[at - base.shape[1]]] for at in chosen if at >= base.shape[1]]
    return own, [Feature.of(expression) for expression in later]


def _bent(formulas: Sequence[Feature], rows: Problem) -> list[Expression]:
    """Return formulas, and the bends and steps of them and of columns."""
    schema = rows.table.schema
    # Columns over links come as formulas: others of them are computed no more.
    n_own = schema.n_columns - rows.n_linked
    numbers = [at for at in range(n_own) if schema.domains[at] == Real]
    columns = [Column(at, schema.names[at], Real) for at in numbers]
    found: dict[Expression, None] = dict.fromkeys(feature.expression for feature in formulas)
    smooth = [expression for expression in found if expression.domain != Boolean]
    for formula in (*smooth[:_MAX_BENT], *columns[:_MAX_BENT]):
        if read_shape(formula).threshold is not None:
            continue
        for number in choose_thresholds(formula.evaluate(rows.table.matrix))[::2]:
            code = number_code(number)
            for name in _SHAPES:
                found[Call(get_operator(name), (formula,), (code, number_text(code)))] = None
    return list(found)


def _choose(columns: Matrix, rows: Problem, max_terms: int) -> NDArray[np.intp]:
    """Return the columns that the best penalty keeps."""
    penalties, supports = _path(columns, rows.target, max_terms)
    losses = np.zeros(len(penalties))
    # The seed is fixed: the same training rows give the same terms.
    for train, test in make_folds(_N_FOLDS, rows.y, None, rows.task.kind, 0):
        _, own = _path(columns[train], rows.target[train], max_terms, penalties)
        known: dict[tuple[int, ...], float] = {}
        for place, support in enumerate(own):
            key = tuple(support.tolist())
            if key not in known:
                known[key] = _loss(columns[:, support], rows, train, test)
            losses[place] += known[key] * len(test)
    usable = [place for place, support in enumerate(supports) if len(support)]
    return supports[min(usable, key=lambda place: losses[place])]


def _path(
    columns: Matrix, target: Matrix, max_terms: int, penalties: Matrix | None = None
) -> tuple[Matrix, list[NDArray[np.intp]]]:
    """Return penalties, and the columns that each keeps, at most `max_terms` of them."""
    # Imported where it is used: a transform does not need it, and it loads slowly.
    from sklearn.linear_model import lasso_path

    scaled = np.asfortranarray(normalized(columns) * np.sqrt(len(columns)))
    centred = target - target.mean(axis=0)
    if penalties is None:  # from one that keeps no column to a hundredth of it
        most = float(np.linalg.norm(scaled.T @ centred, axis=1).max()) / len(columns)
        penalties = np.geomspace(most, 0.01 * most, _N_PENALTIES)
    with warnings.catch_warnings():
        # Columns are chosen by it; the coefficients are fitted afterwards.
        warnings.simplefilter("ignore", ConvergenceWarning)
        used, weights, *_ = lasso_path(
            scaled,
            centred[:, 0] if centred.shape[1] == 1 else np.asfortranarray(centred),
            alphas=penalties,
            max_iter=300,
            tol=1e-3,
        )
    strength = np.abs(weights) if weights.ndim == 2 else np.sqrt((weights**2).sum(axis=0))
    supports = []
    for own in strength.T:
        strongest = np.argsort(-own, kind="stable")[:max_terms]
        supports.append(np.sort(strongest[own[strongest] > 0.0]))
    return used, supports


def _loss(columns: Matrix, rows: Problem, train: Any, test: Any) -> float:
    """Return the mean loss on held-out rows: squares for numbers, else the log loss."""
    wanted = rows.y[test]
    if not columns.shape[1]:
        columns = np.zeros((len(columns), 1))
    estimator = standard_estimator("linear", rows.task.kind)
    model = fit_estimator(estimator, columns[train], rows.y[train], None)
    if rows.task.kind == "regression":
        return float(np.mean((model.predict(columns[test]) - wanted) ** 2))
    shares = model.predict_proba(columns[test])
    share = (shares * (wanted[:, np.newaxis] == model.classes_)).sum(axis=1)
    return float(-np.log(np.maximum(share, _LEAST_SHARE)).mean())


def output_shapes(model: Any) -> list[Shape]:
    """Return what each column of the output of a fitted search is."""
    shapes = []
    expressions = [f.expression for part in model.parts_ for f in part.features or part.names]
    for place, column in enumerate(model.columns_):
        if place < len(model.originals_.columns):
            kind = "line" if column.kind == "number" else column.kind
            shapes.append(Shape(column.name, kind, None, None))
        elif column.kind == "formula":
            shapes.append(read_shape(expressions[place - len(model.originals_.columns)]))
        else:
            shapes.append(Shape(column.name, column.kind, None, None))
    return shapes


def read_weights(model: Any) -> tuple[Matrix, Matrix]:
    """Return the coefficients of a linear model by score and column: as they are, and scaled."""
    *before, last = [step for _, step in getattr(model, "steps", [("", model)])]
    if not hasattr(last, "coef_") or len(before) > 1:
        raise AttributeError(
            f"{type(last).__name__} is no linear model, so its prediction is no sum of terms; use "
            "to_additive()."
        )
    scaled = np.atleast_2d(np.asarray(last.coef_, np.float64))
    scale = getattr(before[0], "scale_", None) if before else None
    return (scaled if scale is None else scaled / scale), scaled
