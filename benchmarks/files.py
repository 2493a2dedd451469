"""Model files against pickles: size, and time to write and to read.

A pickle is the memory as it lies there. A model file is compressed, and checked when it is read.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from data import synthetic
from pages import PAGES, size_of, write_page
from runner import markdown_table, say
from speed import taking_turns

import featurewright

ROWS, COLUMNS = 20_000, 20
REPEATS = 5
WRITE = PAGES / "files.md"


def models(n_trees: int) -> dict[str, Any]:
    """Return the models to write."""
    threads = {"random_state": 0, "n_jobs": -1}
    return {
        f"constructive forest, {n_trees} trees": featurewright.ConstructiveForestClassifier(
            n_trees, **threads
        ),
        f"path encoder, {n_trees} trees": featurewright.ForestPathEncoder(n_trees, **threads),
        f"boosting, {n_trees} rounds": featurewright.ConstructiveBoostingClassifier(
            n_trees, **threads
        ),
        "batch constructor": featurewright.BatchConstructor(**threads),
    }


def line(name: str, model: Any, rows: Any, folder: Path) -> list[str]:
    """Write and read one model both ways; what comes back must be the same."""
    file, other = folder / "model.fw", folder / "model.pickle"
    works = {
        "save": partial(featurewright.save, model, file),
        "dump": lambda: other.write_bytes(pickle.dumps(model, pickle.HIGHEST_PROTOCOL)),
        "load": partial(featurewright.load, file),
        "unpickle": lambda: pickle.loads(other.read_bytes()),
    }
    taken, _ = taking_turns(works, REPEATS)
    ask = "predict_proba" if hasattr(model, "predict_proba") else "transform"
    found, expected = (getattr(one, ask)(rows) for one in (featurewright.load(file), model))
    if hasattr(found, "toarray"):
        found, expected = found.toarray(), expected.toarray()
    equal = np.array_equal(found, expected)
    sizes = [f"{path.stat().st_size / 1e3:,.0f} kB" for path in (file, other)]
    times = [f"{1000 * taken[who]:.0f} ms" for who in ("save", "dump", "load", "unpickle")]
    return [name, *sizes, *times, "yes" if equal else "NO"]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=int, default=100, help="default: 100")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", default=WRITE, help="write the Markdown here"
    )
    options = parser.parse_args()
    X, y = synthetic(ROWS, COLUMNS)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models(options.trees).items():
            say(name)
            lines.append(line(name, model.fit(X, y), X[:500], Path(folder)))
    head = [
        "model",
        "file",
        "pickled",
        "save",
        "pickle",
        "load",
        "unpickle",
        "same to the last bit",
    ]
    text = f"""# Model files

Models of a table of {ROWS:,} × {COLUMNS}, written by `featurewright.save` and by `pickle`, and read
again; median of {REPEATS} turns. Ours take longer: arrays are compressed when they are written, and
when they are read everything is checked before any object is made, which pickle does not do.

{markdown_table(head, lines)}
"""
    print(text)
    write_page(options.write, text, size_of(True, sys.argv[1:]))


if __name__ == "__main__":
    main()
