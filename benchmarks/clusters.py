"""Fits on worker processes beside threads, a large table in parts, and a cost model.

The forest grows in two threads and in two worker processes of a Dask cluster on this machine, in
turns. The table is made, written as Parquet, and read by two workers whose memory is limited.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import psutil
from data import synthetic
from distributed import Client, LocalCluster, get_task_stream
from pages import add_size_options, command_of, settle_page, settle_sizes, size_of, write_page
from runner import markdown_table, say

from featurewright import AutoFeatures, ConstructiveForestClassifier
from featurewright.distributed import fit, warm_up
from featurewright.estimators.units import chosen_backend, run_units

WORKERS = 2
LINK = 1.25e9  # bytes per second of a network of ten gigabits
LIMIT = 2_000_000_000  # bytes of memory of a worker that reads the large table
PART_ROWS = 250_000
SEARCH_ROWS = 20_000
N_WORKERS = (1, 2, 4, 8, 16, 32, 64)
LEAST_TASKS, TASKS_PER_WORKER = 64, 4  # as `featurewright.estimators.units` cuts a forest
TOLD_STAGES = {
    "search": "search, statistics of all rows, score on other parts",
    "transform": "transform to Parquet",
    "predict": "predict",
}
STAGES = ("write", *TOLD_STAGES)  # of the large table
N_EMPTY = 500  # units that do nothing


def cpu_seconds() -> float:
    """Return the processor time that this process has used."""
    times = psutil.Process().cpu_times()
    return times.user + times.system


def task_seconds() -> float:
    """Return the processor time of the threads of this worker that compute units."""
    units = {t.native_id for t in threading.enumerate() if "Dask-Default-Threads" in t.name}
    threads = psutil.Process().threads()
    return sum(own.user_time + own.system_time for own in threads if own.id in units)


def event_seconds() -> float:
    """Return the processor time of the thread of this process that runs Dask's events."""
    loops = {t.native_id for t in threading.enumerate() if t.name == "IO loop"}
    threads = psutil.Process().threads()
    return sum(own.user_time + own.system_time for own in threads if own.id in loops)


def seconds_by_action(stream: list[Any]) -> dict[str, float]:
    """Return the seconds that workers spent on each kind of action, as Dask's report has them."""
    found: dict[str, float] = {}
    for task in stream:
        for part in task["startstops"]:
            seconds = part["stop"] - part["start"]
            found[part["action"]] = found.get(part["action"], 0.0) + seconds
    return found


def cluster(memory: str | int = "auto") -> LocalCluster:
    """Return worker processes with one thread each."""
    return LocalCluster(WORKERS, threads_per_worker=1, memory_limit=memory, dashboard_address=":0")


def overhead(rows: int, columns: int, trees: int, turns: int) -> dict[str, Any]:
    """Grow a forest in threads and in worker processes, in turns."""
    X, y = synthetic(rows, columns)
    names = ("threads", "processes", "threads cpu", "units cpu", "workers cpu", "client cpu")
    found: dict[str, list[float]] = {
        name: [] for name in (*names, "idle cpu", "idle client", "n_tasks")
    }
    actions: list[dict[str, float]] = []
    own = {"search": None, "random_state": 0, "n_jobs": WORKERS}
    probabilities = {}
    with cluster() as local, Client(local) as client:
        warm_up(client)

        def total(measure: Callable[[], float]) -> float:
            return sum(client.run(measure).values())

        for _ in range(turns):
            idle, cpu, events = total(cpu_seconds), cpu_seconds(), event_seconds()
            began = time.perf_counter()
            model = ConstructiveForestClassifier(trees, **own).fit(X, y)
            found["threads"].append(time.perf_counter() - began)
            found["idle client"].append((event_seconds() - events) / found["threads"][-1])
            found["threads cpu"].append(cpu_seconds() - cpu - event_seconds() + events)
            found["idle cpu"].append((total(cpu_seconds) - idle) / found["threads"][-1])
            probabilities["threads"] = model.predict_proba(X[:1000])
            units, workers, cpu = total(task_seconds), total(cpu_seconds), cpu_seconds()
            began = time.perf_counter()
            with joblib.parallel_config("dask"), get_task_stream(client) as stream:
                model = ConstructiveForestClassifier(trees, **own).fit(X, y)
            found["processes"].append(time.perf_counter() - began)
            found["client cpu"].append(cpu_seconds() - cpu)
            found["workers cpu"].append(total(cpu_seconds) - workers)
            found["units cpu"].append(total(task_seconds) - units)
            probabilities["processes"] = model.predict_proba(X[:1000])
            grown = [task for task in stream.data if "_hold" not in task["key"]]
            actions.append(seconds_by_action(grown))
            found["n_tasks"].append(len(grown))
        per_task = seconds_per_task(client)
    best = {name: float(np.median(values)) for name, values in found.items()}
    kinds = sorted({kind for one in actions for kind in one})
    done = {kind: float(np.median([one.get(kind, 0.0) for one in actions])) for kind in kinds}
    return best | {
        "processes cpu": best["workers cpu"] + best["client cpu"],
        "actions": done,
        "compute": done["compute"],
        "per task": per_task,
        "same": np.array_equal(*probabilities.values()),
        "table bytes": float(X.astype(np.float32).nbytes),
        "model bytes": float(len(pickle.dumps(model.forest_))),
        "shape": [rows, columns, trees],
    }


