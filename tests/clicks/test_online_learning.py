"""Online learning: it comes near a ranker that knows the judgements, stops and goes on, and fails with advice."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.clicks.experiments.online_learning import _people
from swaprank.clicks.experiments.online_people import simulate_page
from swaprank.linear.online_kernels import PAGE_DRAWS, random_fraction
from tests.clicks.people import _clicks, make_world

PEOPLE = ("position", "cascade", "dbn")


@cache
def documents() -> tuple[sr.Dataset, sr.Dataset]:
    train, test = sr.datasets.random_search((200, 200), n_documents=20, random_state=3)
    return train, test


def learned(method: Any, people: Any, n_sessions: int, seed: int = 0) -> float:
    train, test = documents()
    ranker = sr.clicks.OnlineRanker(method=method, random_state=seed)
    return sr.clicks.learn_online(ranker, train, n_sessions, test=test, model=people).values[-1]


def test_it_comes_near_a_linear_ranker_with_judgements() -> None:
    train, test = documents()
    judged = sr.LinearRegressionRanker("ndcg@10").fit(train).score(test)
    for people in PEOPLE:
        assert learned("pdgd", people, 20_000) > judged - 0.03


def test_pairs_learn_faster_than_duels() -> None:
    for people in PEOPLE:
        pairs, duels = (
            np.mean([learned(method, people, 1000, seed) for seed in range(4)]) for method in ("pdgd", "dbgd")
        )
        assert pairs > duels + 0.02
        assert duels > learned("dbgd", people, 1) + 0.05, "duels learn, too"


@pytest.mark.parametrize("method", ["pdgd", "dbgd"])
def test_page_by_page_is_the_simulation(method: Any, tmp_path: Path) -> None:
    """The same pages with `show` and `clicked`, and in the middle a new process that loads what was saved."""
    train, test = documents()
    whole = sr.clicks.learn_online(sr.clicks.OnlineRanker(method=method, random_state=4), train, 60, test=test)
    people = _people(train, "position", 10, 1.0, 0.1, 0.9)
    learner: Any = sr.clicks.OnlineRanker(method=method, random_state=4).start(train)
    for number in range(60):
        query = int(random_fraction(4, number, PAGE_DRAWS - 1) * train.n_queries)
        rows = train.rows(query)
        page = learner.show(train.features[rows])
        click = np.empty(len(page.rows))
        simulate_page(people, train.indptr[query], np.array(page.rows), 4, number, click)
        learner.clicked(page, train.features[rows], click)
        if number == 30:
            learner.save(tmp_path / "learner.swaprank")
            learner = sr.load(tmp_path / "learner.swaprank")
    assert learner.model_.weights.tolist() == whole.ranker.model_.weights.tolist()
    assert learner.n_rounds_ == whole.ranker.n_rounds_ == 60
    assert whole.values[-1] == learner.score(test)


def test_it_starts_from_a_linear_ranker_and_is_one() -> None:
    train, test = documents()
    judged = sr.LinearRegressionRanker("ndcg@10").fit(train)
    start = sr.clicks.OnlineRanker().start(train, judged)
    np.testing.assert_allclose(start.predict(test), judged.predict(test), rtol=1e-9)
    result = sr.clicks.learn_online(sr.clicks.OnlineRanker(), train, 200, test=test, base=judged)
    assert result.values[0] == pytest.approx(judged.score(test))
    assert result.sessions[0] == 0
    assert result.sessions[-1] == 200
    np.testing.assert_allclose(result.ranker.contributions(test).sum(axis=1), result.ranker.predict(test), rtol=1e-9)
    assert list(result.to_frame()["sessions"]) == list(result.sessions)
    assert "clicks per session" in str(result)


def test_missing_values_and_constant_features() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    X[:, 1] = 7
    X[::5, 2] = np.nan
    data = sr.Dataset(X, y, group=[10] * 6)
    ranker = sr.clicks.learn_online(sr.clicks.OnlineRanker(), data, 500).ranker
    assert ranker.model_.weights[1] == 0
    assert ranker.model_.weights[0] > 0
    assert np.isfinite(ranker.predict(data)).all()
    assert len(ranker.show(X[:4]).rows) == 4


def test_the_plot_shows_the_curve() -> None:
    train, test = documents()
    result = sr.clicks.learn_online(sr.clicks.OnlineRanker(), train, 500, test=test)
    (line,) = result.plot().get_lines()
    assert line.get_ydata().tolist() == list(result.values[1:])


def test_errors_say_what_to_do() -> None:
    train, _ = documents()
    learner = sr.clicks.OnlineRanker(n_shown=3).start(train)
    page = learner.show(train.features[:5])
    with pytest.raises(sr.errors.DataError, match="click has 2 values"):
        learner.clicked(page, train.features[:5], [0, 1])
    with pytest.raises(sr.errors.DataError, match="click must be from 0 to 1, found 0 to 2"):
        learner.clicked(page, train.features[:5], [0, 1, 2])
    with pytest.raises(sr.errors.DataError, match="give the same ones"):
        learner.clicked(page._replace(rows=(0, 1, 9)), train.features[:5], [0, 1, 0])
    with pytest.raises(sr.errors.ParameterError, match="learns from clicks, page by page"):
        learner.fit(train)
    with pytest.raises(sr.errors.DataError, match="starts from a linear ranker, found 2 trees"):
        learner.start(train, sr.LambdaMART(n_trees=2).fit(train))
    (other,) = sr.datasets.random_net((10,), n_features=3, random_state=0)
    with pytest.raises(sr.errors.DataError, match="other features than the data"):
        learner.start(train, sr.LinearRegressionRanker(regularization=1.0).fit(other))
    with pytest.raises(sr.errors.ParameterError, match="method"):
        sr.clicks.OnlineRanker(method="bandit").start(train)  # type: ignore[arg-type]
    with pytest.raises(sr.errors.ParameterError, match="click model"):
        sr.clicks.learn_online(learner, train, 10, model="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("people", ["position", "browsing"])
def test_other_people_teach_it_too(people: Any) -> None:
    """Page by page with the people of the second simulator, whose relevance is no function of the features."""
    world = make_world(80, seed=5)
    relevance, features = world.mean_relevance, world.features.astype(np.float32)
    data = sr.Dataset(features.reshape(-1, 4), np.rint(4 * relevance).ravel(), group=[12] * 80)
    learner, rng = sr.clicks.OnlineRanker(n_shown=6).start(data), np.random.default_rng(6)
    for query in rng.integers(80, size=3000):
        page = learner.show(features[query])
        click = _clicks(relevance[query][None, list(page.rows)], people, 1 / np.arange(1.0, 7.0), 0.7, 0.9, rng)[0]
        learner.clicked(page, features[query], click)

    def shown(weights: Any) -> float:
        """The mean relevance of the first three documents."""
        best = np.argsort(-(features @ weights), axis=1)[:, :3]
        return float(np.take_along_axis(relevance, best, axis=1).mean())

    judged = np.linalg.lstsq(
        (features - features.mean(axis=1, keepdims=True)).reshape(-1, 4),
        (relevance - relevance.mean(axis=1, keepdims=True)).ravel(),
        rcond=None,
    )[0]
    # Nothing learned is the mean of all documents; two of the four features are noise.
    gained = (shown(learner.model_.weights) - relevance.mean()) / (shown(judged) - relevance.mean())
    assert gained > 0.9
