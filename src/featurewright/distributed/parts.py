"""Compute the parts of a table on the workers of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from distributed import Client

from featurewright.distributed.units import run_on_dask
from featurewright.engine.threads import Halt
from featurewright.estimators.units import SharedValue


def compute_parts(
    address: str,
    compute: Callable[[Any, Any, float | None], Any],
    shared: Any,
    parts: Sequence[Any],
    *,
    on_done: Callable[[int], None],
) -> list[Any]:
    """Compute each part on a worker; return the results in order.

    Parameters
    ----------
    address : str
        Of the scheduler, such as "tcp://10.0.0.1:8786".
    compute : callable
        Computes a part from `shared`, the part and None.
    shared : object
        What all parts need.
    parts : sequence
        The parts.
    on_done : callable
        Called with the number of finished parts.
    """
    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Dask scheduler answers at {address!r} ({error}): start one with `dask scheduler`, "
            "and workers with `dask worker`."
        ) from error
    with client:
        return run_on_dask(
            client,
            compute,
            SharedValue(shared),
            parts,
            what="part of the table",
            halt=Halt(),
            on_done=on_done,
        )
