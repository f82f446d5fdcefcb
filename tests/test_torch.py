"""The bridge to PyTorch; its gradients against PyTorch's own where there is a cost to take them of."""

import runpy
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.constructions import CONSTRUCTIONS
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from tests.conftest import PROJECT
from tests.objectives.naive_lambdas import weights_of

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

from swaprank.torch import ranking_loss  # noqa: E402 - after the skip

INDPTR = np.array([0, 4, 4, 9, 10])
LABELS = np.array([0, 2, 1, 0, 3, 0, 0, 1, 2, 1])


def scores(seed: int = 0, **options: Any) -> Any:
    values = np.random.default_rng(seed).normal(size=10)
    return torch.tensor(values, requires_grad=True, **({"dtype": torch.float64} | options))


def pair_cost(s: Any, sigma: float, weights: Floats | None = None) -> Any:
    """sum over pairs of w log(1 + exp(-sigma (s_i - s_j))), in PyTorch's own operations."""
    total = torch.zeros((), dtype=s.dtype)
    for a, b in zip(INDPTR[:-1], INDPTR[1:], strict=True):
        better = torch.tensor(LABELS[a:b, None] > LABELS[a:b])
        costs = torch.nn.functional.softplus(-sigma * (s[a:b, None] - s[a:b]))
        if weights is not None:
            costs = costs * torch.tensor(weights[a:b, a:b])
        total = total + costs[better].sum()
    return total


def test_ranknet_equals_pytorchs_own_autograd() -> None:
    ours, theirs = scores(), scores()
    loss = ranking_loss(ours, LABELS, INDPTR, objective="ranknet", sigma=1.3, reduction="sum")
    cost = pair_cost(theirs, 1.3)
    loss.backward()
    cost.backward()
    assert loss.item() == pytest.approx(cost.item(), rel=1e-12)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-12, atol=1e-14)


def test_ranknet_passes_gradcheck() -> None:
    def loss(s: Any) -> Any:
        return ranking_loss(s, LABELS, INDPTR, objective="ranknet")

    assert torch.autograd.gradcheck(loss, (scores(),))


@pytest.mark.parametrize("metric", ["ndcg@3", "map", "mrr", "err"])
def test_lambdas_are_the_gradient_of_the_cost_with_swap_gains_held(metric: str) -> None:
    ours, theirs = scores(1), scores(1)
    weights = np.zeros((10, 10))
    for a, b in zip(INDPTR[:-1], INDPTR[1:], strict=True):
        here = theirs.detach().numpy()[a:b]
        weights[a:b, a:b] = weights_of(metric, LABELS[a:b].astype(np.float64), here, normalize=False)
    loss = ranking_loss(ours, LABELS, INDPTR, metric, sigma=0.7)
    loss.backward()
    (pair_cost(theirs, 0.7, weights) / 4).backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-10, atol=1e-14)
    values = sr.metric(metric).per_query(LABELS, theirs.detach().numpy(), INDPTR)
    assert loss.item() == pytest.approx(1 - values.mean())


@pytest.mark.parametrize("construction", ["pairs", *CONSTRUCTIONS])
def test_gradients_are_the_objectives(construction: str) -> None:
    s = scores(2)
    options: Any = {"sigma": 1.2, "normalize": construction == "pairs", "construction": construction}
    (3.0 * ranking_loss(s, torch.tensor(LABELS), torch.tensor(INDPTR), "ndcg", **options, reduction="sum")).backward()
    grad, hess = np.empty(10), np.empty(10)
    data = sr.Dataset(np.zeros((10, 1)), LABELS, qid=np.repeat(np.arange(4), np.diff(INDPTR)))
    objective = LambdaRankObjective(sr.metric("ndcg"), **options)
    objective.bind(data, random_state=0, n_threads=1).update(s.detach().numpy(), grad, hess)
    np.testing.assert_allclose(s.grad.numpy(), 3 * grad, rtol=1e-12)


def test_single_precision_and_modules() -> None:
    torch.manual_seed(0)
    (data,) = sr.datasets.random_net((40,), n_features=8, n_documents=10, random_state=0)
    features = torch.tensor(np.array(data.features))
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = ranking_loss(model(features).squeeze(1), data.labels, data.indptr, "ndcg@5")
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert loss.dtype == torch.float32
    assert losses[-1] < 0.5 * losses[0]


def test_queries_that_the_metric_leaves_out_have_no_loss() -> None:
    s = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    loss = ranking_loss(s, [0, 0, 0, 1], [0, 2, 4], sr.metric("ndcg(empty=skip)"), reduction="sum")
    assert loss.item() == pytest.approx(1 - (1 + 1 / np.log2(3)) / 2)
    mean = ranking_loss(s, [0, 0, 0, 1], [0, 2, 4], sr.metric("ndcg(empty=skip)"))
    assert mean.item() == pytest.approx(loss.item())
    loss.backward()
    assert (s.grad[:2] == 0).all()


def test_lambdas_have_no_second_derivative() -> None:
    s = scores()
    loss = ranking_loss(s, LABELS, INDPTR)
    (grad,) = torch.autograd.grad(loss * loss, s, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.1, 0.2], [0, 1], [0, 2]), {}, "scores must be a tensor with one score per document, found list"),
        ((torch.zeros(2, 1), [0, 1], [0, 2]), {}, r"found torch.float32 of shape \(2, 1\)"),
        ((torch.zeros(2), [0, 1, 1], [0, 3]), {}, "scores must be one number per document, 3 in all; found shape"),
        ((torch.zeros(2), [0, 1], [0, 1]), {}, "indptr must rise from 0 to the number of documents, 2"),
        ((torch.zeros(2), [0, 1], [0, 2]), {"objective": "listnet"}, "objective must be 'lambdarank' or 'ranknet'"),
        ((torch.zeros(2), [0, 1], [0, 2]), {"reduction": "none"}, "reduction must be 'mean' or 'sum'"),
        ((torch.zeros(2), [0, 1], [0, 2]), {"construction": "sprng"}, "there is no construction 'sprng'"),
    ],
)
def test_bad_arguments_are_named(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(sr.errors.SwaprankError, match=message):
        ranking_loss(*arguments, **options)


def test_the_transformer_of_the_examples_learns() -> None:
    example = runpy.run_path(str(PROJECT / "examples" / "torch_transformer.py"))
    found = example["main"](n_epochs=2, n_queries=200)
    before, after = found["in their list"]
    assert after > before + 0.05


def test_pytorch_is_imported_when_needed_and_missed_in_words() -> None:
    code = """
import sys
sys.modules["torch"] = None
import swaprank as sr
try:
    ranking_loss([0.0], [1], [0, 1])
except sr.errors.MissingExtraError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "PyTorch is not installed: pip install 'swaprank[torch]'.\n"
