"""Parameter descriptions shared by the estimators over kernel features."""

KERNEL = """
kernel : str or callable, default="gaussian"
    "gaussian" is exp(-||x - z||² / width); "linear" is x'z + coef0; any other kernel of
    `sklearn.metrics.pairwise.pairwise_kernels` has its name there. A function of two rows that
    gives a number may be any similarity, positive definite or not; where it gives NaN, it is 0.
width : float, optional
    Width of "gaussian" and of no other kernel; by default the median squared distance of two
    training rows.
gamma : float, optional
    Of "rbf", "laplacian", "polynomial", "sigmoid" and "chi2"; scikit-learn's default by default.
degree : int, default=3
    Of "polynomial".
coef0 : float, default=1.0
    Of "linear", "polynomial" and "sigmoid".
kernel_params : dict, optional
    Further arguments of a kernel that is a function.
batched : bool, default=False
    Whether a kernel that is a function takes two tables and gives a matrix, which is much faster.
landmarks : {"random", "class", "kmeans"}, default="random"
    Which training rows are landmarks: any; as many of each class, where there are enough; the rows
    next to the centers that k-means finds. {slices}
scale : bool, default=False
    Whether columns of numbers are divided by their standard deviation for the kernel. Set it where
    columns have different units.
"""
SEEDS = """
random_state : int, RandomState or None, default=None
    Seed; the result is the same for any `n_jobs`.
n_jobs : int, optional
    Threads.
"""
ENSEMBLE = """
estimator : estimator, optional
    What members are copies of. By default our own trees, unpruned; another one is trained on the
    points that the kernel sees: missing numbers filled in, a column for each label.
method : str, optional
    How members differ besides their landmarks. "kernel_only": each sees kernel features alone;
    "random_subspace": each sees a random half of the columns as well. With the others each run
    trains a whole ensemble beside all columns: "bagging", {boosting}"random_forest" (the
    default) or "constructive_forest" (`ConstructiveForest...`). An `estimator` without a method is
    trained once in each run.
n_estimators : int, default=200
    Members of all runs together. An `estimator` without a method is trained once for each run, so
    that only the square root of this number, or `n_runs`, copies are trained.
n_runs : int, optional
    Runs that share them, by default about the square root (14 runs of 14 members); "kernel_only"
    and "random_subspace" have one member in each run.
n_landmarks : int, default=10
    Landmarks of each run; with 0 the ensemble is the plain one.
criterion : str, optional
    How trees score splits: "entropy" for classes, "squared_error" for numbers by default.
max_features : int, float, {"sqrt", "log2", "all"} or None, default=None
    Columns that a node of a tree tries: the square root in "random_forest", else all.
max_depth : int, optional
    Largest depth of a tree.
min_samples_leaf : int or float, optional
    Rows, or share of rows, of a leaf: 1 in forests and 2 in other trees by default{boosted_leaf}.
min_weight_fraction_leaf : float, default=0.0
    Share of the total weight of a leaf.
class_weight : dict, "balanced" or None, default=None
    Weights of the classes; classifiers only.
"""
FITTED = """
estimators_ : list of tuple
    The fitted learners of each run.
landmark_rows_ : list of ndarray
    Numbers of the training rows that are the landmarks of each run.
width_ : float or None
    Width of the Gaussian kernel.
n_runs_ : int
    Number of runs.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : ndarray of str
    Their names, where the table had names.
"""
