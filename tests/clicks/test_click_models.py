"""Click models have the likelihood of their definitions, find what people do, and predict what they have not seen."""

from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks.models import browsing_em, cascade_em, cascade_fit, shrinkage
from swaprank.clicks.models.browsing_em import Browsing, count_cells, expected
from swaprank.clicks.models.cascade_em import count_heads, expected_reading, known_likelihood
from swaprank.clicks.models.cascade_fit import Cascade
from swaprank.clicks.models.click_model_names import MODELS, ModelName
from swaprank.clicks.models.shown_pages import pages_of
from swaprank.errors import DataError, ParameterError
from tests.clicks.naive_click_models import CascadePage, browsing_states, cascade_states
from tests.clicks.people import click_log, make_world, scores_of_pairs
from tests.conftest import PROJECT

NAMES: tuple[ModelName, ...] = get_args(ModelName)
YANDEX = PROJECT.parent / "shared" / "data" / "yandex-clicks" / "train.csv.xz"


def small_log(seed: int = 0, n_sessions: int = 60) -> sr.clicks.ClickLog:
    """Pages of one to three of five documents, with any clicks on them."""
    rng = np.random.default_rng(seed)
    rows = [
        (session, session % 2, document, place, float(rng.random() < 0.4))
        for session in range(n_sessions)
        for place, document in enumerate(rng.permutation(5)[: 1 + session % 3], start=1)
    ]
    session, qid, docid, position, click = zip(*rows, strict=True)
    return sr.clicks.ClickLog(session=session, qid=qid, docid=docid, position=position, click=click)


def all_clicks_on(page: list[int]) -> sr.clicks.ClickLog:
    """A page of documents of query 0 with every combination of clicks, one session for each."""
    vectors = list(product((0.0, 1.0), repeat=len(page)))
    return sr.clicks.ClickLog(
        session=np.repeat(np.arange(len(vectors)), len(page)),
        qid=np.zeros(len(vectors) * len(page), int),
        docid=page * len(vectors),
        position=list(range(1, len(page) + 1)) * len(vectors),
        click=np.concatenate(vectors),
    )


def brute_force(model: sr.clicks.ClickModel, page: list[int], clicks: tuple[int, ...]) -> float:
    """The probability of the clicks on a page of query 0, by all hidden states."""
    fitted, kind = model.fitted, MODELS[model.name]
    pair = [int(np.flatnonzero((model.pair_query == 0) & (model.pair_docid == each))[0]) for each in page]
    attraction = [float(fitted.attraction.rate[each]) for each in pair]
    if isinstance(fitted, Browsing):
        examination = []
        for place in range(len(page)):
            last = max((k + 1 for k in range(place) if clicks[k]), default=0)
            at = tuple(
                min(i, n - 1) for i, n in zip((place, last, sum(clicks[:place])), fitted.seen.shape, strict=True)
            )
            examination.append(float(fitted.examination[at]))
        return sum(chance for *_, chance in browsing_states(examination, attraction, clicks))
    after: list[float] = [0.0] * len(page)
    for k in range(len(page)):
        if kind.after_click == "place":
            after[k] = float(fitted.after_click[k])
        elif kind.after_click == "relevance":
            after[k] = float(fitted.after_click @ [1 - attraction[k], attraction[k]])
        elif model.satisfaction is not None:
            after[k] = fitted.patience * (1 - float(model.satisfaction[pair[k]]))
    states = CascadePage(attraction, fitted.patience, after)
    return sum(chance for _, chance in cascade_states(states, clicks))


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_are_those_of_all_hidden_states_and_sum_to_one(name: ModelName) -> None:
    model = sr.clicks.fit_model(small_log(), name)
    page = [3, 0, 4]
    log = all_clicks_on(page)
    chance = model.probabilities(log).reshape(-1, 3)
    clicks = log.click.reshape(-1, 3)
    found = np.where(clicks > 0, chance, 1 - chance).prod(axis=1)
    wanted = [brute_force(model, page, tuple(map(int, each))) for each in clicks]
    # What a cascade calls impossible has a probability of a millionth.
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=2e-6 if name == "cascade" else 0)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert model.evaluate(log).log_likelihood == pytest.approx(np.log(found).sum())


