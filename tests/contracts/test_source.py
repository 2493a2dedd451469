"""Rules read off the source: which package imports which, length of files, no print."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "featurewright"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 800

# Data flows one way: a package may import those below it, and no other.
LANGUAGE = {"expressions"}
FREE = LANGUAGE | {"metrics", "_sklearn_compat"}
ENGINE = FREE | {"engine", "tables"}
METHODS = {"constructive", "paths", "fctree", "recursive", "landmarks", "relations"}
SHARED = ENGINE | {"estimators"}
FINISHED = SHARED | METHODS | {"auto", "export"}
MAY_IMPORT = {
    "expressions": set(),
    "datasets": LANGUAGE,
    "metrics": LANGUAGE | {"tables"},
    "_sklearn_compat": LANGUAGE,
    "engine": ENGINE - {"metrics"},
    "tables": FREE - {"metrics"},
    # Clusters and their collections, imported where they are used.
    "estimators": ENGINE | {"distributed"},
    **dict.fromkeys(METHODS, SHARED),
    # Ensembles over kernel features may have our learners as members.
    "landmarks": SHARED | {"constructive"},
    "export": SHARED | METHODS | {"auto"},
    # The report is imported where a notebook asks for it.
    "auto": SHARED | METHODS | {"report"},
    "distributed": FINISHED | {"compilation"},
    "report": FINISHED,
    "cli": FINISHED | {"report", "datasets", "compilation", "distributed"},
    "compilation": SHARED | METHODS,
    "publications": METHODS,
    # The public names of every package.
    "__init__": FINISHED | {"report", "datasets", "compilation", "publications", "distributed"},
    "__main__": {"cli"},
}


def package_of(path: Path) -> str:
    """Return the folder, or the file, right under featurewright that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def statements(path: Path) -> list[ast.AST]:
    """Return the parts of a file that import or call something."""
    parts = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [part for part in parts if isinstance(part, ast.Import | ast.ImportFrom | ast.Call)]


def imported_modules(path: Path) -> Iterator[str]:
    """List the modules a file imports, with relative imports resolved."""
    package = path.relative_to(PACKAGE.parent).with_suffix("").parts[:-1]
    for node in statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            if module == "featurewright":
                yield from (f"featurewright.{alias.name}" for alias in node.names)


def imported_packages(path: Path) -> set[str]:
    modules = (module.split(".") for module in imported_modules(path))
    return {parts[1] for parts in modules if parts[0] == "featurewright" and len(parts) > 1}


def calls_print(path: Path) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        for node in statements(path)
    )


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_packages_import_only_packages_below():
    for path in SOURCES:
        package = package_of(path)
        assert package in MAY_IMPORT, f"{package} is new: say in MAY_IMPORT what it may import"
        forbidden = imported_packages(path) - MAY_IMPORT[package] - {package}
        assert not forbidden, f"{name(path)} may not import {sorted(forbidden)}"


@pytest.mark.parametrize(
    ("modules", "package"),
    [({"numba", "llvmlite"}, "engine"), ({"dask", "distributed", "pyspark"}, "distributed")],
)
def test_libraries_stay_in_their_package(modules, package):
    users = {
        name(path)
        for path in SOURCES
        if any(module.split(".")[0] in modules for module in imported_modules(path))
        and package_of(path) != package
    }
    assert not users


def test_clusters_are_imported_where_they_are_used():
    """Whoever has no cluster needs neither Dask nor Spark."""
    users = {
        name(path)
        for path in SOURCES
        if package_of(path) != "distributed"
        for part in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(part, ast.Import | ast.ImportFrom)
        and "featurewright.distributed" in ast.unparse(part)
    }
    assert not users


def test_internals_of_numba_stay_in_the_compiler():
    users = {
        name(path)
        for path in SOURCES
        if any(module.startswith("numba.core") for module in imported_modules(path))
        and "compiler" not in path.parts
    }
    assert users <= {"src/featurewright/engine/user_functions.py"}  # the names of its errors


def test_nothing_prints():
    assert not [name(path) for path in SOURCES if calls_print(path)]


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_files_stay_short(folder):
    lengths = {
        name(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def test_the_walk_sees_imports(tmp_path, monkeypatch):
    package = tmp_path / "featurewright"
    path = package / "tables" / "inner.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "from ..engine import grow\nfrom . import read\nimport featurewright.auto.search\n"
        "def late():\n    from featurewright import cli\n    print(1)\n"
    )
    monkeypatch.setitem(globals(), "PACKAGE", package)
    assert package_of(path) == "tables"
    assert imported_packages(path) == {"engine", "tables", "auto", "cli"}
    assert calls_print(path)
