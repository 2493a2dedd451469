"""A pause of Python's garbage collector while many objects are made that live on."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Switch the garbage collector off for a while, if it is on.

    Importing scikit-learn and Numba, and compiling, make hundreds of thousands of objects. The
    collector goes through all of them again and again: a tenth of importing scikit-learn, a third
    of importing Numba, a tenth of compiling.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
