"""Run compiled tasks in threads with a deadline and prompt interruption by Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import ParallelBackendBase, get_active_backend
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

_POLL_SECONDS = 0.1  # between checks of the deadline and for interrupts


_running = threading.local()  # the flag of the task that runs in a thread


class Halt:
    """A flag that growing trees check before each node, and the deadline that sets it."""

    def __init__(self, max_time: float | None = None) -> None:
        self.flag = np.zeros(1, np.int64)
        self._end = None if max_time is None else time.monotonic() + max_time
        self._inner: WeakSet[Halt] = WeakSet()  # of fits that run in threads of this one
        outer: Halt | None = getattr(_running, "halt", None)
        if outer is not None:
            outer._inner.add(self)
            self.flag[0] = outer.flag[0]

    def raise_flag(self) -> None:
        """Stop all growing trees before their next node."""
        self.flag[0] = 1
        for inner in list(self._inner):
            inner.raise_flag()

    def run(self, task: Callable[[], Result]) -> Result:
        """Run a task in this thread; fits inside it stop when this flag is raised."""
        outer, _running.halt = getattr(_running, "halt", None), self
        try:
            return task()
        finally:
            _running.halt = outer

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, at least 0; None without one."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def has_deadline(self) -> bool:
        """Whether there is a deadline."""
        return self._end is not None

    @property
    def time_is_up(self) -> bool:
        """Whether the deadline has passed."""
        return self._end is not None and time.monotonic() >= self._end


def moving_backend() -> ParallelBackendBase | None:
    """Return the joblib backend that moves work to other processes, if the user chose one.

    None where the user chose none, or one that runs in this process.
    """
    backend, _ = get_active_backend(prefer="threads")
    return None if getattr(backend, "uses_threads", False) else backend


def local_threads(n_jobs: int | None) -> int:
    """Return the number of threads of this process that `n_jobs` stands for.

    The same as joblib's `effective_n_jobs`, except that a cluster's cores do not count.
    """
    if moving_backend() is None:
        return effective_n_jobs(n_jobs)
    with parallel_config("threading"):
        return effective_n_jobs(n_jobs)


class _BlasLimit:
    """Limits BLAS to one thread for as long as some thread of this process asks for it.

    The limit is that of the process: whoever leaves first must not lift it for the others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limit: Any = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the limit."""
        with self._lock:
            if not self._n_inside:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._n_inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_inside -= 1
                if not self._n_inside:
                    self._limit.restore_original_limits()


_blas_limit = _BlasLimit()


def one_blas_thread() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread, in all threads of this process.

    Dividing small matrix products among threads takes longer than computing them, most of all on a
    busy machine.
    """
    return _blas_limit.hold()


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS libraries; cached, because the lookup takes longer than a small product."""
    return ThreadpoolController()


def run_in_threads(
    tasks: Sequence[Callable[[], Result]],
    n_threads: int,
    *,
    halt: Halt | None = None,
    on_done: Callable[[int], None] | None = None,
    pool: ThreadPoolExecutor | None = None,
) -> list[Result | None]:
    """Run tasks in threads and return their results in order.

    When the deadline passes, the flag is set and tasks not started are dropped: their results are
    None. The first task always has a result. An exception or Ctrl-C sets the flag too, so that
    running tasks end soon.

    Parameters
    ----------
    tasks : sequence of callables
        Each releases the global interpreter lock.
    n_threads : int
        Number of tasks that run at a time.
    halt : Halt, optional
        The flag and the deadline.
    on_done : callable, optional
        Called with the number of finished tasks.
    pool : ThreadPoolExecutor, optional
        Threads to use; else some are started, which takes longer than a small task.
    """
    if n_threads <= 1 and (halt is None or not _must_watch(halt)):
        return _one_by_one(tasks, on_done)
    halt = halt or Halt()
    results: list[Result | None] = [None] * len(tasks)
    waiting = iter(range(len(tasks)))
    running: dict[Future[Result], int] = {}
    done = 0
    with ThreadPoolExecutor(n_threads) if pool is None else nullcontext(pool) as threads:
        try:
            while True:
                while len(running) < n_threads and not (halt.time_is_up and (running or done)):
                    number = next(waiting, None)
                    if number is None:
                        break
                    running[threads.submit(halt.run, tasks[number])] = number
                if not running:
                    break
                finished, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                if halt.time_is_up:
                    halt.raise_flag()
                for future in finished:
                    results[running.pop(future)] = future.result()
                    done += 1
                if finished and on_done is not None:
                    on_done(done)
        except BaseException:
            halt.raise_flag()
            for future in running:
                future.cancel()
            raise
    return results


def _must_watch(halt: Halt) -> bool:
    """Whether this thread must poll: for a deadline, or for Ctrl-C in the main thread."""
    return halt.has_deadline or threading.current_thread() is threading.main_thread()


def _one_by_one(
    tasks: Sequence[Callable[[], Result]], on_done: Callable[[int], None] | None
) -> list[Result | None]:
    """Run tasks one after the other in this thread."""
    results: list[Result | None] = []
    for task in tasks:
        results.append(task())
        if on_done is not None:
            on_done(len(results))
    return results
