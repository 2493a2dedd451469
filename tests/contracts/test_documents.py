"""What the documents say is true: their code runs, their links and files exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

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
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```(?:sh)?\n(.*?)```", README + CLI, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("featurewright ")
]


def examples(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


SNIPPETS = [
    pytest.param(page, code, id=f"{page.removeprefix('docs/')}-{number}")
    for page in PAGES
    if not page.startswith(("docs/results", "docs/adding_", "docs/develop"))
    for number, code in enumerate(examples((ROOT / page).read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("code", examples(README))
def test_readme_code_runs(code, capsys, other_estimators):
    exec(compile(code, "README.md", "exec"), {})
    assert "held-out" in capsys.readouterr().out


@pytest.mark.parametrize(("page", "code"), SNIPPETS)
def test_code_of_pages_runs(page, code, capsys):
    exec(compile(code, page, "exec"), {})
    assert capsys.readouterr().out.strip()


def test_every_public_name_has_a_page():
    text = (ROOT / "docs" / "reference" / "api.rst").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([\w.]+)$", text, flags=re.MULTILINE))
    public = {*featurewright.__all__, *(f"datasets.{name}" for name in datasets.__all__)}
    # Kinds of values are named in the text; the two modules are listed by what they hold.
    assert public - listed == {"Boolean", "Category", "Real", "datasets", "metrics"}


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
        if not target.startswith("https://") and not (path.parent / target).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("document", [*CONTRIBUTOR_PAGES, "docs/architecture.md"])
def test_files_named_for_contributors_exist(document):
    known = [str(path.relative_to(ROOT)) for path in ROOT.glob("[stb]*/**/*.py")]
    text = (ROOT / document).read_text(encoding="utf-8")
    names = set(re.findall(r"[\w/]+\.py\b", text))
    assert [n for n in sorted(names) if not any(f"/{k}".endswith(f"/{n}") for k in known)] == []


def test_every_page_for_contributors_is_linked():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [page for page in CONTRIBUTOR_PAGES if f"]({page})" not in text] == []


def test_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"version: {project['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_make_targets_are_listed():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "lint", "bench", "papers", "compare", "clean", "help"):
        assert re.search(rf"^{target}:.*## ", makefile, flags=re.MULTILINE), target
