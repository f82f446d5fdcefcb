"""Learning to rank for the metric you care about.

    import swaprank as sr

    train, test = sr.read("train.txt"), sr.read("test.txt")
    ranker = sr.LambdaMART(metric="ndcg@10").fit(train)
    print(sr.evaluate(test, ranker.predict(test), ["ndcg@10", "map"]))
    ranker.save("model.swaprank")

Data       Dataset, read, read_letor, write_letor, Parts
Rankers    LambdaMART, MART, LambdaRank, RankNet, SmoothRank, LinearRegressionRanker, Ranker
Models     load, import_model, combine, stack, Scorer
Judging    metric, evaluate, compare, report, certify, explain_query, explain_pair, drift
Searching  cross_validate, tune
Bug report show_versions

Everything else is in a namespace: baselines, clicks, data, datasets, ensembles, errors, evaluation, experiments,
instruments, metrics, objectives, papers, rankers, reporting, reranking, trackers, trec. `help(sr.LambdaMART)`,
`dir(sr.metrics)` and the documentation say more; `swaprank --help` is the command line.
"""

# The names are in `__init__.pyi`, for type checkers and for the loader below alike: each is imported when it is first
# used, so that `import swaprank` costs next to nothing. There is no `__all__`: it would make `help` print all of them.

import sys

from swaprank.version import __version__ as __version__


def __getattr__(name: str) -> object:
    _attach_names()
    return getattr(sys.modules[__name__], name)


def __dir__() -> list[str]:
    _attach_names()
    return dir(sys.modules[__name__])


def _attach_names() -> None:
    """Replace the two functions above by those of the loader, which reads the names when the first is asked for."""
    import lazy_loader

    load, names, _ = lazy_loader.attach_stub(__name__, __file__)
    globals().update({"__getattr__": load, "__dir__": names})
