"""Run the units of a fit on the workers of a Dask cluster.

joblib's own Dask backend would wait for ever for workers that do not come back, and would lose a
table that was sent to a worker that is gone. So units are sent through the backend's client here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import dask
from dask.base import get_scheduler
from distributed import CancelledError, Client, Event, Future, KilledWorker, get_worker, wait
from joblib import parallel_config

from featurewright.distributed.versions import Versions, check_workers, own_versions
from featurewright.engine.threads import Halt
from featurewright.estimators.units import SharedValue

LOST_SECONDS = 30.0  # without any worker until a fit gives up
MAX_RESTARTS = 3  # times that everything sent is lost without a unit being finished in between
_POLL_SECONDS = 1.0  # between looks at the deadline and the workers
_ADVICE = "give workers more memory or fewer threads, or the fit fewer rows (max_samples)."
_UNITS_PER_THREAD = 2  # sent ahead, so that no worker waits for the next


@dataclass(frozen=True, eq=False)
class Shared:
    """What all units of a fit need; a class of its own, because Dask looks into lists and dicts."""

    compute: Callable[[Any, Any, float | None], Any]
    value: Any


def inside_task() -> bool:
    """Whether this runs on a worker, as part of a task."""
    try:
        get_worker()
    except ValueError:
        return False
    return True


def run_on_dask(
    client: Client,
    compute: Callable[[Any, Any, float | None], Any],
    shared: SharedValue,
    units: Sequence[Any],
    *,
    what: str,
    halt: Halt,
    on_done: Callable[[int], None],
) -> list[Any]:
    """Compute units on a cluster; return their results in order.

    What was lost with a worker is sent again. See `featurewright.estimators.units.run_units`.
    """
    run = _Run(client, compute, shared, units, what=what, halt=halt, on_done=on_done)
    with some_worker(client):
        check_workers(client)
        run.begin()
    return run.results()


@contextmanager
def some_worker(client: Client) -> Iterator[None]:
    """Wait until there is a worker, and keep it for as long as the context lasts.

    An adaptive cluster starts a worker when there is a task, and ends it when there is none.
    """
    name = f"featurewright-{uuid4().hex}"
    held = client.submit(_hold, name, LOST_SECONDS, pure=False)
    try:
        client.wait_for_workers(1, timeout=LOST_SECONDS)
    except TimeoutError:
        client.cancel(held)
        raise RuntimeError(
            f"the cluster has had no worker for {LOST_SECONDS:g} s; start workers, wait for them "
            "with client.wait_for_workers(1), and try again."
        ) from None
    try:
        yield
    finally:
        if client.status == "running":
            Event(name, client=client).set()


def compute_all(delayed: Sequence[Any], what: str, on_done: Callable[[int], None]) -> list[Any]:
    """Compute delayed values where Dask is set to, and never wait for workers that are gone.

    Parameters
    ----------
    delayed : sequence of Delayed
        Values that Dask can compute again, should a worker be lost.
    what : str
        What one of them is, for messages.
    on_done : callable
        Called with the number of values that are there.
    """
    client = getattr(get_scheduler(), "__self__", None)
    if not isinstance(client, Client):
        found = list(dask.compute(*delayed))
        on_done(len(found))
        return found
    with some_worker(client):
        check_workers(client)
        futures = client.compute(list(delayed))
    last_seen = time.monotonic()
    try:
        while waiting := [future for future in futures if not future.done()]:
            on_done(len(futures) - len(waiting))
            with suppress(TimeoutError, CancelledError):
                wait(waiting, timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED")
            progress = _progress(len(futures) - len(waiting), len(futures), what)
            if _n_threads(client, progress):
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > LOST_SECONDS:
                raise _all_lost(progress)
        on_done(len(futures))
        for number, future in enumerate(futures):
            if future.status == "error":
                raise _plain_error(future.exception(), _named(what, number, len(futures)))
        return client.gather(futures)
    except BaseException:
        if client.status == "running":
            client.cancel(futures, force=True)
        raise


class _Run:
    """The units of one fit: those waiting, those sent, those done."""

    def __init__(
        self,
        client: Client,
        compute: Callable[[Any, Any, float | None], Any],
        shared: SharedValue,
        units: Sequence[Any],
        *,
        what: str,
        halt: Halt,
        on_done: Callable[[int], None],
    ) -> None:
        self.client, self.compute, self.shared, self.units = client, compute, shared, units
        self.what, self.halt, self.on_done = what, halt, on_done
        self.done: dict[int, Any] = {}
        self.waiting = list(range(len(units)))[::-1]  # the next one is last
        self.sent: dict[Future, int] = {}
        self.n_restarts = 0
        self.last_seen = time.monotonic()  # of a worker
        self.n_threads, self.next_count = 1, 0.0  # asking costs as much as sending a unit

    def begin(self) -> None:
        """Send the first units."""
        with self._cancelling(), self.client.as_current():
            self._send()

    def results(self) -> list[Any]:
        """Send units until all are done or time is up; return their results in order."""
        with self._cancelling(), self.client.as_current():
            while True:
                self._send()
                if not self.sent:
                    return [self.done.get(number) for number in range(len(self.units))]
                self._wait()
                self._collect()

    @contextmanager
    def _cancelling(self) -> Iterator[None]:
        """Leave nothing running when the client is interrupted or an error is raised."""
        try:
            yield
        except BaseException:
            if self.client.status == "running":
                self.client.cancel(list(self.sent), force=True)
            raise

    def _send(self) -> None:
        """Send the next units."""
        if self.waiting and time.monotonic() >= self.next_count:
            self.n_threads = max(1, _n_threads(self.client, self._progress()))
            self.next_count = time.monotonic() + _POLL_SECONDS
        limit = _UNITS_PER_THREAD * self.n_threads
        while self.waiting and len(self.sent) < limit:
            if self.halt.time_is_up and (self.sent or self.done):
                self.waiting.clear()
                return
            if self.shared.sent is None:
                self.shared.sent = self._scatter()
            number = self.waiting.pop()
            seconds = self.halt.seconds_left
            end = None if seconds is None else time.time() + seconds
            future = self.client.submit(
                _compute,
                self.shared.sent,
                self.units[number],
                seconds,
                end,
                own_versions(),
                pure=False,
            )
            self.sent[future] = number

    def _scatter(self) -> Future:
        """Send what all units need: one copy to each worker that is here.

        Workers that come later get it from these.
        """
        try:
            return self.client.scatter(
                Shared(self.compute, self.shared.value),
                broadcast=True,
                hash=False,
                timeout=LOST_SECONDS,
            )
        except TimeoutError:
            raise _all_lost(self._progress()) from None

    def _wait(self) -> None:
        """Wait until a unit is finished, for as long as there are workers."""
        try:
            wait(list(self.sent), timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            if _n_threads(self.client, self._progress()):
                self.last_seen = time.monotonic()
            elif time.monotonic() - self.last_seen > LOST_SECONDS:
                raise _all_lost(self._progress()) from None
        except CancelledError:
            pass  # collected as lost
        else:
            self.last_seen = time.monotonic()

    def _collect(self) -> None:
        """Take the results of finished units; what was lost waits to be sent again."""
        lost = False
        for future in [future for future in self.sent if future.done()]:
            number = self.sent.pop(future)
            if future.status == "error":
                raise _plain_error(future.exception(), _named(self.what, number, len(self.units)))
            try:
                self.done[number] = future.result()
            except CancelledError:  # the unit, or its result, was lost with a worker
                lost = True
                self.waiting.append(number)
            else:
                self.n_restarts = 0
                self.on_done(len(self.done))
        if not lost:
            return
        _n_threads(self.client, self._progress())  # an error if the scheduler is gone
        # The table was lost with the last worker that had it: everything is sent anew.
        self.n_restarts += 1
        if self.n_restarts > MAX_RESTARTS:
            raise RuntimeError(
                f"the workers of the cluster ended {self.n_restarts} times in a row after "
                f"{self._progress()}, most likely for lack of memory; {_ADVICE}"
            )
        self.client.cancel(list(self.sent), force=True)
        self.waiting = sorted({*self.waiting, *self.sent.values()}, reverse=True)
        self.sent.clear()
        self.shared.sent = None

    def _progress(self) -> str:
        """Return how many units are done."""
        return _progress(len(self.done), len(self.units), self.what)


def _progress(n_done: int, n_units: int, what: str) -> str:
    """Return how many units are done, for messages."""
    return f"{n_done} of {n_units} units (a {what} each)"


def _all_lost(progress: str) -> RuntimeError:
    """Return the error of a cluster without workers."""
    return RuntimeError(
        f"all workers of the cluster were lost after {progress} and none came back in "
        f"{LOST_SECONDS:g} s; start workers and fit again."
    )


def _n_threads(client: Client, progress: str) -> int:
    """Return the threads of all workers; an error if the scheduler is gone, and all results."""
    try:
        if client.status == "running":
            return sum(client.nthreads().values())
    except OSError:  # it does not answer
        pass
    raise RuntimeError(
        f"the scheduler of the cluster was lost after {progress}; start a cluster and fit again."
    )


def _named(what: str, number: int, n_units: int) -> str:
    """Return what a unit is called in messages."""
    return f"{what}, number {number + 1} of {n_units},"


def _plain_error(error: BaseException, name: str) -> BaseException:
    """Return the error of a unit: one sentence where memory is the reason, else as it is."""
    found: BaseException
    if isinstance(error, KilledWorker):
        found = RuntimeError(
            f"a {name} ended every worker it was sent to, most likely for lack of memory; {_ADVICE}"
        )
    elif isinstance(error, MemoryError):
        found = MemoryError(f"a {name} ran out of memory; {_ADVICE}")
    else:
        return error
    found.__cause__ = error
    return found


def _compute(
    shared: Shared, unit: Any, seconds: float | None, end: float | None, versions: Versions
) -> Any:
    """Compute a unit in one thread of a worker, which may have waited for its turn."""
    versions.check("this worker")
    if seconds is not None and end is not None:
        seconds = max(0.0, min(seconds, end - time.time()))
    with parallel_config("sequential"):
        return shared.compute(shared.value, unit, seconds)


def _hold(name: str, seconds: float) -> None:
    """Keep a worker busy until an event happens."""
    Event(name).wait(timeout=seconds)


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
