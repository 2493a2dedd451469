"""A model fitted by the command line, once for all tests of a worker."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.cli.tables import mixed
from typer.testing import CliRunner

from featurewright.cli.app import app


@pytest.fixture(scope="session")
def call():
    """Return a function that runs a command in this process."""
    runner = CliRunner()

    def run(*arguments, code=0):
        result = runner.invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        if code == 1:
            # One line, no trace, nothing on the standard output.
            assert result.stdout == ""
            assert result.stderr.startswith("Error: ")
            assert result.stderr.count("\n") == 1
        return result

    return run


@pytest.fixture(scope="session")
def work(tmp_path_factory, call):
    """Fit a model on a small table; give the folder, the files and what was said."""
    folder = tmp_path_factory.mktemp("work")
    table, model = folder / "table.csv", folder / "model.fw"
    mixed().write_csv(table)
    result = call(
        "fit", table, "--target", "sign", "--drop", "size", "--methods", "batch",
        "--effort", "quick", "--out", model, "--report", folder / "report.html",
    )  # fmt: skip

    return SimpleNamespace(folder=folder, table=table, model=model, result=result)
