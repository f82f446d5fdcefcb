"""Train a small transformer over whole lists for NDCG@10 with swaprank's lambdas.

    pip install 'swaprank[torch]'
    python examples/torch_transformer.py

The best documents of each list are those near its center, and every list has its own center. A model that scores
documents one by one (here the same model without attention) cannot know the center; attention over the list can.
swaprank takes the scores grouped by query, without padding; any model can compute them.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from torch import Tensor, nn

import swaprank as sr
from swaprank.torch import ranking_loss

N_FEATURES = 4


class ListTransformer(nn.Module):
    """A transformer encoder in which documents attend to the other documents of their list; one score per document."""

    def __init__(self, width: int = 32, attention: bool = True) -> None:
        super().__init__()
        self.input = nn.Linear(N_FEATURES, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.output = nn.Linear(width, 1)
        self.attention = attention

    def forward(self, features: Tensor, lengths: Tensor) -> Tensor:
        """Scores of the documents, grouped by query; only this method pads the lists."""
        lists = nn.utils.rnn.pad_sequence(list(torch.split(features, lengths.tolist())), batch_first=True)
        positions = torch.arange(lists.shape[1])
        present = positions < lengths[:, None]
        # True where attention is masked: padding, or all documents but itself.
        padding = ~present if self.attention else None
        others = None if self.attention else positions != positions[:, None]
        encoded: Tensor = self.encoder(self.input(lists), mask=others, src_key_padding_mask=padding)
        scores: Tensor = self.output(encoded).squeeze(2)
        return scores[present]


def typical_documents(n_queries: int, seed: int) -> sr.Dataset:
    """Lists of 10 to 30 documents around a center per list, with labels 4 to 0 by the distance from it."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(10, 31, n_queries)
    qid = np.repeat(np.arange(n_queries), lengths)
    offset = rng.normal(size=(len(qid), N_FEATURES))
    center = rng.normal(0.0, 2.0, (n_queries, N_FEATURES))
    labels = np.digitize(-np.linalg.norm(offset, axis=1), [-2.5, -2.0, -1.5, -1.0])
    return sr.Dataset(offset + center[qid], labels, qid=qid)


def score(model: ListTransformer, data: sr.Dataset) -> Tensor:
    """The model's scores of a data set whose rows are grouped by query."""
    scores: Tensor = model(torch.tensor(np.array(data.features)), torch.tensor(np.diff(data.indptr)))
    return scores


def train(model: ListTransformer, data: sr.Dataset, n_epochs: int, batch: int = 32) -> None:
    """Train with Adam, one step per batch of queries."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(n_epochs):
        shuffled = np.random.default_rng(epoch).permutation(data.n_queries)
        for first in range(0, data.n_queries, batch):
            some = data.subset(np.sort(shuffled[first : first + batch]))
            optimizer.zero_grad()
            ranking_loss(score(model, some), some.labels, some.indptr, "ndcg@10").backward()
            optimizer.step()


def main(n_epochs: int = 8, n_queries: int = 600) -> dict[str, tuple[float, float]]:
    """Print and return test NDCG@10 before and after training, without and with attention."""
    learn, test = typical_documents(n_queries, seed=0), typical_documents(300, seed=1)
    found = {}
    for name, attention in (("one by one", False), ("in their list", True)):
        torch.manual_seed(0)
        model, start = ListTransformer(attention=attention), time.perf_counter()
        measured = []
        for epochs in (0, n_epochs):
            train(model, learn, epochs)
            with torch.no_grad():
                measured.append(sr.evaluate(test, score(model, test).numpy(), "ndcg@10")["ndcg@10"].mean)
        found[name] = measured[0], measured[1]
        seconds = time.perf_counter() - start
        print(f"documents {name:14} test NDCG@10 {measured[0]:.4f} -> {measured[1]:.4f}  ({seconds:.0f} s)")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="little data and one epoch, for a quick test")
    options = parser.parse_args()
    torch.set_num_threads(1)  # more threads do not speed up such a small model
    if options.quick:
        main(n_epochs=1, n_queries=32)
    else:
        main(options.epochs)
