"""Observers of training: callbacks that are also told when `fit` starts, ends and fails."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback, Progress


class Observer:
    """A callback of `fit` that is told more than the rounds: implement the methods that you need.

    >>> import swaprank as sr
    >>> class Printing(sr.rankers.Observer):
    ...     def started(self, ranker, sets):
    ...         print("train:", sets["train"].n_queries, "queries")
    ...
    ...     def ended(self, ranker):
    ...         print(ranker.size_)
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=2).fit(train, callbacks=[Printing()])
    train: 20 queries
    2 trees
    """

    def started(self, ranker: Ranker, sets: Mapping[str, Any]) -> None:
        """Training starts: the ranker with its parameters, "train" and the validation sets by name."""

    def __call__(self, progress: Progress) -> object:
        """A round is finished; training stops if something true is returned."""
        return None

    def ended(self, ranker: Ranker) -> None:
        """The ranker is fitted, also after Ctrl-C; `interrupted_` says so."""

    def failed(self, error: BaseException) -> None:
        """Training raised an error after it started."""


@contextmanager
def observed(callbacks: Sequence[Callback], ranker: Ranker, sets: Mapping[str, Any]) -> Iterator[None]:
    """Tell the observers among the callbacks of the start, and of the end or the error of what is done within.

    All of them are told, even if one raises an error itself.
    """
    started: list[Observer] = []
    try:
        for each in callbacks:
            if isinstance(each, Observer):
                each.started(ranker, sets)
                started.append(each)
        yield
    except BaseException as error:
        with ExitStack() as told:
            for each in reversed(started):
                told.callback(each.failed, error)
        raise
    with ExitStack() as told:
        for each in reversed(started):
            told.callback(each.ended, ranker)
