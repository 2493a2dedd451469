"""Methods of estimators on DuckDB relations: as SQL, which the database runs."""

from __future__ import annotations

from typing import Any, NoReturn

from sklearn.utils.validation import check_is_fitted

from featurewright.export import to_sql

_WRITTEN = ("transform", "predict", "predict_proba")


def apply(model: Any, method: str, X: Any, **named: Any) -> Any:
    """Return what a method of a fitted estimator computes for a relation, as a relation.

    Models without SQL are refused by `to_sql`.

    Parameters
    ----------
    model : estimator
        Fitted.
    method : str
        Its name.
    X : duckdb.DuckDBPyRelation
        The rows.
    **named
        Further arguments of the method, of which SQL has none.
    """
    check_is_fitted(model)
    if method not in _WRITTEN or named:
        raise TypeError(
            f"{method} of a relation is not written as SQL: pass a data frame, such as X.pl()."
        )
    return X.query("rows_of_x", to_sql(model, "rows_of_x", "duckdb", output=method))


def fit(model: Any, X: Any, *_: Any, **__: Any) -> NoReturn:
    """Refuse to fit on a relation."""
    raise TypeError(
        "X is a relation, but its values are needed: pass an eager data frame, such as X.pl()."
    )