def nothing(shared: None, unit: int, seconds: float | None) -> int:
    """Return a unit as it is."""
    return unit


def seconds_per_task(client: Client) -> float:
    """Return the processor time of the client and the scheduler for a unit that does nothing."""
    with joblib.parallel_config("dask"):
        backend = chosen_backend()
        assert backend is not None
        cpu = cpu_seconds()
        run_units(backend, nothing, None, range(N_EMPTY), what="empty unit")
        return (cpu_seconds() - cpu) / N_EMPTY


def write_parts(folder: Path, rows: int) -> int:
    """Write a table of 20 columns as Parquet parts; return its bytes in memory."""
    rng = np.random.default_rng(0)
    size = 0
    for number, first in enumerate(range(0, rows, PART_ROWS)):
        n = min(PART_ROWS, rows - first)
        part = pd.DataFrame(rng.normal(size=(n, 17)), columns=[f"x{k}" for k in range(17)])
        part["shop"] = rng.choice(["north", "south", "east", "west"], n)
        for name, n_levels in (("city", 200), ("street", 800)):
            labels = np.array([f"{name} number {k:06d} of all" for k in range(n_levels)])
            part[name] = labels[rng.integers(0, n_levels, n)]
        noise = rng.normal(size=n)
        part["y"] = part["x0"] * part["x1"] + part["x2"] + (part["shop"] == "east") + noise
        part.to_parquet(folder / f"part-{number:04d}.parquet")
        size += int(part.memory_usage(deep=True).sum())
    return size


