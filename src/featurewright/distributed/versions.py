"""Refuse workers with other versions of what results depend on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from distributed import Client

PACKAGES = ("featurewright", "numpy", "numba")


@dataclass(frozen=True)
class Versions:
    """The versions of the packages that results depend on, in the order of `PACKAGES`."""

    found: tuple[str, ...]

    def check(self, who: str) -> None:
        """Refuse another process unless it has these versions, too; called there."""
        refuse_others(dict.fromkeys([who], own_versions().found), self)


@cache
def own_versions() -> Versions:
    """Return the versions of this process."""
    return Versions(tuple(version(package) for package in PACKAGES))


def check_workers(client: Client) -> None:
    """Refuse a cluster with a worker that has other versions than this process.

    Workers that go away meanwhile are not asked; every unit that is sent asks again.
    """
    found = client.run(_found, on_error="return")
    for worker, answer in found.items():
        if isinstance(answer, ImportError):
            raise RuntimeError(
                f"worker {worker} cannot import featurewright ({answer}): install it there."
            ) from answer
    answers = {worker: own for worker, own in found.items() if isinstance(own, tuple)}
    refuse_others(answers, own_versions())


def refuse_others(found: dict[str, Any], wanted: Versions) -> None:
    """Raise an error that names the first worker with other versions.

    Parameters
    ----------
    found : dict
        The versions of each worker, by its address.
    wanted : Versions
        Those of the client.
    """
    for worker, versions in found.items():
        for package, theirs, ours in zip(PACKAGES, versions, wanted.found, strict=True):
            if theirs != ours:
                raise RuntimeError(
                    f"worker {worker} has {package} {theirs}, but the client has {ours}: install "
                    "the same version on all workers, since results depend on it."
                )


def _found() -> tuple[str, ...]:
    """Return the versions of a worker."""
    return own_versions().found