def test_expected_counts_of_a_cascade_are_those_of_all_hidden_states() -> None:
    log = small_log(1)
    pages = pages_of(log, np.arange(1, 4))
    rng = np.random.default_rng(0)
    attraction, after, patience = rng.uniform(0.1, 0.9, log.n_pairs), rng.uniform(0.1, 0.9, log.n_pairs), 0.8
    heads = count_heads(pages, pages.pair, log.n_pairs, log.n_pairs, first_click_only=False)
    found = expected_reading(heads, attraction, after, patience, 1)
    examined, went_on = np.zeros((2, log.n_pairs))
    skips = stays = likelihood = 0.0
    for session in range(log.n_sessions):
        rows = slice(log.indptr[session], log.indptr[session + 1])
        pair, clicks = log.document[rows], log.click[rows].astype(int).tolist()
        page = CascadePage(attraction[pair].tolist(), patience, after[pair].tolist())
        states = list(cascade_states(page, clicks))
        total = sum(chance for _, chance in states)
        likelihood += np.log2(total)
        for n_examined, chance in states:
            share = chance / total
            examined[pair[:n_examined]] += share
            for k in range(min(n_examined, len(pair) - 1)):
                if clicks[k]:
                    went_on[pair[k]] += share * (k + 1 < n_examined)
                else:
                    skips, stays = skips + share, stays + share * (k + 1 < n_examined)
    np.testing.assert_allclose(found.examined, examined)
    np.testing.assert_allclose(found.after_click, went_on)
    np.testing.assert_allclose([found.skipped[0], found.after_skip[0]], [skips, stays])
    assert found.likelihood[0] + known_likelihood(heads, attraction, after, patience) == pytest.approx(likelihood)


def test_expected_counts_of_a_browsing_model_are_those_of_all_hidden_states() -> None:
    log, shape = small_log(2), (3, 4, 4)
    rng = np.random.default_rng(0)
    attraction, examination = rng.uniform(0.1, 0.9, log.n_pairs), rng.uniform(0.1, 0.9, shape)
    cells = count_cells(pages_of(log, np.arange(1, 4)), shape)
    assert cells.shown.sum() == log.n_rows
    assert cells.clicks.sum() == log.click.sum()
    attracted, examined, likelihood = expected(cells, attraction, examination, 1)
    wanted_attracted, wanted_examined, wanted = np.zeros(log.n_pairs), np.zeros(shape), 0.0
    for session in range(log.n_sessions):
        rows = slice(log.indptr[session], log.indptr[session + 1])
        pair, clicks = log.document[rows], log.click[rows].astype(int).tolist()
        last = [max((k + 1 for k in range(place) if clicks[k]), default=0) for place in range(len(clicks))]
        at = [(place, last[place], sum(clicks[:place])) for place in range(len(clicks))]
        states = list(browsing_states([examination[each] for each in at], attraction[pair].tolist(), clicks))
        total = sum(chance for *_, chance in states)
        wanted += np.log2(total)
        for seen, attracts, chance in states:
            for k in range(len(clicks)):
                wanted_attracted[pair[k]] += attracts[k] * chance / total
                wanted_examined[at[k]] += seen[k] * chance / total
    np.testing.assert_allclose(attracted, wanted_attracted)
    np.testing.assert_allclose(examined, wanted_examined)
    assert likelihood == pytest.approx(wanted)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("rate")])
