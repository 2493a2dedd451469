"""Estimators of other libraries inside ours: bytes of skops, which executes nothing either."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

from featurewright.export.stored.archive import DAMAGE, check_sizes
from featurewright.export.stored.errors import ModelFileError, broken

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
    skops = _skops(f"{where} is a {type(value).__name__}, which is saved with skops", ImportError)
    try:
        return bytes(skops.dumps(value))
    except (skops.exceptions.UnsupportedTypeException, TypeError, ValueError) as error:
        raise TypeError(
            f"{where} is a {type(value).__name__} that skops cannot save ({error}); replace it, "
            "or pickle the model."
        ) from error


def load_foreign(data: bytes, where: str, trusted: Sequence[str], max_bytes: int) -> Any:
    """Load an estimator all of whose types are trusted: those of scikit-learn, and those named."""
    skops = _skops(f"{where} was saved with skops", ModelFileError)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_sizes(archive.infolist(), len(data), max_bytes)
        found = skops.get_untrusted_types(data=data)
    except ModelFileError:
        raise
    except (*DAMAGE, TypeError, AttributeError, ImportError, RecursionError) as error:
        raise broken(f"{where} is damaged") from error
    unknown = sorted(set(found) - set(trusted))
    if unknown:
        raise ModelFileError(
            f"{where} holds objects of the types {', '.join(unknown)}; pass trusted={unknown!r} "
            "if you trust whoever made the file"
        )
    try:
        return skops.loads(data, trusted=found)
    except (*DAMAGE, TypeError, AttributeError, ImportError, RecursionError) as error:
        raise broken(f"{where} is damaged") from error


def _skops(why: str, error: type[Exception]) -> Any:
    """Import skops, or say what it is needed for."""
    try:
        import skops.io
    except ImportError as missing:
        raise error(f"{why}, which is not installed; {_INSTALL}") from missing
    return skops.io
