"""Experiments on path encodings: tasks and figures as published, and how one run is measured.

All learners work on inner products of rows, which are worked out once for each space: the linear
support vector machine and nearest neighbours need nothing else.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from data import load, load_labels, take
from mlknn import nearest, predict_labels
from runner import Settings, Values
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from featurewright import ConstructiveForestClassifier, ForestPathEncoder
from featurewright.datasets import make_sin_inverse
from featurewright.metrics import target_alignment

# Published AUROC of the machine and target alignment, on paths and on original columns
# (Vens and Costa, tables 2 and 3).
PUBLISHED = {
    "arcene": (0.922, 0.929, 0.061, 0.106),
    "blood_transfusion": (0.693, 0.734, 0.255, 0.073),
    "breast_wisconsin_prognostic": (0.571, 0.580, 0.233, 0.019),
    "breast_wisconsin_diagnostic": (0.989, 0.992, 0.565, 0.654),
    "breast_wisconsin_original": (0.986, 0.989, 0.615, 0.869),
    "sonar": (0.933, 0.815, 0.083, 0.120),
    "credit_approval": (0.919, 0.913, 0.301, 0.259),
    "cylinder_bands": (0.900, 0.797, 0.036, 0.045),
    "ecoli": (0.978, 0.969, 0.469, 0.546),
    "glass": (0.927, 0.733, 0.095, 0.035),
    "haberman": (0.654, 0.656, 0.235, 0.062),
    "heart_cleveland": (0.904, 0.898, 0.210, 0.335),
    "hepatitis": (0.826, 0.843, 0.434, 0.199),
    "ionosphere": (0.971, 0.925, 0.370, 0.195),
    "libras_movement": (0.944, 0.803, 0.098, 0.058),
    "mammographic_mass": (0.841, 0.846, 0.208, 0.291),
    "pima_diabetes": (0.817, 0.818, 0.191, 0.166),
    "spectf_heart": (0.814, 0.794, 0.363, 0.021),
    "vehicle": (0.995, 0.986, 0.263, 0.190),
    "wine": (0.996, 0.997, 0.426, 0.341),
}
LARGE = ("arcene",)  # 10,000 columns: left for a full run
PUBLISHED_NOISE = {0.2: (0.858, 0.834), 1.0: (0.850, 0.775), 5.0: (0.820, 0.667)}
PUBLISHED_LABELS = {
    "mulan_yeast": (0.811, 0.812),
    "mulan_scene": (0.875, 0.822),
    "mulan_emotions": (0.769, 0.733),
    "mulan_medical": (0.925, 0.904),
    "mulan_rcv1v2_subset1_top944": (0.532, 0.524),
}
LARGE_LABELS = ("mulan_rcv1v2_subset1_top944",)  # 101 labels: left for a full run
FOLDS = 10
# Sets of more than two classes become two sides, by class codes: one side, the other.
SIDES = {
    "ecoli": ((0, 7), (1, 2, 3, 4, 5, 6)),  # in plasm; attached to membrane
    "glass": ((0, 2), (1,)),  # float; not float; other glass is left out
    "heart_cleveland": ((1, 2, 3, 4), (0,)),  # disease; none
    "libras_movement": ((1, 6, 8, 10), (2, 7, 9, 11)),  # horizontal; vertical; others left out
    "vehicle": ((1, 2), (0, 3)),  # opel, saab; bus, van
    "wine": ((1,), (0, 2)),
}
# First columns that the published sets do not have: numbers of jobs, follow-up time, a diagnosis.
NOT_USED = {"cylinder_bands": 4, "breast_wisconsin_prognostic": 1, "mammographic_mass": 1}
# Columns whose numbers are codes; the original columns are one-hot there.
CODES = {"heart_cleveland": [2, 6, 10, 12], "mammographic_mass": [1, 2, 3]}
MAX_ITERATIONS = 20_000  # of the machine's solver, which is hard to satisfy with a large C
MARGINS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # values of C to choose among
NEIGHBOURS = (1, 3, 5)
MORE_TREES = 100  # added to a forest that is large enough, to see that nothing changes
ALIGNED_WIDTHS = (100.0, 10.0, 1.0, 0.1, 0.01)  # of the Gaussian kernel whose alignment is compared
WIDTHS = (1.0, 0.1, 0.01, 0.001)  # the published gamma of the Gaussian kernel: exp(-d² / gamma)
SIN_TEST_ROWS = 1000


@dataclass(frozen=True)
class Space:
    """Inner products of the training rows, and of the test rows with them."""

    train: np.ndarray
    test: np.ndarray

    def scaled(self, length: float) -> Space:
        """Divide all rows by a number, given its square."""
        return Space(self.train / length, self.test / length)


def load_task(name: str) -> tuple[Any, np.ndarray]:
    """Read a set as a task of two classes, 1 for the first side."""
    dataset = load(name)
    X, y = dataset.X, dataset.y
    first = NOT_USED.get(name, 0)
    X = X.iloc[:, first:] if hasattr(X, "iloc") else X[:, first:]
    if name in SIDES:
        one, other = SIDES[name]
        rows = np.flatnonzero(np.isin(y, one + other))
        return take(X, rows), np.isin(y[rows], one).astype(int)
    return X, y


def folds(y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of a fold; splits count through the folds of repetitions."""
    cutter = StratifiedKFold(FOLDS, shuffle=True, random_state=split // FOLDS)
    return list(cutter.split(np.zeros(len(y)), y))[split % FOLDS]


def original_space(name: str, X_train: Any, X_test: Any) -> tuple[Space, np.ndarray]:
    """Fill, one-hot encode and standardise; give products, and those of test rows alone."""
    if hasattr(X_train, "iloc"):
        numeric = list(X_train.select_dtypes("number").columns)
        nominal = [column for column in X_train if column not in numeric]
    else:
        nominal = CODES.get(name, [])
        numeric = [k for k in range(X_train.shape[1]) if k not in nominal]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    most = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    prepare = make_pipeline(
        make_column_transformer(
            (SimpleImputer(keep_empty_features=True), numeric),
            (make_pipeline(most, one_hot), nominal),
        ),
        StandardScaler(),
    )
    if hasattr(X_train, "iloc"):  # imputers know None as a missing string, not NA
        X_train, X_test = (
            X.astype(dict.fromkeys(nominal, object)).where(X.notna(), np.nan)
            for X in (X_train, X_test)
        )
    train = prepare.fit_transform(X_train)
    test = prepare.transform(X_test)
    return Space(train @ train.T, test @ train.T), test @ test.T


def path_spaces(
    encoder: ForestPathEncoder, X_train: Any, y_train: np.ndarray, X_test: Any
) -> dict[str, Space]:
    """Fit an encoder with `oob`; give products of the usual encoding and of the one out of bag.

    Both are divided by the mean squared length of the usual encoding, so that C means the same.
    """
    unseen = encoder.fit_transform(X_train, y_train)
    train = encoder.kernel(X_train, normalize=False)
    usual = Space(train, encoder.kernel(X_test, X_train, normalize=False))
    encoded = encoder.transform(X_test)
    oob = Space((unseen @ unseen.T).toarray(), (encoded @ unseen.T).toarray())
    length = float(np.diagonal(train).mean())
    return {"paths": usual.scaled(length), "oob": oob.scaled(length)}


def machine(space: Space, y: np.ndarray, C: float) -> np.ndarray:
    """Fit a linear support vector machine and give its decision values of the test rows."""
    model = SVC(kernel="precomputed", C=C, max_iter=MAX_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(space.train, y).decision_function(space.test)


def choose(space: Space, y: np.ndarray, y_test: np.ndarray) -> dict[str, float]:
    """Choose C by rows held out for it: for the area under the curve, and for the accuracy.

    Of values that are as good, the least is taken; for the accuracy the one with the largest area.
    """
    decisions = [machine(space, y, C) for C in MARGINS]
    areas = [float(roc_auc_score(y_test, found)) for found in decisions]
    shares = [(right(found, y_test), area) for found, area in zip(decisions, areas, strict=True)]
    return {
        "auc": MARGINS[areas.index(max(areas))],
        "accuracy": MARGINS[shares.index(max(shares))],
    }


def nearest_accuracies(space: Space, y: np.ndarray, y_test: np.ndarray) -> dict[int, float]:
    """Measure the accuracy of the vote of nearest neighbours, by their number."""
    found = nearest(space.test, np.diagonal(space.train), max(NEIGHBOURS))
    votes = {k: y[found[:, :k]].mean(axis=1) > 0.5 for k in NEIGHBOURS}
    return {k: float(np.mean(vote == y_test)) for k, vote in votes.items()}


def make_encoder(settings: Settings, **more: Any) -> ForestPathEncoder:
    """Make the encoder of a job."""
    seeds = {"random_state": settings["split"], "n_jobs": settings["n_jobs"]}
    return ForestPathEncoder(**settings["params"], **seeds, **more)


def measure_uci(settings: Settings) -> Values:
    """Measure machine, nearest neighbour and alignment on one fold of a set."""
    name = settings["set"]
    X, y = load_task(name)
    train, test = folds(y, settings["split"])
    # Rows held out to choose C: the encoder must not have seen them either.
    inner, held = train_test_split(
        train, test_size=1 / (FOLDS - 1), stratify=y[train], random_state=settings["split"]
    )
    values: Values = {}
    spaces: list[dict[str, Space]] = []
    for rows, others in ((inner, held), (train, test)):
        X_rows, X_others = take(X, rows), take(X, others)
        encoder = make_encoder(settings, oob=True)
        found = path_spaces(encoder, X_rows, y[rows], X_others)
        found["original"], own = original_space(name, X_rows, X_others)
        spaces.append(found)
    # Every pair of rows shares the roots: without them a kernel says more of the classes.
    kernels = {
        "paths": encoder.kernel(X_others),
        "rootless": encoder.kernel(X_others, root=False),
        "original": normalised(own),
    }
    for label, kernel in kernels.items():
        values[f"alignment {label}"] = target_alignment(kernel, y[test])
    # The best of the widths, as published, which favours the Gaussian kernel.
    values["alignment Gaussian"] = max(
        target_alignment(gaussian_of_products(own, width), y[test]) for width in ALIGNED_WIDTHS
    )
    values["n_trees"] = encoder.n_estimators_
    for label, space in spaces[1].items():
        chosen = choose(spaces[0][label], y[inner], y[held])
        decisions = {what: machine(space, y[train], C) for what, C in chosen.items()}
        values[f"C {label}"] = chosen["auc"]
        values[f"auc {label}"] = float(roc_auc_score(y[test], decisions["auc"]))
        values[f"accuracy {label}"] = right(decisions["accuracy"], y[test])
        for k, accuracy in nearest_accuracies(space, y[train], y[test]).items():
            values[f"{k}-NN {label}"] = accuracy
    return values | {"error": 1 - values["auc paths"]}


def measure_size(settings: Settings) -> Values:
    """Measure what more trees change on a fold, where their number is that the kernel needs."""
    X, y = load_task(settings["set"])
    train, test = folds(y, settings["split"])
    X_train, X_test = take(X, train), take(X, test)
    enough = make_encoder(settings).fit(X_train, y[train])
    params = settings["params"] | {"n_estimators": enough.n_estimators_ + MORE_TREES}
    more = make_encoder(settings | {"params": params}).fit(X_train, y[train])
    values: Values = {"n_trees": enough.n_estimators_}
    for label, encoder in (("enough", enough), ("more", more)):
        kernels = [encoder.kernel(rows, X_train) for rows in (X_train, X_test)]
        values[f"1-NN {label}"] = nearest_accuracies(Space(*kernels), y[train], y[test])[1]
        held = encoder.kernel(X_test, root=False)
        values[f"alignment {label}"] = target_alignment(held, y[test])
    return values | {"error": 1 - values["1-NN enough"]}


def gaussian_of_products(products: np.ndarray, width: float) -> np.ndarray:
    """Work out the Gaussian kernel as published from the inner products of rows."""
    squares = np.diagonal(products)
    return np.exp(-(squares[:, None] + squares[None, :] - 2 * products) / width)


def normalised(kernel: np.ndarray) -> np.ndarray:
    """Divide by the lengths of the rows."""
    lengths = np.sqrt(np.maximum(np.diagonal(kernel), 1e-12))
    return kernel / lengths[:, None] / lengths


def measure_noise(settings: Settings) -> Values:
    """Measure the nearest neighbour on one fold of a set with columns of noise added."""
    X, y = load_task(settings["set"])
    extra = round(settings["noise"] * X.shape[1])
    rng = np.random.default_rng(settings["split"] // FOLDS)
    # Uniform, of variance one.
    X = np.hstack([X, rng.uniform(-np.sqrt(3), np.sqrt(3), (len(X), extra))])
    train, test = folds(y, settings["split"])
    encoder = make_encoder(settings).fit(X[train], y[train])
    paths = Space(*(encoder.kernel(X[rows], X[train], normalize=False) for rows in (train, test)))
    original, _ = original_space(settings["set"], X[train], X[test])
    values = {
        "1-NN paths": nearest_accuracies(paths, y[train], y[test])[1],
        "1-NN original": nearest_accuracies(original, y[train], y[test])[1],
    }
    return values | {"error": 1 - values["1-NN paths"]}


def measure_curve(settings: Settings) -> Values:
    """Measure machines and the forest on sin(1/x), trained on some rows of both classes."""
    n_rows, split = settings["n_rows"], settings["split"]
    X_test, y_test = make_sin_inverse(SIN_TEST_ROWS, random_state=10_000)
    X, y = make_sin_inverse(4 * n_rows, random_state=split)
    rows = np.concatenate([np.flatnonzero(y == c)[: n_rows // 2] for c in (0, 1)])
    X, y = X[rows], y[rows]
    inner, held = train_test_split(
        np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=split
    )
    parts = ((X[inner], y[inner], X[held], y[held]), (X, y, X_test, y_test))
    grids = []
    for X_rows, y_rows, X_others, _ in parts:
        encoder = make_encoder(settings).fit(X_rows, y_rows)
        train = encoder.kernel(X_rows)
        grids.append({"paths": Space(train, encoder.kernel(X_others, X_rows))})
        for width in WIDTHS:
            grids[-1][f"Gaussian {width}"] = Space(
                *(gaussian(some, X_rows, width) for some in (X_rows, X_others))
            )
    values: Values = {}
    for label in ("paths", "Gaussian"):
        tried = {
            (key, C): right(machine(grids[0][key], y[inner], C), y[held])
            for key in grids[0]
            if key.startswith(label)
            for C in MARGINS
        }
        key, C = max(tried, key=tried.__getitem__)
        values[label] = right(machine(grids[1][key], y, C), y_test)
    # The forest beside it has as many trees.
    forest = ConstructiveForestClassifier(
        encoder.n_estimators_, search=None, random_state=split, n_jobs=settings["n_jobs"]
    )
    values["n_trees"] = encoder.n_estimators_
    values["forest"] = float(forest.fit(X, y).score(X_test, y_test))
    return values | {"error": 1 - values["paths"]}


def gaussian(X: np.ndarray, Z: np.ndarray, width: float) -> np.ndarray:
    """Work out the Gaussian kernel as published."""
    squares = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    return np.exp(-squares / width)


def right(decisions: np.ndarray, y: np.ndarray) -> float:
    """Measure the accuracy of decision values."""
    return float(np.mean((decisions > 0) == y))


def measure_labels(settings: Settings) -> Values:
    """Measure ML-kNN on the split of a set with several labels."""
    found = load_labels(settings["set"])
    train, test = (rows[: settings["max_rows"]] for rows in (found.train, found.test))
    X_train, X_test = found.X[train], found.X[test]
    scale = MinMaxScaler().fit(X_train)
    originals = {
        "original": (scale.transform(X_train), scale.transform(X_test)),
        "unscaled": (X_train.astype(float), X_test.astype(float)),
    }
    # The variance of all labels together, as published.
    encoder = make_encoder(settings, criterion="squared_error").fit(X_train, found.Y[train])
    spaces = {
        label: Space(*(part @ parts[0].T for part in parts)) for label, parts in originals.items()
    }
    spaces["paths"] = Space(
        *(encoder.kernel(X, X_train, normalize=False) for X in (X_train, X_test))
    )
    values: Values = {"n_train": len(train), "n_test": len(test)}
    for label, space in spaces.items():
        chances = predict_labels(space.train, space.test, found.Y[train])
        score = roc_auc_score(found.Y[test].ravel(), chances.ravel())
        values[f"micro-AUC {label}"] = float(score)
    return values | {"error": 1 - values["micro-AUC paths"]}


MEASURES = {
    "uci": measure_uci,
    "size": measure_size,
    "noise": measure_noise,
    "curve": measure_curve,
    "labels": measure_labels,
}


def measure(settings: Settings) -> Values:
    """Do one job."""
    started = time.perf_counter()
    with threadpool_limits(settings["n_jobs"]):
        values = MEASURES[settings["experiment"]](settings)
    return values | {"fit_seconds": time.perf_counter() - started}


def compile_kernels() -> None:
    """Compile what encoders need, for one target and for several."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    for y in ((X[:, 0] > 0.5).astype(int), (X > 0.5).astype(int)):
        for criterion in (None, "squared_error"):
            ForestPathEncoder(2, criterion=criterion, random_state=0).fit(X, y).kernel(X)
