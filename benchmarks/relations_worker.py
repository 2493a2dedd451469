"""Compute features over linked rows with one library; runs inside the library's own environment.

Started as ``python relations_worker.py FOLDER``: the folder has ``task.json``, ``rows.parquet`` and
``linked.parquet``, and gets ``out.npz`` (a column for each feature, a row for each row) and
``out.json`` (seconds of the processor, memory, names). The file stands alone, for neither this
package nor the other benchmarks are installed there.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Task = dict[str, Any]
Features = tuple[np.ndarray, list[str]]
# The same aggregates by the names of each library.
AGGREGATES = {
    "featurewright": (
        *("count", "sum", "mean", "std", "min", "max", "median", "trend", "first", "last"),
        *("distinct", "time since last"),
    ),
    "featuretools": (
        *("count", "sum", "mean", "std", "min", "max", "median", "trend", "first", "last"),
        *("num_unique", "time_since_last"),
    ),
}
TSFRESH = {
    **dict.fromkeys(("length", "sum_values", "mean", "standard_deviation", "minimum", "maximum")),
    "median": None,
    "linear_trend": [{"attr": "slope"}],
}


def with_featurewright(task: Task, folder: Path) -> Features:
    """Compute every aggregate of every column in every window."""
    import polars as pl

    from featurewright import Link
    from featurewright.relations.aggregates import LinkValues, Window
    from featurewright.relations.search import base_candidates
    from featurewright.relations.sources import as_frame, learn_source

    rows, linked = (pl.read_parquet(folder / f"{name}.parquet") for name in ("rows", "linked"))
    rows = rows[: task.get("most")]
    link = Link(linked, on=task["key"], time=task["time"], name="linked")
    source = learn_source(link, as_frame(linked, "linked"), 1)
    windows = [Window(days, None, True) for days in task["windows"] if days is not None]
    past = np.ones(source.rows.n_rows, bool)
    features = base_candidates(source, AGGREGATES["featurewright"], windows, past)
    features = [feature for feature in features if feature.level is None]  # others have none
    if None not in task["windows"]:
        features = [feature for feature in features if feature.window is not None]
    values = LinkValues(source.rows, source.see(as_frame(rows, "X"), task["as_of"], training=False))
    return np.column_stack(values.each(features, lambda _, one: one)), list(map(str, features))


def with_search(task: Task, folder: Path) -> Features:
    """Search for features that explain the target of training rows."""
    import polars as pl

    from featurewright import Link, RelationalFeatures

    rows, linked = (pl.read_parquet(folder / f"{name}.parquet") for name in ("rows", "linked"))
    rows = rows[: task.get("most")]
    link = Link(linked, on=task["key"], time=task["time"], name="linked")
    model = RelationalFeatures(
        [link],
        as_of=task["as_of"],
        include_original=False,
        keep_missing=True,
        random_state=task["seed"],
        task="classification" if task["classes"] else "regression",
    )
    given = rows.select(task["key"], task["as_of"])
    train = min(task["n_train"], len(rows) // 2 if "most" in task else len(rows))
    inside = model.fit_transform(given[:train], rows["target"][:train].to_numpy())
    task["n_candidates"] = model.n_candidates_
    return np.vstack([inside, model.transform(given[train:])]), list(model.get_feature_names_out())


def with_featuretools(task: Task, folder: Path) -> Features:
    """Run deep feature synthesis with a cutoff time for each row, once for each window."""
    import featuretools as ft
    import pandas as pd

    rows, linked = (pd.read_parquet(folder / f"{name}.parquet") for name in ("rows", "linked"))
    linked["linked_row"] = np.arange(len(linked))
    entities = ft.EntitySet("database")
    keys = pd.DataFrame({task["key"]: pd.unique(rows[task["key"]])})
    linked = linked[linked[task["key"]].isin(keys[task["key"]])]
    entities.add_dataframe(dataframe_name="keys", dataframe=keys, index=task["key"])
    entities.add_dataframe(
        dataframe_name="linked", dataframe=linked, index="linked_row", time_index=task["time"]
    )
    entities.add_relationship("keys", task["key"], "linked", task["key"])
    cutoffs = rows[[task["key"], task["as_of"]]].rename(columns={task["as_of"]: "time"})
    cutoffs["row"] = np.arange(len(cutoffs))
    found, names = [], []
    for days in task["windows"]:
        matrix, _ = ft.dfs(
            entityset=entities,
            target_dataframe_name="keys",
            agg_primitives=list(AGGREGATES["featuretools"]),
            trans_primitives=[],
            max_depth=1,
            cutoff_time=cutoffs,
            include_cutoff_time=False,
            training_window=None if days is None else f"{int(days)} days",
            n_jobs=1,
        )
        matrix = matrix.sort_values("row").drop(columns="row")
        numbers = matrix.select_dtypes(["number", "bool"])
        found.append(numbers.to_numpy(dtype=float, na_value=np.nan))
        names += [f"{name}, {days} days" for name in numbers.columns]
    return np.hstack(found), names


def with_tsfresh(task: Task, folder: Path) -> Features:
    """Extract features of the linked rows of each row; which rows it sees is found first."""
    import pandas as pd
    from tsfresh import extract_features

    rows, linked = (pd.read_parquet(folder / f"{name}.parquet") for name in ("rows", "linked"))
    numbers = linked.drop(columns=task["key"]).select_dtypes("number").columns
    given = rows[[task["key"], task["as_of"]]].rename(columns={task["as_of"]: "until"})
    given["row"] = np.arange(len(given))
    found, names = [], []
    for days in task["windows"]:
        blocks = []
        for begin in range(0, len(given), 500):  # rows with all that they see are many
            both = given[begin : begin + 500].merge(linked, on=task["key"])
            seen = both[task["time"]] < both["until"]
            if days is not None:
                seen &= both[task["time"]] >= both["until"] - pd.Timedelta(days=days)
            blocks.append(both.loc[seen, ["row", task["time"], *numbers]])
        long = pd.concat(blocks)
        long[numbers] = long[numbers].astype(float).fillna(0.0)  # it refuses missing values
        made = extract_features(
            long,
            column_id="row",
            column_sort=task["time"],
            default_fc_parameters=TSFRESH,
            n_jobs=0,
            disable_progressbar=True,
        ).reindex(given["row"])
        found.append(made.to_numpy(dtype=float))
        names += [f"{name}, {days} days" for name in made.columns]
    return np.hstack(found), names


def with_getml(task: Task, folder: Path) -> Features:
    """Learn features with FastProp, one join for each window; its engine is a process beside."""
    import getml
    import pandas as pd

    rows, linked = (pd.read_parquet(folder / f"{name}.parquet") for name in ("rows", "linked"))
    getml.engine.set_project("features")
    given = rows[[task["key"], task["as_of"], "target"]].astype({"target": float})
    texts = linked.drop(columns=task["key"]).select_dtypes(["object", "string"]).columns
    numbers = linked.drop(columns=task["key"]).select_dtypes("number").columns
    children = getml.DataFrame.from_pandas(
        linked.astype(dict.fromkeys([task["key"]], str)),
        "linked",
        roles={
            "join_key": [task["key"]],
            "time_stamp": [task["time"]],
            "numerical": list(numbers),
            "categorical": list(texts),
        },
    )
    roles = {"join_key": [task["key"]], "time_stamp": [task["as_of"]], "target": ["target"]}
    parts = (given[: task["n_train"]], given[task["n_train"] :])
    train, test = (
        getml.DataFrame.from_pandas(part.astype({task["key"]: str}), name, roles=roles)
        for part, name in zip(parts, ("train", "test"), strict=True)
    )
    model = getml.data.DataModel(train.to_placeholder("population"))
    for at, days in enumerate(task["windows"]):
        child = children.to_placeholder(f"linked{at}")
        model.add(child)
        model.population.join(
            getattr(model, f"linked{at}"),
            on=task["key"],
            time_stamps=(task["as_of"], task["time"]),
            horizon=getml.data.time.seconds(1),
            memory=None if days is None else getml.data.time.days(days),
        )
    tables = {f"linked{at}": children for at in range(len(task["windows"]))}
    loss = "CrossEntropyLoss" if task["classes"] else "SquareLoss"
    learner = getml.feature_learning.FastProp(
        loss_function=getattr(getml.feature_learning.loss_functions, loss), num_threads=1
    )
    pipeline = getml.pipeline.Pipeline(data_model=model, feature_learners=[learner])
    pipeline.fit(train, tables, check=False)
    made = np.vstack([pipeline.transform(part, tables) for part in (train, test)])
    return made, [f"feature {at}" for at in range(made.shape[1])]


def engine_process() -> Path | None:
    """Return the process of getML's engine that belongs to this folder, if there is one."""
    for found in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = found.read_bytes()
        except OSError:
            continue
        if command.startswith(b"./getML") and str(Path.home()).encode() in command:
            return found.parent
    return None


