"""RankSVM: the better document of each pair should lead by a margin."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.baselines.pair_shares import AVERAGES, Average, pairs_of
from swaprank.baselines.primal_svm import LARGEST_GAP, PairLoss, fit_svm
from swaprank.metrics.metric import Metric
from swaprank.rankers.linear_fitting import strengths_in_rounds
from swaprank.rankers.linear_rounds import LinearProblem, LinearRanker
from swaprank.rankers.parameter_checks import check_word
from swaprank.rankers.ranker import FitRequest

STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6)
"""What regularization="auto" chooses from."""
ALONE = 0.1
"""What regularization="auto" is without a set to choose by."""


@final
class RankSVM(LinearRanker):
    """A linear ranking SVM: the better document of each pair should lead by a margin [Herbrich2000, Joachims2002].

    Minimizes the mean over pairs of max(0, 1 - (s_i - s_j))², or of max(0, 1 - (s_i - s_j)), plus regularization |w|²;
    document i has a larger label than j. In the notation of Joachims, C of a pair is its weight in the mean divided by
    2 regularization. Newton's method in the primal finds the minimum, not only about, with sums over pairs in
    n log n [Chapelle & Keerthi 2010]: `gap_` says how near it is.

    Args:
        loss: "squared_hinge", or "hinge", which is less impressed by pairs that are hopelessly wrong, and slower to
            train.
        metric: Evaluated for every regularization, and chooses the best one on the watched set.
        regularization: A number above 0, several to choose from on the watched set, or "auto": 100 to 10^-6, and 0.1 if
            no set is watched. A round of training is one regularization, from the strongest.
        average: "pairs": the mean over all pairs [Joachims2002]. "queries": the mean over queries of the mean over a
            query's pairs, so that long lists do not dominate [Cao2006].
        standardize: Regularize the weights of standardized features. False: of the features as they are.
        base_ranker: A fitted linear ranker: weights are regularized towards its weights instead of 0.
        n_threads: Number of threads. If None, all cores. It does not change the model.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 30, 30), n_features=10, random_state=0)
    >>> ranker = sr.baselines.RankSVM().fit(train, valid=vali)
    >>> ranker.score(test) > 0.6, ranker.gap_ < 1e-8
    (True, True)
    """

    kind: ClassVar[str] = "ranksvm"
    round_name: ClassVar[str] = "strength"
    tuning_ranges: ClassVar[Mapping[str, Any]] = {
        "loss": [*LARGEST_GAP],
        "average": [*AVERAGES],
        "standardize": [True, False],
    }
    regularization_: float
    """The chosen regularization, or the given one; infinite if the base ranker was best."""
    gap_: float
    """How far the cost of the weights is from the minimum at most, relative to the cost."""

    def __init__(
        self,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        *,
        metric: str | Metric = "ndcg@10",
        regularization: float | str | Sequence[float] = "auto",
        average: Average = "pairs",
        standardize: bool = True,
        base_ranker: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _fit(self, request: FitRequest) -> None:
        self._found = [(np.inf, 0.0)]
        super()._fit(request)
        self.regularization_, self.gap_ = self._found[self.best_round_]

    def _weights_by_round(self, problem: LinearProblem) -> Iterator[Floats]:
        weights, pairs = problem.start, PairLoss(problem, pairs_of(problem.data, self.average))
        for strength in self._strengths(problem.is_watched):
            weights, gap = fit_svm(problem, pairs, self.loss, strength, weights)
            self._found.append((strength, gap))
            yield weights

    def _strengths(self, is_watched: bool) -> list[float]:
        return strengths_in_rounds(self.regularization, STRENGTHS, ALONE, is_watched)

    def _n_rounds(self) -> int:
        return len(self._strengths(is_watched=True))

    def _check_words(self) -> None:
        check_word("loss", self.loss, [*LARGEST_GAP])
        check_word("average", self.average, AVERAGES)
        self._strengths(is_watched=True)

    def _fitted_values(self) -> dict[str, Any]:
        return {"regularization": self.regularization_, "gap": self.gap_}

    def _restore_values(self, values: Mapping[str, Any]) -> None:
        self.regularization_, self.gap_ = float(values["regularization"]), float(values["gap"])
