"""Everything a release must pass, in a clean clone: ``make release-check``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_WHEEL_BYTES = 1_000_000
WHEEL_SUFFIXES = {".py", ".typed", ".txt", ".csv", ".gz", ".html", ".css", ".js", ""}
STRAY = ("__pycache__", ".pyc", ".nbi", ".nbc", "_build", "auto_examples", ".venv", ".egg-info")
# Tests that are run from the source archive: the contracts and one package of each kind.
SMOKE_TESTS = (
    "tests/contracts/test_source.py",
    "tests/contracts/test_public_api.py",
    "tests/contracts/test_operator_table.py",
    "tests/expressions",
    "tests/export/test_files.py",
    "tests/tables",
)


class Check:
    """One release check: its folders, and a step for each thing that must hold."""

    def __init__(self, work: Path, all_tests: bool) -> None:
        self.work = work
        self.clone = work / "clone"
        self.dist = self.clone / "dist"
        self.all_tests = all_tests

    def run(self, *command: str | Path, cwd: Path | None = None) -> None:
        """Run a command, or end with what it was."""
        # Nothing of the checkout may be imported by accident.
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [str(part) for part in command], cwd=cwd or self.work, env=clean, check=False
        )
        if done.returncode:
            sys.exit(f"release-check: {' '.join(map(str, command))} failed")

    def environment(self, name: str, *packages: str | Path) -> Path:
        """Make a fresh environment with some packages; return its Python."""
        folder = self.work / name
        if not folder.exists():
            venv.create(folder, with_pip=True)
        python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        quiet = ("--quiet", "--disable-pip-version-check")
        self.run(python, "-m", "pip", "install", *quiet, *packages)
        return python

    def wheel(self, extra: str = "") -> str:
        """Return the wheel as a requirement."""
        (path,) = self.dist.glob("*.whl")
        return f"{path}{extra}"

    def clone_is_clean(self) -> None:
        """Clone what is committed; refuse where something is not."""
        status = ["git", "status", "--porcelain"]
        if subprocess.run(status, cwd=ROOT, capture_output=True, text=True, check=True).stdout:
            sys.exit("release-check: there are changes that are not committed: commit them.")
        self.run("git", "clone", "--quiet", ROOT, self.clone)

    def build(self) -> None:
        """Build the wheel and the source archive."""
        python = self.environment("build", "hatchling>=1.26")
        self.run(python, "-m", "hatchling", "build", cwd=self.clone)

    def archives_hold_what_they_should(self) -> None:
        """Look for stray and for missing files, and at the size of the wheel."""
        wheel = Path(self.wheel())
        if wheel.stat().st_size > MAX_WHEEL_BYTES:
            sys.exit(f"release-check: the wheel has {wheel.stat().st_size:,} bytes")
        (source,) = self.dist.glob("*.tar.gz")
        names = zipfile.ZipFile(wheel).namelist()
        stray = [
            name
            for name in names
            if not name.startswith("featurewright")
            or (".dist-info/" not in name and Path(name).suffix not in WHEEL_SUFFIXES)
        ]
        with tarfile.open(source) as archive:
            inside = ["/".join(name.split("/")[1:]) for name in archive.getnames()]
        stray += [name for name in [*names, *inside] if any(part in name for part in STRAY)]
        if stray:
            sys.exit(f"release-check: stray files: {', '.join(stray[:10])}")
        expected = (
            "LICENSE",
            "README.md",
            "CHANGELOG.md",
            "Makefile",
            "docs/conf.py",
            "tests/cases.py",
        )
        if missing := [name for name in expected if name not in inside]:
            sys.exit(f"release-check: not in the source archive: {', '.join(missing)}")
        print(f"wheel {wheel.stat().st_size:,} bytes, source {source.stat().st_size:,} bytes")

    def newest_dependencies(self) -> None:
        """Install the wheel without extras, with what is newest."""
        self.run(self.environment("newest", self.wheel()), self.clone / "packaging" / "smoke.py")

    def oldest_dependencies(self) -> None:
        """Install the wheel without extras, with what is oldest."""
        oldest = ("--constraint", self.clone / "packaging" / "oldest.txt")
        self.run(
            self.environment("oldest", self.wheel(), *oldest),
            self.clone / "packaging" / "smoke.py",
        )

    def tests_of_the_source_archive(self) -> None:
        """Run tests from the source archive against the installed wheel."""
        (source,) = self.dist.glob("*.tar.gz")
        with tarfile.open(source) as archive:
            archive.extractall(self.work, filter="data")
        folder = self.work / source.name.removesuffix(".tar.gz")
        python = self.environment("newest", self.wheel("[test]"))
        tests = ["tests"] if self.all_tests else SMOKE_TESTS
        self.run(python, "-m", "pytest", "-q", *tests, cwd=folder)

    def demo_from_the_wheel(self) -> None:
        """Run the demo as a user who installed the wheel."""
        python = self.environment("demo", self.wheel("[cli]"))
        self.run(python, "-m", "featurewright", "demo", "--out", self.work / "demo-output")

    def site(self) -> None:
        """Build and check the site."""
        self.run("make", "docs-check", cwd=self.clone)
        shutil.copytree(
            self.clone / "docs/_build/html", ROOT / "docs/_build/html", dirs_exist_ok=True
        )

    def hand_over(self) -> None:
        """Put the archives where a release takes them from."""
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        shutil.copytree(self.dist, ROOT / "dist")


def main() -> None:
    """Run the steps in order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all-tests", action="store_true", help="all tests, not the smoke suite")
    parser.add_argument("--skip", nargs="*", default=[], help="names of steps to leave out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="release-check-") as folder:
        check = Check(Path(folder), options.all_tests)
        steps: list[Callable[[], None]] = [
            check.clone_is_clean,
            check.build,
            check.archives_hold_what_they_should,
            check.newest_dependencies,
            check.oldest_dependencies,
            check.tests_of_the_source_archive,
            check.demo_from_the_wheel,
            check.site,
            check.hand_over,
        ]
        for step in steps:
            if step.__name__ in options.skip:
                continue
            begun = time.monotonic()
            print(f"== {step.__name__.replace('_', ' ')}", flush=True)
            step()
            print(f"   ok, {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
