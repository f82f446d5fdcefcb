"""A bridge to PyTorch: trains any `torch.nn.Module` that scores documents, for any metric (`swaprank[torch]`).

PyTorch is imported when a loss is first computed.
"""

from functools import cache
from typing import Any, Literal

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row
from swaprank.data.row_values import check_scores
from swaprank.errors import DataError, ParameterError, import_extra
from swaprank.metrics.metric import BoundMetric, Metric
from swaprank.metrics.relevance import PairwiseCorrect
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective_names import PairwiseObjective, pairwise_objective
from swaprank.objectives.ranknet_costs import ranknet_costs
from swaprank.objectives.ranknet_objective import RankNetObjective

__all__ = ["ranking_loss"]


def ranking_loss(
    scores: Any,
    labels: Any,
    indptr: Any,
    metric: str | Metric = "ndcg@10",
    *,
    objective: Literal["lambdarank", "ranknet"] = "lambdarank",
    sigma: float = 1.0,
    normalize: bool = False,
    construction: str = "pairs",
    reduction: Literal["mean", "sum"] = "mean",
    random_state: int = 0,
    n_threads: int | None = None,
) -> Any:
    """A loss whose gradient by the scores are the lambdas: `loss.backward()` trains the module for the metric.

    For LambdaRank its value is 1 minus the metric; no cost has the lambdas as its exact gradient. For RankNet it is the
    cross entropy of the pairs, summed over all pairs, and the gradient is exact. For lists of many thousand documents
    use metric="pairwise": its gradient is RankNet's divided by the number of pairs, and its value is computed by
    sorting. Lambdas are computed on the CPU in double precision, whatever the device of the scores.

    Args:
        scores: A tensor with one score per document, query after query.
        labels: One per document: a tensor or an array.
        indptr: Query q has the documents from indptr[q] to indptr[q + 1]: a tensor, an array or a list.
        metric: The metric that LambdaRank optimizes.
        objective: "lambdarank", or "ranknet", which uses no metric.
        sigma: Steepness of the pair probabilities in the score difference.
        normalize: Divide each pair's weight by its score difference and scale each query's gradients, as LightGBM does.
            False: as in the paper.
        construction: How lambdas are made; see `LambdaRank`.
        reduction: "mean" over the queries, or "sum".
        random_state: Seed of the order that breaks ties in the scores.
        n_threads: Number of threads. If None, all cores.

    >>> import torch
    >>> from swaprank.torch import ranking_loss
    >>> scores = torch.tensor([0.1, 0.9, 0.4], requires_grad=True)
    >>> loss = ranking_loss(scores, labels=[1, 0, 2], indptr=[0, 3], metric="ndcg")
    >>> loss.backward()
    >>> (-scores.grad).argmax().item()  # the best document has the largest lambda
    2
    """
    torch = _torch()
    if not isinstance(scores, torch.Tensor) or scores.ndim != 1 or not scores.is_floating_point():
        found = f"{scores.dtype} of shape {tuple(scores.shape)}" if hasattr(scores, "dtype") else type(scores).__name__
        raise DataError(f"scores must be a tensor with one score per document, found {found}.")
    if objective not in ("lambdarank", "ranknet"):
        raise ParameterError(f"objective must be 'lambdarank' or 'ranknet', found {objective!r}.")
    if reduction not in ("mean", "sum"):
        raise ParameterError(f"reduction must be 'mean' or 'sum', found {reduction!r}.")
    chosen = pairwise_objective(
        metric if objective == "lambdarank" else "ranknet", sigma=sigma, normalize=normalize, construction=construction
    )
    measured = chosen.metric if isinstance(chosen, LambdaRankObjective) else PairwiseCorrect()
    bound = measured.bind(_array(labels), _array(indptr))
    values, gradient = _values_and_gradient(
        chosen, bound, check_scores(_array(scores), len(bound.labels)), random_state, n_threads
    )
    counted = max(int((~np.isnan(values)).sum()), 1)
    share = 1.0 / counted if reduction == "mean" else 1.0
    lambdas = torch.as_tensor(share * gradient).to(scores)
    return _loss_function().apply(scores, share * float(np.nansum(values)), lambdas)


def _values_and_gradient(
    objective: PairwiseObjective, bound: BoundMetric, scores: Floats, random_state: int, n_threads: int | None
) -> tuple[Floats, Floats]:
    """The loss of each query, NaN if the metric leaves it out; and the gradient by each document's score."""
    n = len(scores)
    gradient, hess = np.empty(n), np.empty(n)
    data = Dataset(np.zeros((n, 1), np.float32), bound.labels, qid=query_of_row(bound.indptr))
    learned = objective.bind(data, random_state=random_state, n_threads=n_threads)
    learned.update(scores, gradient, hess)
    if isinstance(objective, RankNetObjective):
        return ranknet_costs(learned, scores), gradient
    return 1.0 - bound.per_query(scores, n_threads=n_threads), gradient


def _array(values: Any) -> Any:
    """Tensors as arrays; integer tensors become integer arrays."""
    if not hasattr(values, "detach"):
        return values
    here = values.detach().cpu()
    return (here.double() if here.is_floating_point() else here).numpy()


def _torch() -> Any:
    return import_extra("torch", "PyTorch is not installed: pip install 'swaprank[torch]'.")


@cache
def _loss_function() -> Any:
    """The autograd function, made here because its base class is PyTorch's. It can be differentiated once only."""
    torch = _torch()
    once = torch.autograd.function.once_differentiable
    methods = {"forward": staticmethod(_forward), "backward": staticmethod(once(_backward))}
    return type("RankingLoss", (torch.autograd.Function,), methods)


def _forward(ctx: Any, scores: Any, value: float, lambdas: Any) -> Any:
    ctx.save_for_backward(lambdas)
    return scores.new_tensor(value)


def _backward(ctx: Any, upstream: Any) -> tuple[Any, None, None]:
    return upstream * ctx.saved_tensors[0], None, None
