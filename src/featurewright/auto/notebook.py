"""What a notebook shows of a search: its steps in one line, then verdict, formulas and front."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any

from sklearn.utils.validation import check_is_fitted

from featurewright.auto.summary import summarize
from featurewright.auto.text import other_columns

_SHOWN_FORMULAS = 8
_WIDTH, _HEIGHT, _EDGE = 360, 120, 10  # of the drawing, in pixels
_CELL = 'style="text-align:left;padding:2px 10px;vertical-align:middle"'


class NotebookView:
    """Shows a fitted search as HTML at the end of a cell; one that is not fitted as scikit-learn.

    Colours are those of the notebook, light or dark.
    """

    def _repr_html_(self) -> str:
        """Return the search as HTML."""
        if hasattr(self, "model_"):
            return search_html(self)
        plain: Any = super()
        return str(plain._repr_html_())

    def _repr_mimebundle_(self, **unused: Any) -> dict[str, str]:
        """Return the search as text and as HTML, of which a notebook takes what it can show."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def report_(self) -> Any:
        """The whole report, which a notebook shows at the end of a cell."""
        check_is_fitted(self)
        from featurewright.report import show_report

        return show_report(self)


_show: ContextVar[Callable[[str], None] | None] = ContextVar("_show", default=None)


@contextmanager
def status_line() -> Iterator[None]:
    """Let `show_status` write in a line of its own, where this runs in a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    token = _show.set(_make_line(ipython) if hasattr(shell, "kernel") else None)
    try:
        yield
    finally:
        _show.reset(token)


def _make_line(ipython: Any) -> Callable[[str], None]:
    """Return a function that shows a text in place of the one before."""
    handle = ipython.display.DisplayHandle()
    show = [handle.display, handle.update]  # the first text makes the line

    def write(text: str) -> None:
        (show.pop(0) if len(show) > 1 else show[0])({"text/plain": text}, raw=True)

    return write


def show_status(text: str) -> bool:
    """Show a text in the line of a notebook; return whether there is one."""
    show = _show.get()
    if show is not None:
        show(text)
    return show is not None


def search_html(model: Any) -> str:
    """Return a fitted search as HTML.

    Parameters
    ----------
    model : AutoFeatures
        The fitted search.

    Returns
    -------
    str
        A `div` without scripts, which needs no network.
    """
    summary = summarize(model)
    mark = "#1a7f37" if summary["verdict"]["helps"] else "#b35900"
    return "".join(
        (
            '<div style="max-width:60rem">',
            f'<p style="border-left:4px solid {mark};padding:4px 10px;margin:4px 0">',
            f"<strong>{escape(summary['verdict']['sentence'])}</strong></p>",
            f"<p>{escape(summary['cut_short'])}</p>" if summary["cut_short"] else "",
            _formulas(summary["features"]),
            _others(summary),
            _front(summary["front"], summary["score"]["name"]),
            "</div>",
        )
    )


def _formulas(features: Sequence[dict[str, Any]]) -> str:
    """Return the table of the best formulas; "" where there are none."""
    if not features:
        return ""
    cells = {
        "formula": [feature["mathml"] for feature in features],
        "gain": [f"{feature['gain']:.3g}" for feature in features],
        "found again": [escape(feature["stability_text"]) for feature in features],
    }
    shown = {head: texts for head, texts in cells.items() if any(texts)}
    heads = "".join(f"<th {_CELL}>{head}</th>" for head in shown)
    rows = "".join(
        "<tr>" + "".join(f"<td {_CELL}>{text}</td>" for text in row) + "</tr>"
        for row in list(zip(*shown.values(), strict=True))[:_SHOWN_FORMULAS]
    )
    more = len(features) - _SHOWN_FORMULAS
    note = f"<p>and {more} more in <code>features_</code></p>" if more > 0 else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _others(summary: dict[str, Any]) -> str:
    """Return what is said of constructed columns that are not formulas; "" where there are none."""
    text = " ".join(line.text for line in other_columns(summary, python=True))
    return f"<p>{escape(text)}</p>" if text else ""


def _front(points: Sequence[dict[str, Any]], score: str) -> str:
    """Return the held-out score by number of formulas as a drawing; "" where nothing was tried."""
    points = [point for point in points if point["value"] is not None]
    if len(points) < 2:
        return ""
    values = [float(point["value"]) for point in points]
    low, high = min(values), max(values)
    lowest, highest = (escape(str(points[values.index(value)]["text"])) for value in (low, high))
    span = (high - low) or 1.0
    places = [
        (
            _EDGE + (_WIDTH - 2 * _EDGE) * number / (len(points) - 1),
            _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (value - low) / span,
        )
        for number, value in enumerate(values)
    ]
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
    dots = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{5 if point["chosen"] else 3}" fill="#0b5cad">'
        f"<title>{point['n_formulas']} formulas: {escape(str(point['text']))}</title></circle>"
        for (x, y), point in zip(places, points, strict=True)
    )
    labels = "".join(
        f'<text x="{x:.0f}" y="{_HEIGHT + _EDGE}" font-size="10" text-anchor="middle" '
        f'fill="currentColor">{point["n_formulas"]}</text>'
        for (x, _), point in zip(places, points, strict=True)
    )
    return (
        f"<p>Held-out {escape(score)} by number of formulas, from {lowest} to {highest}:</p>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 2 * _EDGE}" width="{_WIDTH}" role="img" '
        'style="max-width:100%">'
        f'<polyline points="{line}" fill="none" stroke="#0b5cad" stroke-width="1.5"/>'
        f"{dots}{labels}</svg>"
    )
