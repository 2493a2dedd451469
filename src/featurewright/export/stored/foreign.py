"""Estimators of other libraries inside ours: bytes of skops, which executes nothing either."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

from featurewright.auto.estimators import EvenScaler
from featurewright.export.stored.archive import DAMAGE, check_sizes
from featurewright.export.stored.compiled import CHECKED, check_compiled
from featurewright.export.stored.errors import ModelFileError, broken

# Plain Python classes that skops does not know: they do nothing when loaded, and have no kernels.
_HARMLESS = {
    f"{EvenScaler.__module__}.{EvenScaler.__qualname__}",
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    *(
        f"sklearn.model_selection._split.{name}"
        for name in (
            *("KFold", "GroupKFold", "StratifiedKFold", "StratifiedGroupKFold"),
            *("RepeatedKFold", "RepeatedStratifiedKFold", "TimeSeriesSplit", "PredefinedSplit"),
            *("ShuffleSplit", "GroupShuffleSplit", "StratifiedShuffleSplit"),
            *("LeaveOneOut", "LeavePOut", "LeaveOneGroupOut", "LeavePGroupsOut"),
        )
    ),
}
_TROUBLE = (*DAMAGE, AssertionError, AttributeError, ImportError, RecursionError, TypeError)
_INSTALL = "install it with: pip install 'featurewright[files]'"


def is_foreign(value: Any) -> bool:
    """Tell whether a value is an estimator, or a part of one, that is not ours."""
    room = type(value).__module__.split(".")[0]
    ours = room in ("featurewright", "builtins", "numpy")
    return not ours and not isinstance(value, type) and (_fits(value) or room == "sklearn")


def _fits(value: Any) -> bool:
    return hasattr(value, "fit") and hasattr(value, "get_params")


def dump_foreign(value: Any, where: str) -> bytes:
    """Give the skops bytes of an estimator."""
    name = type(value).__name__
    skops = import_skops(f"{where} is a {name}, which is saved with skops", ImportError)
    from skops.io.exceptions import UnsupportedTypeException

    try:
        return bytes(skops.dumps(value))
    except (UnsupportedTypeException, RecursionError, TypeError, ValueError) as error:
        raise TypeError(
            f"{where} is a {name} that skops cannot save ({str(error)[:80]}); "
            "replace it, or pickle the model."
        ) from error


def load_foreign(data: bytes, where: str, trusted: Sequence[str], max_bytes: int) -> Any:
    """Load an estimator all of whose types are trusted: those of scikit-learn, and those named."""
    skops = import_skops(f"{where} was saved with skops", ModelFileError)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_sizes(archive.infolist(), len(data), max_bytes)
        found = skops.get_untrusted_types(data=data)
    except ModelFileError:
        raise
    except _TROUBLE as error:
        raise broken(f"{where} is damaged") from error
    unknown = sorted(set(found) - _HARMLESS - set(CHECKED) - set(trusted))
    if unknown:
        # With the names given already: the whole list can be pasted.
        needed = [*trusted, *unknown]
        raise ModelFileError(
            f"{where} holds objects of the types {', '.join(unknown)}; pass trusted={needed!r} "
            "if you trust whoever made the file"
        )
    try:
        value = skops.loads(data, trusted=found)
        check_compiled(value)
    except ModelFileError:
        raise
    except _TROUBLE as error:
        raise broken(f"{where} is damaged") from error
    if not is_foreign(value):
        raise broken(f"{where} holds no estimator")
    return value


def import_skops(why: str, error: type[Exception]) -> Any:
    """Import skops, or say what it is needed for."""
    try:
        import skops.io
    except ImportError as missing:
        raise error(f"{why}, which is not installed; {_INSTALL}") from missing
    return skops.io
