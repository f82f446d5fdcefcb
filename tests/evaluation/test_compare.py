import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import swaprank as sr
from swaprank.evaluation.randomization import _random_subset_sums, _subset_sums, randomize
from swaprank.evaluation.significance import holm, t_test, wilcoxon_test

TEST = sr.datasets.random_net((120,), n_features=6, n_documents=20, random_state=0)[0]
SYSTEMS = {"one": TEST.column(0), "two": TEST.column(1), "both": TEST.column(0) + TEST.column(1)}


def test_p_values_are_those_of_scipy_corrected() -> None:
    comparison = sr.compare(TEST, {k: SYSTEMS[k] for k in ("one", "both")}, "ndcg@10")
    (row,) = comparison
    one, both = (comparison.evaluations[name].results[0].per_query for name in ("one", "both"))
    assert row.p_t == pytest.approx(stats.ttest_rel(both, one).pvalue)
    assert row.p_wilcoxon == pytest.approx(stats.wilcoxon(both, one).pvalue)
    assert row.difference == pytest.approx((both - one).mean())
    # With as many queries, the interval of the randomization test is close to that of Student's t.
    assert (row.low, row.high) == pytest.approx(stats.ttest_rel(both, one).confidence_interval(0.95), abs=0.001)
    assert (row.wins, row.losses) == ((both > one).sum(), (both < one).sum())
    assert row.wins + row.ties + row.losses == TEST.n_queries


def test_every_ranking_is_compared_with_the_baseline() -> None:
    comparison = sr.compare(TEST, SYSTEMS, ["ndcg@10", "map"], baseline="two")
    assert [(row.metric, row.system, row.baseline) for row in comparison] == [
        (metric, system, "two") for metric in ("ndcg@10", "map") for system in ("one", "both")
    ]
    assert str(comparison).endswith(
        "p-values are corrected for 2 comparisons on each metric (Holm), but not for the number of metrics."
    )


def brute_force_holm(p_values: list[float]) -> list[float]:
    """The smallest level at which Holm's step-down procedure rejects each hypothesis, by trying every level."""
    n = len(p_values)
    levels = sorted({min(1.0, p * factor) for p in p_values for factor in range(1, n + 1)} | {1.0})
    adjusted = [1.0] * n
    for level in reversed(levels):
        for step, at in enumerate(sorted(range(n), key=p_values.__getitem__)):
            if p_values[at] * (n - step) > level:
                break
            adjusted[at] = level
    return adjusted


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_the_step_down_procedure(p_values: list[float]) -> None:
    np.testing.assert_array_equal(holm(np.array(p_values)), brute_force_holm(p_values))


def test_rankings_are_corrected_on_each_metric_alone() -> None:
    rows = list(sr.compare(TEST, SYSTEMS, ["ndcg@10", "map"], baseline="two"))
    for name in ("p_t", "p_wilcoxon", "p_randomization"):
        for metric in ("ndcg@10", "map"):
            pairs = [{"two": SYSTEMS["two"], other: SYSTEMS[other]} for other in ("one", "both")]
            alone = [getattr(row, name) for pair in pairs for row in sr.compare(TEST, pair, metric)]
            found = [getattr(row, name) for row in rows if row.metric == metric]
            assert found == pytest.approx(brute_force_holm(alone))


def test_the_p_value_of_a_pair_does_not_depend_on_other_metrics() -> None:
    pair = {"one": SYSTEMS["one"], "both": SYSTEMS["both"]}
    (alone,) = sr.compare(TEST, pair, "ndcg@10")
    among = sr.compare(TEST, pair, ["map", "p@5", "ndcg@10", "mrr"])
    assert alone in among.differences
    assert "test, p " in alone.sentence()
    assert str(among).endswith("p-values are not corrected for the number of metrics.")
    assert sr.compare(TEST, pair, "ndcg@10").correction() == ""


def test_the_same_seed_gives_the_same_p_values() -> None:
    one, two = (sr.compare(TEST, SYSTEMS, "map", random_state=7).differences for _ in range(2))
    assert one == two


