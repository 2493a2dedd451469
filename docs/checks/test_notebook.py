"""A notebook in a real kernel: searches, formulas, links and reports show themselves."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

CELLS = [
    """
from featurewright import AutoFeatures, ConstructiveForestRegressor, Link
from featurewright.datasets import load_airfoil
from featurewright.report import show_report

X, y = load_airfoil(return_X_y=True, as_frame=True)
auto = AutoFeatures(methods=["batch"], effort="quick", random_state=0)
auto
""",
    "auto.fit(X, y)",
    "auto.features_[0]",
    "Link(X, on='velocity', name='runs')",
    "show_report(auto)",
    "ConstructiveForestRegressor(20, verbose=1, random_state=0).fit(X, y).n_features_in_",
]


def html_of(cell):
    return "".join(
        "".join(output.data.get("text/html", "")) for output in cell.outputs if "data" in output
    )


def test_everything_shows_itself():
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source.strip()) for source in CELLS]
    )
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    unfitted, search, feature, link, report, forest = notebook.cells
    assert "sk-" in html_of(unfitted)  # scikit-learn's own drawing
    assert "<math" in html_of(search)
    assert "Keep the original" in html_of(search) or "Use the new" in html_of(search)
    assert "<svg" in html_of(search)
    assert "<math" in html_of(feature)
    assert "gain" in html_of(feature)
    assert "1,503 of a DataFrame" in html_of(link)
    assert "<iframe" in html_of(report)
    assert "Traceback" not in str(forest.outputs)
    assert "ipywidgets" not in str(forest.outputs)
