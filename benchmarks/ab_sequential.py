"""False alarms of A/B tests with and without looking every day, their coverage, and how long they take.

    python benchmarks/ab_sequential.py [--experiments 2000]

Experiments of 20,000 sessions without a difference, in which the sessions of 100 days come in equal parts: how often is
p below 5% at the last day only, at any day by a t-test, and at any day, or any single session, by the sequential test
with 20,000 planned, and with a tenth and ten times as many. Then experiments in which users return: the unit is the
user, and each of 500 users comes about 20 times. At last the power: sessions until the sequential test ends, if there
is a difference that a t-test of a fixed number of sessions finds with a probability of 80%.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import swaprank as sr
from swaprank.arrays import Bools, Floats
from swaprank.clicks.experiments.sequential import FIRST_LOOK, half_width

N, DAYS = 20_000, 100
Draw = Callable[[np.random.Generator], Floats]


def running_z(side: Bools, value: Floats) -> tuple[Floats, Floats, Floats]:
    """After each session: the difference in standard errors, the difference, and the smaller number of sessions."""
    sums = [np.cumsum(np.where(side == v, 1.0, 0.0)) for v in (False, True)]
    means, errors = [], np.zeros(len(value))
    for v, n in zip((False, True), sums, strict=True):
        own = np.where(side == v, value, 0.0)
        mean = np.cumsum(own) / np.maximum(n, 1)
        variance = np.maximum(np.cumsum(own**2) - n * mean**2, 0) / np.maximum(n - 1, 1)
        means.append(mean)
        errors += variance / np.maximum(n, 1)
    difference = means[1] - means[0]
    z = np.divide(np.abs(difference), np.sqrt(errors), out=np.zeros(len(value)), where=errors > 0)
    return z, difference, np.minimum(*sums)


def clicked(rate: float) -> Draw:
    return lambda rng: (rng.random(N) < rate).astype(np.float64)


def false_alarms(name: str, draw: Draw, n_experiments: int) -> None:
    rng = np.random.default_rng(0)
    days = np.arange(1, DAYS + 1) * (N // DAYS) - 1
    borders = {planned: np.array([half_width(n, planned) for n in range(1, N + 1)]) for planned in (N // 10, N, 10 * N)}
    once = daily = every = 0
    found = dict.fromkeys(borders, 0)
    for _ in range(n_experiments):
        side = rng.random(N) < 0.5
        z, _, smaller = running_z(side, draw(rng))
        once += int(z[-1] > 1.96)
        daily += int((z[days] > 1.96).any())
        ready = smaller >= FIRST_LOOK
        for planned, border in borders.items():
            found[planned] += int(((z > border) & ready)[days].any())
        every += int(((z > borders[N]) & ready).any())
    shares = [once, daily, *found.values(), every, n_experiments - once]
    print(f"{name:24}" + "".join(f"{share / n_experiments:>10.1%}" for share in shares), flush=True)


def power(rate: float, difference: float, n_experiments: int) -> None:
    """Sessions until the sequential test ends, and the sessions that a fixed test and it were planned with."""
    deviation = float(np.sqrt(rate * (1 - rate)))
    fixed = sr.clicks.ab_sessions(difference, deviation=deviation)
    planned = sr.clicks.ab_sessions(difference, deviation=deviation, sequential=True)
    border = np.array([half_width(n, planned) for n in range(1, planned + 1)])
    rng, ended = np.random.default_rng(1), []
    for _ in range(n_experiments):
        side = rng.random(planned) < 0.5
        z, _, smaller = running_z(side, (rng.random(planned) < rate + difference * (side - 0.5)).astype(float))
        hits = np.flatnonzero((z > border) & (smaller >= FIRST_LOOK))
        ended.append(int(hits[0]) + 1 if len(hits) else planned + 1)
    found = np.array(ended) <= planned
    quartiles = np.percentile(np.minimum(ended, planned), [25, 50, 75]).astype(int)
    shown = ", ".join(f"{each:,}" for each in quartiles)
    print(
        f"rate {rate:g}, difference {difference:g}: fixed {fixed:,}, sequential at most {planned:,}, of which", end=" "
    )
    print(f"{found.mean():.1%} found it; quartiles of the end {shown}; ended before {fixed:,}:", end=" ")
    print(f"{(np.array(ended) <= fixed).mean():.1%}", flush=True)


def returning_users(name: str, spread: float, n_experiments: int, n_users: int = 500, n_looks: int = 50) -> None:
    """Users who come twenty times, with or without tastes of their own: false alarms of `ab_test` at 50 looks."""
    alarms = {"session, fixed": 0, "user, fixed": 0, "user, sequential": 0}
    rng = np.random.default_rng(2)
    for _ in range(n_experiments):
        user = rng.integers(n_users, size=20 * n_users)
        taste, side = 0.3 + spread * rng.choice([-1.0, 1.0], n_users), rng.integers(2, size=n_users)
        one = np.ones(len(user), np.int64)
        click = (rng.random(len(user)) < taste[user]).astype(float)
        log = sr.clicks.ClickLog(session=np.arange(len(user)), qid=one, docid=one, position=one, click=click)
        looks = np.linspace(len(user) / n_looks, len(user), n_looks).astype(int)
        seen = dict.fromkeys(alarms, False)
        for look in looks.tolist():
            part, variant, who = log.subset(slice(look)), side[user[:look]], user[:look]
            for test_name, unit, sequential in (
                ("session, fixed", None, False), ("user, fixed", who, False), ("user, sequential", who, True),
            ):  # fmt: skip
                test = sr.clicks.ab_test(part, variant, "clicked", unit=unit, sequential=sequential, planned=N // 2)
                seen[test_name] |= test.differences[0].is_significant
        for test_name, alarm in seen.items():
            alarms[test_name] += int(alarm)
    print(f"returning users, {name}, 50 looks: " + ", ".join(f"{k} {v / n_experiments:.1%}" for k, v in alarms.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=2000)
    n = parser.parse_args().experiments
    headers = ("once", "t daily", "seq 1/10", "seq daily", "seq x10", "seq each", "covered")
    print(f"{'':24}" + "".join(f"{header:>10}" for header in headers))
    for rate in (0.02, 0.1, 0.4):
        false_alarms(f"clicked, rate {rate:g}", clicked(rate), n)
    false_alarms("revenue, heavy tail", lambda rng: rng.exponential(1, N) ** 2 * (rng.random(N) < 0.1), n)
    for rate, difference in ((0.1, 0.01), (0.4, 0.02)):
        power(rate, difference, max(1, n // 4))
    for name, spread in (("alike", 0.0), ("with tastes", 0.25)):
        returning_users(name, spread, max(1, n // 5))


if __name__ == "__main__":
    main()