@settings(max_examples=25)
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=9))
def test_randomization_test_tries_all_signs_of_few_queries(differences: list[int]) -> None:
    values = np.array(differences, dtype=float)
    theirs = stats.permutation_test(
        (values,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    assert randomize(values, 10_000, 0).p_value == pytest.approx(theirs.pvalue)


def test_randomization_test_draws_signs_for_many_queries() -> None:
    differences = np.random.default_rng(0).normal(0.1, 1, 300)
    assert randomize(differences, 20_000, 0).p_value == pytest.approx(t_test(differences), abs=0.02)
    assert randomize(differences + 5, 1000, 0).p_value == 1 / 1001


def test_random_halves_have_the_mean_and_the_spread_of_halves() -> None:
    differences = np.random.default_rng(1).normal(size=2101)
    sums = _random_subset_sums(differences, 20_000, np.random.default_rng(2))
    deviation = np.sqrt((differences**2).sum()) / 2
    assert sums.mean() == pytest.approx(differences.sum() / 2, abs=4 * deviation / np.sqrt(20_000))
    assert sums.std() == pytest.approx(deviation, rel=0.02)


def test_random_halves_choose_every_difference_half_of_the_time() -> None:
    powers = np.exp2(np.arange(13.0))
    sums = _random_subset_sums(powers, 4000, np.random.default_rng(0))
    assert set(sums.tolist()) <= set(range(2**13))
    chosen = (sums.astype(int)[:, None] >> np.arange(13)) & 1
    np.testing.assert_allclose(chosen.mean(axis=0), 0.5, atol=0.04)
    np.testing.assert_allclose(np.corrcoef(chosen.T), np.eye(13), atol=0.08)


def test_no_difference_at_all() -> None:
    zeros = np.zeros(40)
    assert t_test(zeros) == wilcoxon_test(zeros) == randomize(zeros, 1000, 0).p_value == 1
    (row,) = sr.compare(TEST, {"one": SYSTEMS["one"], "twin": SYSTEMS["one"]}, "map")
    assert row.sentence() == "map: twin and one are the same on every query."


def test_no_spread_is_nothing_for_a_t_test_to_go_by() -> None:
    assert np.isnan(t_test(np.full(5, 0.1)))
    assert np.isnan(t_test(np.array([0.3, 0.1 + 0.2])))
    data = sr.Dataset(np.zeros((4, 1)), [1, 0, 1, 0], qid=[1, 1, 2, 2])
    comparison = sr.compare(data, {"bad": [0, 1, 0, 1], "good": [1, 0, 1, 0]}, "map")
    (row,) = comparison
    assert np.isnan(row.p_t)
    assert row.p_randomization == 0.5  # two of the four sign combinations give a mean at least as large
    assert row.sentence().startswith("map: good looks better than bad by 0.5000")
    assert json.loads(comparison.to_json())["differences"][0]["p_t"] is None


def test_nothing_to_compare_shows_dashes() -> None:
    data = sr.Dataset(np.zeros((4, 1)), [0, 0, 0, 0], qid=[1, 1, 2, 2])
    comparison = sr.compare(data, {"a": [0, 1, 0, 1], "b": [1, 0, 1, 0]}, "map(empty=skip)")
    table = str(comparison).split("\n\n")[0]
    assert " ".join(table.splitlines()[-1].split()) == "map(empty=skip) b - a - - - to - 0/0/0 - - -"


def test_metrics_may_come_from_a_generator() -> None:
    comparison = sr.compare(TEST, SYSTEMS, (name for name in ("ndcg@10", "map")))
    assert [row.metric for row in comparison] == ["ndcg@10", "ndcg@10", "map", "map"]


def test_holm_counts_a_comparison_that_has_no_p_value() -> None:
    np.testing.assert_allclose(holm(np.array([np.nan, 0.01, 0.02])), [np.nan, 0.03, 0.04])


def test_holm_by_hand() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.9, 0.8])), [1, 1])


def test_sentences() -> None:
    noise = np.random.default_rng(0).normal(size=len(TEST))
    rows = {row.system: row for row in sr.compare(TEST, {"noise": noise, "label": TEST.labels, **SYSTEMS}, "ndcg@10")}
    assert rows["label"].sentence().startswith("ndcg@10: label is better than noise by 0.")
    assert rows["label"].sentence().endswith("randomization test, corrected p = .0004.")
    (worse,) = sr.compare(TEST, {"label": TEST.labels, "noise": noise}, "ndcg@10")
    assert worse.sentence().startswith("ndcg@10: noise is worse than label by 0.")
    (luck,) = sr.compare(TEST, {"noise": noise, "more": np.roll(noise, 1)}, "ndcg@10")
    assert "may be luck" in luck.sentence()
    (few,) = sr.compare(TEST.subset([0]), {"a": np.arange(20), "b": -np.arange(20)}, "map")
    assert few.sentence() == "map: too few queries to compare b with a."


def test_queries_left_out_of_one_are_left_out_of_both() -> None:
    data = sr.Dataset(np.zeros((4, 1)), [1, 0, 0, 0], qid=[1, 1, 2, 2])
    (row,) = sr.compare(data, {"a": [1, 0, 1, 0], "b": [0, 1, 1, 0]}, "map(empty=skip)")
    assert (row.wins, row.ties, row.losses) == (0, 0, 1)


def test_frame_and_json() -> None:
    comparison = sr.compare(TEST, SYSTEMS, "map")
    assert comparison.to_frame().shape == (2, 15)
    assert json.loads(comparison.to_json())["differences"][0]["sentence"].startswith("map: ")


def test_bad_requests() -> None:
    with pytest.raises(sr.errors.DataError, match=r"systems must be a dict of scores by name, .* found list"):
        sr.compare(TEST, list(SYSTEMS.values()), "map")  # type: ignore[call-overload]
    with pytest.raises(sr.errors.DataError, match=r"the name of a ranking must be text, found 1 \(int\)"):
        sr.compare(TEST, {1: SYSTEMS["one"], 2: SYSTEMS["two"]}, "map")  # type: ignore[dict-item]
    for bad in (0, -5, 2.5, True):
        with pytest.raises(sr.errors.DataError, match="n_resamples must be a whole number from 1, found"):
            sr.compare(TEST, SYSTEMS, "map", n_resamples=bad)  # type: ignore[arg-type]
    with pytest.raises(sr.errors.DataError, match="random_state must be a whole number from 0, found -1"):
        sr.compare(TEST, SYSTEMS, "map", random_state=-1)
    with pytest.raises(sr.errors.DataError, match="a comparison needs at least two rankings, found 1"):
        sr.compare(TEST, {"one": SYSTEMS["one"]}, "map")
    with pytest.raises(sr.errors.DataError, match="there is no ranking 'ones' to compare with; did you mean 'one'"):
        sr.compare(TEST, SYSTEMS, "map", baseline="ones")


def test_the_sums_of_all_subsets_of_eight_are_those_of_the_bits() -> None:
    eights = np.random.default_rng(0).normal(size=(3, 8))
    table = _subset_sums(eights)
    assert table.shape == (3, 256)
    for byte in range(256):
        chosen = [column for column, bit in enumerate(f"{byte:08b}") if bit == "1"]
        np.testing.assert_allclose(table[:, byte], eights[:, chosen].sum(axis=1), atol=1e-14)
