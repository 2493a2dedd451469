"""Speed and memory of path encodings and their kernel, side by side with scikit-learn and SciPy.

Both sides take turns in one process with as many threads, and the median of at least three turns
counts: with one thread in seconds of the processor, so that other work on the machine does not
count, with more by the clock. Before, as much memory as the turns need is written to once and given
back: the first touch of memory that a machine has not used yet can take longer than all the
rest, and falls on whoever comes first. The forests have the same number of trees, grown until
leaves are pure on the same rows. The product of encodings is not charged for making them; SciPy
has one thread. Memory is what NumPy allocates at most during a call, the result counted. A number
of times says how much faster the first is.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from data import synthetic
from pages import settle_page
from runner import say
from sklearn.ensemble import RandomForestClassifier, RandomTreesEmbedding
from speed import Line, add_speed_options, finish_lines, seconds, taking_turns, timed
from threadpoolctl import threadpool_limits

from featurewright import ForestPathEncoder

N_COLUMNS = 20
LEAST_TURNS = 3
PEAK = 1.2  # memory of transform, in multiples of its result


def product(rows: Any, others: Any) -> np.ndarray:
    """Multiply encodings and normalise: the kernel matrix as SciPy works it out."""
    shared = (rows @ others.T).toarray()
    norms, other_norms = (np.asarray(part.sum(axis=1)).ravel() for part in (rows, others))
    shared /= np.sqrt(norms[:, None] * other_norms[None, :])
    return shared


def times(ours: float, theirs: float) -> tuple[str, str, float]:
    """Write both times and how many times faster the first is."""
    return seconds(ours), seconds(theirs), theirs / ours


def touch_memory(n_bytes: float) -> None:
    """Write to memory and give it back, so that turns do not pay for the first use of it."""
    np.empty(int(n_bytes), np.uint8).fill(1)


def clock_of(n_jobs: int) -> Callable[[], float]:
    """Return the clock for a number of threads: the processor's time of one, else the wall's."""
    return time.process_time if n_jobs == 1 else time.perf_counter


def with_threads(work: str, n_jobs: int) -> str:
    """Name the threads of a line."""
    return f"{work}, {n_jobs} thread{'s' * (n_jobs > 1)}"


def encoding_lines(
    encoder: ForestPathEncoder, peer: Any, X: np.ndarray, repeats: int, threads: list[int]
) -> list[Line]:
    """Measure the encoding against `decision_path`, and how it scales with threads."""
    lines = []
    for n_jobs in threads:
        say(f"encoding, {n_jobs} threads")
        encoder.set_params(n_jobs=n_jobs)
        peer.set_params(n_jobs=n_jobs)
        works = {"ours": partial(encoder.transform, X), "theirs": partial(peer.decision_path, X)}
        _, results = taking_turns(works, 1)  # a turn that does not count
        entries = [results["ours"].nnz / 1e6, results["theirs"][0].nnz / 1e6]
        del results
        touch_memory(48e6 * sum(entries))
        found, results = taking_turns(works, max(repeats, LEAST_TURNS), clock_of(n_jobs))
        del results
        work = (
            f"path encoding, {len(X)} rows, {encoder.n_estimators_} trees, against decision_path "
            f"({entries[0]:.0f} M entries, theirs {entries[1]:.0f} M)"
        )
        both = times(found["ours"], found["theirs"])
        lines.append(Line(with_threads(work, n_jobs), *both, 8.0, at_least=True))

    def encode(n_jobs: int) -> None:
        encoder.set_params(n_jobs=n_jobs).transform(X)

    return lines + scaling("path encoding", encode, repeats, threads)


def embedding_lines(X: np.ndarray, n_trees: int, repeats: int) -> list[Line]:
    """Measure an encoder without a target against `RandomTreesEmbedding`, both to its depth."""
    say("embedding without a target")
    common = {"n_estimators": n_trees, "max_depth": 5, "random_state": 0, "n_jobs": 1}
    models = {
        "ours": ForestPathEncoder(encode="leaf", **common),
        "theirs": RandomTreesEmbedding(**common),
    }
    lines = []
    for step in ("fit", "transform"):
        works = {who: partial(getattr(model, step), X) for who, model in models.items()}
        taking_turns(works, 1)
        found, _ = taking_turns(works, repeats)
        work = f"leaves without a target, {len(X)} rows, {n_trees} trees of depth 5, against "
        both = times(found["ours"], found["theirs"])
        lines.append(Line(f"{work}RandomTreesEmbedding: {step}", *both, None))
    return lines


def kernel_lines(
    encoder: ForestPathEncoder, X: np.ndarray, Z: np.ndarray, repeats: int, threads: list[int]
) -> list[Line]:
    """Measure the kernel against the product of encodings, which are given to it for nothing."""
    encoder.set_params(n_jobs=1)
    encoded, others = encoder.transform(X), encoder.transform(Z)

    def kernel(kind: str, n_jobs: int) -> np.ndarray:
        return encoder.set_params(n_jobs=n_jobs).kernel(X, Z, kind=kind)

    lines = []
    for kind in ("path", "leaf", "torkkola"):
        name = f"{kind} kernel, {len(X)} × {len(Z)}, {encoder.n_estimators_} trees"
        for n_jobs in threads:
            say(f"kernel, {kind}, {n_jobs} threads")
            works: dict[str, Any] = {"ours": partial(kernel, kind, n_jobs)}
            if kind == "path":
                works["theirs"] = partial(product, encoded, others)
            kernel(kind, n_jobs)
            touch_memory(64.0 * len(X) * len(Z))
            found, results = taking_turns(works, max(repeats, LEAST_TURNS), clock_of(n_jobs))
            if kind == "path":
                np.testing.assert_allclose(results["ours"], results["theirs"], rtol=1e-5)
                both = times(found["ours"], found["theirs"])
                work = with_threads(f"{name}, against the product", n_jobs)
                lines.append(Line(work, *both, 30.0, at_least=True))
            else:
                taken = found["ours"]
                work = with_threads(name, n_jobs)
                lines.append(Line(work, seconds(taken), "", taken, None, " s"))
            del results
        lines += scaling(f"{kind} kernel", partial(kernel, kind), repeats, threads)
    return lines


def scaling(work: str, run: Callable[[int], Any], repeats: int, threads: list[int]) -> list[Line]:
    """Compare one thread with most threads by the clock."""
    most = max(threads)
    if most == 1:
        return []
    works = {"one": partial(run, 1), "most": partial(run, most)}
    found, _ = taking_turns(works, repeats)
    both = times(found["most"], found["one"])
    return [Line(f"{work}: {most} threads against one", *both, None)]


def peak_of(work: Any) -> tuple[float, Any]:
    """Return the most bytes allocated during a call, and its result."""
    tracemalloc.start()
    result = work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return float(peak), result


def memory_lines(encoder: ForestPathEncoder, X: np.ndarray) -> list[Line]:
    """Measure the peak memory of transform over the size of its result."""
    lines = []
    ways = {"paths": {}, "leaves": {"encode": "leaf"}, "buckets": {"n_hash": 4096}}
    for name, params in ways.items():
        say(f"memory, {name}")
        encoder.set_params(encode="path", n_hash=None).set_params(**params)
        peak, result = peak_of(partial(encoder.transform, X))
        size = result.data.nbytes + result.indices.nbytes + result.indptr.nbytes
        work = f"peak memory of transform, {len(X)} rows, {name}, over its result"
        both = (f"{peak / 1e6:.0f} MB", f"{size / 1e6:.0f} MB")
        lines.append(Line(work, *both, peak / size, PEAK))
        del result
    encoder.set_params(encode="path", n_hash=None)
    return lines


def chunk_lines(encoder: ForestPathEncoder, n_rows: int, n_chunk: int) -> list[Line]:
    """Encode a large table in parts: memory is that of one part."""
    say(f"{n_rows} rows in parts")
    rng = np.random.default_rng(0)
    entries = 0

    def work() -> None:
        nonlocal entries
        for _ in range(n_rows // n_chunk):
            part = rng.random((n_chunk, N_COLUMNS), dtype=np.float32)
            entries += encoder.transform(part).nnz

    taken, (peak, _) = timed(lambda: peak_of(work))
    name = f"{n_rows} rows in parts of {n_chunk}, {entries / 1e6:.0f} M entries"
    speed = n_rows / taken / 1000
    both = (seconds(taken), f"peak {peak / 1e6:.0f} MB")
    return [Line(name, *both, speed, None, " thousand rows a second")]


def main() -> None:
    """Measure, print, write and check if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_speed_options(parser, "few trees and rows", "as many as the bars are set for")
    options = parser.parse_args()
    settle_page(options, "speed_paths")
    n_rows, n_others, n_trees = (20_000, 1_000, 200) if options.full else (2_000, 200, 20)
    X_all, y_all = synthetic(n_rows + n_others, N_COLUMNS)
    X_all = X_all.astype(np.float32)
    X, y, Z = X_all[:n_rows], y_all[:n_rows], X_all[n_rows:]
    most = max(options.threads)
    say("growing both forests")
    encoder = ForestPathEncoder(n_trees, random_state=0, n_jobs=most).fit(X, y)
    peer = RandomForestClassifier(n_trees, random_state=0, n_jobs=most).fit(X, y)
    encoder.transform(X[:10])  # compiles
    for kind in ("path", "torkkola"):
        encoder.kernel(X[:10], kind=kind)
    with threadpool_limits(most):
        lines = [
            *encoding_lines(encoder, peer, X, options.repeats, options.threads),
            *embedding_lines(X, n_trees, options.repeats),
            *kernel_lines(encoder, X, Z, options.repeats, options.threads),
            *memory_lines(encoder, X),
            *chunk_lines(encoder, 50 * n_rows, n_rows),
        ]
    intro = (__doc__ or "").split("\n\n", 1)[1].strip()
    known = """Where ours take longer: without a target our trees choose the splits that part all
columns best, where `RandomTreesEmbedding` draws column and threshold by chance.
Lines of threads against one have our own time with one thread in the place of theirs.

Why these figures used to swing from run to run: the first touch of memory; and rows went down
the trees in blocks of 256, so that all trees were read from the last cache, which other programs
share, once for every block. Blocks are now as large as a cache holds, eight rows go down at a time
without waiting for each other, and what leaves share is swept from row to row of a table, which
the compiler turns into vector operations (in place it did not). The paths of a tree's leaves are
written out once where there are as many rows as leaves, and copied eight numbers at a time. Tried
without gain: such a table for all trees at once (no faster with the time to make it), 32-bit
instead of 64-bit numbers of nodes, four trees instead of two at a time, and blocks of 64 or
256 instead of 128 columns in the kernel."""
    finish_lines("Speed of path encodings and the forest kernel", intro, lines, options, known)


if __name__ == "__main__":
    main()
