"""Draw the pictures of docs/instruments.md by the library itself: `python docs/pictures/make_instruments.py`."""

from __future__ import annotations

from pathlib import Path

import swaprank as sr

HERE = Path(__file__).parent


def main() -> None:
    train, vali, test = sr.datasets.random_polynomial((1000, 200, 100), n_features=20, levels=5, random_state=0)
    for name, n_epochs in (("random", 0), ("trained", 60)):
        net = sr.LambdaRank("ndcg", hidden=(10,), n_epochs=n_epochs, random_state=1).fit(train)
        sr.certify(net, train, n_weights=0).draw(HERE / f"certify-{name}.svg")
    linear = sr.LambdaRank("ndcg@10", hidden=(), n_epochs=30, random_state=1).fit(train)
    forest = sr.LambdaMART("ndcg@10", n_trees=10, n_leaves=10).fit(train)
    sr.combine(linear, forest, vali, "ndcg@10").draw(HERE / "combine.svg")
    sr.explain_query(linear, test, test.qids[0]).draw(HERE / "explain.svg", n_documents=20)


if __name__ == "__main__":
    main()
