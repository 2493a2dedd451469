"""Errors of commands: one line on the terminal, and the exit code 1."""

from __future__ import annotations

import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import ParamSpec

import typer

P = ParamSpec("P")

# What data, files and models can cause, beside polars' errors; anything else is a bug.
_EXPECTED = (
    ArithmeticError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


_NO_SPACE = os.strerror(errno.ENOSPC)


class UserError(Exception):
    """An error to be shown in one line: what came, what was expected, what to do."""


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most like a name; None where none is like it."""
    folded = {other.casefold(): other for other in known}
    begun = sorted((other for other in folded if other.startswith(name.casefold())), key=len)
    if len(name) > 1 and begun:
        return folded[begun[0]]
    found = get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], limit: int = 12) -> str:
    """Return the end of a sentence about an unknown name: the likely one, or those there are."""
    names = list(known)
    if not names:
        return "the table has no columns."
    meant = closest(name, names)
    if meant is not None:
        return f"did you mean {meant!r}?"
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"there are {', '.join(map(repr, names[:limit]))}{more}."


def ending_well(command: Callable[P, None]) -> Callable[P, None]:
    """Show errors of a command in one line and end with 1; with ``--debug``, show the trace."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            sys.stderr.write("Stopped; nothing was written.\n")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader has seen enough; what is left in the buffer must not be written at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except Exception as error:
            if isinstance(error, (typer.Exit, typer.BadParameter)) or not _is_expected(error):
                raise
            if kwargs.get("debug"):
                sys.stderr.write(traceback.format_exc())
            _show(f"Error: {_sentence(error)}")
            raise typer.Exit(1) from None

    return run


def _is_expected(error: Exception) -> bool:
    """Whether data, files or models can cause an error."""
    is_polars = type(error).__module__.split(".")[0] == "polars"
    return is_polars or isinstance(error, (UserError, *_EXPECTED))


def _show(text: str) -> None:
    """Print one line on the standard error."""
    from rich.console import Console

    from featurewright.cli.display import say

    say(Console(stderr=True), text, "red")


def _sentence(error: BaseException) -> str:
    """Return the message of an error as one line."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"the memory does not suffice{': ' + text if text else '.'}"
    if _NO_SPACE in text:  # polars says it in an error of its own
        return (
            "There is no space left on the disk, so nothing was written there: make room, or name "
            "another folder."
        )
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return text or type(error).__name__
