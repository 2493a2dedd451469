"""Sentences that pages make of what was measured."""

import auto_gap
import auto_mixed
import auto_noise
import papers_budget
import pytest
import recursive_tables
import recursive_variants


class Found:
    """A store of results by the name of a job."""

    def __init__(self, **results):
        self.get = results.get


def test_columns_that_were_kept_for_nothing():
    none = {"method": "original", "claimed": 0.0, "before": 0.5, "after": 0.5}
    some = {"method": "votes", "claimed": 0.2, "before": 0.5, "after": 0.4}
    store = Found(a=none, b=some, c=some)
    said = auto_noise.kept_sentence(store, ["a", "b", "c", "not done"])
    assert said.startswith("False-positive rate on shuffled targets: 67 % (2 of 3 fits kept")
    assert "claimed there is 0.2000, the real one -0.1000" in said
    assert auto_noise.kept_sentence(store, ["a"]).endswith(": 0 % (0 of 1 fits kept something).")


def test_sets_where_features_do_little_or_harm():
    said = auto_gap.behind_sentence({"a": 0.9, "b": 0.2}, ["b"])
    assert said == "Less than half: b (0.20). Worse than the linear model: b."
    said = auto_gap.behind_sentence({"a": 0.9}, [])
    assert said == "Less than half: none. Worse than the linear model: none."


@pytest.mark.parametrize(
    ("label", "letter", "means", "said"),
    [
        ("single tree", "K", {"K 1n": 1.0, "K 3n": 0.9, "K 10n": 0.95}, "here not: K 10n."),
        ("single tree", "K", {"K 1n": 1.0, "K 3n": 0.9}, "here not: none."),
        ("Extra-Trees", "K", {"K 1n": 0.8, "K 30n": 0.9}, "between 0.1n and 10n; here so."),
        ("Extra-Trees", "K", {"K 1n": 0.8, "K 30n": 0.7}, "here not so."),
        ("boosted stumps", "K", {"K 0.1n": 1.1, "K 30n": 0.7}, "smallest K helps; here not so"),
        ("Extra-Trees", "D", {"D 1": 1.0, "D 5": 0.9, "D 7": 0.89}, "D 5 is within 3%"),
        ("Extra-Trees", "D", {"D 1": 1.0, "D 5": 0.9, "D 7": 0.8}, "D 5 is not within 3%"),
    ],
)
def test_curves_beside_the_published_words(label, letter, means, said):
    assert said in papers_budget.as_published(label, letter, means)


def losses(none: float, one: float, last: float) -> dict[str, float]:
    return {"loss_0": none, "loss_1": one, "last": last, "best": min(one, last)}


def test_why_a_recursion_raises_the_loss():
    """Too close a fit, columns that are missed, mere noise, and no harm at all."""
    store = Found(
        fit=losses(0.5, 0.6, 0.7),
        fit_training=losses(0.4, 0.3, 0.2),
        fit_apart={"loss_1": 0.51, "loss_2": 0.52},
        missed=losses(0.5, 0.5, 0.6),
        missed_training=losses(0.4, 0.4, 0.5),
        missed_apart={"loss_1": 0.5, "loss_2": 0.6},
        noisy_0=losses(0.5, 0.4, 0.4),
        noisy_1=losses(0.5, 0.6, 0.7),
        good=losses(0.5, 0.4, 0.3),
    )
    cells = {("rst", "noisy"): ["noisy_0", "noisy_1"]}
    for name in ("fit", "missed", "good"):
        cells["rst", name] = [name]
    for name in ("fit", "missed", "good", "noisy"):
        cells["training", name] = [f"{name}_training"] * len(cells["rst", name])
        cells["apart", name] = [f"{name}_apart"] * len(cells["rst", name])
    said = recursive_tables.reasons_sentences(cells, store, ["fit", "missed", "noisy", "good"])
    fit, missed, noisy = (line for line in said.splitlines() if line.startswith("- "))
    assert fit.startswith("- fit: +0.200; on the rows it is learned from it falls")
    assert fit.endswith("calibration: +0.020.")
    assert "missed: +0.100; on the training rows it rises too" in missed
    assert noisy == "- noisy: +0.050 ± 0.150, within two standard errors of none."
    assert "good" in recursive_tables.reasons_table(cells, store, ["good"])
    none = recursive_tables.reasons_sentences(cells, store, ["good"])
    assert none == "The last recursion raises the loss on no set."


def test_claims_beside_what_held_out_rows_say():
    gains = {"linear": [(0.2, 0.1), (0.0, 0.0)], "knn": [(0.1, 0.2), (0.3, 0.3)], "none": [(0, 0)]}
    said = auto_mixed.honesty_sentence(gains)
    assert said.startswith("Where something was kept (3 of 5 fits), the claimed gain was 0.2000")
    assert "claimed minus real 0.0000 ± 0.0577 (linear 0.1000; knn -0.0500 ± 0.0500)" in said
    assert auto_mixed.honesty_sentence({"linear": [(0.0, 0.0)]}) == "Nothing was kept anywhere."


def test_where_ours_and_the_published_losses_differ():
    """Iris and glass without recursion (0.46 and 1.35 published) and with the best (0.30, 1.10)."""
    store = Found(iris=losses(0.36, 0.30, 0.5), glass=losses(1.05, 1.0, 1.2))
    cells = {("rst", name): [name] for name in ("iris", "glass")}
    said = recursive_tables._what_is_left(cells, store, ["iris", "glass"])
    assert "0.20 apart without recursion and 0.05 with the best one" in said
    assert "they differ more in what a recursion starts from" in said


def test_sets_of_which_few_splits_are_done():
    store = Found(a={"error": 0.5}, b={"error": 0.4})
    cells = {("base", "iris"): ["a", "b"], ("base", "sonar"): ["a", "b", "not done"]}
    said = recursive_variants.few_splits(cells, store, ["iris", "sonar"], ["base"])
    assert said.startswith(" Not all splits are done (sonar 2)")
    assert not recursive_variants.few_splits(cells, store, ["iris"], ["base"])
