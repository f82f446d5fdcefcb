"""Preferences of sessions are those of a loop over all pairs, and RankNet learns from them."""

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.clicks.click_worlds import judged


def naive_preferences(log: sr.clicks.ClickLog, rule: str) -> dict[tuple[int, int], int]:
    """How often each document was preferred to each other."""
    counts: dict[tuple[int, int], int] = {}
    for start, stop in zip(log.indptr[:-1], log.indptr[1:], strict=True):
        clicked = [row for row in range(start, stop) if log.click[row] > 0]
        for winner in clicked if rule == "skip_above" else clicked[-1:]:
            for loser in range(start, winner):
                if log.click[loser] == 0:
                    pair = int(log.document[winner]), int(log.document[loser])
                    counts[pair] = counts.get(pair, 0) + 1
    return counts


@pytest.mark.parametrize("rule", ["skip_above", "last_click"])
def test_probabilities_are_those_that_counts_give(rule: Any) -> None:
    data = judged(3)
    log, _ = sr.datasets.clicks(data, data.column("match"), 300, moves=1, bias=0.3, random_state=0)
    wins = naive_preferences(log, rule)
    found = sr.clicks.preferences(log, rule, prior=0.5)
    assert found.pairs is not None
    assert found.docid is not None
    name = {docid: number for number, docid in enumerate(log.pair_docid.tolist())}
    seen = set()
    for above, below, probability, weight in zip(*(each.tolist() for each in found.pairs), strict=True):
        assert weight == 1
        first, second = name[found.docid[above]], name[found.docid[below]]
        won, lost = wins.get((first, second), 0), wins.get((second, first), 0)
        assert probability == pytest.approx((won + 0.5) / (won + lost + 1))
        assert probability >= 0.5
        seen.add(frozenset((first, second)))
    assert seen == {frozenset(pair) for pair in wins}
    assert len(seen) == len(found.pairs.above)


def test_ranknet_learns_from_preferences() -> None:
    (train, test) = sr.datasets.random_search((60, 60), n_documents=12, random_state=0)
    production = train.column("match")
    log, _ = sr.datasets.clicks(train, production, 20_000, moves=2, bias=0.3, random_state=0)
    ranker = sr.RankNet(hidden=(), n_epochs=20, random_state=0).fit(sr.clicks.preferences(log))
    learned, old = (
        sr.evaluate(test, scores, "ndcg@10")["ndcg@10"].mean for scores in (ranker.predict(test), test.column("match"))
    )
    assert learned > old + 0.03


def test_logs_without_preferences_are_errors() -> None:
    log = sr.clicks.ClickLog(session=[1, 1], qid=[1, 1], docid=[1, 2], position=[1, 2], click=[1, 0], X=np.ones((2, 1)))
    with pytest.raises(sr.errors.DataError, match="no preferences"):
        sr.clicks.preferences(log)
    with pytest.raises(sr.errors.ParameterError, match="no rule 'skip'"):
        sr.clicks.preferences(log, "skip")  # type: ignore[arg-type]
    with pytest.raises(sr.errors.ParameterError, match="prior"):
        sr.clicks.preferences(log, prior=0)
