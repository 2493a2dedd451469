"""Help for pipelines of scikit-learn that contain our estimators."""

from __future__ import annotations

import os

from featurewright.export.stored.compiled import CHECKED
from featurewright.export.stored.foreign import import_skops


def skops_types(file: str | os.PathLike[str] | bytes) -> list[str]:
    """List featurewright's own types in a file of skops, for its argument `trusted`.

    Types of others, such as functions of your own operators, are not listed: name them yourself.

    Parameters
    ----------
    file : str, path or bytes
        What `skops.io.dump` or `skops.io.dumps` has written.

    Returns
    -------
    list of str
        Names of types and functions of featurewright, and of the compiled trees of scikit-learn.

    Examples
    --------
    >>> import skops.io
    >>> from featurewright import BatchConstructor
    >>> from featurewright.export import skops_types
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(BatchConstructor(), LogisticRegression(max_iter=5000)).fit(X, y)
    >>> data = skops.io.dumps(pipeline)
    >>> same = skops.io.loads(data, trusted=skops_types(data))
    >>> bool((same.predict_proba(X) == pipeline.predict_proba(X)).all())
    True
    """
    skops = import_skops("skops_types reads files of skops", ImportError)
    where = {"data": file} if isinstance(file, bytes) else {"file": os.fspath(file)}
    found = skops.get_untrusted_types(**where)
    return [name for name in found if name.startswith("featurewright.") or name in CHECKED]
