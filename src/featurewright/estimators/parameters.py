"""Parameters declared once per class: how each is written, what it does, and what it may be.

An estimator lists its parameters in `_parameters`; classes add to what their bases list. From that
list come the check at the start of `fit` and the section of the class's docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from math import ceil, log2, sqrt
from numbers import Integral, Real
from textwrap import dedent
from typing import Any, ClassVar, TypeVar

import numpy as np

from featurewright.estimators.collections import TakesCollections
from featurewright.expressions.text import shorten

# A check takes the name and the value of a parameter, and raises an error that names both.
Check = Callable[[str, Any], Any]
Estimator = TypeVar("Estimator", bound=type)
_MAX_SHOWN = 100  # characters of a value in an error


@dataclass(frozen=True)
class Parameter:
    """One parameter of a constructor.

    Parameters
    ----------
    kind : str
        What it may be, in the words of a docstring; the default is added from the constructor.
    text : str
        What it does.
    check : callable
        Raises an error for a name and a value that makes no sense.
    """

    kind: str
    text: str
    check: Check

    def describe(self, name: str, default: Any) -> str:
        """Return the parameter's entry of a docstring."""
        head = f"{name} : {self.kind}"
        if default is None and "None" not in self.kind:
            head += ", optional"
        elif default is not inspect.Parameter.empty:
            shown = f'"{default}"' if isinstance(default, str) else repr(default)
            head += f", default={shown}"
        lines = dedent(self.text).strip().splitlines()
        return "\n".join([head, *(f"    {line}" for line in lines)])


class DeclaredParameters(TakesCollections):
    """An estimator that checks its parameters as its classes declare them."""

    _parameters: ClassVar[Mapping[str, Parameter]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", _naming_arguments(vars(cls)["__init__"]))  # noqa: B010

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense: each by itself, then how they fit together."""
        declared = declared_parameters(type(self))
        for name, value in self.get_params(deep=False).items():  # type: ignore[attr-defined]
            declared[name].check(name, value)
        self._check_combinations()

    def _check_combinations(self) -> None:
        """Refuse parameters that do not go together; each of them is valid by itself."""


def _naming_arguments(constructor: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor so that errors about unknown arguments name the public class.

    Python's own error names the class that has the constructor, which may be one that users have
    never seen.
    """
    _, *known = inspect.signature(constructor).parameters.values()
    names = [parameter.name for parameter in known]
    n_places = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in known)

    @wraps(constructor)
    def construct(self: Any, *places: Any, **arguments: Any) -> None:
        if len(places) > n_places:
            raise TypeError(
                f"{type(self).__name__} takes {n_places} argument{'s'[: n_places != 1]} by place, "
                f"got {len(places)}: name the others, such as {names[n_places]}=…."
            )
        for name in arguments:
            if name not in names:
                near = get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(names)}."
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}: {hint}")
        constructor(self, *places, **arguments)

    return construct


def declared_parameters(estimator: type) -> dict[str, Parameter]:
    """Return the parameters that a class and its bases declare; the class itself comes first."""
    declared: dict[str, Parameter] = {}
    for base in reversed(estimator.__mro__):
        declared.update(vars(base).get("_parameters", {}))
    return declared


def keep_arguments(estimator: Any, arguments: Mapping[str, Any]) -> None:
    """Store a constructor's arguments under their own names, as scikit-learn expects."""
    for name, value in arguments.items():
        if name != "self":
            setattr(estimator, name, value)


def documented(*, attributes: str = "", publication: str = "") -> Callable[[Estimator], Estimator]:
    """Fill `{parameters}`, `{attributes}` and `{publication}` in a class's docstring."""

    def fill(estimator: Estimator) -> Estimator:
        declared = declared_parameters(estimator)
        signature = inspect.signature(estimator).parameters
        entries = [declared[name].describe(name, p.default) for name, p in signature.items()]
        document = dedent("    " + (estimator.__doc__ or ""))
        document = document.replace("{parameters}", "\n".join(entries))
        document = document.replace("{attributes}", attributes.strip())
        estimator.__doc__ = document.replace("{publication}", publication)
        return estimator

    return fill


# Reading values ---------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """Return a value as it is written in code, on one short line."""
    return shorten(" ".join(repr(value).split()), _MAX_SHOWN)


