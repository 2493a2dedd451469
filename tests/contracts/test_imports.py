"""What an import or a command does not import: the measure of how fast it starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

import featurewright

LIST = "import sys; sys.stderr.write('|' + ' '.join(sys.modules))"
COMMAND = """
import sys
from featurewright.cli import main
sys.argv = ["featurewright", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
HEAVY = ("joblib", "numba", "numpy", "pandas", "polars", "scipy", "skops", "sklearn", "sqlglot")


def modules_after(code: str) -> set[str]:
    """Run code in a new process and return what it imported."""
    run = [sys.executable, "-W", "ignore", "-c", f"{code}\n{LIST}"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return set(done.stderr.rpartition("|")[2].split())


def test_the_package_imports_nothing_by_itself():
    found = modules_after("import featurewright; featurewright.__version__; dir(featurewright)")
    assert not found & set(HEAVY)
    assert {name for name in found if name.startswith("featurewright")} == {"featurewright"}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["fit", "--help"]])
def test_commands_that_need_no_table(arguments):
    found = modules_after(COMMAND.format(arguments=arguments))
    assert not found & set(HEAVY) - {"numpy"}
    assert arguments != ["--version"] or "rich" not in found


def test_only_public_names_are_listed():
    assert sorted(dir(featurewright)) == sorted([*featurewright.__all__, "__version__"])


def test_loading_imports_what_the_file_needs(tmp_path):
    path = tmp_path / "model.fw"
    featurewright.save(featurewright.ConstructiveTreeClassifier(), path)
    found = modules_after(f"import featurewright; featurewright.load({str(path)!r})")
    others = ("auto", "fctree", "landmarks", "paths", "recursive", "report", "cli")
    assert not found & {f"featurewright.{name}" for name in others}
    assert not found & {"skops", "polars", "sqlglot", "onnx", "typer", "sklearn.ensemble"}
