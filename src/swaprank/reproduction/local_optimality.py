"""[Donmez2009, sections 7.1 and 8, Figures 1 to 4 and 6]: trained nets are at a local optimum, random nets are not.

As in the paper, the weights follow the plain gradient, one step per query, of lambdas that are not normalized. The
validation queries choose the learning rate. The net of the last epoch is tested on the training queries.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.instruments.certificate import RISE
from swaprank.rendering.tables import text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.kept_steps import kept_ranker, kept_values
from swaprank.reproduction.lambdarank_tables import LEVELS, METRICS

QUERIES, QUICK_QUERIES = (10_000, 5_000), (500, 250)
FEATURES = 300
NETS: dict[str, tuple[int, ...]] = {"linear": (), "two layers": (10,)}
RATES, RATE_EPOCHS = (1e-6, 1e-5, 1e-4, 1e-3), 10
EPOCHS = 200
DECAY = 0.8**0.3
"""The paper multiplies the rate by 0.8 with a probability of 30%; this is the same on average."""
STEPS, WIDE, FINE = tuple(step / 10 for step in range(1, 11)), (0.1, 1.0), (0.001,)
"""The steps of the paper; of these, the ones along which trained nets are moved, and one of its finer steps."""
ALONE, MOST_ALONE = 0.1, 300
"""The step of single weights, and how many are varied: all of a linear net."""
EARLY, LATER = (7, 12), 10
"""Epochs at which training is interrupted for a test, and epochs of training afterwards."""
DRAWN = 4


class Tested(NamedTuple):
    """A net, moved along random directions."""

    value: float
    steps: Floats
    curves: Floats

    def rising(self, at_most: float, at_least: float) -> str:
        """How many directions raise the metric at any step of a range."""
        inside = (self.steps >= at_least) & (self.steps <= at_most)
        return str(int((self.curves[:, inside] > self.value + RISE).any(axis=1).sum())) if inside.any() else ""

    def highest(self, n_queries: int) -> list[str]:
        """The largest rise, in queries whose metric would have to go from 0 to 1, and its step."""
        rise = float(self.curves.max()) - self.value
        if rise <= RISE:
            return ["", ""]
        return [f"{rise * n_queries:.2f}", f"{self.steps[self.curves.max(axis=0).argmax()]:g}"]


class _Experiment:
    """The data, and the steps that are computed from it."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings, self.log = settings, log
        self.train, self.vali = sr.datasets.random_polynomial(
            QUICK_QUERIES if settings.quick else QUERIES,
            n_features=FEATURES,
            levels=LEVELS,
            random_state=settings.random_state,
        )
        self.epsilon = 0.05 if settings.quick else 0.01

    def net(self, metric: str, layers: str, rate: float, n_epochs: int, base: sr.Ranker | None = None) -> sr.LambdaRank:
        """A net with the settings of the paper."""
        # With the seed of the data, the initial weights could be those that generated the labels.
        return sr.LambdaRank(
            metric,
            hidden=NETS[layers],
            normalize=False,
            pair_weight=0.0,
            optimizer="sgd",
            learning_rate=rate,
            decay=DECAY,
            n_epochs=n_epochs,
            base_ranker=base,
            random_state=self.settings.random_state + 1,
        )

    def rate(self, metric: str, layers: str) -> float:
        """The learning rate with the best epoch on the validation queries."""

        def values() -> dict[str, float]:
            fits = {
                rate: self.net(metric, layers, rate, RATE_EPOCHS).fit(self.train, valid=self.vali) for rate in RATES
            }
            return {str(rate): max(fit.history_["valid"][metric]) for rate, fit in fits.items()}

        found: Mapping[str, float] = kept_values(self.settings, f"rates {layers} {metric}", values)
        return float(max(found, key=lambda rate: found[rate]))

    def trained(self, metric: str, layers: str, n_epochs: int) -> sr.Ranker:
        """A net after some epochs."""
        rate = self.rate(metric, layers)
        step = f"net {layers} {metric} {n_epochs} epochs"
        return kept_ranker(self.settings, step, lambda: self.net(metric, layers, rate, n_epochs).fit(self.train))

    def continued(self, start: sr.Ranker, name: str, metric: str, layers: str) -> tuple[float, float]:
        """The metric on the training queries after one and after some more epochs of training from a net."""

        def values() -> list[float]:
            measured: list[float] = []
            for n_epochs in (1, LATER):
                fit = self.net(metric, layers, self.rate(metric, layers), n_epochs, start).fit(self.train)
                measured.append(sr.evaluate(self.train, fit.predict(self.train), [metric])[metric].mean)
            return measured

        first, last = kept_values(self.settings, f"continued {name}", values)
        return first, last

    def tested(self, ranker: sr.Ranker, name: str, metric: str, steps: tuple[float, ...]) -> Tested:
        """The metric along random directions."""

        def values() -> list[Any]:
            seen = sr.certify(
                ranker,
                self.train,
                metric,
                epsilon=self.epsilon,
                steps=steps,
                n_weights=0,
                random_state=self.settings.random_state,
            )
            return [seen.value, seen.steps, seen.curves]

        value, sizes, curves = kept_values(self.settings, f"directions {name}", values)
        found = Tested(value, np.array(sizes), np.array(curves))
        self.log(f"{name}: {found.rising(1.0, 0.0)} of {len(found.curves)} directions rise")
        return found

    def alone(self, ranker: sr.Ranker, name: str) -> str:
        """How many weights raise the metric when they are varied alone."""

        def values() -> list[int]:
            seen = sr.certify(
                ranker,
                self.train,
                epsilon=0.99,
                steps=(ALONE,),
                n_weights=20 if self.settings.quick else MOST_ALONE,
                random_state=self.settings.random_state,
            )
            return [seen.n_weights_rising, len(seen.weights)]

        rising, varied = kept_values(self.settings, f"alone {name}", values)
        self.log(f"{name}: {rising:,} of {varied:,} weights rise alone")
        return f"{rising:,} of {varied:,}"


