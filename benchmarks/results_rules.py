"""Rules that judge a claim: from the numbers of a measurement to a verdict."""

from __future__ import annotations

HOLDS, MIXED, FAILS, ABSENT = "holds", "mixed", "**fails**", "not measured"
# Shares of comparisons that may be worse where "no worse" is claimed.
WORSE_BY_CHANCE, WORSE_MIXED = 0.05, 0.2


def improves(better: str, same: str, worse: str) -> str:
    """Judge "is better": some comparisons are, and none (or fewer) are worse."""
    if int(better) <= int(worse):
        return FAILS
    return MIXED if int(worse) else HOLDS


def no_worse(better: str, same: str, worse: str) -> str:
    """Judge "is no worse" by the share of comparisons that are."""
    share = int(worse) / (int(better) + int(same) + int(worse))
    return HOLDS if share <= WORSE_BY_CHANCE else MIXED if share <= WORSE_MIXED else FAILS


def wins(won: str, lost: str, tied: str) -> str:
    """Judge "is better" by wins, losses and ties."""
    return improves(won, tied, lost)


def wins_of_means(means: str, won: str, lost: str, tied: str) -> str:
    """Judge by wins beyond noise; those do not do where no more means are higher than lower."""
    higher, lower = map(int, means.split("-")[:2])
    verdict = wins(won, lost, tied)
    return MIXED if verdict == HOLDS and higher <= lower else verdict


def all_of(part: str, whole: str) -> str:
    """Judge a number of cases out of all of them."""
    return HOLDS if int(part) == int(whole) else MIXED if int(part) else FAILS


def as_published(ours: str, sets: str, published: str) -> str:
    """Judge a number of sets by the published number, or by most of the sets."""
    enough = int(ours) >= int(published)
    return HOLDS if enough else MIXED if 2 * int(ours) > int(sets) else FAILS


def below(ours: str, theirs: str) -> str:
    """Judge "is less than"."""
    return HOLDS if float(ours) < float(theirs) else FAILS


def at_most_one(number: str, *_: str) -> str:
    """Judge a ratio that shall not be above one."""
    return HOLDS if float(number) <= 1 else FAILS


def share_of_gap(share: str, *_: str) -> str:
    """Judge the share of a gap that was closed."""
    return HOLDS if float(share) >= 1 else MIXED if float(share) >= 0.5 else FAILS


def near_zero(mean: str, error: str) -> str:
    """Judge "does not differ" by two standard errors."""
    return HOLDS if abs(float(mean)) <= 2 * float(error) else FAILS


def lowers(ratio: str, error: str, *_: str) -> str:
    """Judge a ratio that shall be below one, by two standard errors."""
    if float(ratio) >= 1:
        return FAILS
    return HOLDS if float(ratio) + 2 * float(error) < 1 else MIXED


def near_one(mean: str, error: str, *_: str) -> str:
    """Judge a ratio that shall be one, by two standard errors."""
    return near_zero(str(float(mean) - 1), error)


def said(word: str) -> str:
    """Judge by what the page says of a published finding."""
    return HOLDS if word in ("so", "is", "pass") else FAILS


def every(*values: str) -> str:
    """Judge that all rows of a table agree."""
    return HOLDS if set(values) <= {"0", "yes"} else FAILS


def kept_for_nothing(kept: str, fits: str) -> str:
    """Judge how often something was kept where there is nothing to find."""
    return no_worse("0", str(int(fits) - int(kept)), kept)
