"""Scores for people: what a scorer measures, which direction is better, how values are written."""

from __future__ import annotations

from dataclasses import dataclass

_KNOWN = {
    "accuracy": ("accuracy", "share of rows whose class is predicted right"),
    "balanced_accuracy": (
        "balanced accuracy",
        "share of rows predicted right, each class counting the same",
    ),
    "roc_auc": (
        "area under the ROC curve",
        "chance that a row of the class is ranked above a row outside it",
    ),
    "average_precision": ("average precision", "precision averaged over all recalls"),
    "f1": ("F1", "harmonic mean of precision and recall"),
    "log_loss": ("log loss", "surprise of the predicted probabilities"),
    "brier_score": ("Brier score", "squared error of the predicted probabilities"),
    "r2": ("R²", "share of the target's variance that is explained"),
    "root_mean_squared_error": ("RMSE", "root of the mean squared error"),
    "mean_squared_error": ("mean squared error", "mean of the squared errors"),
    "mean_absolute_error": ("mean absolute error", "mean size of the errors"),
}
_ENDINGS = {
    "_ovr": ", each class against the rest",
    "_ovo": ", over pairs of classes",
    "_macro": ", mean over classes",
    "_micro": ", over all labels",
    "_samples": ", mean over rows",
    "_weighted": ", classes weighted by size",
}
_SHARES = ("accuracy", "balanced_accuracy")


@dataclass(frozen=True)
class Score:
    """A scorer and how its values are shown.

    Parameters
    ----------
    scoring : str
        Name of the scorer, as scikit-learn has it.

    Examples
    --------
    >>> score = Score("neg_root_mean_squared_error")
    >>> score.name, score.text(-2.5), score.lower_is_better
    ('RMSE', '2.5', True)
    >>> Score("accuracy").text(0.8125)
    '81.2%'
    """

    scoring: str

    @property
    def lower_is_better(self) -> bool:
        """Whether the values of the scorer are negated errors."""
        return self.scoring.startswith("neg_")

    @property
    def _known(self) -> tuple[str, str]:
        """Name and meaning; those of an unknown scorer are made from its name."""
        plain = self.scoring.removeprefix("neg_")
        if plain in _KNOWN:
            return _KNOWN[plain]
        for ending, words in _ENDINGS.items():
            stem = plain.removesuffix(ending)
            if stem != plain and stem in _KNOWN:
                name, meaning = _KNOWN[stem]
                return name, meaning + words
        return plain.replace("_", " "), "the score asked for"

    @property
    def name(self) -> str:
        """What is measured, in two or three words."""
        return self._known[0]

    @property
    def meaning(self) -> str:
        """What is measured, in a sentence without its end."""
        return self._known[1]

    @property
    def is_share(self) -> bool:
        """Whether values are shares of rows, written in per cent."""
        return self.scoring in _SHARES

    def value(self, score: float) -> float:
        """Return the value that is shown for a score: errors are shown without a sign."""
        return -score if self.lower_is_better else score

    def text(self, score: float | None) -> str:
        """Return a score as text; "" where there is none."""
        return "" if score is None else self._write(self.value(score), signed=False)

    def difference(self, gain: float | None) -> str:
        """Return a difference of scores as text, with its sign."""
        return "" if gain is None else self._write(self.value(gain), signed=True)

    def spread(self, spread: float | None) -> str:
        """Return the spread of a score as text; "" where there is none, as of a single fold."""
        return "" if spread is None else self._write(spread, signed=False)

    def error(self, error: float | None) -> str:
        """Return the error of a difference as text, in the unit of the difference."""
        return self.spread(error).removesuffix("%")

    def _write(self, value: float, *, signed: bool) -> str:
        """Return a number as text, with as many digits as are significant."""
        sign = "+" if signed else ""
        points = ""
        if self.is_share:
            points = " points" if signed else "%"
            digits = f"{100 * value:{sign}.1f}"
        elif abs(value) < 10 and not self.lower_is_better:
            digits = f"{value:{sign}.3f}"
        else:
            digits = f"{value:{sign}.4g}"
        if float(digits) == 0.0:  # no minus before a zero
            digits = digits.replace("-", sign)
        return digits.replace("-", "−") + points
