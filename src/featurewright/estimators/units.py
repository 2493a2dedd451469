"""Run the units of a fit where the active joblib backend says: in processes or on a cluster.

A unit is a block of trees, a run of an ensemble, a problem of one class against the rest, or a
block of candidates. What a unit computes depends on its number alone, so results are the same
wherever it runs, and a unit that is lost can run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config
from joblib.parallel import ParallelBackendBase

from featurewright.engine.forest import Forest
from featurewright.engine.growth import Grown, TreeBlocks
from featurewright.engine.threads import Halt, moving_backend

Unit = TypeVar("Unit")
Result = TypeVar("Result")
# Computes a unit from what all units share, within some seconds if there is a limit.
Compute = Callable[[Any, Unit, float | None], Result]
OnDone = Callable[[int], None]

# Blocks of trees: enough of them to keep workers busy that come late or are slower, and to leave
# none idle for long while others grow the last ones.
_LEAST_BLOCKS = 64
_BLOCKS_PER_WORKER = 4


class SharedValue:
    """What the units of several runs need: sent once to each worker.

    Parameters
    ----------
    value : object
        What they need.

    Attributes
    ----------
    sent : object or None
        How a cluster knows it.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.sent: Any = None


def chosen_backend() -> ParallelBackendBase | None:
    """Return the backend that units go to; None where they run in threads of this process.

    A fit that runs on a worker of a cluster stays there: whoever sent it keeps the others busy.
    """
    backend = moving_backend()
    if backend is not None and _uses_dask(backend):
        from featurewright.distributed.units import inside_task

        return None if inside_task() else backend
    return backend


def run_units(
    backend: ParallelBackendBase,
    compute: Compute[Unit, Result],
    shared: Any,
    units: Sequence[Unit],
    *,
    what: str,
    n_jobs: int | None = None,
    halt: Halt | None = None,
    on_done: OnDone | None = None,
) -> list[Result | None]:
    """Compute units elsewhere and return their results in order.

    When the deadline passes, no more units are sent; their results are None. The first unit always
    has a result.

    Parameters
    ----------
    backend : ParallelBackendBase
        Where units run.
    compute : callable
        Computes a unit from `shared`, the unit and the seconds it may take or None.
    shared : object
        What all units need, such as the table: sent once to each worker. A `SharedValue` where
        several runs share it.
    units : sequence
        The units.
    what : str
        What a unit is, for messages.
    n_jobs : int or None
        Processes, where the backend does not know better.
    halt : Halt, optional
        The deadline.
    on_done : callable, optional
        Called with the number of finished units.
    """
    halt = halt or Halt()
    on_done = on_done or (lambda done: None)
    kept = shared if isinstance(shared, SharedValue) else SharedValue(shared)
    if _uses_dask(backend):
        from featurewright.distributed.units import run_on_dask

        client = backend.client
        return run_on_dask(client, compute, kept, units, what=what, halt=halt, on_done=on_done)

    def calls() -> Iterator[Any]:
        for number, unit in enumerate(units):
            if number and halt.time_is_up:
                return
            yield delayed(_compute)(compute, kept.value, unit, number, halt.seconds_left)

    streams = backend.supports_return_generator
    parallel = Parallel(
        n_jobs,
        return_as="generator_unordered" if streams else "list",
        batch_size=1,
        mmap_mode="c",  # kernels take arrays that can be written to
    )
    results: list[Result | None] = [None] * len(units)
    for done, (number, result) in enumerate(parallel(calls())):
        results[number] = result
        on_done(done + 1)
    return results


def grow_in_blocks(
    backend: ParallelBackendBase,
    blocks: TreeBlocks,
    seeds: list[int],
    *,
    n_jobs: int | None,
    halt: Halt,
    on_done: OnDone,
) -> list[Forest]:
    """Grow one tree for each seed elsewhere, some trees at a time."""
    n_workers = backend.effective_n_jobs(n_jobs)
    n_blocks = max(_LEAST_BLOCKS, _BLOCKS_PER_WORKER * n_workers)
    size = max(1, len(seeds) // n_blocks)
    units = [seeds[first : first + size] for first in range(0, len(seeds), size)]
    found = run_units(
        backend,
        TreeBlocks.grow,
        blocks,
        units,
        what=f"block of {size} trees",
        n_jobs=n_jobs,
        halt=halt,
        on_done=lambda done: on_done(min(done * size, len(seeds))),
    )
    whole: list[Forest] = []
    for unit, grown in zip(units, found, strict=True):
        if grown is None:
            break
        whole += grown.whole
        if len(grown.whole) < len(unit):
            halt.raise_flag()
            return Grown(whole, grown.unfinished).trees
    return whole


def _uses_dask(backend: ParallelBackendBase) -> bool:
    """Whether a backend sends work to a Dask cluster."""
    client = getattr(backend, "client", None)
    return type(client).__module__.split(".")[0] == "distributed"


def _compute(
    compute: Compute[Unit, Result], shared: Any, unit: Unit, number: int, seconds: float | None
) -> tuple[int, Result]:
    """Compute a unit in one thread of another process."""
    with parallel_config("sequential"):
        return number, compute(shared, unit, seconds)
