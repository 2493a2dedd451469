"""Tables in parts: a folder of files, or a pattern of their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from joblib import Parallel, delayed

from featurewright.cli.errors import UserError
from featurewright.cli.kinds import NULLS
from featurewright.cli.links import LinkText, check_titles, parse_newer
from featurewright.cli.sources import FORMATS, Source, ending_of, open_table

if TYPE_CHECKING:
    from rich.console import Console


def find_parts(path: Path) -> list[Path]:
    """Return the files that a folder or a pattern stands for; none for the name of a file."""
    if path.is_dir():
        found = [part for part in path.iterdir() if part.is_file() and ending_of(part) in FORMATS]
    elif not path.exists() and has_magic(str(path)):
        found = [Path(name) for name in glob(str(path)) if Path(name).is_file()]
    else:
        return []
    return sorted(part for part in found if not part.name.startswith((".", "_")))


# A model over all parts -------------------------------------------------------------------------


@dataclass(frozen=True)
class PartTask:
    """What is computed for each part."""

    model: Path
    how: dict[str, Any]  # of reading and writing
    probabilities: bool | None  # of predictions, if the model predicts; None for features


def apply_to_parts(
    model: Path,
    parts: list[Path],
    out: Path,
    how: dict[str, Any],
    *,
    probabilities: bool | None,
    n_jobs: int | None,
    scheduler: str | None,
    on_done: Callable[[int], None],
) -> int:
    """Compute columns for each part and write them to a folder; return the number of rows.

    Parameters
    ----------
    model : Path
        The model file.
    parts : list of Path
        The parts of the table.
    out : Path
        A folder, which is made where there is none; files get the names of the parts.
    how : dict
        How parts are read, and which columns are kept.
    probabilities : bool or None
        Whether predictions have probabilities; None for features.
    n_jobs : int or None
        Processes; None for one on each core.
    scheduler : str or None
        Address of a Dask scheduler.
    on_done : callable
        Called with the number of finished parts.
    """
    _check_folder(out, parts)
    open_parts(parts, delimiter=how["delimiter"], header=how["header"])
    out.mkdir(exist_ok=True)
    linked = [
        replace(link, path=None if link.path is None else link.path.resolve())
        for link in check_titles(map(parse_newer, how["link"]))
    ]
    how = how | {"nulls": NULLS if how["nulls"] is None else how["nulls"], "link": linked}
    task = PartTask(model.resolve(), how, probabilities)
    units = [(part.resolve(), (out / part.name).resolve()) for part in parts]
    if scheduler is not None:
        from featurewright.distributed.units import compute_parts

        return sum(compute_parts(scheduler, apply_to_part, task, units, on_done=on_done))
    rows = 0
    calls = (delayed(apply_to_part)(task, unit) for unit in units)
    n_jobs = min(len(units), n_jobs or os.cpu_count() or 1)
    found = Parallel(n_jobs, return_as="generator_unordered", batch_size=1)(calls)
    for done, own in enumerate(found):
        rows += own
        on_done(done + 1)
    return rows


def apply_to_part(task: PartTask, unit: tuple[Path, Path], seconds: float | None = None) -> int:
    """Compute columns for one part, in any process; return its rows."""
    from featurewright.cli.applying import apply_model, features_of, predictions_of

    part, out = unit
    predicts = task.probabilities is not None
    how = dict(task.how)
    reading = {name: how.pop(name) for name in ("delimiter", "header")}
    linked = _Linked(tuple(how.pop("link")), tuple(how["nulls"]), reading["delimiter"])
    model = _loaded(task.model, task.model.stat().st_mtime_ns, predicts, linked)
    compute = (
        predictions_of(model, probabilities=bool(task.probabilities))
        if predicts
        else features_of(model)
    )
    return apply_model(model, compute, open_table(part, **reading), out, **how)


class _Linked(NamedTuple):
    """The linked tables of a model, and how they are read."""

    texts: tuple[LinkText, ...]
    nulls: tuple[str, ...]
    delimiter: str | None


@lru_cache(maxsize=1)
def _loaded(path: Path, changed: int, predicts: bool, linked: _Linked) -> Any:
    """Load a model and its linked tables once for all parts that a process computes."""
    from featurewright.cli.links import link_tables
    from featurewright.cli.options import load_model

    model = load_model(path, predicts=predicts)
    return link_tables(model, linked.texts, linked.nulls, linked.delimiter)


def _check_folder(out: Path, parts: list[Path]) -> None:
    """Refuse a place that is no folder of its own."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file, but the table has parts: name a folder to write to.")
    ending = ending_of(out)
    if not out.exists() and ending in FORMATS and any(ending != ending_of(p) for p in parts):
        raise UserError(
            f"{out} is the name of a file, but the table has parts: name a folder to write to."
        )
    if not out.resolve().parent.is_dir():
        raise UserError(f"There is no folder {out.parent} to make {out.name} in: make it first.")
    if any(out.resolve() == part.resolve().parent for part in parts):
        raise UserError(f"{out} has the parts themselves: name another folder to write to.")


# All parts as one table -------------------------------------------------------------------------


@dataclass
class Parts(Source):
    """A table in parts, read one after the other."""

    parts: list[Source] = field(default_factory=list)

    def batches(self) -> Iterator[pl.DataFrame]:
        """Read all parts, some rows at a time."""
        for part in self.parts:
            yield from part.batches()


def tell_parts(source: Source, console: Console) -> None:
    """Print the number of parts of a table."""
    from featurewright.cli import display

    if isinstance(source, Parts):
        display.say(console, f"The table has {display.counted(len(source.parts), 'part')}.")


def open_one_or_parts(path: Path, **reading: Any) -> Source:
    """Open a table, which may be a file, a folder or a pattern."""
    parts = find_parts(path)
    return open_parts(parts, **reading) if parts else open_table(path, **reading)


def open_parts(parts: list[Path], **reading: Any) -> Parts:
    """Open the parts of a table, which are of one format."""
    sources = [open_table(part, **reading) for part in parts]
    kinds = sorted({source.kind for source in sources})
    if len(kinds) > 1:
        raise UserError(
            f"The parts are {' and '.join(kinds)} files, but one format is expected: name those of "
            "one."
        )
    first = sources[0]
    _check_columns(sources)
    return Parts(
        first.path.parent, first.kind, None, first.delimiter, header=first.header, parts=sources
    )


def _check_columns(parts: list[Source]) -> None:
    """Refuse parts that have not the same columns."""
    names: list[str] = []
    for part in parts:
        own = next((frame.columns for frame in part.batches()), names)
        names = names or own
        for name in (*names, *own):
            if name not in own or name not in names:
                has, lacks = (parts[0], part) if name in names else (part, parts[0])
                raise UserError(
                    f"{lacks.path.name} lacks the column {name!r} that {has.path.name} has, but "
                    "parts of one table have the same columns: name those that belong together."
                )