def start_getml() -> None:
    """Start the engine of getML, and wait until it answers."""
    import getml

    getml.engine.launch(in_memory=True, launch_browser=False)
    for _ in range(100):
        if getml.engine.is_alive():
            return
        time.sleep(0.1)


def used() -> float:
    """Return the seconds of the processor that this process, its children and an engine had."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    own = sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)
    engine = ENGINE.get("process")
    if engine is not None:
        ticks = (engine / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
        own += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return own


def peak_bytes() -> int:
    """Return the most memory that this process and an engine have had."""
    unit = 1 if sys.platform == "darwin" else 1024
    if not Path("/proc/self/status").exists():
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    total = 0  # not ru_maxrss, which may start with the peak of the parent
    for process in (Path("/proc/self"), ENGINE.get("process")):
        if process is not None:
            text = (process / "status").read_text()
            lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
            total += unit * int(lines["VmHWM"].split()[0])
    return total


LIBRARIES: dict[tuple[str, str], Callable[[Task, Path], Features]] = {
    ("featurewright", "same"): with_featurewright,
    ("featurewright", "searched"): with_search,
    ("featuretools", "same"): with_featuretools,
    ("tsfresh", "same"): with_tsfresh,
    ("getml", "searched"): with_getml,
}
ENGINE: dict[str, Path | None] = {}  # the process beside this one, where a library has one


def main() -> None:
    """Do the task of a folder."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    os.environ["HOME"] = str(folder)  # what a library leaves there goes with the folder
    task = json.loads((folder / "task.json").read_text())
    run = LIBRARIES[task["library"], task["variant"]]
    importlib.import_module(task["library"])  # is not part of the work
    if task["library"] == "featurewright":
        # What is compiled, or read from the disk, at first use is told apart.
        run(task | {"most": 100}, folder)
    if task["library"] == "getml":
        start_getml()
        ENGINE["process"] = engine_process()
    before, started, clock = peak_bytes(), used(), time.perf_counter()
    values, names = run(task, folder)
    out = {
        "seconds": used() - started,
        "wall": time.perf_counter() - clock,
        "memory": max(0, peak_bytes() - before),
        "names": names,
        "n_candidates": task.get("n_candidates", len(names)),
    }
    if task["library"] == "getml":
        importlib.import_module("getml").engine.shutdown()
    np.savez(folder / "out.npz", values=values)
    (folder / "out.json").write_text(json.dumps(out))


if __name__ == "__main__":
    main()
