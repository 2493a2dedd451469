"""What went wrong, for the person at the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """An error to be shown in one line: what came, what was expected, what to do."""


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Find the name that was probably meant."""
    folded = {other.casefold(): other for other in known}
    found = get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], limit: int = 12) -> str:
    """End a sentence about an unknown name: by the likely one, or by those there are."""
    names = list(known)
    meant = closest(name, names)
    if meant is not None:
        return f"did you mean {meant!r}?"
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"there are {', '.join(map(repr, names[:limit]))}{more}."