def peak_memory() -> float:
    """Return the most memory that this process ever had, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def watched(client: Client, name: str, found: dict[str, Any], began: float) -> None:
    """Note the time of a stage and the most memory that a worker has had in it."""
    found[name] = time.perf_counter() - began
    found[f"{name} peak"] = max(client.run(peak_memory).values())
    say(f"{name}: {found[name]:.0f} s, {found[f'{name} peak'] / 1e9:.2f} GB")


def search_large(folder: Path, found: dict[str, Any], client: Client) -> None:
    """Search on a sample of the table in parts, and keep the model."""
    table = dd.read_parquet(folder / "table")
    began = time.perf_counter()
    X, y = table.drop(columns="y"), table["y"]
    model = fit(AutoFeatures(effort="quick", random_state=0), X, y, max_rows=SEARCH_ROWS)
    watched(client, "search", found, began)
    drawn = model.drawn_
    found["held out"] = dict(drawn.held_out)
    found["whole"] = [drawn.levels, drawn.medians]
    (folder / "model.pickle").write_bytes(cloudpickle.dumps(model))


def transform_large(folder: Path, found: dict[str, Any], client: Client) -> None:
    """Transform the table in parts to Parquet."""
    model, X, out = *kept(folder), folder / "features"
    began = time.perf_counter()
    model.transform(X).to_parquet(out)
    watched(client, "transform", found, began)
    found["written rows"] = int(dd.read_parquet(out).shape[0].compute())


def predict_large(folder: Path, found: dict[str, Any], client: Client) -> None:
    """Predict all rows of the table in parts."""
    model, X = kept(folder)
    began = time.perf_counter()
    found["mean prediction"] = float(model.predict(X).mean().compute())
    watched(client, "predict", found, began)


def kept(folder: Path) -> tuple[Any, Any]:
    """Return the model that was kept, and the table in parts without its target."""
    model = pickle.loads((folder / "model.pickle").read_bytes())
    return model, dd.read_parquet(folder / "table").drop(columns="y")


def large(rows: int, folder: Path, stages: Sequence[str], found: dict[str, Any]) -> dict[str, Any]:
    """Search, transform and predict on a table that the workers cannot hold together."""
    source = folder / "table"
    if "write" in stages:
        source.mkdir(parents=True)
        say(f"writing {rows:,} rows")
        found = {"rows": rows, "bytes": write_parts(source, rows)}
    runs = {"search": search_large, "transform": transform_large, "predict": predict_large}
    for name, run in runs.items():
        if name in stages:
            with cluster(LIMIT) as local, Client(local) as client:
                warm_up(client)
                run(folder, found, client)
    return found


def cost(one: dict[str, Any], n_workers: int) -> dict[str, float]:
    """Return the seconds that the forest would take on some idle workers, by the measured parts.

    They are seconds of processors, which a busy machine changes less than those of the clock.
    """
    watch = one["idle client"] * one["processes"]
    serial = max(0.0, one["client cpu"] - watch - one["per task"] * one["n_tasks"])
    n_tasks = min(one["shape"][2], max(LEAST_TASKS, TASKS_PER_WORKER * n_workers))
    scheduling = one["per task"] * n_tasks
    sending = one["table bytes"] / LINK * (1 + np.log2(n_workers))  # each copy makes another
    receiving = one["model bytes"] / LINK
    # The last tasks: whole ones for some workers, none for others.
    work = one["units cpu"] / n_tasks * np.ceil(n_tasks / n_workers)
    total = serial + scheduling + sending + receiving + work
    return {
        "serial": serial,
        "scheduling": scheduling,
        "sending": sending + receiving,
        "work": work,
        "total": total,
        "speed-up": one["threads cpu"] / total,
    }


def circumstances() -> dict[str, Any]:
    """Return the command, and how many others wanted the cores in the last minutes."""
    return {"commands": [command_of()], "load": os.getloadavg()[1]}


def told(one: dict[str, Any]) -> str:
    """Say under which circumstances a part was measured."""
    commands = ", ".join(f"`{command}`" for command in one["commands"])
    return (
        f"Measured by {commands}; load of the machine at the end: {one['load']:.1f} "
        f"processes on {os.cpu_count()} cores."
    )


def page(found: dict[str, Any]) -> str:
    """Write the results."""
    text = ["# Clusters", "", str(__doc__).split("\n\n", 1)[1].strip(), ""]
    if (one := found.get("overhead")) is not None:
        rows, columns, trees = one["shape"]
        ratio = one["processes"] / one["threads"]
        idle = 1.0 - one["compute"] / (WORKERS * one["processes"])
        lines = [
            ["two threads", f"{one['threads']:.1f} s", f"{one['threads cpu']:.1f} s"],
            ["two worker processes", f"{one['processes']:.1f} s", f"{one['processes cpu']:.1f} s"],
            ["of these, growing trees", "", f"{one['units cpu']:.1f} s"],
            [
                "Dask in the workers: events, results, sampling",
                "",
                f"{one['workers cpu'] - one['units cpu']:.1f} s",
            ],
            ["client and scheduler", "", f"{one['client cpu']:.1f} s"],
        ]
        watch = one["idle cpu"] + one["idle client"]
        watching = watch * one["processes"]
        rest = one["processes cpu"] - watching
        text += [
            "## Overhead",
            "",
            f"A plain forest of {trees} trees on {rows:,} × {columns}, median of the turns, data "
            f"transfer included. The processes take {ratio:.2f} times the time of the threads and "
            f"{one['processes cpu'] / one['threads cpu']:.2f} times their processor time; the "
            f"models are {'the same to the last bit' if one['same'] else 'NOT THE SAME'}.",
            "",
            markdown_table(["", "time", "processor time"], lines),
            "",
            told(one),
            "",
            f"A cluster that has nothing to do takes {100 * watch:.1f} % of a core for its own "
            f"watch, {watching:.1f} s in the time that the fit on it took; that time, and so this "
            "part, grows on a machine that others use, too. Without it the processes take "
            f"{rest / one['threads cpu']:.2f} times the processor time of the threads.",
            "",
            f"- Tasks: {one['n_tasks']:.0f}; idle for {100 * idle:.0f} % of the workers' time.",
            "- Seconds of the workers by action, as in Dask's performance report: "
            + ", ".join(f"{kind} {took:.2f}" for kind, took in one["actions"].items())
            + ".",
            f"- Sent to each worker: {one['table bytes'] / 1e6:.0f} MB; results: "
            f"{one['model bytes'] / 1e6:.0f} MB in all.",
            "",
            "## A cost model",
            "",
            "Processor time, from the rows above: what is serial (reading the table, planning, "
            "joining trees, listing features), what a task costs the scheduler and the client "
            f"({1000 * one['per task']:.1f} ms, over {N_EMPTY} empty ones; {LEAST_TASKS} tasks, or "
            f"{TASKS_PER_WORKER} for each worker), and what is divided. A network of ten gigabits "
            "is assumed, over which each worker that has the table passes it on. All figures are "
            "computed; speed-up is against one thread without a cluster.",
            "",
            markdown_table(
                ["workers", "serial", "tasks", "bytes", "growing", "together", "speed-up"],
                [
                    [
                        str(n),
                        f"{c['serial']:.1f} s",
                        f"{c['scheduling']:.2f} s",
                        f"{c['sending']:.2f} s",
                        f"{c['work']:.1f} s",
                        f"{c['total']:.1f} s",
                        f"{c['speed-up']:.1f}",
                    ]
                    for n in N_WORKERS
                    for c in [cost(one, n)]
                ],
            ),
            "",
        ]
    if sizes := {int(rows): one for rows, one in found.get("large", {}).items()}:
        text += page_of_parts(sizes)
    return "\n".join(text)


def page_of_parts(sizes: dict[int, dict[str, Any]]) -> list[str]:
    """Write what was measured on tables in parts, by their rows."""
    text = [
        "## A table in parts",
        "",
        "Tables of 20 columns in Parquet parts, and two workers with a limit of "
        f"{LIMIT / 1e9:.0f} GB of memory each. "
        f'`AutoFeatures(effort="quick")` searches a sample of {SEARCH_ROWS:,} rows.',
        "",
        markdown_table(
            ["rows", "in pandas", "of both limits", "stage", "time", "peak memory of a worker"],
            [
                [
                    f"{rows:,}",
                    f"{one['bytes'] / 1e9:.1f} GB",
                    f"{one['bytes'] / (WORKERS * LIMIT):.2f}",
                    what,
                    f"{one[name]:.0f} s" if name in one else "not run",
                    f"{one[f'{name} peak'] / 1e9:.2f} GB" if name in one else "",
                ]
                for rows, one in sorted(sizes.items())
                for name, what in TOLD_STAGES.items()
            ],
        ),
        "",
    ]
    for rows, one in sorted(sizes.items()):
        if "search" in one:
            proof, (levels, medians) = one["held out"], one["whole"]
            text.append(
                f"- {rows:,} rows: scored on {proof['n_rows']:,.0f} rows of parts that the search "
                f"has not seen: {proof['score']:.4f}, original columns {proof['baseline']:.4f}. "
                f"Levels were learned from {levels}; fills, ranges and shares of levels from "
                f"{medians}."
            )
        if "transform" in one:
            text.append(f"- {rows:,} rows: {one['written rows']:,} rows of features were written.")
        text.append(f"- {rows:,} rows: {told(one)}")
    return [*text, ""]


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_size_options(parser, "a small forest and two million rows", "the sizes of the page")
    parser.add_argument(
        "--only", choices=("overhead", "large", "page"), help="a part, or kept figures"
    )
    parser.add_argument("--rows", type=int, help="of the large table")
    parser.add_argument(
        "--stages", nargs="+", choices=STAGES, default=STAGES, help="of the large table"
    )
    parser.add_argument("--folder", type=Path, help="for the large table; it is not deleted")
    parser.add_argument("--turns", type=int, help="of the forest")
    parser.add_argument("--trees", type=int, help="of the forest")
    parser.add_argument("--keep", type=Path, help="keep figures here, and use those kept")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the Markdown here")
    options = parser.parse_args()
    settle_page(options, "distributed")
    settle_sizes(options, rows=(2_000_000, 20_000_000), turns=(1, 3), trees=(50, 200))
    found: dict[str, Any] = {}
    if options.keep is not None and options.keep.exists():
        found = json.loads(options.keep.read_text())
    shape = (200_000, 50) if options.full else (20_000, 20)
    if options.only in (None, "overhead"):
        found["overhead"] = overhead(*shape, options.trees, options.turns) | circumstances()
    if options.only in (None, "large"):
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.folder or Path(scratch)
            sizes = found.setdefault("large", {})
            done = large(options.rows, folder, options.stages, sizes.get(str(options.rows), {}))
            earlier = [] if "write" in options.stages else done.get("commands", [])
            sizes[str(options.rows)] = done | circumstances()
            sizes[str(options.rows)]["commands"] = [*earlier, command_of()]
    if options.keep is not None:
        options.keep.write_text(json.dumps(found))
    text = page(found)
    print(text)
    write_page(options.write, text, size_of(options.full, sys.argv[1:]))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    dask.config.set({"distributed.comm.timeouts.connect": "60s"})
    main()
