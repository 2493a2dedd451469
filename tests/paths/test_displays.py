"""Pictures: what they show, where they draw, and what they refuse."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from tests.paths.cases import frame_classes, make_classes, make_frame, make_table

from featurewright import ForestPathEncoder
from featurewright.paths import ConvergenceDisplay, KernelMapDisplay, ProjectionDisplay

plt.switch_backend("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X = make_table()
    return ForestPathEncoder(10, random_state=0).fit(X, make_classes(X)), X


def draws(display):
    """Draw for real, which finds what setting up a figure does not."""
    display.figure_.canvas.draw()
    return display


class TestKernelMap:
    @pytest.mark.parametrize("kind", ["path", "leaf", "torkkola"])
    def test_values_are_the_kernel(self, fitted, kind):
        encoder, X = fitted
        display = draws(
            KernelMapDisplay.from_estimator(
                encoder, X, X[3], columns=(2, 0), kind=kind, grid_resolution=7
            )
        )
        assert display.values.shape == (7, 7)
        for row, column in ((0, 0), (2, 5), (6, 1)):
            there = X[3].copy()
            there[2], there[0] = display.x[column], display.y[row]
            expected = encoder.kernel([there], X[3:4], kind=kind)[0, 0]
            assert display.values[row, column] == pytest.approx(expected)
        assert display.point == pytest.approx((X[3, 2], X[3, 0]))
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x2", "x0")

    def test_covers_the_rows(self, fitted):
        encoder, X = fitted
        display = KernelMapDisplay.from_estimator(encoder, X, X[0], grid_resolution=5)
        assert display.x[0] < X[:, 0].min() < X[:, 0].max() < display.x[-1]
        assert display.y[0] < X[:, 1].min() < X[:, 1].max() < display.y[-1]

    def test_draws_on_given_axes(self, fitted):
        encoder, X = fitted
        figure, axes = plt.subplots(1, 2)
        display = KernelMapDisplay.from_estimator(
            encoder, X, X[0], grid_resolution=5, ax=axes[1], cmap="magma"
        )
        assert display.ax_ is axes[1]
        assert display.figure_ is figure
        assert display.ax_.collections[0].get_cmap().name == "magma"
        assert not axes[0].collections

    def test_frames_with_categories(self):
        frame = make_frame().with_columns(width=pl.col("petal width (cm)") * 2)
        encoder = ForestPathEncoder(5, random_state=0).fit(frame, frame_classes(frame))
        display = draws(
            KernelMapDisplay.from_estimator(
                encoder, frame, frame[:1], columns=("petal width (cm)", "width"), grid_resolution=4
            )
        )
        assert display.names == ("petal width (cm)", "width")
        row = KernelMapDisplay.from_estimator(
            encoder,
            frame.to_pandas(),
            frame.to_pandas().iloc[0],
            columns=("petal width (cm)", "width"),
            grid_resolution=4,
        )
        np.testing.assert_array_equal(row.values, display.values)
        with pytest.raises(ValueError, match="'colour' is a category"):
            KernelMapDisplay.from_estimator(
                encoder, frame, frame[:1], columns=("colour", "petal width (cm)")
            )

    @pytest.mark.parametrize("missing", ["random", "spread"])
    def test_missing_values(self, missing):
        X = make_table(missing=0.2)
        encoder = ForestPathEncoder(5, missing=missing, random_state=0).fit(X, make_classes(X))
        point = np.full(4, np.nan)
        display = draws(KernelMapDisplay.from_estimator(encoder, X, point, grid_resolution=4))
        assert np.isfinite(display.values).all()

    @pytest.mark.parametrize("value", [0.0, 1e30, 3.4e38])
    def test_columns_of_any_size(self, value):
        X = np.column_stack([np.full(20, value), np.linspace(-value, value, 20), np.arange(20.0)])
        encoder = ForestPathEncoder(3, random_state=0).fit(X, np.arange(20) > 9)
        display = draws(KernelMapDisplay.from_estimator(encoder, X, X[0], grid_resolution=4))
        assert np.isfinite(display.values).all()

    def test_column_without_a_value(self):
        X = make_table()
        X[:, 1] = np.nan
        encoder = ForestPathEncoder(3, random_state=0).fit(X, make_classes(X))
        display = draws(KernelMapDisplay.from_estimator(encoder, X, X[0], grid_resolution=4))
        assert np.isfinite(display.values).all()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"point": np.zeros((2, 4))}, "point has 2 rows"),
            ({"columns": (0, 9)}, "names 9, which the encoder has not seen"),
            ({"columns": (0, "colour")}, "names 'colour', which"),
            ({"columns": (1, 1)}, "one column twice"),
            ({"columns": (1, 2, 3)}, "must be a pair"),
            ({"columns": "x0"}, "must be a pair"),
            ({"kind": "tree"}, "kind='tree' is not known"),
            ({"grid_resolution": 1}, "grid_resolution=1 must be"),
        ],
    )
    def test_refusals(self, fitted, options, message):
        encoder, X = fitted
        with pytest.raises(ValueError, match=message):
            KernelMapDisplay.from_estimator(encoder, X, **{"point": X[0], **options})


class TestProjection:
    @pytest.mark.parametrize("n_hash", [None, 16])
    def test_rows_and_classes(self, n_hash):
        X, y = load_iris(return_X_y=True)
        encoder = ForestPathEncoder(10, n_hash=n_hash, random_state=0).fit(X[::2], y[::2])
        display = draws(ProjectionDisplay.from_estimator(encoder, X[1::2], y[1::2], random_state=0))
        assert display.original.shape == display.induced.shape == (75, 2)
        labels = [text.get_text() for text in display.ax_[1].get_legend().get_texts()]
        assert labels == ["0", "1", "2"]
        again = ProjectionDisplay.from_estimator(encoder, X[1::2], y[1::2], random_state=0)
        np.testing.assert_array_equal(display.induced, again.induced)

    def test_other_projectors(self, fitted):
        encoder, X = fitted
        projector = TruncatedSVD(2, random_state=0)
        display = draws(ProjectionDisplay.from_estimator(encoder, X, projector=projector))
        expected = TruncatedSVD(2, random_state=0).fit_transform(encoder.transform(X))
        np.testing.assert_allclose(display.induced, expected, rtol=1e-4, atol=1e-4)
        assert not hasattr(projector, "components_")

    def test_numbers_have_a_scale(self, fitted):
        encoder, X = fitted
        display = draws(ProjectionDisplay.from_estimator(encoder, X, X[:, 0] + 0.5))
        assert len(display.figure_.axes) == 3
        assert display.classes is None

    def test_without_a_target(self, fitted):
        encoder, X = fitted
        display = draws(ProjectionDisplay.from_estimator(encoder, X))
        assert len(display.figure_.axes) == 2
        assert display.ax_[1].get_legend() is None

    def test_many_classes_have_no_legend(self, fitted):
        encoder, X = fitted
        display = draws(ProjectionDisplay.from_estimator(encoder, X, np.arange(len(X))))
        assert display.ax_[1].get_legend() is None

    def test_frames_on_given_axes(self):
        frame = make_frame()
        y = frame_classes(frame)
        encoder = ForestPathEncoder(5, random_state=0).fit(frame, y)
        _, axes = plt.subplots(2, 1)
        display = draws(ProjectionDisplay.from_estimator(encoder, frame, y, ax=axes, s=3))
        assert list(display.ax_) == list(axes)
        assert np.isfinite(display.original).all()

    def test_refusals(self, fitted):
        encoder, X = fitted
        with pytest.raises(ValueError, match="y has several columns"):
            ProjectionDisplay.from_estimator(encoder, X, (X[:, :2] > 0).astype(int))
        with pytest.raises(ValueError, match="y has several columns"):
            ProjectionDisplay.from_estimator(encoder, X, X[:, :2])
        with pytest.raises(ValueError, match="projector gives 3 columns"):
            ProjectionDisplay.from_estimator(encoder, X, projector=TruncatedSVD(3))
        with pytest.raises(ValueError, match="ax holds 1 axes"):
            ProjectionDisplay.from_estimator(encoder, X, ax=plt.subplots()[1])


class TestConvergence:
    def test_draws_the_history(self):
        X = make_table()
        encoder = ForestPathEncoder("auto", step=5, tol=0.02, random_state=0)
        encoder.fit(X, make_classes(X))
        display = draws(ConvergenceDisplay.from_estimator(encoder, color="black"))
        line, limit = display.ax_.lines
        assert line.get_xdata().tolist() == [entry["n_trees"] for entry in encoder.history_]
        assert line.get_ydata().tolist() == [entry["change"] for entry in encoder.history_]
        assert limit.get_ydata()[0] == 0.02
        assert line.get_color() == "black"

    def test_needs_a_history(self, fitted):
        with pytest.raises(ValueError, match="no history to draw: fit it with n_estimators='auto'"):
            ConvergenceDisplay.from_estimator(fitted[0])

    def test_needs_a_fitted_encoder(self):
        with pytest.raises(NotFittedError):
            ConvergenceDisplay.from_estimator(ForestPathEncoder())


def test_plot_draws_again(fitted):
    encoder, X = fitted
    display = KernelMapDisplay.from_estimator(encoder, X, X[0], grid_resolution=4)
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first


def test_without_matplotlib_the_error_names_the_extra(monkeypatch, fitted):
    encoder, X = fitted
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install featurewright\[plot\]"):
        KernelMapDisplay.from_estimator(encoder, X, X[0], grid_resolution=4)


def test_importing_does_not_load_matplotlib():
    code = "import sys, featurewright.paths; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
