"""Names of the columns that a model returns, for tables of other libraries."""

from __future__ import annotations

from typing import Any


def output_names(model: Any, method: str, n_columns: int) -> list[str]:
    """Return the names of the columns of a method's result.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> output_names(SimpleNamespace(classes_=("no", "yes")), "predict_proba", 2)
    ['no', 'yes']
    """
    if method == "transform":
        return [str(name) for name in model.get_feature_names_out()]
    classes = getattr(model, "classes_", ())
    if method != "apply" and len(classes) == n_columns:
        return [str(label) for label in classes]
    return [f"{method}_{number}" for number in range(n_columns)]
