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
import time
from pathlib import Path
from typing import Any

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

WORKERS = 2
LINK = 1.25e9  # bytes per second of a network of ten gigabits
LIMIT = 2_000_000_000  # bytes of memory of a worker that reads the large table
PART_ROWS = 250_000
N_WORKERS = (1, 2, 4, 8, 16, 32, 64)


def cpu_seconds() -> float:
    """Return the processor time that this process has used."""
    times = psutil.Process().cpu_times()
    return times.user + times.system


def cluster(memory: str | int = "auto") -> LocalCluster:
    """Return worker processes with one thread each."""
    return LocalCluster(WORKERS, threads_per_worker=1, memory_limit=memory, dashboard_address=":0")


def overhead(rows: int, columns: int, trees: int, turns: int) -> dict[str, Any]:
    """Grow a forest in threads and in worker processes, in turns."""
    X, y = synthetic(rows, columns)
    found: dict[str, list[float]] = {"threads": [], "processes": [], "threads cpu": []}
    found |= {"processes cpu": [], "compute": [], "n_tasks": []}
    own = {"search": None, "random_state": 0, "n_jobs": WORKERS}
    probabilities = {}
    with cluster() as local, Client(local) as client:
        warm_up(client)
        for _ in range(turns):
            began, cpu = time.perf_counter(), cpu_seconds()
            model = ConstructiveForestClassifier(trees, **own).fit(X, y)
            found["threads"].append(time.perf_counter() - began)
            found["threads cpu"].append(cpu_seconds() - cpu)
            probabilities["threads"] = model.predict_proba(X[:1000])
            before = sum(client.run(cpu_seconds).values()) + cpu_seconds()
            began = time.perf_counter()
            with joblib.parallel_config("dask"), get_task_stream(client) as stream:
                model = ConstructiveForestClassifier(trees, **own).fit(X, y)
            found["processes"].append(time.perf_counter() - began)
            found["processes cpu"].append(
                sum(client.run(cpu_seconds).values()) + cpu_seconds() - before
            )
            probabilities["processes"] = model.predict_proba(X[:1000])
            work = [
                part["stop"] - part["start"]
                for task in stream.data
                for part in task["startstops"]
                if part["action"] == "compute"
            ]
            found["compute"].append(sum(work))
            found["n_tasks"].append(len(stream.data))
    best = {name: float(np.median(values)) for name, values in found.items()}
    same = np.array_equal(*probabilities.values())
    return best | {
        "same": same,
        "table bytes": float(X.astype(np.float32).nbytes),
        "model bytes": float(len(pickle.dumps(model.forest_))),
        "shape": [rows, columns, trees],
    }


def write_parts(folder: Path, rows: int) -> int:
    """Write a table of 20 columns as Parquet parts; return its bytes in memory."""
    rng = np.random.default_rng(0)
    size = 0
    for number, first in enumerate(range(0, rows, PART_ROWS)):
        n = min(PART_ROWS, rows - first)
        part = pd.DataFrame(rng.normal(size=(n, 19)), columns=[f"x{k}" for k in range(19)])
        part["shop"] = rng.choice(["north", "south", "east", "west"], n)
        noise = rng.normal(size=n)
        part["y"] = part["x0"] * part["x1"] + part["x2"] + (part["shop"] == "east") + noise
        part.to_parquet(folder / f"part-{number:04d}.parquet")
        size += int(part.memory_usage(deep=True).sum())
    return size


