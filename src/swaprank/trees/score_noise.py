"""Random ranks: the gradients of a round are those of the scores plus noise.

The ranks of a list, and so the pairs that weigh most, depend on small differences of the scores, which a few documents
decide. With Gumbel noise of scale b, the list is instead a sample from the Plackett-Luce distribution with the weights
exp(score / b), another one for each tree, so that the trees maximize the metric expected over random orders
[Lyzhin2023]. This holds for every objective, because the noise is added before it.
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats
from swaprank.elementary import log
from swaprank.kernels import kernel
from swaprank.threads import run_strided
from swaprank.trees.document_sampling import CHUNK, random_bits


def ranking_scores(scores: Floats, scale: float, random_state: int, number: int, n_threads: int) -> Floats:
    """The scores that tree `number` takes its gradients from: the same noise for any number of threads."""
    if scale == 0.0:
        return scores
    seed = int(np.random.default_rng((random_state, number, 1)).integers(2**62))
    noisy, starts = np.empty(len(scores)), range(0, len(scores), CHUNK)
    run_strided(lambda c: add_chunk_noise(scores, scale, seed, starts[c], noisy), len(starts), n_threads)
    return noisy


@kernel
def add_chunk_noise(scores: Floats, scale: float, seed: int, start: int, noisy: Floats) -> None:
    """Add the noise of one chunk: -log(-log(u)) of a uniform u is Gumbel-distributed."""
    for row in range(start, min(start + CHUNK, len(scores))):
        uniform = (np.float64(random_bits(row, seed) >> np.uint64(12)) + 0.5) / 2.0**52
        noisy[row] = scores[row] - scale * log(-log(uniform))
