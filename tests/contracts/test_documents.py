"""What the documents say is true: their code runs, their links and files exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import dask
import pytest
import typer
from tests.cases import loop_over

import featurewright
from featurewright import datasets
from featurewright.cli.app import app

ROOT = Path(__file__).parents[2]
# Folders that building the site fills.
BUILT = ("docs/_build/", "docs/auto_examples/", "docs/start/tutorial/", "docs/reference/generated/")
PAGES = [
    name
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if not (name := path.relative_to(ROOT).as_posix()).startswith(BUILT)
]
DOCUMENTS = [*(path.name for path in sorted(ROOT.glob("*.md"))), "benchmarks/README.md", *PAGES]
CONTRIBUTOR_PAGES = [name for name in DOCUMENTS if name.startswith("docs/adding_")]


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


README = read("README.md")
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", "".join(map(read, DOCUMENTS)), flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("featurewright ")
]


def examples(text: str) -> list[str]:
    """Return blocks of code; those marked as `py` need a cluster, and are not run."""
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def takes_long(page: str, code: str) -> bool:
    """Whether code takes seconds: of pages that search, the front page alone is run each time."""
    return page != "docs/index.md" and any(
        word in code for word in ("AutoFeatures(", "RecursiveSelectiveClassifier(", "KernelMap")
    )


SNIPPETS = [
    pytest.param(
        page,
        code,
        id=f"{page.removeprefix('docs/')}-{number}",
        marks=[pytest.mark.slow] if takes_long(page, code) else [],
    )
    for page in PAGES
    if not page.startswith(("docs/results", "docs/adding_", "docs/develop"))
    for number, code in enumerate(examples(read(page)))
]


def test_readme_prints_what_it_says(capsys, other_estimators):
    (code,) = examples(README)
    (said,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == said


# Tests of clusters in the same process have clients of their own, which are not meant here.
ALONE = {"scheduler": "synchronous", "dataframe.shuffle.method": "tasks"}


@pytest.mark.filterwarnings("ignore:Port 8787 is already in use")
@pytest.mark.parametrize(("page", "code"), SNIPPETS)
def test_code_of_pages_runs(page, code, capsys):
    with dask.config.set(ALONE):
        exec(compile(code, page, "exec"), {})
    assert capsys.readouterr().out.strip()


def test_every_page_of_results_is_in_the_site():
    index = read("docs/measured/index.md")
    pages = [name for name in PAGES if name.startswith("docs/results/")]
    assert pages
    entries = re.findall(r"^\.\./(results/\S+)$", index, re.MULTILINE)
    listed = [page for page in pages for entry in entries if fnmatch(page, f"docs/{entry}.md")]
    assert set(pages) == set(listed)


def test_every_public_name_has_a_page():
    text = (ROOT / "docs" / "reference" / "api.rst").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([\w.]+)$", text, flags=re.MULTILINE))
    public = {*featurewright.__all__, *(f"datasets.{name}" for name in datasets.__all__)}
    # Kinds of values are named in the text; modules are listed by what they hold.
    assert public - listed == {"Boolean", "Category", "Real", "datasets", "distributed", "metrics"}


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_exist_with_their_options(line):
    command, *arguments = shlex.split(line, comments=True)[1:]
    known = {
        name
        for parameter in typer.main.get_command(app).commands[command].params
        for name in [*parameter.opts, *parameter.secondary_opts]
    }
    assert {argument for argument in arguments if argument.startswith("-")} <= known


@loop_over("document", DOCUMENTS)
def test_links_lead_to_files(document):
    path = ROOT / document
    targets = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    missing = [
        target
        for target in targets
        if not target.startswith("https://")
        and not os.path.relpath(path.parent / target, ROOT).startswith(BUILT)
        and not (path.parent / target).exists()
    ]
    assert missing == []


@pytest.mark.parametrize(
    "document", [*CONTRIBUTOR_PAGES, "docs/architecture.md", "docs/internals.md"]
)
def test_files_named_for_contributors_exist(document):
    known = [str(path.relative_to(ROOT)) for path in ROOT.glob("[stb]*/**/*.py")]
    text = (ROOT / document).read_text(encoding="utf-8")
    names = set(re.findall(r"[\w/]+\.py\b", text))
    assert [n for n in sorted(names) if not any(f"/{k}".endswith(f"/{n}") for k in known)] == []


def test_every_hop_is_in_its_file():
    package = ROOT / "src" / "featurewright"
    hops = re.findall(
        r"^[│├└─ ]*(\w[\w., ]*?) {2,}([\w/]+\.py)", read("docs/architecture.md"), flags=re.MULTILINE
    )
    assert len(hops) > 50
    for names, path in hops:
        text = (package / path).read_text(encoding="utf-8")
        for name in re.findall(r"\w+", names):
            defined = rf"^ *(def|class) {name}\b|^{name}\b.* ="
            assert re.search(defined, text, flags=re.MULTILINE), f"{name} is not in {path}"


def test_every_page_for_contributors_is_linked():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [page for page in CONTRIBUTOR_PAGES if f"]({page})" not in text] == []


def test_one_version():
    version = featurewright.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project  # it is read from the package
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = json.loads((ROOT / "docs/_static/versions.json").read_text(encoding="utf-8"))
    assert version in {entry["version"] for entry in versions}
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{version}"' in recipe


def test_oldest_versions_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = {tuple(re.split(r"[><=,]+", text)[:2]) for text in project["dependencies"]}
    text = (ROOT / "packaging" / "oldest.txt").read_text(encoding="utf-8")
    assert set(re.findall(r"^([\w-]+)==([\d.]+)\.\*$", text, flags=re.MULTILINE)) == bounds


def test_make_targets_are_listed():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in (
        "demo",
        "test",
        "lint",
        "docs",
        "docs-check",
        "release-check",
        "bench",
        "papers",
        "compare",
        "clean",
        "help",
    ):
        assert re.search(rf"^{target}:.*## ", makefile, flags=re.MULTILINE), target
