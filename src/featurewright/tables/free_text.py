"""Free text as numbers: its length, its words, and a few themes that tell texts apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.utils.extmath import randomized_svd

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Matrix = npt.NDArray[np.float64]

N_BUCKETS = 4096  # of hashed words and pairs of words
_N_THEMES = 8
_MAX_LEARNED = 20_000  # texts that themes are learned from
_MIN_STRENGTH = 1e-3  # of the strongest theme, below which a theme tells no texts apart
_N_STEPS = 7  # of the solver
_DIGITS = 6  # of a theme's weights, so that a solver's last digits change nothing
LENGTH, WORDS = "characters", "words"


@dataclass(frozen=True, eq=False)
class TextReader:
    """How texts become numbers, as learned in `fit`.

    Parameters
    ----------
    weights : ndarray of shape (N_BUCKETS, n_themes)
        Weight of a word, or a pair of words, in each theme.

    Examples
    --------
    >>> reader = learn_text(["a good red wine", "a fine white wine", "the old stone bridge"])
    >>> parts = reader.read(["a good bridge", None])
    >>> parts["words"]
    array([ 3., nan])
    """

    weights: Matrix

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the numbers of a text."""
        return (LENGTH, WORDS, *(f"theme {k + 1}" for k in range(self.weights.shape[1])))

    def read(self, texts: Sequence[str | None]) -> dict[str, Matrix]:
        """Return the numbers of some texts by name; missing where a text is."""
        known = np.array([text is not None for text in texts], dtype=bool)
        given = [text or "" for text in texts]
        found = np.full((len(self.parts), len(texts)), np.nan)
        found[0] = [len(text) for text in given]
        found[1] = [len(text.split()) for text in given]
        found[2:] = (_hashed(given) @ self.weights).T
        found[:, ~known] = np.nan
        return dict(zip(self.parts, found, strict=True))


def learn_text(texts: Sequence[str | None]) -> TextReader:
    """Return a reader whose themes are the main directions of the hashed words of some texts.

    Parameters
    ----------
    texts : sequence of str or None
        The texts of a column; evenly spaced ones where there are very many.
    """
    known = [text for text in texts if text]
    counts = _hashed(known[:: max(1, len(known) // _MAX_LEARNED)] or [""])
    n_themes = min(_N_THEMES, min(counts.shape) - 1, len(np.unique(counts.indices)) - 1)
    if n_themes < 1:
        return TextReader(np.zeros((N_BUCKETS, 0)))
    _, strengths, themes = randomized_svd(counts, n_themes, n_iter=_N_STEPS, random_state=0)
    kept = themes[strengths > _MIN_STRENGTH * strengths.max()]
    return TextReader(np.ascontiguousarray(np.round(kept.T, _DIGITS)))


def _hashed(texts: Sequence[str]) -> csr_matrix:
    """Return the shares of hashed words and pairs of words in each text."""
    # Imported here, because tables without text need not wait for it.
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(n_features=N_BUCKETS, ngram_range=(1, 2), alternate_sign=False)
    return vectorizer.transform(texts)
