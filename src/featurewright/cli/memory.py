"""Memory that is left, and what a search needs of it."""

from __future__ import annotations

from pathlib import Path

from featurewright.cli.errors import UserError

GIGABYTE = 10**9
_TIMES_TABLE = 4  # a search takes this many times the table, and a gigabyte
_BYTES_PER_CELL = 8
_SYSTEM = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")  # of a container


def available_bytes() -> int | None:
    """Return the bytes that a process may still take; None where the system does not say."""
    try:
        lines = _SYSTEM.read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    try:
        limit = (_GROUP / "memory.max").read_text(encoding="ascii").strip()
        used = (_GROUP / "memory.current").read_text(encoding="ascii")
        return free if limit == "max" else min(free, int(limit) - int(used))
    except (OSError, ValueError):
        return free


def check_memory(n_rows: int, n_columns: int) -> None:
    """Refuse a table that a search would not have the memory for."""
    needed = _TIMES_TABLE * _BYTES_PER_CELL * n_rows * n_columns + GIGABYTE
    left = available_bytes()
    if left is None or left >= needed:
        return
    fitting = max(0, left - GIGABYTE) // (_TIMES_TABLE * _BYTES_PER_CELL * max(1, n_columns))
    advice = f"use --max-rows {fitting}" if fitting >= 100 else "use a machine with more"
    raise UserError(
        f"A search on {n_rows} rows and {n_columns} columns needs about {needed / GIGABYTE:.1f} GB "
        f"of memory, but {left / GIGABYTE:.1f} GB are left: {advice}, or drop columns."
    )


def check_reading(n_bytes: int) -> None:
    """Refuse to go on reading where what was read takes up the memory."""
    left = available_bytes()
    # Finding the types of columns takes as much again.
    if left is not None and left < n_bytes:
        raise UserError(
            f"The table takes {n_bytes / GIGABYTE:.1f} GB of memory so far, which leaves "
            f"{left / GIGABYTE:.1f} GB and does not suffice: use fewer rows with --max-rows."
        )
