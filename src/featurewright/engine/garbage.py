"""A pause of Python's garbage collector while many objects are made that live on."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Switch the garbage collector off for a while, if it is on.

    Importing Numba and compiling with it make hundreds of thousands of objects. The collector goes
    through all of them, and all of scikit-learn's, again and again: a third of the import and a
    tenth of compiling.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
