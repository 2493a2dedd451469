"""The command that compiles ahead: ``compile``."""

from __future__ import annotations

import typer

from featurewright.cli.errors import ending_well
from featurewright.cli.options import Debug, Quiet

COMPILE_EXAMPLES = (
    "featurewright compile",
    "NUMBA_CACHE_DIR=/opt/featurewright-cache featurewright compile",
)


@ending_well
def compile_engine(quiet: Quiet = False, debug: Debug = False) -> None:
    """Compile the engine now, so that the first fit need not.

    For images, CI machines and workers. What is compiled already is left as it is.
    """
    from featurewright.compilation import compile_all

    seconds = compile_all(verbose=0 if quiet else 2)
    if not quiet:
        typer.echo(f"The engine is compiled ({seconds:.0f} s).")
