"""Parts of pages made from the program and its files: operators, commands, methods, ratios."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

# How operators that carry a number are written.
NUMBERED = {
    "at_least": "max(x, 2.5)",
    "at_most": "min(x, 2.5)",
    "over": "x > 2.5",
    "scaled": "2.5 * x",
    "shifted": "x + 2.5",
}
MARKUP = re.compile(r"\[/?(?:bold|dim|italic|cyan|green)\]")


def operator_rows() -> Iterator[str]:
    """Yield one row of Markdown for each built-in operator."""
    from featurewright.expressions import OPERATORS, Call, Column, parse

    yield "| name | takes | gives | written | where it is defined | SQL and ONNX |"
    yield "|---|---|---|---|---|---|"
    for name, operator in OPERATORS.items():
        if operator.has_level:
            written = "is_red(colour)"
        elif operator.has_number:
            written = str(parse(NUMBERED[name], ["x"]))
        else:
            operands = [Column(k, "xyz"[k], domain) for k, domain in enumerate(operator.inputs)]
            written = str(Call(operator, tuple(operands)))
        takes = ", ".join(domain.name.lower() for domain in operator.inputs)
        rule = operator.rule.replace("|", "\\|")
        same = "same bits" if operator.exact else "last digit may differ"
        cells = [f"`{name}`", takes, operator.output.name.lower(), f"`{written}`", rule, same]
        yield "| " + " | ".join(cells) + " |"


def publication_rows() -> Iterator[str]:
    """Yield one row of Markdown for each published method, with what differs from the defaults."""
    from featurewright import published
    from featurewright.publications import PUBLISHED

    yield "| name and class | what it is | parameters that are not at their default |"
    yield "|---|---|---|"
    for name, method in PUBLISHED.items():
        model = published(name)
        defaults = type(model)().get_params(deep=False)
        changed = {
            key: value
            for key, value in model.get_params(deep=False).items()
            if value != defaults[key]
        }
        shown = ", ".join(f"`{key}={value!r}`".replace("'", '"') for key, value in changed.items())
        yield f"| `{name}`<br>{method.estimator} | {method.says} | {shown or 'none'} |"


def command_lines() -> Iterator[str]:
    """Yield Markdown that describes every command with its options."""
    import typer

    from featurewright.cli.app import app

    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        yield f"## featurewright {name}"
        yield ""
        yield MARKUP.sub("", command.help or "")
        yield ""
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        usage = " ".join(parameter.name.upper() for parameter in arguments)
        yield "```text"
        yield f"featurewright {name} [OPTIONS] {usage}".rstrip()
        yield "```"
        yield ""
        yield "| option | what it does | default |"
        yield "|---|---|---|"
        for parameter in command.params:
            if getattr(parameter, "hidden", False):
                continue
            is_option = parameter.param_type_name == "option"
            names = (
                [*parameter.opts, *parameter.secondary_opts]
                if is_option
                else [parameter.name.upper()]
            )
            text = MARKUP.sub("", parameter.help or "").replace("|", "\\|").replace("\n", " ")
            default = parameter.default
            shown = "required" if parameter.required else _default(default)
            yield f"| {', '.join(f'`{n}`' for n in names)} | {text} | {shown} |"
        yield ""
        examples = [line.strip() for line in (command.epilog or "").split("\n\n")[1:]]
        if examples:
            yield "```sh"
            yield from (MARKUP.sub("", line) for line in examples)
            yield "```"
            yield ""


def _default(value: Any) -> str:
    if value is None or value is False or callable(value) or value in ((), []):
        return ""
    return f"`{getattr(value, 'value', value)}`"


def history_rows(path: Path) -> Iterator[str]:
    """Yield one row of HTML for each ratio of the speed programs, with its course over time."""
    runs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    courses: dict[tuple[str, str, str, str], list[tuple[str, float]]] = {}
    for run in runs:
        for work, ratio in run["ratios"].items():
            better = "larger" if work in run["larger_is_better"] else "smaller"
            course = courses.setdefault((run["program"], work, run["size"], better), [])
            course.append((f"{run['date']}, {run['commit']}", ratio))
    heads = ("program", "work", "size", "better", "runs", "first", "last", "course")
    yield "<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"
    for described, course in courses.items():
        values = [ratio for _, ratio in course]
        cells = [*described, str(len(values)), f"{values[0]:.3g}", f"{values[-1]:.3g}"]
        drawn = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield f"<tr>{drawn}<td>{_course(course)}</td></tr>"


def _course(course: list[tuple[str, float]]) -> str:
    """Draw ratios over runs as a small line, with a mark for each."""
    top = max(ratio for _, ratio in course) or 1.0
    step = 140 / max(1, len(course) - 1)
    places = [(5 + step * k, 35 - 30 * ratio / top) for k, (_, ratio) in enumerate(course)]
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
    marks = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="currentColor">'
        f"<title>{escape(run)}: {ratio:.3g}</title></circle>"
        for (x, y), (run, ratio) in zip(places, course, strict=True)
    )
    return (
        '<svg width="150" height="40" role="img" aria-label="course">'
        f'<polyline points="{line}" fill="none" stroke="currentColor"/>{marks}</svg>'
    )


class BenchHistory(SphinxDirective):
    """The ratios of `make bench` over time."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        path = Path(self.env.srcdir).parent / "benchmarks" / "history.jsonl"
        self.env.note_dependency(str(path))
        rows = "".join(history_rows(path))
        return [nodes.raw("", f'<table class="table">{rows}</table>', format="html")]


def run_commands(commands: list[str]) -> Iterator[tuple[str, str]]:
    """Run commands one after the other beside a table `sounds.csv`; yield each with its output."""
    from featurewright.datasets import load_airfoil

    X, y = load_airfoil(return_X_y=True, as_frame=True)
    settings = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    settings["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{settings['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        X.assign(sound=y).to_csv(Path(folder) / "sounds.csv", index=False)
        for command in commands:
            if command.startswith("#"):
                yield command, ""
                continue
            done = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env=settings,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"{command} failed: {done.stderr}")
            yield command, done.stdout.rstrip()


class CommandOutput(SphinxDirective):
    """Commands, one in each line, with what they print; lines that begin with # are prose."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a block for each command."""
        shown: list[nodes.Node] = []
        for command, output in run_commands(list(self.content)):
            text = f"$ {command}\n{output}".rstrip()
            shown += (
                self.parse_text_to_nodes(command.removeprefix("# "))
                if command.startswith("#")
                else [nodes.literal_block(text, text, language="text")]
            )
        return shown


class OperatorTable(SphinxDirective):
    """The table of operators."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes("\n".join(operator_rows()))


class PublicationTable(SphinxDirective):
    """The table of published methods."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes("\n".join(publication_rows()))


class CommandReference(SphinxDirective):
    """All commands with their options."""

    def run(self) -> list[nodes.Node]:
        """Return one section for each command."""
        return self.parse_text_to_nodes("\n".join(command_lines()), allow_section_headings=True)


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("command-output", CommandOutput)
    app.add_directive("bench-history", BenchHistory)
    app.add_directive("operator-table", OperatorTable)
    app.add_directive("publication-table", PublicationTable)
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
