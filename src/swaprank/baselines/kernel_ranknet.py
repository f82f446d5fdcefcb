"""RankNet with a kernel instead of a net."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, final

from scipy.special import expit

from swaprank.arrays import Floats
from swaprank.baselines.entropy_pairs import PairEntropy
from swaprank.baselines.primal_svm import newton
from swaprank.data.dataset import Dataset
from swaprank.linear.architectures import KernelArchitecture
from swaprank.models.kernel_machine import KernelMachine
from swaprank.models.scaling import units_of
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.linear_rounds import LinearProblem, RegularizationPath
from swaprank.rankers.net_ranker import rows_of
from swaprank.rankers.shared_parameters import KernelFeatures, PairProbabilities, RandomChoices

_LARGEST_GAP = 1e-14
"""The largest distance of the cost from its minimum, relative to the cost, at which a fit ends."""


@final
class KernelRankNet(PairProbabilities, KernelFeatures, RandomChoices, RegularizationPath):
    """A kernel machine whose score differences, times sigma, are log odds as in RankNet [Burges2005, section 7].

    Minimizes the mean over pairs of RankNet's cross entropy plus regularization |f|², the norm of f in the space of the
    kernel. [Burges2005, Eq. 17] has the sum over pairs: its lambda is the number of pairs times regularization. The
    minimum is f(x) = sum over training documents of alpha_i k(x, x_i) [Eq. 18]. The cost is convex, and Newton's method
    finds its one minimum: `gap_` bounds the distance from it, relative to the cost.

    Pairs are those of different labels, or the given ones if the data set has `pairs`, with their probabilities and
    weights. With at least as many landmarks as training documents, f is the minimum of Eq. 17; with fewer, that among
    the sums over the landmarks. Time and memory grow with the squared number of landmarks, and time with the number of
    pairs. kernel="polynomial" with degree=1 is a linear model.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_polynomial((10, 10), n_features=3, n_documents=20, random_state=0)
    >>> ranker = sr.baselines.KernelRankNet(kernel="polynomial", degree=3, gamma=1.0).fit(train, valid=vali)
    >>> ranker.score(vali) > 0.9, ranker.gap_ < 1e-8
    (True, True)
    """

    kind: ClassVar[str] = "kernel_ranknet"
    can: ClassVar[Capabilities] = replace(
        RegularizationPath.can, models=(KernelMachine,), probabilities=True, pairs=True
    )
    auto: ClassVar[Sequence[float]] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5)
    alone: ClassVar[float] = 0.003
    regularization: float | str | Sequence[float] = parameter(
        default="auto",
        text='A number above 0, several to choose from on the watched set, or "auto": 1 to 10^-5, and 0.003 if no set '
        "is watched. A round of training is one regularization, from the strongest.",
    )
    standardize: bool = parameter(
        default=True, text="Give the kernel standardized features. False: the features as they are."
    )
    base_ranker: Any = None

    def predict_proba_pair(self, X: Any, i: Any, j: Any) -> Any:
        """The probability that row i ranks above row j, which may be arrays; see `RankNet`."""
        scores = self.predict(X)
        return expit(self.sigma_ * (scores[rows_of(i, len(scores))] - scores[rows_of(j, len(scores))]))

    def _architecture(self, data: Dataset, seed: int) -> KernelArchitecture:
        return self._kernel_architecture(data, units_of(data.features, self.standardize, self.n_threads), seed)

    def _fits(self, problem: LinearProblem, strengths: Sequence[float]) -> Iterator[tuple[Floats, float]]:
        weights, pairs = problem.start, PairEntropy(problem, float(self.sigma))
        for strength in strengths:
            weights, gap = newton(problem, pairs, strength, weights, _LARGEST_GAP)
            yield weights, gap