def peak_memory() -> float:
    """Return the most memory that this process ever had, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def large(rows: int, folder: Path) -> dict[str, Any]:
    """Search, transform and predict on a table that the workers cannot hold together."""
    source, out = folder / "table", folder / "features"
    source.mkdir()
    found: dict[str, Any] = {"rows": rows}
    say(f"writing {rows:,} rows")
    found["bytes"] = write_parts(source, rows)
    with cluster(LIMIT) as local, Client(local) as client:
        warm_up(client)
        table = dd.read_parquet(source)
        y = table["y"]
        X = table.drop(columns="y")
        began = time.perf_counter()
        model = fit(AutoFeatures(effort="quick", random_state=0), X, y, max_rows=20_000)
        found["search"] = time.perf_counter() - began
        found["held out"] = dict(model.drawn_.held_out)
        say(f"search: {found['search']:.0f} s, {found['held out']}")
        began = time.perf_counter()
        model.transform(X).to_parquet(out)
        found["transform"] = time.perf_counter() - began
        say(f"transform: {found['transform']:.0f} s")
        began = time.perf_counter()
        found["mean prediction"] = float(model.predict(X).mean().compute())
        found["predict"] = time.perf_counter() - began
        say(f"predict: {found['predict']:.0f} s")
        found["peak"] = max(client.run(peak_memory).values())
    found["written rows"] = int(dd.read_parquet(out).shape[0].compute())
    return found


def cost(one: dict[str, Any], n_workers: int) -> dict[str, float]:
    """Return the seconds that the forest would take on some workers, by the measured parts."""
    serial = max(0.0, one["processes"] - one["compute"] / WORKERS)
    sending = one["table bytes"] / LINK * (1 + np.log2(n_workers))  # each copy makes another
    receiving = one["model bytes"] / LINK
    work = one["compute"] / n_workers
    total = serial + sending + receiving + work
    whole = serial + one["table bytes"] / LINK + receiving + one["compute"]
    return {
        "serial": serial,
        "sending": sending,
        "work": work,
        "total": total,
        "speed-up": whole / total,
    }


def circumstances() -> dict[str, Any]:
    """Return the command, and how many others wanted the cores in the last minutes."""
    return {"command": command_of(), "load": os.getloadavg()[1]}


def told(one: dict[str, Any]) -> str:
    """Say under which circumstances a part was measured."""
    return (
        f"Measured by `{one['command']}`; load of the machine at the end: {one['load']:.1f} "
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
        ]
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
            f"- Tasks: {one['n_tasks']:.0f}; workers computed for {one['compute']:.1f} s and were "
            f"idle for {100 * idle:.0f} % of their time.",
            f"- Sent to each worker: {one['table bytes'] / 1e6:.0f} MB; results: "
            f"{one['model bytes'] / 1e6:.0f} MB in all.",
            "",
            "## A cost model",
            "",
            "What is serial (reading the table, planning, joining trees, listing features), what "
            "is sent and what is divided, from the row above; a network of ten gigabits, over "
            "which each worker that has the table passes it on. The figures beyond two workers "
            "are computed, not measured.",
            "",
            markdown_table(
                ["workers", "serial", "sending the table", "growing", "together", "speed-up"],
                [
                    [
                        str(n),
                        f"{c['serial']:.1f} s",
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
    if (one := found.get("large")) is not None:
        proof = one["held out"]
        more = "more" if one["bytes"] > WORKERS * LIMIT else "less"
        text += [
            "## A table in parts",
            "",
            f"{one['rows']:,} rows × 20 columns in Parquet parts, {one['bytes'] / 1e9:.1f} GB as "
            f"pandas holds them, {more} than two workers with a limit of {LIMIT / 1e9:.0f} GB each "
            "may hold together. `AutoFeatures(effort="
            '"quick")` searches a sample of 20,000 rows, and is scored on '
            f"{proof['n_rows']:,.0f} rows of other parts: {proof['score']:.4f}, original columns "
            f"{proof['baseline']:.4f}.",
            "",
            markdown_table(
                ["search", "transform to Parquet", "predict", "peak memory of a worker"],
                [
                    [
                        f"{one['search']:.0f} s",
                        f"{one['transform']:.0f} s",
                        f"{one['predict']:.0f} s",
                        f"{one['peak'] / 1e9:.2f} GB",
                    ]
                ],
            ),
            "",
            f"Rows written: {one['written rows']:,}. {told(one)}",
            "",
        ]
    return "\n".join(text)


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
    parser.add_argument("--turns", type=int, help="of the forest")
    parser.add_argument("--keep", type=Path, help="keep figures here, and use those kept")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the Markdown here")
    options = parser.parse_args()
    settle_page(options, "distributed")
    settle_sizes(options, rows=(2_000_000, 20_000_000), turns=(1, 3))
    found: dict[str, Any] = {}
    if options.keep is not None and options.keep.exists():
        found = json.loads(options.keep.read_text())
    shape = (200_000, 50, 200) if options.full else (20_000, 20, 50)
    if options.only in (None, "overhead"):
        found["overhead"] = overhead(*shape, options.turns) | circumstances()
    if options.only in (None, "large"):
        with tempfile.TemporaryDirectory() as folder:
            found["large"] = large(options.rows, Path(folder)) | circumstances()
    if options.keep is not None:
        options.keep.write_text(json.dumps(found))
    text = page(found)
    print(text)
    write_page(options.write, text, size_of(options.full, sys.argv[1:]))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    dask.config.set({"distributed.comm.timeouts.connect": "60s"})
    main()
