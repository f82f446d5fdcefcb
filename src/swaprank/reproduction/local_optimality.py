"""[Donmez2009, section 7.1, Figures 1 to 4 and 6]: trained nets are at a local optimum, random nets are not."""

import swaprank as sr
from swaprank.instruments.certificate import RISE
from swaprank.rendering.tables import text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.lambdarank_tables import LEVELS, METRICS

QUERIES, QUICK_QUERIES = 10_000, 500
FEATURES = 300
NETS: dict[str, tuple[int, ...]] = {"linear": (), "two layers": (10,)}
EPOCHS = 150
DRAWN = 4
WIDE = 0.1
"""The smallest step of the wide range."""


def run(settings: Settings, log: Log) -> Outcome:
    """300 features, 50 documents and 10,000 queries as in the paper; quick: 500 queries, 90 directions."""
    quick, random_state = settings.quick, settings.random_state
    (train,) = sr.datasets.random_polynomial(
        (QUICK_QUERIES if quick else QUERIES,), n_features=FEATURES, levels=LEVELS, random_state=random_state
    )
    epsilon = 0.05 if quick else 0.01
    rows: list[list[str]] = []
    found: dict[str, sr.instruments.Certificate] = {}
    for layers, hidden in NETS.items():
        for metric in METRICS:
            for weights, n_epochs in (("random", 0), ("trained", EPOCHS)):
                # With the seed of the data, the initial weights could be those that generated the labels.
                net = sr.LambdaRank(metric, hidden=hidden, n_epochs=n_epochs, random_state=random_state + 1).fit(train)
                steps = "both" if n_epochs else "wide"
                seen = sr.certify(net, train, epsilon=epsilon, steps=steps, n_weights=20, random_state=random_state)
                found[f"{layers}, {metric}, {weights}"] = seen
                rows.append([layers, metric, weights, f"{seen.value:.4f}", *_rising(seen)])
                log(f"{layers}, {metric}, {weights}: {_rising(seen)[0]} of {seen.n_directions} directions rise")
    last = found[f"two layers, {METRICS[-1]}, trained"]
    of = f"of {last.n_directions}"
    header = ["net", "metric", "weights", "value", f"rise, 0.1 to 1, {of}", "0.001 to 0.01", "alone, of 20", "highest"]
    text = (
        f"[Donmez2009]: of 459 directions, none raises the metric of a trained net, and some that of a random net. "
        f"Here: {train.n_queries:,} queries, {last.n_directions} directions\n\n{text_table(header, rows, left=3)}"
    )
    lines = [
        *_lines("trained", found["two layers, ndcg, trained"]),
        *_lines("random", found["two layers, ndcg, random"]),
    ]
    return Outcome(text, Chart("NDCG of two-layer nets along random directions", "step", "NDCG", lines))


def _rising(seen: sr.instruments.Certificate) -> list[str]:
    """Rising directions at wide and at fine steps, parameters that rise alone, and the largest gain."""
    up = seen.curves > seen.value + RISE
    wide = seen.steps >= WIDE
    alone = int((seen.weight_curves[:, :, wide] > seen.value + RISE).any(axis=(1, 2)).sum())
    highest = max(0.0, float(seen.curves.max()) - seen.value)
    fine = str(int(up[:, ~wide].any(axis=1).sum())) if not wide.all() else ""
    return [str(int(up[:, wide].any(axis=1).sum())), fine, str(alone), f"{highest:+.5f}"]


def _lines(name: str, seen: sr.instruments.Certificate) -> list[Series]:
    steps, curves = (values.tolist() for values in seen.from_zero())
    return [Series(f"{name}, direction {at}", steps, curves[at]) for at in range(DRAWN)]


EXPERIMENT = Experiment("local-optimality", "[Donmez2009, section 7.1]", run)
