"""Small queries, and trainers of nets in double precision, for the comparison with nets from the papers' texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import swaprank as sr
from swaprank.models.layers import layer_weights
from swaprank.nets.net_training import Trainer
from swaprank.rankers.net_ranker import NetRanker
from tests.papers.naive_burges2005_ranknet import Floats, TwoLayerNet

SIZES = (6, 9, 2, 7)
N_EPOCHS = 4


def small_data(levels: int = 4) -> sr.Dataset:
    """Four queries with three features; every query has a relevant document."""
    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    labels = rng.integers(0, levels, len(qid))
    labels[np.cumsum(SIZES) - 1], labels[np.cumsum(SIZES) - 2] = levels - 1, 0
    return sr.Dataset(rng.uniform(-1, 1, (len(qid), 3)).astype(np.float32), labels, qid=qid)


def query_orders(ranker: NetRanker) -> list[list[int]]:
    """The order of the queries in each epoch."""
    seed = ranker.random_state_
    return [np.random.default_rng([seed, number]).permutation(len(SIZES)).tolist() for number in range(1, N_EPOCHS + 1)]


def as_two_layers(ranker: NetRanker) -> TwoLayerNet:
    """The weights of a net with one hidden layer."""
    (w21, b2), (w32, _) = layer_weights(ranker.model_.layers, ranker.model_.weights)
    return TwoLayerNet(w21.astype(np.float64), b2.astype(np.float64), w32[0].astype(np.float64))


def trained_in_double_precision(ranker: NetRanker, data: sr.Dataset) -> Trainer:
    """The epochs of `fit`, from the weights of a fitted ranker, which has trained no epoch, in double precision.

    The kernels take weights of any precision, and compute in it; rankers give them single precision.
    """
    start = replace(ranker.model_, weights=ranker.model_.weights.astype(np.float64))
    trainer = ranker._trainer(data, start, ranker.random_state_)
    for number in range(1, N_EPOCHS + 1):
        trainer.epoch(number)
    return trainer


def flat(net: TwoLayerNet) -> Floats:
    """All weights in the order of ours, without the offset of the output, which ours has not."""
    return np.concatenate((net.w21.ravel(), net.b2, net.w32))
