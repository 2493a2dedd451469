"""The one error that a file may cause."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged, or holds what this version cannot read.

    Examples
    --------
    >>> import io
    >>> from featurewright.export import ModelFileError, load
    >>> try:
    ...     load(io.BytesIO(b"not a model"))
    ... except ModelFileError as error:
    ...     print(str(error).partition("; ")[0])
    Cannot load the model: it is no whole model file (File is not a zip file)
    """


def broken(what: str, advice: str = "save it again") -> ModelFileError:
    """Say what no file that `save` has written holds."""
    return ModelFileError(f"{what}; {advice}")
