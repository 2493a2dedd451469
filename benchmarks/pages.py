"""Pages of results: where they are, what they say of their run, and how they are replaced."""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from data import ROOT

PAGES = ROOT / "docs" / "results"
SHOWN = ("numpy", "scipy", "scikit-learn", "numba", "lightgbm")
# What changes neither what is run nor how often; a run with any other option is a custom one.
_NEUTRAL = ("--quick", "--full", "--jobs", "--reuse", "--replace", "--write", "--check")
_STAMP = re.compile(
    r"^\*Run: (\w+); (\d{4}-\d\d-\d\d); `([^`]*)`; (?:commit (\S+); )?(.+)\*$", re.MULTILINE
)


def machine() -> str:
    """Describe the machine and the libraries, without names of hosts or folders."""
    found = []
    for package in SHOWN:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    memory = ""
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        memory = f", {size / 2**30:.0f} GB"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kind = f"{platform.system()} {platform.machine()}"
    python = f"Python {platform.python_version()}"
    return f"{cores} core{'s' * (cores != 1)}{memory}, {kind}, {python}, {', '.join(found)}"


def command_of(arguments: list[str] | None = None) -> str:
    """Write the command of this process as a reader types it; names of files are left out."""
    words = list(sys.argv if arguments is None else arguments)
    kept = [f"benchmarks/{Path(words[0]).name}"]
    skip = False
    for word in words[1:]:
        if not skip and not word.startswith("--write"):
            kept.append(f'"{word}"' if " " in word else word)
        skip = word == "--write"
    return " ".join(["python", *kept])


def commit() -> str:
    """Return the commit that is measured; with "+" where files differ from it, "" without git."""

    def ask(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = ask("status", "--porcelain", "--untracked-files=no", "--", "../src")
        return ask("rev-parse", "--short=12", "HEAD") + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return ""


def stamp(size: str, command: str, date: str | None = None) -> str:
    """Write the line that says what a page comes from."""
    day = date or datetime.now(UTC).strftime("%Y-%m-%d")
    measured = f"commit {found}; " if (found := commit()) else ""
    return f"*Run: {size}; {day}; `{command}`; {measured}{machine()}*"


def read_stamp(text: str) -> dict[str, str]:
    """Read that line; empty if there is none."""
    found = _STAMP.search(text)
    if not found:
        return {}
    return dict(
        zip(("size", "date", "command", "commit", "machine"), found.groups(""), strict=True)
    )


def choose_page(path: Path, size: str, replace: bool = False) -> Path:
    """Say where the page of a run goes: not in the place of one that may say more.

    A quick run takes the place of a quick one or of one of unknown size, a full run of any. A
    custom one, which may have been on one set only, takes no place that is taken.

    Parameters
    ----------
    path : Path
        The page in the documents.
    size : {"custom", "quick", "full"}
        How large the run is.
    replace : bool, default=False
        Whether to write over any page.

    Returns
    -------
    Path
        The page, or one of the same name beside the stored results.
    """
    if replace or size == "full" or not path.exists():
        return path
    old = read_stamp(path.read_text(encoding="utf-8")).get("size", "")
    keeps = size == "custom" or old in ("custom", "full")
    return ROOT / "benchmarks" / "results" / path.name if keeps else path


def write_page(path: Path, text: str, size: str) -> None:
    """Write a page with its stamp, by a name of its own first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(f"{text.rstrip()}\n\n{stamp(size, command_of())}\n", encoding="utf-8")
    part.replace(path)


def add_size_options(parser: argparse.ArgumentParser, quick: str, full: str) -> None:
    """Add the two sizes of a run, with what each means."""
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help=f"{quick} (the default)")
    size.add_argument("--full", action="store_true", help=full)
    parser.add_argument("--replace", action="store_true", help="write over the page of another run")


def size_of(full: bool, words: Sequence[str]) -> str:
    """Return the size of a run by the words of its command."""
    options = (word.split("=")[0] for word in words if word.startswith("--"))
    if any(option not in _NEUTRAL for option in options):
        return "custom"
    return "full" if full else "quick"


def settle_page(options: argparse.Namespace, name: str) -> None:
    """Set the size of the run and the file of its page, where none was given."""
    options.size = size_of(options.full, sys.argv[1:])
    if options.write is None:
        options.write = choose_page(PAGES / f"{name}.md", options.size, options.replace)


def settle_sizes(options: argparse.Namespace, **sizes: tuple[Any, Any]) -> None:
    """Set the options that were not given, to what they are in a quick run and in a full one."""
    for name, (quick, full) in sizes.items():
        if getattr(options, name) is None:
            setattr(options, name, full if options.full else quick)


def image(options: argparse.Namespace, name: str) -> Path:
    """Return the file of a plot that belongs to the page of a run."""
    return options.write.with_name(f"{options.write.stem}_{name}.png")


def shown(path: Path, title: str) -> str:
    """Write the line of Markdown that shows a plot."""
    return f"![{title}]({path.name})"
