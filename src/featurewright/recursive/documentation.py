"""Paragraphs that the docstrings of the transformer and the classifier share."""

from __future__ import annotations

PARAMETERS = """
n_recursions : int or "auto", default="auto"
    How often the columns are weighed, selected and projected. "auto" goes on until the loss on
    held-out rows has not dropped for two recursions and keeps the best number, which may be 0; the
    matrices are then learned from all rows. Where the columns or the sizes in `keep` run out,
    fewer recursions happen than asked for: see `n_recursions_`.
keep : "auto", float or sequence of int, default="auto"
    Columns that a recursion leaves: a share of those it gets, or the sizes themselves, such as
    ``(720, 285)``, one for each recursion, of which `n_recursions` may ask for fewer. "auto" takes
    the published schedule, about 86 % (seven eighths less two), and ends at two columns.
projection : {"stretch", "diagonal", "orthogonal"}, default="stretch"
    What is done with the selected columns and their weights w: stretch the rows along w
    (I + ww'), multiply each column by its weight, or remove the direction of w. See the measured
    comparison in docs/results/recursive.md.
normalize : {"unit", "max"} or None, default=None
    Whether w has unit length or a largest entry of one first; None takes it as fitted.
scale : {"auto", "minmax", "maxabs", "standard"} or None, default="auto"
    How columns are scaled first. "auto" maps them to [0, 1], and divides those of a sparse table by
    their largest absolute value, which keeps it sparse.
C : float, default=1.0
    Inverse strength of the regularisation of the linear SVM.
loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    Loss of the linear SVM; of linear support vector regression, the squared or the absolute error.
solver : {"auto", "liblinear", "sgd"}, default="auto"
    How the linear SVM is fitted. "sgd" is a stochastic gradient with the hinge loss (the absolute
    error in regression). "auto" takes it above 10,000 rows where `loss` is "hinge", where there are
    more columns than rows, or where the table has more than 100 million cells; else liblinear.
validation : int, float or "auto", default="auto"
    What is held out where `n_recursions` is "auto": so many folds in turn, or a share of the rows
    once. "auto" is five folds up to 3,000 rows and a fifth of the rows above.
"""

END = """
n_jobs : int, optional
    Threads: classes are learned side by side, except where liblinear draws random numbers (the
    hinge loss, or more than 1,000 columns and fewer rows) and with an `estimator` of yours.
random_state : int, RandomState or None, default=None
    Seed; the result is the same for any `n_jobs`.
"""

ATTRIBUTES = """
matrices_ : ndarray of shape (n_matrices, n_columns, n_components)
    One matrix for each class, or a single one for two classes and for regression, with all
    recursions and the scaling in it. Rows are the columns of the table, where each category has
    become one indicator per level, after the numbers.
offsets_ : ndarray of shape (n_matrices, n_components)
    Constants added to the components.
n_recursions_ : int
    Number of recursions in the matrices; fewer than asked for where columns or sizes ran out.
history_ : dict of ndarray
    "recursion", "n_columns", "train_loss" (mean hinge loss of the linear SVMs on the columns left)
    and "validation_loss" (log loss of the calibrated ensemble on held-out rows; the squared error
    in regression), which is NaN unless `n_recursions` is "auto".
    `featurewright.recursive.RecursionDisplay` plots it.
classes_ : ndarray of shape (n_classes,)
    The classes.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : ndarray of str
    Their names, where the table had names.
"""
