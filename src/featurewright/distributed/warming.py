"""Compile the engine on the workers of a cluster before the first fit."""

from __future__ import annotations

from collections import defaultdict

from distributed import Client, as_completed

from featurewright.distributed.units import some_worker
from featurewright.distributed.versions import check_workers
from featurewright.estimators.progress import progress


def warm_up(client: Client, *, verbose: int = 0) -> float:
    """Compile the engine on every worker of a Dask cluster.

    Machines compile side by side. On each machine one worker compiles, and the others load the
    compiled code. A fit works without warming up too: each worker then compiles when it gets its
    first unit, which takes half a minute, while the workers that are ready continue.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    verbose : int, default=0
        Whether to show a progress bar, which needs rich.

    Returns
    -------
    float
        The seconds that the slowest worker took.

    Examples
    --------
    >>> from distributed import Client
    >>> from featurewright.distributed import warm_up
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     seconds = warm_up(client)
    >>> seconds > 0
    True
    """
    with some_worker(client):
        check_workers(client)
    machines: dict[str, list[str]] = defaultdict(list)
    for address in sorted(client.nthreads()):
        machines[address.rpartition(":")[0]].append(address)
    n_workers = sum(map(len, machines.values()))
    slowest = 0.0
    with progress(n_workers, "warming up workers", verbose=verbose) as on_done:
        first = {
            client.submit(_compile, workers=[own[0]], pure=False): own for own in machines.values()
        }
        running = as_completed(first)
        for done, future in enumerate(running):
            slowest = max(slowest, future.result())
            on_done(done + 1)
            for address in first.get(future, [])[1:]:
                running.add(client.submit(_compile, workers=[address], pure=False))
    return slowest


def _compile() -> float:
    """Compile everything on a worker."""
    from featurewright.compilation import compile_all

    return compile_all()
