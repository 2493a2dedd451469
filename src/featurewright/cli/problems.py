"""What went wrong, for the person at the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class Problem(Exception):
    """An error to be shown in one line: what came, what was expected, what to do."""


def did_you_mean(name: str, known: Iterable[str], limit: int = 8) -> str:
    """End a sentence about an unknown name: by the likely one, or by those there are."""
    names = list(known)
    folded = {other.casefold(): other for other in reversed(names)}
    close = [folded[key] for key in get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)]
    if close:
        return f"did you mean {close[0]!r}?"
    if not names:
        return "there is none."
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"there are {', '.join(map(repr, names[:limit]))}{more}."
