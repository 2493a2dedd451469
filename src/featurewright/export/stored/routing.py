"""What an estimator asks scikit-learn's metadata routing for."""

from __future__ import annotations

from typing import Any

from sklearn import config_context

from featurewright.export.stored.errors import broken

ROUTING = "_metadata_request"  # where scikit-learn keeps it
_METHODS = ("fit", "score", "predict", "predict_proba", "decision_function", "transform")


def get_requests(model: Any) -> dict[str, dict[str, Any]]:
    """Give what methods ask for, as `set_fit_request` and the like were told."""
    if ROUTING not in vars(model):
        return {}
    request = vars(model)[ROUTING]
    asked = {name: dict(getattr(request, name).requests) for name in _METHODS}
    return {name: told for name, told in asked.items() if told}


def set_requests(model: Any, requests: Any) -> None:
    """Tell an estimator again what its methods ask for."""
    try:
        with config_context(enable_metadata_routing=True):
            for name, told in dict(requests).items():
                if name not in _METHODS or any(
                    not isinstance(alias, (str, bool, type(None))) for alias in dict(told).values()
                ):
                    raise broken("an estimator asks for metadata in an unknown way")
                getattr(model, f"set_{name}_request")(**told)
    except (TypeError, ValueError, AttributeError) as error:
        raise broken("an estimator asks for metadata that it does not take") from error
