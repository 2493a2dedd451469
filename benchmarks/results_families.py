"""Which claims share a row of docs/results.md."""

from __future__ import annotations

import re

# The text of a row, and the pattern of the claims that it stands for, whose groups say which of
# them a claim is. The first pattern that fits counts; every other claim has a row of its own.
FAMILIES = (
    ("Construction helps ensembles of ten trees", r"Construction lowers .* of (.+) of ten trees"),
    (
        "Construction lowers the error of trees and ensembles",
        r"Construction lowers the error of (.+)",
    ),
    ("Errors are no higher than published", r"(.+): errors no higher than published"),
    (
        "Plain learners err no more than scikit-learn's",
        r"Plain (.+) err no more than scikit-learn's",
    ),
    (
        "The best numbers of candidates at a node are the published ones",
        r"(?:Every larger|The smallest) budget helps (.+)|(Extra-Trees) are best with .*",
    ),
    (
        "Formulas of five symbols are a fair size",
        r"Five symbols are a fair size of formulas for (.+)",
    ),
    (
        "Paths of a forest help",
        r"Paths help (.+)|The (path kernel is better aligned) with the classes",
    ),
    ("FCT columns beat the original ones and TFC's", r"FCT columns beat (.+)"),
    ("Learned weights of operators help FCTree", r"Learned weights help FCTree, (.+)"),
    ("FCTree as a classifier beats other learners", r"FCTree itself beats (.+)"),
    (
        "The best recursion has a lower log loss than other columns",
        r"The best recursion has a lower log loss than (.+)",
    ),
    (
        "The default of recursive selection has a lower log loss than the original columns",
        r"The default of recursive selection has .* columns (.+)",
    ),
    (
        "A recursion over landmarks lowers the log loss",
        r"A recursion over landmarks lowers the log loss on (.+)",
    ),
    (
        "Kernel features lower the error of ensembles",
        r"Kernel features lower the error of (.+)",
    ),
    (
        "Speed and memory meet their bars, page by page",
        r"All bars (?:of )?(.+) hold|(Time grows no faster than rows) .*",
    ),
    (
        "Speed and memory meet their bars, one by one",
        r"([Ff]it .*|Extra-Trees that .*|A forest that .*), of .* time|(Import), against .*|"
        r"(Peak memory) at .*|(First fit with nothing compiled|First fit of a later process).*|"
        r"(Path encoding) against .*|(Path kernel) against .*",
    ),
    (
        "We take less time than libraries that construct features",
        r"Our (.+) takes less time (than .+)",
    ),
    (
        "Weighted sums of columns as candidates lower the loss of trees",
        r"Weighted sums of columns as candidates lower the loss of (.+)",
    ),
    ("Saving time costs no accuracy", r"(Halving candidates|The default budget .*) costs no .*"),
    (
        "AutoFeatures ranks before the best of the other libraries",
        r"AutoFeatures ranks before the best peer under (.+)",
    ),
    (
        "Our learners rank before the best of the others",
        r"Our (.+) ranks before the best of the others",
    ),
    ("Our learners take no longer than others", r"Our (.+) takes no longer (than .+)"),
    (
        "Constructed columns take a linear model as far as the best tree ensemble",
        r"(.+) take a linear model as far as .*",
    ),
    (
        "Numbers in formulas lower the error",
        r"Numbers in formulas lower the error of (.+), one split .*",
    ),
    (
        "Links to other rows make predictions better",
        r"Links explain (a customer's spending) .*|(A station's) earlier hours help .* its (air)|"
        r"(Positions in races) .*",
    ),
    (
        "A feature over links takes others at least 20 times as long",
        r"A feature over links takes (.+) at least 20 times as long, (on .+)",
    ),
)


def family_of(text: str) -> tuple[str, str]:
    """Return the text of a claim's row, and which of the row's claims it is."""
    for title, pattern in FAMILIES:
        if found := re.fullmatch(pattern, text):
            return title, " ".join(filter(None, found.groups()))
    return text, ""