def one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Return a value that is one of the allowed ones."""
    if not any(value is a or (isinstance(value, str) and value == a) for a in allowed):
        listed = ", ".join(repr(a) for a in allowed)
        raise ValueError(f"{name}={shown(value)} is not known; use one of {listed}.")
    return value


def whole_number(
    name: str, value: Any, least: int, *, most: int | None = None, other: str | None = None
) -> int:
    """Return a whole number within bounds; `other` names what else the parameter may be."""
    fits = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
    if not fits or (most is not None and value > most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        rest = "" if other is None else f", or {other}"
        raise ValueError(f"{name}={shown(value)} must be a whole number {wanted}{rest}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Return True or False; any other value would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={shown(value)} must be True or False.")
    return bool(value)


def check_jobs(n_jobs: Any) -> None:
    """Check a number of threads; negative ones count from the last core, as in joblib."""
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise ValueError(f"n_jobs={shown(n_jobs)} must be a whole number other than 0, or None.")


def number(
    name: str, value: Any, *, above: float | None = None, least: float | None = None
) -> float:
    """Return a finite number above, or not below, a bound."""
    fits = _is_number(value)
    if fits and above is not None:
        fits = float(value) > above
    if fits and least is not None:
        fits = float(value) >= least
    if not fits:
        wanted = f"above {above:g}" if above is not None else f"of at least {least:g}"
        raise ValueError(f"{name}={shown(value)} must be a finite number {wanted}.")
    return float(value)


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))


def rows_or_share(name: str, value: Any, n_rows: int, least: int) -> int:
    """Return a number of rows, given as such or as a share of them in (0, 1]."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        if not 0.0 < float(value) <= 1.0:
            raise ValueError(
                f"{name}={shown(value)} must lie in (0, 1] when it is a share of rows."
            )
        return max(least, ceil(float(value) * n_rows))
    return whole_number(name, value, least)


def raw_columns(max_features: Any, n_columns: int, rounding: Callable[[float], int] = round) -> int:
    """Return how many raw columns a node tries."""
    if isinstance(max_features, str):
        one_of("max_features", max_features, ("sqrt", "log2", "all"))
        if max_features == "all":
            return n_columns
        count = sqrt(n_columns) if max_features == "sqrt" else log2(n_columns)
        return max(1, rounding(count))
    if isinstance(max_features, Real) and not isinstance(max_features, Integral):
        if not 0.0 < float(max_features) <= 1.0:
            raise ValueError(f"max_features={shown(max_features)} must lie in (0, 1] when a share.")
        return max(1, rounding(float(max_features) * n_columns))
    return min(n_columns, whole_number("max_features", max_features, 0))


# Checks for declarations ------------------------------------------------------------------------


def choice(*allowed: Any) -> Check:
    """Return a check for one of some values."""
    return lambda name, value: one_of(name, value, allowed)


def whole(least: int, *, most: int | None = None) -> Check:
    """Return a check for a whole number."""
    return lambda name, value: whole_number(name, value, least, most=most)


def whole_or_auto(least: int) -> Check:
    """Return a check for a whole number or "auto"."""

    def check(name: str, value: Any) -> None:
        if not (isinstance(value, str) and value == "auto"):
            whole_number(name, value, least, other="'auto'")

    return check


def real(*, above: float | None = None, least: float | None = None) -> Check:
    """Return a check for a finite number."""
    return lambda name, value: number(name, value, above=above, least=least)


def within(interval: str) -> Check:
    """Return a check for a number in an interval, written such as "(0, 1]"."""
    low, high = map(float, interval[1:-1].split(","))

    def check(name: str, value: Any) -> None:
        fits = _is_number(value)
        fits = fits and (low < value if interval[0] == "(" else low <= value)
        fits = fits and (value < high if interval[-1] == ")" else value <= high)
        if not fits:
            raise ValueError(f"{name}={shown(value)} must be a number in {interval}.")

    return check


def rows(least: int) -> Check:
    """Return a check for a number of rows or a share of them."""
    return lambda name, value: rows_or_share(name, value, least, least)


def optional(check: Check) -> Check:
    """Return a check that lets None pass."""
    return lambda name, value: None if value is None else check(name, value)


def check_columns(name: str, value: Any) -> None:
    """Check how many raw columns a node tries; None stands for the usual number."""
    if value is not None:
        raw_columns(value, 1)


def check_class_weight(name: str, value: Any) -> None:
    """Check weights of classes; their labels are compared with the target later."""
    if value is not None and not isinstance(value, Mapping):
        balanced = isinstance(value, str) and value == "balanced"
        if not balanced:
            raise ValueError(
                f"{name}={shown(value)} must be a dict of label to weight, 'balanced' or None."
            )
    for label, weight in value.items() if isinstance(value, Mapping) else ():
        if not _is_number(weight) or weight < 0:
            raise ValueError(
                f"{name} gives the class {label!r} the weight {shown(weight)}, but a finite "
                "number of at least 0 is expected: change it."
            )


def check_seed(name: str, value: Any) -> None:
    """Check a random state: a seed, a generator of the old kind, or None."""
    if value is None or value is np.random or isinstance(value, np.random.RandomState):
        return
    if not isinstance(value, Integral) or not 0 <= int(value) < 2**32:
        raise ValueError(
            f"{name}={shown(value)} must be a whole number from 0 to 2**32 - 1, a RandomState, or "
            "None."
        )


def check_verbose(name: str, value: Any) -> None:
    """Check how much is shown: a whole number, True or False."""
    if not isinstance(value, bool | np.bool_):
        whole_number(name, value, 0)


def check_threads(name: str, value: Any) -> None:
    """Check a number of threads."""
    check_jobs(value)


def accept(name: str, value: Any) -> None:
    """Accept every value: what it must be is known only from others, or from the target."""
