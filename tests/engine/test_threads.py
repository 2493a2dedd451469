"""Tasks run in threads: order, exceptions, deadlines, interrupts."""

from __future__ import annotations

import threading
import time

import pytest
from tests.clock import FAR, Clock
from threadpoolctl import threadpool_info, threadpool_limits

from featurewright.engine.threads import Halt, one_blas_thread, run_in_threads


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("halt", [False, True])
def test_results_come_in_order(n_threads, halt):
    def task(k: int) -> int:
        time.sleep(0.003 * (5 - k % 5))
        return k * k

    tasks = [lambda k=k: task(k) for k in range(20)]
    results = run_in_threads(tasks, n_threads, halt=Halt() if halt else None)
    assert results == [k * k for k in range(20)]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_no_tasks(n_threads):
    assert run_in_threads([], n_threads, halt=Halt()) == []


@pytest.mark.parametrize("n_threads", [1, 2])
def test_exceptions_come_through_and_raise_the_flag(n_threads):
    halt = Halt()
    begun = []

    def fail() -> None:
        raise ZeroDivisionError("as it came")

    def follow(k: int) -> None:
        begun.append(k)
        while not halt.flag[0]:
            time.sleep(0.001)

    tasks = [fail, *(lambda k=k: follow(k) for k in range(50))]
    with pytest.raises(ZeroDivisionError, match="as it came"):
        run_in_threads(tasks, n_threads, halt=halt)
    assert halt.flag[0] == 1
    assert len(begun) <= n_threads + 1


def test_no_more_tasks_run_at_once_than_threads():
    lock, running, most = threading.Lock(), [0], [0]
    together = threading.Barrier(3, timeout=60)  # three tasks wait for one another

    def task() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        together.wait()
        with lock:
            running[0] -= 1

    run_in_threads([task] * 12, 3, halt=Halt())
    assert most[0] == 3


def test_the_deadline_raises_the_flag_and_drops_the_rest(monkeypatch):
    clock = Clock(monkeypatch)
    halt = Halt(10.0)

    def task(k: int) -> int:
        if k == 7:
            clock.now = FAR
        while k >= 7 and not halt.flag[0]:
            time.sleep(0.001)
        return k

    results = run_in_threads([lambda k=k: task(k) for k in range(100)], 2, halt=halt)
    done = [k for k in results if k is not None]
    assert done == list(range(len(done)))
    assert 8 <= len(done) <= 9  # at most one task beside the one in which time runs out
    assert halt.time_is_up
    assert halt.flag[0] == 1


def test_a_long_task_is_told_to_stop(monkeypatch):
    clock = Clock(monkeypatch)
    halt = Halt(10.0)

    def task() -> str:
        clock.now = FAR
        while not halt.flag[0]:
            time.sleep(0.001)
        return "stopped"

    assert run_in_threads([task, task], 1, halt=halt) == ["stopped", None]


def test_the_first_task_always_runs(monkeypatch):
    clock = Clock(monkeypatch)
    halt = Halt(10.0)
    clock.now = FAR
    assert run_in_threads([lambda: 1, lambda: 2], 1, halt=halt) == [1, None]


def test_interrupts_raise_the_flag():
    halt = Halt()

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    def task() -> None:
        while not halt.flag[0]:
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        run_in_threads([lambda: None, task, task], 2, halt=halt, on_done=interrupt)
    assert halt.flag[0] == 1


def test_progress_is_reported():
    seen: list[int] = []
    run_in_threads([lambda: None] * 10, 2, halt=Halt(), on_done=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 10


def test_a_halt_without_a_limit():
    halt = Halt()
    assert not halt.time_is_up
    assert halt.flag[0] == 0
    halt.raise_flag()
    assert halt.flag[0] == 1
    assert not Halt(100).time_is_up


def test_inside_a_thread_one_task_after_the_other_needs_no_more_threads():
    done = []

    def outer() -> list[str | None]:
        tasks = [lambda: threading.current_thread().name] * 3
        return run_in_threads(tasks, 1, halt=Halt(), on_done=done.append)

    (names,) = run_in_threads([outer], 2, halt=Halt())
    assert len(set(names)) == 1
    assert names[0] != threading.main_thread().name
    assert done == [1, 2, 3]


def test_a_flag_stops_the_fits_inside_tasks():
    outer = Halt()
    inner = []

    def fit() -> None:
        inner.append(Halt())
        outer.raise_flag()
        inner.append(Halt())  # begins after the flag was raised

    run_in_threads([fit], 2, halt=outer)
    assert [int(halt.flag[0]) for halt in inner] == [1, 1]
    assert Halt().flag[0] == 0


def test_a_fit_inside_a_task_does_not_stop_the_others():
    outer = Halt()
    run_in_threads([lambda: Halt().raise_flag()], 2, halt=outer)
    assert outer.flag[0] == 0


def test_blas_keeps_one_thread_until_the_last_leaves():
    def n_threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert n_threads() == {1}
        second.__exit__(None, None, None)
        assert n_threads() == {2}
