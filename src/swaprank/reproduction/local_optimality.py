"""[Donmez2009, section 7.1, Figures 1 to 4 and 6]: trained nets are at a local optimum, random ones are not."""

from __future__ import annotations

from collections.abc import Sequence

from swaprank.datasets import random_polynomial
from swaprank.evaluation.text_tables import text_table
from swaprank.instruments.certificate import Certificate
from swaprank.instruments.certify import certify
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.reproduction.experiment import Chart, Experiment, Outcome, Series, Tell

QUERIES, QUICK_QUERIES = 10_000, 500
FEATURES, LEVELS = 300, (0.6, 0.2, 0.12, 0.06, 0.02)
METRICS = ("ndcg", "ndcg@10", "map(rel=2)", "mrr(rel=2)")
NETS: dict[str, tuple[int, ...]] = {"linear": (), "two layers": (10,)}
EPOCHS = 150
DRAWN = 4


def run(quick: bool, random_state: int, tell: Tell) -> Outcome:
    """The paper's 300 features, 50 documents and 10,000 queries; quick, 500 queries and 90 directions, not 459."""
    (train,) = random_polynomial(
        (QUICK_QUERIES if quick else QUERIES,), n_features=FEATURES, levels=LEVELS, random_state=random_state
    )
    epsilon = 0.05 if quick else 0.01
    rows: list[list[str]] = []
    found: dict[str, Certificate] = {}
    for layers, hidden in NETS.items():
        for metric in METRICS:
            for words, n_epochs in (("random", 0), ("trained", EPOCHS)):
                # Not the data's seed, for a net's weights might then be those that made the labels.
                net = LambdaRank(metric, hidden=hidden, n_epochs=n_epochs, random_state=random_state + 1).fit(train)
                seen = certify(net, train, epsilon=epsilon, n_weights=20, random_state=random_state)
                found[f"{layers}, {metric}, {words}"] = seen
                rows.append(_row(layers, metric, words, seen))
                tell(f"{layers}, {metric}, {words}: {seen.n_rising} of {seen.n_directions} directions rise")
    header = ["net", "measure", "weights", "value", "directions rising", "weights rising alone", "local optimum"]
    last = found[f"two layers, {METRICS[-1]}, trained"]
    text = (
        f"[Donmez2009]: none of 459 directions raises the measure of a trained net, some that of a random one; here on "
        f"{train.n_queries:,} queries, {last.n_directions} directions, steps of 0.1 to 1\n\n"
        f"{text_table(header, rows, left=3)}"
    )
    lines = [
        *_lines("trained", found["two layers, ndcg, trained"]),
        *_lines("random", found["two layers, ndcg, random"]),
    ]
    return Outcome(text, Chart("NDCG of two-layer nets along random directions", "step", "NDCG", lines))


def _row(layers: str, metric: str, words: str, seen: Certificate) -> list[str]:
    rising = f"{seen.n_rising} of {seen.n_directions}"
    alone = f"{seen.n_weights_rising} of {len(seen.weights)}"
    return [layers, metric, words, f"{seen.value:.4f}", rising, alone, "yes" if seen.passed else "no"]


def _lines(words: str, seen: Certificate) -> list[Series]:
    steps: Sequence[float] = [0.0, *seen.steps.tolist()]
    return [Series(f"{words}, direction {at}", steps, [seen.value, *seen.curves[at].tolist()]) for at in range(DRAWN)]


EXPERIMENT = Experiment("local-optimality", "[Donmez2009, section 7.1]", run)
