"""The publications of the methods, as docstrings name them."""

from __future__ import annotations

_SOURCES = {
    "monte_carlo": """
F. Maes, P. Geurts and L. Wehenkel, Embedding Monte Carlo search of features in tree-based ensemble
methods, ECML PKDD 2012.
""",
    "paths": """
C. Vens and F. Costa, Random forest based feature induction, IEEE International Conference on Data
Mining, 2011.
""",
    "fctree": """
W. Fan, E. Zhong, J. Peng, O. Verscheure, K. Zhang, J. Ren, R. Yan and Q. Yang, Generalized and
heuristic-free feature construction for improved accuracy, SIAM International Conference on Data
Mining, 2010.
""",
    "recursive": """
X. Zhao and S.-U. Guan, A subspace recursive and selective feature transformation method for
classification tasks, Big Data Analytics 2, 2017.
""",
    "landmarks": """
A. Ahmad, Decision tree ensembles based on kernel features, Applied Intelligence 41, 2014.
""",
}


def cited(source: str, notes: str) -> str:
    """Return the sections of a docstring on what a method is published in, and what differs.

    Parameters
    ----------
    source : str
        The method.
    notes : str
        Where the publication's settings are, and what differs from it in spite of them.
    """
    sections = {"Notes": notes, "References": _SOURCES[source]}
    return "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{text.strip()}" for title, text in sections.items()
    )