def run(settings: Settings, log: Log) -> Outcome:
    """300 features, 50 documents and 10,000 queries as in the paper; quick: 500 queries, 90 directions."""
    work = _Experiment(settings, log)
    n_queries = work.train.n_queries
    rows: list[list[str]] = []
    found: dict[str, Tested] = {}

    def add(
        name: str, ranker: sr.Ranker, layers: str, metric: str, what: str, rate: str, steps: tuple[float, ...]
    ) -> Tested:
        seen = found[name] = work.tested(ranker, name, metric, steps)
        row = [layers, metric, what, rate, f"{seen.value:.4f}", seen.rising(1.0, 0.1), seen.rising(0.1, 0.1)]
        rows.append([*row, seen.rising(0.001, 0.001), *seen.highest(n_queries), ""])
        return seen

    random = work.net("ndcg", "linear", 1e-3, 0).fit(work.train)
    add("random", random, "linear", "ndcg", "random", "", STEPS)
    for layers in NETS:
        for metric in METRICS:
            name, rate = f"{layers}, {metric}", f"{work.rate(metric, layers):g}"
            ranker = work.trained(metric, layers, EPOCHS)
            add(name, ranker, layers, metric, "trained", rate, (*FINE, *WIDE))
            rows[-1][-1] = work.alone(ranker, name)
    later: list[list[str]] = []
    starts = {f"for ndcg@10, epoch {epoch}": work.trained("ndcg@10", "two layers", epoch) for epoch in EARLY}
    starts["for mrr(rel=2)"] = work.trained("mrr(rel=2)", "two layers", EPOCHS)
    for what, ranker in starts.items():
        seen = work.tested(ranker, f"ndcg@10 of the net {what}", "ndcg@10", WIDE)
        first, last = work.continued(ranker, what, "ndcg@10", "two layers")
        highest = seen.highest(n_queries)
        later.append([what, f"{seen.value:.4f}", seen.rising(1.0, 0.1), *highest, f"{first:.4f}", f"{last:.4f}"])
    rates = ", ".join(f"{rate:g}" for rate in RATES)
    of = f"of {len(found['random'].curves)}"
    header = ["net", "metric", "weights", "rate", "value", f"rise, {of}, at 0.1 to 1", "at 0.1", "at 0.001"]
    table = text_table([*header, "highest, queries", "at step", "one weight alone"], rows, left=3)
    later_header = ["two layers trained", "ndcg@10", f"rise at {', '.join(map(str, WIDE))}, {of}", "highest, queries"]
    later_header += ["at step", "after 1 epoch for ndcg@10", f"after {LATER}"]
    text = (
        f"[Donmez2009]: of 459 directions none raises the metric of a trained net, and some that of a random net.\n"
        f"Here: {n_queries:,} queries, {FEATURES} features; lambdas not normalized, plain gradient descent, "
        f"{EPOCHS} epochs, the rate is the best of {rates} in {RATE_EPOCHS} epochs on {work.vali.n_queries:,} "
        f"validation queries, and is multiplied by {DECAY:.3f} when the training metric falls.\n"
        f"Random weights are moved by {STEPS[0]:g}, {STEPS[1]:g}, … 1, trained ones by "
        f"{', '.join(map(str, WIDE))}, {', '.join(map(str, FINE))}, and one weight alone by {ALONE} up and down.\n"
        f"highest: the largest rise, times the number of queries.\n\n"
        f"{table}\n\nWeights of earlier epochs and of another metric, tested on ndcg@10 and trained on for it\n\n"
        f"{text_table(later_header, later, left=1)}"
    )
    lines = [*_lines("trained", found["linear, ndcg"]), *_lines("random", found["random"])]
    return Outcome(text, Chart("NDCG of linear nets along random directions", "step", "NDCG", lines))


def _lines(name: str, seen: Tested) -> list[Series]:
    drawn = seen.steps >= WIDE[0]
    steps = [0.0, *seen.steps[drawn].tolist()]
    curves = [[seen.value, *curve[drawn].tolist()] for curve in seen.curves[:DRAWN]]
    return [Series(f"{name}, direction {at}", steps, curve) for at, curve in enumerate(curves)]


EXPERIMENT = Experiment("local-optimality", "[Donmez2009, section 7.1]", run, takes_output=True)