def test_no_round_makes_the_clicks_less_likely(name: ModelName, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without shrinkage, which gives up likelihood for certainty."""
    for strength in ("PAIR_STRENGTH", "_QUERY_STRENGTH", "_CONTEXT_STRENGTH"):
        monkeypatch.setattr(shrinkage, strength, 1e-9)
    likelihoods: list[float] = []

    def plain_rounds(improve: Any, start: Floats, n_shared: int) -> tuple[Floats, int]:
        now = start
        for _ in range(30):
            now, likelihood = improve(now)
            likelihoods.append(likelihood)
        return now, 30

    for module in (browsing_em, cascade_fit):
        monkeypatch.setattr(module, "repeat_rounds", plain_rounds)
    world = make_world(3, n_documents=5, seed=3)
    sr.clicks.fit_model(click_log(world, 200, people="dbn", n_shown=4, seed=3), name)
    assert len(likelihoods) == 30
    assert (np.diff(likelihoods) >= -1e-6).all()
    assert name == "cascade" or likelihoods[-1] > likelihoods[0] + 1


def test_position_based_people_are_found_with_their_intervals() -> None:
    world = make_world(30, seed=1)
    log = click_log(world, 20_000, seed=1)
    model = sr.clicks.fit_model(log, "pbm")
    np.testing.assert_allclose(model.propensities().examination, 1 / np.arange(1, 7), atol=0.03)
    truth = scores_of_pairs(log, world.mean_relevance)
    covered = (model.low <= truth) & (truth <= model.high)
    assert covered.mean() > 0.92
    # The intervals are not simply wide.
    often = model.shown > 300
    assert (model.high - model.low)[often].mean() < 0.2
    assert np.abs(model.relevance - truth)[often].mean() < 0.03


def test_people_of_a_dynamic_bayesian_model_are_found() -> None:
    world = make_world(30, seed=2)
    log = click_log(world, 20_000, people="dbn", stop=0.6, patience=0.85, seed=2)
    model = sr.clicks.fit_model(log, "dbn")
    assert isinstance(model.fitted, Cascade)
    assert model.satisfaction is not None
    assert model.fitted.patience == pytest.approx(0.85, abs=0.02)
    often = model.clicks > 200
    assert model.satisfaction[often].mean() == pytest.approx(0.6, abs=0.03)
    truth = scores_of_pairs(log, world.mean_relevance)
    assert ((model.low <= truth) & (truth <= model.high)).mean() > 0.9
    # Neither position alone nor a stop without impatience explains them.
    comparison = sr.clicks.compare_models(log, models=["pbm", "dcm", "dbn", "sdbn"])
    assert comparison.best == "dbn"
    assert comparison.differences[0] == (0.0, 0.0, 0.0)


def test_cascade_and_browsing_people_are_found() -> None:
    world = make_world(30, seed=3)
    log = click_log(world, 10_000, people="cascade", seed=3)
    model = sr.clicks.fit_model(log, "cascade")
    truth = scores_of_pairs(log, world.mean_relevance)
    assert ((model.low <= truth) & (truth <= model.high)).mean() > 0.92
    np.testing.assert_allclose(sr.clicks.fit_model(log, "dcm").fitted.after_click, 0, atol=0.01)  # type: ignore[union-attr]
    log = click_log(world, 20_000, people="browsing", seed=3)
    browsing = sr.clicks.fit_model(log, "ubm")
    assert isinstance(browsing.fitted, Browsing)
    for place in range(6):
        for last in range(place + 1):
            wanted = (1 / (place + 1)) ** 0.4 / np.sqrt(place + 1 - last)
            assert browsing.fitted.examination[place, last, 0] == pytest.approx(wanted, rel=0.2)
    assert sr.clicks.compare_models(log, models=["pbm", "ubm", "dbn"]).best == "ubm"
    mean = browsing.propensities().examination
    assert mean[0] == 1
    assert (np.diff(mean) < 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits_on_any_number_of_threads(name: ModelName, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (browsing_em, cascade_em):
        monkeypatch.setattr(module, "_FEW", 0)
    log = click_log(make_world(12, seed=4), 4000, people="dbn", seed=4)
    one, three = (sr.clicks.fit_model(log, name, n_threads=n) for n in (1, 3))
    assert one.to_json() == three.to_json()
    assert (one.probabilities(log, 1) == three.probabilities(log, 3)).all()
    drawn = [one.simulate(log, 7, n_threads=n).click for n in (1, 3)]
    assert (drawn[0] == drawn[1]).all()


@pytest.mark.parametrize("name", NAMES)
def test_simulated_clicks_are_those_of_the_model(name: ModelName) -> None:
    log = click_log(make_world(10, seed=5), 5000, people="dbn", seed=5)
    model = sr.clicks.fit_model(log, name)
    again = model.simulate(log, random_state=0)
    assert set(np.unique(again.click)) <= {0.0, 1.0}
    score = model.evaluate(again)
    np.testing.assert_allclose(score.clicks, score.expected, atol=5 * np.sqrt(5000 * 0.25))
    # The model knows the log it made: nothing else predicts it better.
    other = sr.clicks.fit_model(again, "rate")
    assert score.bits < other.evaluate(again).bits + 1e-3


pages = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.lists(st.tuples(st.integers(0, 6), st.integers(1, 40), st.sampled_from([0.0, 0.0, 0.25, 1.0])), min_size=1),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25)
@given(pages, st.sampled_from(NAMES))
def test_odd_pages_have_finite_predictions(drawn: Any, name: ModelName) -> None:
    """Pages of any length with gaps, documents shown once, all or nothing clicked."""
    rows: list[tuple[Any, ...]] = []
    for number, (query, shown) in enumerate(drawn):
        documents = {document: place for document, place, _ in shown}
        places = {place: document for document, place in documents.items()}
        clicks = {document: click for document, _, click in shown}
        rows += [(number, query, document, place, clicks[document]) for place, document in places.items()]
    session, qid, docid, position, click = zip(*rows, strict=True)
    log = sr.clicks.ClickLog(session=session, qid=qid, docid=docid, position=position, click=click)
    model = sr.clicks.fit_model(log, name)
    chance = model.probabilities(log)
    assert ((chance > 0) & (chance < 1)).all()
    assert np.isfinite(model.evaluate(log).log_likelihood)
    if MODELS[name].documents:
        assert ((model.low <= model.relevance) & (model.relevance <= model.high)).all()
    assert str(model)


def test_what_was_never_seen_has_the_rate_of_its_query_or_of_all() -> None:
    log = small_log()
    model = sr.clicks.fit_model(log, "ubm")
    other = sr.clicks.ClickLog(
        session=[1, 2, 3], qid=["0", "new", "1"], docid=["new", "0", "3"], position=[1, 1, 50], click=[0, 0, 0]
    )
    chance = model.probabilities(other)
    assert isinstance(model.fitted, Browsing)
    rates, examination = model.fitted.attraction, model.fitted.examination
    # Numbers and texts are the same ids. A place that was never seen is as the last one above.
    pair = int(np.flatnonzero((model.pair_query == 1) & (model.pair_docid == 3))[0])
    np.testing.assert_allclose(chance, [rates.of_query[0], rates.overall, rates.rate[pair] * examination[2, 0, 0]])


def test_a_document_shown_once_is_drawn_towards_its_query() -> None:
    shown: dict[str, Any] = {"session": range(202), "qid": [0] * 202, "position": [1] * 202}
    log = sr.clicks.ClickLog(
        docid=["often"] * 200 + ["once", "one"], click=[1.0] * 150 + [0.0] * 50 + [1.0, 0.0], **shown
    )
    model = sr.clicks.fit_model(log, "rate_by_document")
    often, once, one = model.relevance
    assert often == pytest.approx(0.75, abs=0.01)
    assert 0.5 < one < once < 0.9
    assert model.high[1] - model.low[1] > 5 * (model.high[0] - model.low[0])


def test_a_grade_above_zero_is_a_click() -> None:
    log = small_log()
    graded = log._with(click=log.click * 0.3)
    for name in ("pbm", "dbn"):
        assert sr.clicks.fit_model(graded, name).to_json() == sr.clicks.fit_model(log, name).to_json()


def test_clicks_over_examinations_are_training_data() -> None:
    log = click_log(make_world(10, seed=6), 3000, people="dbn", seed=6, features=True)
    model = sr.clicks.fit_model(log, "dbn")
    data = model.training_data(log)
    assert data.docid is not None
    assert data.n_queries == 10
    # A click has the probability examination x relevance.
    examination = model.probabilities(log) / model.relevance[log.document]
    for document, label in zip(data.docid.tolist(), data.labels.tolist(), strict=True):
        rows = log.pair_docid[log.document] == document
        assert label == pytest.approx(min(log.click[rows].sum() / examination[rows].sum(), 1))
    frame = model.to_frame()
    assert list(frame) == ["qid", "docid", "shown", "clicks", "relevance", "low", "high", "satisfaction"]
    assert frame["shown"].sum() == log.n_rows
    assert frame["clicks"].sum() == (log.click > 0).sum()
    unbiased = sr.clicks.unbiased(log, sr.clicks.fit_model(log, "ubm").propensities())
    assert len(unbiased) == len(data)


def test_what_a_model_does_not_know_is_an_error() -> None:
    log = small_log()
    with pytest.raises(ParameterError, match="depends on the documents above"):
        sr.clicks.fit_model(log, "dbn").propensities()
    with pytest.raises(ParameterError, match="no relevance: all documents are the same"):
        _ = sr.clicks.fit_model(log, "rate_by_place").relevance
    with pytest.raises(ParameterError, match="has no propensities: it has no examination"):
        sr.clicks.fit_model(log, "rate_by_document").propensities()
    with pytest.raises(ParameterError, match="ubm"):
        sr.clicks.fit_model(log, "ubn")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no features"):
        sr.clicks.fit_model(log, "pbm").training_data(log)
    with pytest.raises(DataError, match="takes 10 sessions; found 1"):
        sr.clicks.compare_models(log.subset([0]))
    with pytest.raises(ParameterError, match="different names"):
        sr.clicks.compare_models(log, models=["pbm", "pbm"])
    late = sr.clicks.ClickLog(session=[1, 1], qid=[1, 1], docid=[1, 2], position=[2, 3], click=[0, 1])
    with pytest.raises(DataError, match="all positions from 1"):
        sr.clicks.fit_model(late, "pbm").propensities()


def test_a_comparison_has_the_best_first_and_all_places() -> None:
    log = click_log(make_world(10, seed=7), 3000, people="dbn", seed=7)
    comparison = sr.clicks.compare_models(log, models=["rate", "rate_by_place", "dbn"])
    assert [each.model for each in comparison] == ["dbn", "rate_by_place", "rate"]
    frame = comparison.to_frame()
    assert frame["bits"].is_monotonic_increasing
    assert {"perplexity_1", "perplexity_6"} <= set(frame)
    held_out = log.split((0.8, 0.2), random_state=0)
    same = sr.clicks.compare_models(held_out[0], held_out[1], ["rate", "rate_by_place", "dbn"])
    assert same.to_json() == comparison.to_json()
    score = comparison.scores[0]
    by_place = sum(n * bits for n, bits in zip(score.shown, score.bits_by_position, strict=True))
    assert by_place / score.n_rows == pytest.approx(score.bits)
    assert score.perplexity == pytest.approx(2**score.bits)


@pytest.mark.slow
@pytest.mark.skipif(not YANDEX.exists(), reason="the real log is not next to the checkout")
def test_clicks_on_held_out_pages_of_a_real_log_are_predicted() -> None:
    frame = pytest.importorskip("pandas").read_csv(YANDEX)
    log = sr.clicks.ClickLog(
        session=frame["session"],
        qid=frame["qid"],
        docid=frame["docid"],
        position=frame["position"],
        click=(frame["clicks"] > 0).astype(float),
    )
    fitted, held_out = log.split((0.5, 0.5), random_state=0)
    names: list[ModelName] = ["rate_by_place", "pbm", "ubm", "ubm_clicks"]
    bits = {each.model: each.bits for each in sr.clicks.compare_models(fitted, held_out, names)}
    assert bits["rate_by_place"] < 0.51
    assert bits["pbm"] < 0.468
    assert bits["ubm"] < 0.435
    assert bits["ubm_clicks"] < 0.43
