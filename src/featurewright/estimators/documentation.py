"""Parameter descriptions shared by the learners' docstrings."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent, indent
from typing import TypeVar

Learner = TypeVar("Learner", bound=type)

SEARCH = """
search : {"random", "step", "look_ahead"} or None
    How expressions are searched at each node: `random` scores complete random expressions;
    `step` and `look_ahead` build them symbol by symbol after the best completion so far. None
    tests raw columns only: the plain learner.
budget : int or str
    Score calls at each node; "10n" stands for ten times the number of columns.
max_size : int, default=5
    Largest number of symbols (columns and operators) of an expression.
operators : sequence of str or Operator, optional
    What expressions are built with, by name or as `Operator`. By default add, sub, mul and div,
    and "is" tests where the table has categories.
sampling : {"symbol", "kind"}, default="symbol"
    Whether the next symbol is uniform over all valid ones, or first over the kinds column,
    operator, end.
max_features : int, float, {"sqrt", "log2", "all"} or None, default=None
    Raw columns that a node tries besides expressions. None stands for none with a search, and for
    the usual number of the plain learner without.
"""

GROWTH = """
max_depth : int, optional
    Largest depth of a tree.
min_samples_split : int or float, default=2
    Rows, or share of rows, that a node needs to be split.
min_samples_leaf : int or float, default={min_samples_leaf}
    Rows, or share of rows, on each side of a split.
max_leaf_nodes : int, optional
    Grow the best nodes first, up to so many leaves.
min_gain : float, default=0.0
    Gain, in units of weight, that a split needs.
halving : "auto", int or None, default="auto"
    A large node scores its candidates on a sample of so many rows first and only the better ones
    on more; None scores all candidates on all rows.
"""

OUTPUT = """
n_features_out : int, default=50
    Constructed features that `transform` computes.
include_original : bool, default=False
    Whether `transform` also gives the original columns, before the constructed ones. A category
    comes as the number of its level.
keep_missing : bool, default=False
    Whether `transform` leaves undefined values missing instead of filling in the median of `fit`.
max_time : float, optional
    Seconds after which growing stops; what was grown by then is the result.
random_state : int, RandomState or None, default=None
    Seed; the result is the same for any `n_jobs`.
"""

THREADS = """
n_jobs : int, optional
    Threads.
verbose : int, default=0
    Draw a progress bar.
"""

FITTED = """
features_ : tuple of Feature
    Distinct constructed expressions by total gain, the best two hundred; each has `name`,
    `expression`, `gain` (share of the gain of all splits) and `count` (nodes that test it).
    `transform` computes the first `n_features_out` of them.
feature_importances_ : ndarray of shape (n_features_in_,)
    Share of the gain of all splits of each input column; a split's gain is parted among the
    columns that its expression names.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : ndarray of str
    Their names, where the table had names.
"""


BOOSTING = """
n_estimators : int, default=100
    Number of rounds. With the log loss a round grows one tree for each of three or more classes.
loss : str, optional
    Classifiers: "log_loss", second-order gradient boosting (the default), or "adaboost_mh".
    Regressors: "squared_error".
learning_rate : float, optional
    Factor of what each tree adds: 0.1 by default, 1 for "adaboost_mh".
"""
BOOSTED_SEARCH = SEARCH.replace(
    """budget : int or str
    Score calls at each node; "10n" stands for ten times the number of columns.
""",
    """budget : int or str, default="auto"
    Score calls at each node; "10n" stands for ten times the number of columns. "auto" is
    "10n" for up to four columns and twenty times the root of their number for more; always "10n"
    for "adaboost_mh".
""",
).replace(
    """None stands for none with a search, and for
    the usual number of the plain learner without.
""",
    """None stands for all, and for none with a
    search and "adaboost_mh".
""",
)
LIMITS = """
max_depth : int, optional
    Largest depth of a tree; 3 by default for "adaboost_mh", where 1 grows stumps.
max_leaf_nodes : int, optional
    Grow the best nodes first, up to so many leaves: 31 by default, no limit for "adaboost_mh".
min_samples_split : int or float, default=2
    Rows, or share of rows, that a node needs to be split.
min_samples_leaf : int or float, optional
    Rows, or share of rows, on each side of a split: 20 by default, 1 for "adaboost_mh".
min_gain : float, default=0.0
    Gain, in units of weight, that a split needs.
l2 : float, default=1.0
    Weight of the squared leaf values; not for "adaboost_mh".
subsample : float, default=1.0
    Share of the rows drawn, without replacement, for each round.
halving : "auto", int or None, default="auto"
    A large node scores its candidates on a sample of so many rows first and only the better ones
    on more; None scores all candidates on all rows. "auto" begins with 256 rows, with
    "adaboost_mh" with 4,096.
early_stopping : bool or "auto", default="auto"
    Whether to hold rows out and stop when their loss no longer drops; "auto" does so from 10,000
    rows on.
validation_fraction : float, default=0.1
    Share of the rows held out.
n_iter_no_change : int, default=10
    Rounds without a lower loss after which to stop.
class_weight : dict, "balanced" or None, default=None
    Weights of the classes; classifiers only.
"""
BOOSTED = (
    """
n_iter_ : int
    Rounds kept.
train_score_, validation_score_ : ndarray
    Loss on the training rows and on those held out, before and after each round; the second is
    empty without early stopping.
"""
    + FITTED
)


def documented(
    *parameters: str, attributes: str = FITTED, **values: str
) -> Callable[[Learner], Learner]:
    """Fill the placeholders of a class's docstring with shared paragraphs."""

    def fill(learner: Learner) -> Learner:
        text = "\n".join(part.strip("\n") for part in parameters)
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
        document = dedent("    " + (learner.__doc__ or ""))
        document = document.replace("{parameters}", indent(text, "").strip())
        document = document.replace("{attributes}", attributes.strip())
        learner.__doc__ = document
        return learner

    return fill
