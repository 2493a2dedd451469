"""``featurewright fit``."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import featurewright
from featurewright.cli.errors import UserError, did_you_mean, ending_well
from featurewright.cli.options import (
    DIALECT,
    Debug,
    Delimiter,
    Effort,
    Estimator,
    Json,
    NoHeader,
    Null,
    Quiet,
    Seed,
    Table,
    Task,
    TimeLimit,
    error_console,
    print_json,
    slim,
    tell_oddities,
    write_sql,
)

if TYPE_CHECKING:
    from rich.console import Console

WRITING: dict[str, Any] = {"rich_help_panel": "What is written"}
EXAMPLES = (
    "featurewright fit customers.csv --target churned",
    "featurewright fit houses.parquet -t price --effort thorough --estimator boosting",
    "featurewright fit wines.csv -t quality --max-formulas 5 --task regression",
    "featurewright fit visits.csv.gz -t returned --groups patient --drop visit_id",
    "featurewright fit sales.csv -t sold --order-by day",
    "featurewright fit customers.csv -t churned --link orders.csv:on=id,time=date --as-of day",
    "featurewright fit cars.csv -t mpg --out cars.fw --report cars.html --sql cars.sql",
)


def _threads(value: int) -> int:
    """Refuse no threads at all."""
    if value == 0:
        raise typer.BadParameter("0 threads can do nothing: use 1 or more, or -1.")
    return value


@ending_well
def fit(
    table: Table,
    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            "-t",
            help="The column to predict; repeat it for several yes/no labels.",
            show_default=False,
            metavar="COLUMN",
        ),
    ],
    task: Annotated[
        Task, typer.Option(help="What the target is; auto goes by its values.")
    ] = Task.AUTO,
    effort: Annotated[
        Effort,
        typer.Option(help="How much is tried; the same effort and seed give the same result."),
    ] = Effort.STANDARD,
    estimator: Annotated[
        Estimator, typer.Option(help="The model the features are for.")
    ] = Estimator.LINEAR,
    methods: Annotated[
        str,
        typer.Option(
            help="What to try: readable (formulas only), all (the best score, also with columns "
            "that are not formulas), or names with commas between; see `featurewright methods`.",
            metavar="NAMES",
        ),
    ] = "readable",
    max_formulas: Annotated[
        int | None,
        typer.Option(
            "--max-formulas",
            "--features",
            help="The most formulas, or other columns, to construct.",
            min=1,
            show_default="what helps",
            metavar="N",
        ),
    ] = None,
    free_text: Annotated[
        bool | None,
        typer.Option(
            "--free-text/--no-free-text",
            help="Use columns of sentences: length, words, themes. On, unless --sql is given.",
            show_default=False,
        ),
    ] = None,
    short_names: Annotated[
        bool,
        typer.Option(
            "--short-names",
            help="Name constructed columns fw_01, fw_02, ...; LightGBM refuses formulas as names.",
        ),
    ] = False,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="A scorer of scikit-learn, such as roc_auc.",
            show_default="by target",
            metavar="NAME",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            help="Folds of the cross-validation.", min=2, show_default="by effort", metavar="N"
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            help="A column not to use, such as a key; repeat it for several.", metavar="COLUMN"
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="A column that says which rows belong together: a group is never split across "
            "folds.",
            metavar="COLUMN",
        ),
    ] = None,
    order_by: Annotated[
        str | None,
        typer.Option(
            help="A column, such as a date, that rows follow in time: every fold tests on later "
            "rows than it learns from.",
            metavar="COLUMN",
        ),
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            help="Rows of another table that explain those of the table, by a key: "
            "orders.csv:on=customer,time=date (on=customer=id where names differ, name=… for a "
            "name of its own); earlier rows of the table itself: history:on=store,time=day, with "
            "target_delay=1 also their targets after a day; rows with the same label: "
            "group:on=district. Repeat it for several.",
            show_default=False,
            metavar="FILE:on=KEY,…",
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            help="The column with the time at which a row is predicted: only linked rows before "
            "that time are used, and every fold tests on later rows than it learns from.",
            metavar="COLUMN",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Save the model, e.g. features.fw.", metavar="FILE", **WRITING
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page about it, e.g. report.html.", metavar="FILE", **WRITING),
    ] = None,
    sql: Annotated[
        Path | None,
        typer.Option(
            help="Write the features as SQL, e.g. features.sql, over my_table; 'featurewright sql' "
            "can name the table and a key.",
            metavar="FILE",
            **WRITING,
        ),
    ] = None,
    dialect: Annotated[str, typer.Option(**DIALECT, **WRITING)] = "duckdb",
    time: TimeLimit = None,
    seed: Seed = 0,
    jobs: Annotated[
        int, typer.Option(help="Threads; -1 for one per core.", metavar="N", callback=_threads)
    ] = -1,
    max_rows: Annotated[
        int | None,
        typer.Option(
            help="The most rows to use: a random sample of the table.",
            min=10,
            show_default="what 64 million cells hold",
            metavar="N",
        ),
    ] = None,
    null: Null = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Find features that help to predict a column of a table.

    Every score comes from rows that were not used to find the features. If nothing helps, the
    answer is to keep the original columns.
    """
    from rich.console import Console

    from featurewright.cli import display
    from featurewright.cli.fitting import (
        check_target,
        fit_model,
        later_folds,
        notices_of_time,
        read_table,
        training_table,
        watching,
    )
    from featurewright.cli.folders import open_one_or_parts, tell_parts
    from featurewright.cli.kinds import NULLS
    from featurewright.cli.links import make_links, parse_links
    from featurewright.cli.memory import check_memory
    from featurewright.cli.sinks import write_text

    outputs = _outputs(table, out, report, sql)
    tried = _methods(methods)
    _check_scoring(scoring)
    linked = parse_links(link or (), as_of, order_by)
    console = error_console()
    source = open_one_or_parts(table, delimiter=delimiter, header=not no_header)
    frame, notices = read_table(source, max_rows, seed, null)
    if not quiet:
        tell_parts(source, console)
        tell_oddities(source, console)
    _check_header(frame.columns, target, no_header)
    training = training_table(
        frame, target, drop=drop or (), groups=groups, order=order_by, linked=linked, as_of=as_of
    )
    links = make_links(linked, NULLS if null is None else null, delimiter)
    cv: Any = folds
    if order_by is not None:
        cv = later_folds(folds or _n_folds(effort), training.X.height, training.most_at_once)
    training.y = check_target(training.y, task.value)
    if not quiet:
        _tell_table(
            console, training, target, [*notices, *notices_of_time(frame, training, order_by)]
        )
    check_memory(*training.X.shape)
    del frame
    with watching(console, time, quiet=quiet) as listen:
        model = fit_model(
            training,
            listen,
            estimator=estimator.value,
            effort=effort.value,
            task=task.value,
            methods=tried,
            time_budget=time,
            n_features_out=max_formulas,
            feature_names="short" if short_names else "formula",
            free_text=sql is None if free_text is None else free_text,
            scoring=scoring,
            cv=cv,
            links=links,
            as_of=as_of,
            random_state=seed,
            n_jobs=jobs,
        )
    from featurewright.report import result_blocks, summarize, write_report

    # What may be refused comes last, so that a long search is not lost.
    if out is not None:
        featurewright.save(model, out)
    if report is not None:
        write_report(model, report, model_file=out.name if out else "features.fw")
    summary = summarize(model, training.y)
    if as_json:
        print_json({**slim(summary), "files": [str(path) for path in outputs]})
    elif not quiet:
        display.show(Console(), result_blocks(summary))
    if sql is not None:
        write_text(sql, write_sql(model, "my_table", dialect))
    if not quiet and not as_json:
        for path in outputs:
            display.say(console, f"Written: {path}")
        if not outputs:
            hint = "Add --out features.fw to keep the model, --report report.html to see it."
            display.say(console, hint)


