"""RankSVM: the better document of each pair should lead by a margin."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, final

from swaprank.arrays import Floats
from swaprank.baselines.pair_shares import AVERAGES, Average, pairs_of
from swaprank.baselines.primal_svm import LARGEST_GAP, PairLoss, fit_svm
from swaprank.parameters import parameter
from swaprank.rankers.linear_rounds import LinearProblem, RegularizationPath


@final
class RankSVM(RegularizationPath):
    """A linear ranking SVM: the better document of each pair should lead by a margin [Herbrich2000, Joachims2002].

    Minimizes the mean over pairs of max(0, 1 - (s_i - s_j))², or of max(0, 1 - (s_i - s_j)), plus regularization |w|²;
    document i has a larger label than j. In the notation of Joachims, C of a pair is its weight in the mean divided by
    2 regularization. Newton's method in the primal finds the minimum to high precision, with sums over pairs in
    n log n [Chapelle2010b]: `gap_` bounds the distance of the cost from it, relative to the cost.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 30, 30), n_features=10, random_state=0)
    >>> ranker = sr.baselines.RankSVM().fit(train, valid=vali)
    >>> ranker.score(test) > 0.6, ranker.gap_ < 1e-8
    (True, True)
    """

    kind: ClassVar[str] = "ranksvm"
    auto: ClassVar[Sequence[float]] = (
        100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6,
    )  # fmt: skip
    alone: ClassVar[float] = 0.1
    loss: Literal["squared_hinge", "hinge"] = parameter(
        default="squared_hinge",
        words=[*LARGEST_GAP],
        tune=[*LARGEST_GAP],
        text='"squared_hinge", or "hinge", which is less impressed by pairs that are hopelessly wrong, and slower to '
        "train.",
    )
    regularization: float | str | Sequence[float] = parameter(
        default="auto",
        text='A number above 0, several to choose from on the watched set, or "auto": 100 to 10^-6, and 0.1 if no set '
        "is watched. A round of training is one regularization, from the strongest.",
    )
    average: Average = parameter(
        default="pairs",
        words=AVERAGES,
        tune=[*AVERAGES],
        text='"pairs": the mean over all pairs [Joachims2002]. "queries": the mean over queries of the mean over a '
        "query's pairs, so that long lists do not dominate [Cao2006].",
    )

    def _fits(self, problem: LinearProblem, strengths: Sequence[float]) -> Iterator[tuple[Floats, float]]:
        weights, pairs = problem.start, PairLoss(problem, pairs_of(problem.data, self.average))
        for strength in strengths:
            weights, gap = fit_svm(problem, pairs, self.loss, strength, weights)
            yield weights, gap
