"""The page shows the right numbers for every kind of ranker, and stays well formed for any data."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.rendering.tables import decimals, probability
from tests.reporting.pages import Page, read_page

pytestmark = pytest.mark.slow

TRAIN, VALI, TEST = sr.datasets.random_net(
    (40, 20, 30), n_features=6, n_documents=12, levels=(0.5, 0.3, 0.2), random_state=0
)
SECTIONS = [
    "metrics",
    "learning",
    "queries",
    "lists",
    "features",
    "calibration",
    "distributions",
    "provenance",
]


@pytest.fixture(scope="module")
def forest() -> sr.LambdaMART:
    return sr.LambdaMART(n_trees=8, n_leaves=5, min_docs_in_leaf=5).fit(TRAIN, valid={"vali": VALI})


@pytest.fixture(scope="module")
def made(forest: sr.LambdaMART) -> sr.reporting.Report:
    return sr.report(forest, TEST, train=TRAIN)


def check(html: str) -> Page:
    """Check that a page is well formed, complete and self-contained, and that every drawing has a text description."""
    page = read_page(html)
    assert [anchor for anchor in page.ids if anchor in SECTIONS] == SECTIONS
    for tag, attributes in page.elements:
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
        if attributes.get("role") == "img":
            assert attributes["aria-label"], tag
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert "https://" not in html
    assert "nan%" not in html
    assert "inf%" not in html
    levels = [int(heading[1]) for heading in page.headings]
    assert levels[0] == 1
    assert all(below <= above + 1 for above, below in zip(levels[:-1], levels[1:], strict=True))
    return page


def test_metrics_are_those_of_evaluate_and_compare(made: sr.reporting.Report, forest: sr.LambdaMART) -> None:
    page, scores = check(made.html), forest.predict(TEST)
    names = ["ndcg@10", "map", "mrr", "err"]
    evaluation = sr.evaluate(TEST, scores, names)
    (system,) = {name for name in made.comparison.evaluations if name != "LambdaMART"}
    baseline = made.comparison.evaluations[system]
    compared = sr.compare(TEST, {system: TEST.column(system.split()[1].rstrip(",")), "LambdaMART": scores}, names)
    rows = page.tables[0][1:]
    assert [row[0] for row in rows] == names
    for row, name, difference in zip(rows, names, compared, strict=True):
        assert row[1] == decimals(evaluation[name].mean)
        low, high = evaluation[name].interval
        assert row[2] == f"{decimals(low)} to {decimals(high)}"
        assert row[3] == decimals(baseline[name].mean) == decimals(difference.baseline_mean)
        assert row[4] == decimals(difference.difference, signed=True)
        assert row[5] == f"{decimals(difference.low, signed=True)} to {decimals(difference.high, signed=True)}"
        assert row[7] == probability(difference.p_randomization)
    first, headline = compared.differences[0], page.text.partition("Learning curves")[0]
    assert f"{first.wins} / {first.ties} / {first.losses}" in headline
    assert decimals(first.difference, signed=True) in headline
    assert f"p = {probability(first.p_randomization)}, randomization test" in headline
    assert f"LambdaMART is better than {system}." in headline


def test_a_pair_has_the_p_value_of_compare(made: sr.reporting.Report, forest: sr.LambdaMART) -> None:
    """Compared alone on one metric, or in a report with four: the same number, in the table and in the sentence."""
    baseline, rows = made.comparison.differences[0].baseline, read_page(made.html).tables[0][1:]
    column = TEST.column(baseline.split()[1].rstrip(",")) * (-1 if "smallest" in baseline else 1)
    for reported, row in zip(made.comparison, rows, strict=True):
        (alone,) = sr.compare(TEST, {baseline: column, "LambdaMART": forest.predict(TEST)}, reported.metric)
        assert reported.p_randomization == alone.p_randomization
        assert row[7] == probability(alone.p_randomization)
        assert reported.sentence() == alone.sentence()
    assert "-values are not corrected for the number of metrics." in read_page(made.html).text


@pytest.mark.parametrize(("empty", "counted"), [(0, "counts them as 0"), (1, "counts them as 1"), ("skip", "left out")])
def test_queries_without_a_relevant_document_are_told_beside_the_headline(
    forest: sr.LambdaMART, empty: int | str, counted: str
) -> None:
    labels = np.array(TEST.labels)
    for query in (0, 7, 9):
        labels[TEST.rows(query)] = 0
    data = sr.Dataset(TEST.features, labels, qid=np.repeat(TEST.qids, 12))
    made = sr.report(forest, data, metrics=[f"map(empty={empty})", "err"])
    headline = read_page(made.html).text.partition("Learning curves")[0]
    assert "3 of 30 queries are without a relevant document: " in headline
    assert counted in headline
    rest = data.subset([query for query in range(30) if query not in (0, 7, 9)])
    mean = sr.evaluate(rest, forest.predict(rest), "map").results[0].mean
    assert (f"Over the others, the mean is {decimals(mean)} for LambdaMART" in headline) == (empty != "skip")


def test_every_query_has_a_relevant_document(made: sr.reporting.Report) -> None:
    assert "without a relevant document: " not in read_page(made.html).text


def test_segments_are_those_of_compare(forest: sr.LambdaMART, tmp_path: Path) -> None:
    devices = np.repeat(np.array(["phone", "<b>web</b>"])[np.arange(30) % 2], 12)
    data = TEST.replace(columns={"device": devices, "old": TEST.column(0)})
    made = sr.report(forest, data, baseline_feature="old", metrics=["ndcg@10", "map"], by="device")
    page = read_page(made.html)
    (rows,) = (table[1:] for table in page.tables if table[0][0] == "Segment")
    expected = sr.compare(data, {"column old": "old", "LambdaMART": forest}, ["ndcg@10", "map"], by="device")
    assert [row[0] for row in rows] == ["all queries30 queries", "<b>web</b>15 queries", "phone15 queries"]
    for row, name in zip(rows[1:], expected, strict=True):
        difference = expected[name][0]
        assert row[1] == decimals(difference.mean)
        assert row[4] == decimals(difference.difference, signed=True)
        assert row[5] == f"{decimals(difference.low, signed=True)} to {decimals(difference.high, signed=True)}"
        assert row[7] == probability(difference.p_randomization)
    for sentence in expected.sentences():
        assert sentence in page.text
    assert made.comparison.to_dict() == expected.whole.to_dict()
    table, model = tmp_path / "test.parquet", tmp_path / "model.swaprank"
    frame = pd.DataFrame(data.features, columns=list(data.feature_names))
    frame.assign(label=data.labels, qid=np.repeat(data.qids, 12), device=devices).to_parquet(table)
    forest.save(model)
    of_files = sr.report(model, table, metrics="map", by="device")
    assert 'id="segments"' in of_files.html
    with pytest.raises(sr.errors.DataError, match="no side column or feature 'devise'; did you mean 'device'"):
        sr.report(forest, data, by="devise")


def test_the_best_feature_is_the_baseline(made: sr.reporting.Report) -> None:
    best = max(
        (sr.evaluate(TEST, sign * TEST.column(f), "ndcg@10")["ndcg@10"].mean, f"{f + 1}", sign)
        for f in range(TEST.n_features)
        for sign in (1, -1)
    )
    name = f"feature {best[1]}" + (", smallest first" if best[2] < 0 else "")
    assert name in made.comparison.evaluations
    assert made.comparison.evaluations[name]["ndcg@10"].mean == best[0]


def test_queries_that_gain_and_lose_most_are_named(made: sr.reporting.Report) -> None:
    page = read_page(made.html)
    ours, theirs = (made.comparison.evaluations[name]["ndcg@10"].per_query for name in made.comparison.evaluations)
    if next(iter(made.comparison.evaluations)) != "LambdaMART":
        ours, theirs = theirs, ours
    change = ours - theirs
    gains, losses = (table for table in page.tables if table[0][:2] == ["Query", "Baseline"])
    assert gains[1][0] == str(TEST.qids[change.argmax()])
    assert gains[1][3] == decimals(change.max(), signed=True)
    assert losses[1][0] == str(TEST.qids[change.argmin()])
    assert len(gains) <= 9


def test_chosen_queries_are_shown_in_rank_order(forest: sr.LambdaMART) -> None:
    qid = TEST.qids[3]
    page = check(sr.report(forest, TEST, qids=[qid]).html)
    (table,) = (table for table in page.tables if table[0][:2] == ["#", "Label"])
    explained = sr.explain_query(forest, TEST, qid, "ndcg@10")
    shown = table[1:13]
    assert [row[0] for row in shown] == [str(rank) for rank in range(1, 13)]
    assert [row[2] for row in shown] == [str(row) for row in explained.rows]
    assert [row[1] for row in shown] == [f"{label:g}" for label in explained.labels]
    assert [float(row[4]) for row in shown] == pytest.approx(explained.forces, abs=0.0006)
    with pytest.raises(sr.errors.DataError, match="there is no query 'nobody'"):
        sr.report(forest, TEST, qids=["nobody"])


def test_a_ranker_or_a_feature_may_be_the_baseline(forest: sr.LambdaMART, tmp_path: Path) -> None:
    other = sr.LinearRegressionRanker(regularization=0.1).fit(TRAIN)
    made = sr.report(forest, TEST, baseline=other, metrics="map")
    assert list(made.comparison.evaluations) == ["LinearRegressionRanker", "LambdaMART"]
    same = sr.report(forest, TEST, baseline=forest, metrics="map")
    assert "LambdaMART (baseline)" in same.comparison.evaluations
    assert "the same on every query" in check(same.html).text
    down = sr.report(forest, TEST, baseline_feature="-2", metrics="map")
    expected = sr.evaluate(TEST, -TEST.column(1), "map")["map"].mean
    assert down.comparison.evaluations["feature 2, smallest first"]["map"].mean == expected
    for wrong, message in (
        ({"baseline_feature": "77"}, "there is no column or feature '77' to rank by"),
        ({"baseline_feature": "1", "baseline": other}, "not both"),
        ({"baseline": 3}, "expected a fitted ranker or a model file, found int"),
    ):
        with pytest.raises(sr.errors.SwaprankError, match=message):
            sr.report(forest, TEST, **wrong)


def test_the_convention_is_that_of_evaluate(forest: sr.LambdaMART) -> None:
    made = sr.report(forest, TEST, metrics=["ndcg@5", "map"], convention="letor")
    expected = sr.evaluate(TEST, forest.predict(TEST), ["ndcg@5", "map"], convention="letor")
    assert [result.mean for result in made.evaluation] == [result.mean for result in expected]
    assert "ndcg@5(discount=letor, short=zero, ties=input)" in check(made.html).text


RANKERS: dict[str, Any] = {
    "mart": lambda: sr.MART(n_trees=1).fit(TRAIN),
    "linear": lambda: sr.LinearRegressionRanker().fit(TRAIN, valid=VALI),
    "ranknet": lambda: sr.RankNet(hidden=(3,), n_epochs=2).fit(TRAIN, valid=VALI),
    "lambdarank": lambda: sr.LambdaRank(hidden=(), n_epochs=2, sigma=2.0).fit(TRAIN),
    "smoothrank": lambda: sr.SmoothRank(annealing=(1.0,), max_iterations=3).fit(TRAIN),
    "constant": lambda: sr.LambdaMART(n_trees=0).fit(TRAIN),
    "combination": lambda: sr.combine(sr.MART(n_trees=3).fit(TRAIN), RANKERS["linear"](), VALI),
    "own metric": lambda: sr.LambdaMART(
        sr.metrics.CumulativeMetric(name="first", gain=lambda label: label, discount=lambda rank: 1.0 / rank), n_trees=2
    ).fit(TRAIN),
}


@pytest.mark.parametrize("kind", RANKERS)
def test_every_kind_of_ranker_has_a_page(kind: str, tmp_path: Path) -> None:
    ranker = RANKERS[kind]()
    page = check(sr.report(ranker, TEST, train=TRAIN).html)
    assert type(ranker).__name__ in page.text
    ranker.save(tmp_path / "model.swaprank")
    again = check(sr.report(tmp_path / "model.swaprank", TEST).html)
    assert f"swaprank {sr.__version__}" in again.text
    if kind == "combination":
        assert "Parameters of ranker 2, LinearRegressionRanker" in page.text
    if kind == "ranknet":
        assert "as the probability that i is better than j" in page.text


def some_rows(n_rows: int = 24, **more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {"X": rng.normal(size=(n_rows, 3)), "y": rng.integers(0, 3, n_rows), "qid": np.arange(n_rows) // 6, **more}


NAN = np.where(np.random.default_rng(0).random((24, 3)) < 0.4, np.nan, some_rows()["X"])
ODD_DATA: dict[str, dict[str, Any]] = {
    "one query": some_rows(qid=np.zeros(24)),
    "one document": some_rows(1),
    "one document a query": some_rows(qid=np.arange(24)),
    "all labels zero": some_rows(y=np.zeros(24)),
    "real labels": some_rows(y=np.random.default_rng(1).random(24)),
    "negative labels": some_rows(y=np.random.default_rng(1).normal(size=24)),
    "huge labels": some_rows(y=np.random.default_rng(1).random(24) * 1e6),
    "weights": some_rows(sample_weight=np.arange(24)),
    "base scores": some_rows(base_score=np.arange(24) / 10),
    "missing values": some_rows(X=NAN),
    "a feature that is never there": some_rows(X=np.column_stack((NAN[:, :2], np.full(24, np.nan)))),
    "constant features": some_rows(X=np.ones((24, 3))),
    "scattered rows": some_rows(qid=np.arange(24) % 4),
    "huge features": some_rows(X=some_rows()["X"] * 1e30),
}


NOTHING_TO_LEARN = ("one document", "one document a query", "all labels zero", "negative labels", "huge labels")
"""Data that LambdaMART refuses, or warns of."""


@pytest.mark.parametrize("kind", ODD_DATA)
@pytest.mark.parametrize("learner", ["forest", "linear"])
def test_odd_data_has_a_page(kind: str, learner: str) -> None:
    data = sr.Dataset(**ODD_DATA[kind])
    usual = sr.Dataset(**some_rows())
    ranker: Any = (
        sr.LambdaMART(n_trees=3, min_docs_in_leaf=2).fit(usual if kind in NOTHING_TO_LEARN else data)
        if learner == "forest"
        else sr.LinearRegressionRanker(regularization=1.0).fit(usual)
    )
    warned = (
        pytest.warns(sr.errors.LabelWarning, match="Add a number to all labels")
        if kind == "negative labels"
        else nullcontext()
    )
    with warned:
        made = sr.report(ranker, data, train=data)
        expected = sr.evaluate(data, ranker.predict(data), [result.metric for result in made.evaluation])
    page = check(made.html)
    for ours, theirs in zip(made.evaluation, expected, strict=True):
        np.testing.assert_array_equal(ours.per_query, theirs.per_query)
    if kind == "all labels zero":
        assert "No query has documents with different labels." in page.text
    if kind in ("one query", "one document"):
        assert "There are too few queries to compare" in page.text


NASTY = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</title></style></svg>",
    "&amp;&#0;&bogus;",
    "\u202eevil\u2066",
    "a" * 500,
    "--> <!--",
    "]]>",
    "名前 π é",
    "tab\tnew\nline",
]


def nasty_report(names: list[str], qids: list[str], docids: list[str], title: str | None = None) -> sr.reporting.Report:
    rng = np.random.default_rng(0)
    n = 4 * len(qids)
    data = sr.Dataset(
        rng.normal(size=(n, len(names))),
        rng.integers(0, 3, n),
        qid=np.repeat(np.array(qids, dtype=object), 4),
        docid=[docids[at % len(docids)] for at in range(n)],
        feature_names=names,
    )
    ranker = sr.LinearRegressionRanker(regularization=0.1).fit(data, valid={names[0]: data})
    return sr.report(ranker, data, title=title)


def test_nasty_names_break_nothing() -> None:
    page = check(nasty_report(NASTY, NASTY, NASTY, NASTY[0]).html)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert [tag for tag, _ in page.elements].count("img") == 0
    assert NASTY[0] in page.text
    assert NASTY[3].replace("\0", "\ufffd") in page.text
    assert "\u202e" not in page.text


ANY_NAME = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30).filter(
    lambda name: name.strip() == name
)


@settings(max_examples=15)
@given(st.lists(ANY_NAME, min_size=2, max_size=4, unique=True), ANY_NAME)
def test_any_names_leave_the_page_well_formed(names: list[str], title: str) -> None:
    page = check(nasty_report(names, names, names, title).html)
    usual = check(nasty_report([str(at) for at in range(len(names))], names, names).html)
    assert [tag for tag, _ in page.elements].count("script") == [tag for tag, _ in usual.elements].count("script")


def test_large_data_makes_no_large_page() -> None:
    (data,) = sr.datasets.random_net((4000,), n_features=300, n_documents=10, random_state=1)
    ranker = sr.LambdaMART(n_trees=3).fit(data.subset(slice(0, 50)))
    history = {f"set{at}": {"ndcg@10": np.linspace(0, 1, 5000).tolist()} for at in range(5)}
    ranker.learned_ = replace(ranker.learned_, history=history)
    made = sr.report(ranker, data)
    check(made.html)
    assert len(made.html.encode()) < 1_500_000


def test_nothing_is_half_written(forest: sr.LambdaMART, tmp_path: Path, made: sr.reporting.Report) -> None:
    target = tmp_path / "report.html"
    with pytest.raises(sr.errors.DataError, match="there is no folder"):
        sr.report(forest, TEST, tmp_path / "nowhere" / "report.html")
    with pytest.raises(sr.errors.DataError, match="there is no query"):
        sr.report(forest, TEST, target, qids=["none"])
    assert list(tmp_path.iterdir()) == []
    made.save(target)
    assert target.read_text("utf-8") == made.html
    assert list(tmp_path.iterdir()) == [target]


def test_certificates_are_made_when_asked_for_and_only_then(forest: sr.LambdaMART, made: sr.reporting.Report) -> None:
    assert made.certificate is None
    assert "ertif" not in read_page(made.html).text
    expected, asked = sr.certify(forest, TRAIN), sr.report(forest, TEST, train=TRAIN, certify=True)
    assert asked.certificate is not None
    assert asked.certificate.n_rising == expected.n_rising
    page = read_page(asked.html)
    assert expected.verdict() in page.text
    assert page.ids.index("certificate") == page.ids.index("provenance") - 2  # the title of a section has an id, too
    given_one = sr.report(forest, TEST, certify=expected)
    assert given_one.certificate is expected
    on_test = sr.report(forest, TEST, certify=True).certificate
    assert on_test is not None
    assert on_test.n_queries == TEST.n_queries
    with pytest.raises(sr.errors.ParameterError):
        sr.report(sr.combine(forest, forest, VALI), TEST, certify=True)


def test_progress_tells_every_step(forest: sr.LambdaMART) -> None:
    calls: list[tuple[str, int, int]] = []
    sr.report(forest, TEST, progress=lambda *step: calls.append(step))
    assert [done for _, done, _ in calls] == list(range(10))
    assert {total for *_, total in calls} == {10}
    calls.clear()
    sr.report(forest, TEST, certify=True, progress=lambda *step: calls.append(step))
    assert [step for step, *_ in calls][-2:] == ["certifying", "provenance"]
    assert {total for *_, total in calls} == {11}


def test_bad_input_is_named(forest: sr.LambdaMART) -> None:
    (narrow,) = sr.datasets.random_net((5,), n_features=2, random_state=0)
    with pytest.raises(
        sr.errors.DataError, match="the data has 2 features, but LambdaMART is expecting 6 features as input"
    ):
        sr.report(forest, narrow)
    with pytest.raises(sr.errors.DataError, match="expected a Dataset or a file, found list"):
        sr.report(forest, [[1.0]])  # type: ignore[arg-type]
    with pytest.raises(sr.errors.MetricError, match="ndgc"):
        sr.report(forest, TEST, metrics="ndgc")


def test_a_notebook_shows_the_page(made: sr.reporting.Report) -> None:
    frame = made._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    read_page(frame)


def test_the_baseline_may_have_other_features() -> None:
    (data,) = sr.datasets.random_net((20,), n_features=4, n_documents=8, random_state=0)
    qid = np.repeat(data.qids, np.diff(data.indptr))

    def named(columns: list[int]) -> sr.Dataset:
        return sr.Dataset(data.features[:, columns], data.labels, qid=qid, feature_names=[f"f{c}" for c in columns])

    ranker, other = sr.MART(n_trees=3).fit(named([0, 1])), sr.MART(n_trees=3).fit(named([3, 1, 2]))
    made = sr.report(ranker, named([0, 1, 2, 3]), metrics="map", baseline=other)
    assert (
        made.comparison.differences[0].baseline_mean
        == sr.evaluate(data, other.predict(data.features[:, [3, 1, 2]]), "map").results[0].mean
    )
