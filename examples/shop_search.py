"""Train a shop's search for profit: a log in pandas, a business metric, and a comparison with confidence intervals.

    pip install 'swaprank[frames]'
    python examples/shop_search.py                   # on a generated log
    python examples/shop_search.py log.csv           # on your own log, with the columns below

The log has one row per product shown for a query: whether it was clicked, and its margin. Rankers are usually trained
for clicks, where a click on a charging cable counts as much as one on a camera. The metric here is the margin of the
clicked products among the first five, weighted by the share of customers who look at each rank. swaprank trains for it
as fast as for NDCG, because it calls the two small functions only once per distinct label and rank.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import swaprank as sr

FEATURES = ["text_match", "title_match", "rating", "n_reviews", "price", "margin", "days_online", "in_stock"]
VIEW_SHARE = (1.0, 0.72, 0.53, 0.4, 0.31)  # the share of customers who look at rank 1, 2, …

margin_at_5 = sr.metrics.CumulativeMetric(
    5,
    gain=lambda earned: earned,
    discount=lambda rank: VIEW_SHARE[rank - 1],
    name="margin",
)


def generate_log(n_queries: int, seed: int = 0) -> pd.DataFrame:
    """Customers click products that match, are well rated, in stock and cheap; results were shown in random order."""
    rng = np.random.default_rng(seed)
    shown = rng.integers(10, 31, n_queries)
    n = int(shown.sum())
    log = pd.DataFrame({"query": np.repeat(np.arange(n_queries), shown), "product": rng.integers(0, 5_000, n)})
    log["text_match"] = rng.gamma(3.0, 3.0, n)
    log["title_match"] = rng.integers(0, 4, n) / 3
    log["n_reviews"] = rng.negative_binomial(0.5, 0.02, n)
    # The rating of a product without reviews is missing.
    log["rating"] = np.where(log["n_reviews"] > 0, rng.normal(4.0, 0.7, n).clip(1, 5), np.nan)
    log["price"] = rng.lognormal(3.0, 0.7, n).round(2)
    log["margin"] = (log["price"] * rng.beta(2, 8, n)).round(2)
    log["days_online"] = rng.exponential(300, n).round()
    log["in_stock"] = rng.random(n) < 0.85
    appeal = (
        1.8 * np.tanh(log["text_match"] / 8)
        + log["title_match"] ** 2
        + 0.8 * (log["rating"].fillna(3.5) - 4)
        + 0.1 * np.log1p(log["n_reviews"])
        - 0.4 * np.log(log["price"] / 20)
        - 2.5 * ~log["in_stock"]
    )
    log["clicked"] = (rng.random(n) < 1 / (1 + np.exp(5.0 - 1.6 * appeal))).astype(int)
    return log


def split(log: pd.DataFrame, label: str) -> tuple[sr.Dataset, ...]:
    """Training, validation and test queries; the same queries for every label, because the seed is the same."""
    data = sr.Dataset.from_frame(log, label=label, qid="query", docid="product", features=FEATURES)
    return data.split((0.6, 0.2, 0.2), random_state=0)


def train(metric: str | sr.metrics.Metric, log: pd.DataFrame, label: str, n_trees: int) -> sr.LambdaMART:
    """Boosted trees for the metric, with early stopping on the validation queries."""
    training, vali, _ = split(log, label)
    ranker = sr.LambdaMART(metric, n_trees=n_trees, n_leaves=15, learning_rate=0.05, early_stopping_rounds=40)
    sr.LambdaMART(metric, n_trees=1).fit(training)  # loads the kernels before the clock starts
    start = time.process_time()
    ranker.fit(training, valid=vali)
    spent = 1000 * (time.process_time() - start)
    tried = ranker.n_rounds_
    print(
        f"for {metric!s:9} {tried:4} trees tried, {ranker.n_trees_:4} kept; {spent / tried:.1f} ms of CPU time per tree"
    )
    return ranker


def main() -> None:
    """Train for clicks and for margin, and compare both rankers on both metrics."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", nargs="?", help=f"CSV with query, product, clicked, {', '.join(FEATURES)}")
    parser.add_argument("--quick", action="store_true", help="little data and few trees, for a quick test")
    options = parser.parse_args()
    log = pd.read_csv(options.log) if options.log else generate_log(300 if options.quick else 3_000)
    log["earned"] = log["clicked"] * log["margin"].clip(lower=0)
    print(f"{len(log):,} products shown for {log['query'].nunique():,} queries, {log['clicked'].mean():.1%} clicked\n")

    n_trees = 30 if options.quick else 400
    for_clicks = train("ndcg@5", log, "clicked", n_trees)
    for_margin = train(margin_at_5, log, "earned", n_trees)

    test_clicks, test_earned = split(log, "clicked")[2], split(log, "earned")[2]
    rankings = {
        "for clicks": for_clicks.predict(test_clicks),
        "for margin": for_margin.predict(test_earned),
        "text match": test_clicks.column("text_match"),
    }
    print(f"\nMargin of the shop\n\n{sr.compare(test_earned, rankings, margin_at_5)}")
    print(f"\nClicks of the customers\n\n{sr.compare(test_clicks, rankings, 'ndcg@5')}")

    print("\nFeature importances (share of the total gain)\n")
    shares = pd.DataFrame({"for clicks": for_clicks.importances(), "for margin": for_margin.importances()})
    print((shares / shares.sum()).sort_values("for margin", ascending=False).round(3).to_string())


if __name__ == "__main__":
    main()
