"""A small transformer that looks at a whole list, trained for NDCG@10 by swaprank's lambdas.

    pip install 'swaprank[torch]'
    python examples/torch_transformer.py

The most typical documents of a list are its best: those near its middle, which is elsewhere in every list. A model
that scores documents one by one (here the same one, without attention) cannot know the middle; attention over the list
can. swaprank wants scores query after query, without padding; how a model makes them is its own business.
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
    """Documents attend to the others of their list; one score each."""

    def __init__(self, width: int = 32, attention: bool = True) -> None:
        super().__init__()
        self.enter = nn.Linear(N_FEATURES, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.leave = nn.Linear(width, 1)
        self.attention = attention

    def forward(self, features: Tensor, lengths: Tensor) -> Tensor:
        """Scores of documents, query after query; lists are padded here, and nowhere else."""
        lists = nn.utils.rnn.pad_sequence(list(torch.split(features, lengths.tolist())), batch_first=True)
        places = torch.arange(lists.shape[1])
        there = places < lengths[:, None]
        # True where a document must not look: at padding, or at any but itself.
        padding = ~there if self.attention else None
        others = None if self.attention else places != places[:, None]
        encoded: Tensor = self.encoder(self.enter(lists), mask=others, src_key_padding_mask=padding)
        scores: Tensor = self.leave(encoded).squeeze(2)
        return scores[there]


def typical_documents(n_queries: int, seed: int) -> sr.Dataset:
    """Lists of 10 to 30 documents around a middle of their own, with labels 4 to 0 by the distance from it."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(10, 31, n_queries)
    qid = np.repeat(np.arange(n_queries), lengths)
    away = rng.normal(size=(len(qid), N_FEATURES))
    middle = rng.normal(0.0, 2.0, (n_queries, N_FEATURES))
    labels = np.digitize(-np.linalg.norm(away, axis=1), [-2.5, -2.0, -1.5, -1.0])
    return sr.Dataset(away + middle[qid], labels, qid=qid)


def score(model: ListTransformer, data: sr.Dataset) -> Tensor:
    """The model's scores of a data set whose rows come query after query."""
    scores: Tensor = model(torch.tensor(np.array(data.features)), torch.tensor(np.diff(data.indptr)))
    return scores


def train(model: ListTransformer, data: sr.Dataset, n_epochs: int, batch: int = 32) -> None:
    """Adam, a batch of queries a step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(n_epochs):
        shuffled = np.random.default_rng(epoch).permutation(data.n_queries)
        for first in range(0, data.n_queries, batch):
            some = data.subset(np.sort(shuffled[first : first + batch]))
            optimizer.zero_grad()
            ranking_loss(score(model, some), some.labels, some.indptr, "ndcg@10").backward()
            optimizer.step()


def main(n_epochs: int = 8, n_queries: int = 600) -> dict[str, tuple[float, float]]:
    """Test NDCG@10 before and after training, without attention and with it."""
    learn, test = typical_documents(n_queries, seed=0), typical_documents(300, seed=1)
    found = {}
    for name, attention in (("one by one", False), ("in their list", True)):
        torch.manual_seed(0)
        model, begun = ListTransformer(attention=attention), time.perf_counter()
        measured = []
        for epochs in (0, n_epochs):
            train(model, learn, epochs)
            with torch.no_grad():
                measured.append(sr.evaluate(test, score(model, test).numpy(), "ndcg@10")["ndcg@10"].mean)
        found[name] = measured[0], measured[1]
        seconds = time.perf_counter() - begun
        print(f"documents {name:14} test NDCG@10 {measured[0]:.4f} -> {measured[1]:.4f}  ({seconds:.0f} s)")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="little data and one epoch, to see it run")
    options = parser.parse_args()
    torch.set_num_threads(1)  # so small a model gains nothing from more
    if options.quick:
        main(n_epochs=1, n_queries=32)
    else:
        main(options.epochs)
