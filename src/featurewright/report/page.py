"""The report as one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import os
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from featurewright.auto.summary import summarize
from featurewright.auto.text import few_formulas, target_line
from featurewright.expressions.text import shorten
from featurewright.report.drawings import (
    draw_estimators,
    draw_front,
    draw_gains,
    draw_profile,
)


def render(summary: dict[str, Any], model_file: str = "features.fw") -> str:
    """Return the page of a summary.

    Parameters
    ----------
    summary : dict
        What `summarize` returned.
    model_file : str
        Name of the file the model was saved to, for the commands the page shows.

    Returns
    -------
    str
        HTML with style, script and drawings inside; its own policy forbids any connection.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2, which is not installed: install featurewright[report]."
        ) from error
    environment = Environment(
        loader=PackageLoader("featurewright.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = shorten
    style, script = _part("report.css"), _part("report.js")
    gains = draw_gains(summary["methods"])
    return environment.get_template("report.html").render(
        s=summary,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        estimators=draw_estimators(summary["estimators"], shares=summary["score"]["is_share"])
        if summary["estimators"]
        else None,
        methods=list(zip(summary["methods"], gains, strict=True)),
        # Only formulas are not escaped: every name in them is escaped already.
        features=[
            (
                feature,
                Markup(feature["mathml"]),
                draw_profile(feature["profile"], summary["classes"]),
            )
            for feature in summary["features"]
        ],
        front=draw_front(summary["front"], shares=summary["score"]["is_share"]),
        path=[(entry, Markup(entry["mathml"])) for entry in summary["path"]],
        few=few_formulas(summary),
        target=target_line(summary, python=None),
        model_file=model_file,
    )


def write_report(model: Any, path: str | os.PathLike[str], model_file: str = "features.fw") -> None:
    """Write the page of a fitted `AutoFeatures` to a file.

    The file appears complete or not at all.

    Parameters
    ----------
    model : AutoFeatures
        Fitted.
    path : path-like
        Where to write the page.
    model_file : str
        Name of the file the model was saved to, for the commands the page shows.
    """
    page = render(summarize(model), model_file)
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder to write {path} to: make it first.")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # A lone surrogate in a name cannot be written; a question mark takes its place.
        unfinished.write_bytes(page.encode("utf-8", "replace"))
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


class InlineReport:
    """The page of a search as an element of a notebook: what `show_report` returns."""

    def __init__(self, page: str, height: int) -> None:
        self._page = page
        self._height = height

    def __repr__(self) -> str:
        """Return a line for a terminal, which cannot show the page."""
        return "InlineReport(shown by notebooks; write_report writes it to a file)"

    def _repr_html_(self) -> str:
        """Return a frame with the page in it, which has no access to the notebook."""
        return (
            f'<iframe srcdoc="{escape(self._page)}" sandbox="allow-scripts" title="report" '
            f'style="width:100%;height:{self._height}px;border:1px solid #8888"></iframe>'
        )


def show_report(model: Any, height: int = 800) -> InlineReport:
    """Show the page of a fitted `AutoFeatures` inside a notebook.

    Parameters
    ----------
    model : AutoFeatures
        Fitted.
    height : int, default=800
        Height of the frame in pixels.

    Returns
    -------
    InlineReport
        What a notebook shows as the page, at the end of a cell.

    Examples
    --------
    >>> import numpy as np
    >>> from featurewright import AutoFeatures
    >>> from featurewright.report import show_report
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> auto = AutoFeatures(methods="batch", effort="quick", random_state=0).fit(X, y)
    >>> show_report(auto)
    InlineReport(shown by notebooks; write_report writes it to a file)
    """
    return InlineReport(render(summarize(model)), height)


def _part(name: str) -> str:
    """Return the text of the style or the script."""
    folder = resources.files("featurewright.report").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows this style and this script only."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    """Return the hash of a text as a policy writes it."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