def _outputs(table: Path, *paths: Path | None) -> list[Path]:
    """Return the files to write; refuse places that cannot be written before any work."""
    from featurewright.cli.sinks import check_output

    for path, package in zip(paths, ("skops", "jinja2", "sqlglot"), strict=True):
        if path is not None and importlib.util.find_spec(package) is None:
            raise UserError(
                f"Writing {path} needs {package}, which is not installed: get featurewright[cli]."
            )
    outputs = [path for path in paths if path is not None]
    for number, path in enumerate(outputs):
        check_output(path, table)
        if path.resolve() in {other.resolve() for other in outputs[:number]}:
            raise UserError(f"{path} is named twice: give each output a name of its own.")
    return outputs


def _n_folds(effort: Effort) -> int:
    """Return the folds of an effort."""
    from featurewright.auto.plan import EFFORTS

    return EFFORTS[effort.value].n_folds


def _check_scoring(name: str | None) -> None:
    """Refuse the name of no scorer."""
    if name is None:
        return
    from sklearn.metrics import get_scorer_names

    known = get_scorer_names()
    if name not in known:
        raise typer.BadParameter(f"there is no scorer {name!r}: {did_you_mean(name, known)}")


def _check_header(columns: list[str], target: list[str], no_header: bool) -> None:
    """Refuse a table without the target whose header looks like a row of numbers."""
    numbers = [name for name in columns if name.replace(".", "", 1).lstrip("+-").isdigit()]
    if not no_header and target[0] not in columns and len(numbers) > len(columns) / 2:
        raise UserError(
            f"There is no column {target[0]!r}, and the first row looks like data: use "
            "--no-header, and --target column_1 or the like."
        )


def _tell_table(console: Console, training: Any, target: list[str], notices: Iterable[str]) -> None:
    """Print what was read."""
    from featurewright.cli import display
    from featurewright.cli.fitting import unlike_classes

    for notice in (*notices, *unlike_classes(training.y)):
        console.print(display.plain(notice, style="yellow"))
    rows, columns = training.X.shape
    listed = ", ".join(map(repr, target))
    display.say(
        console,
        f"{rows} rows, {columns} column{'s' * (columns != 1)} beside the target"
        f"{'s' * (len(target) > 1)} {listed}.",
    )
    if training.dropped:
        console.print(
            display.plain(
                f"Rows without a target that were left out: {training.dropped}.", style="yellow"
            )
        )


def _methods(given: str) -> Any:
    """Read a list of methods."""
    from featurewright.cli import catalogue

    if given in {"all", "readable"}:
        return given
    names = [name.strip() for name in given.split(",") if name.strip()]
    known = [method.name for method in catalogue.methods()]
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"there is no method {name!r}: {did_you_mean(name, known)}")
    if not names:
        raise typer.BadParameter("no method is named; write for example --methods forest,batch.")
    return names
