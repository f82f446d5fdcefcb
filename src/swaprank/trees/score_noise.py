"""Random ranks: the gradients of a round are those of the scores plus noise.

The ranks of a list, and so the pairs that weigh most, depend on small differences of the scores, which a few documents
decide. With Gumbel noise of scale b, the list is instead a sample from the Plackett-Luce distribution with the weights
exp(score / b), another one for each tree, so that the trees maximize the metric expected over random orders
[Lyzhin2023]. This holds for every objective, because the noise is added before it.
"""

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.document_places import Places, hash_places
from swaprank.elementary import log
from swaprank.kernels import kernel
from swaprank.threads import row_chunks, run_in_threads


def ranking_scores(
    scores: Floats, places: Places, scale: float, random_state: int, number: int, n_threads: int
) -> Floats:
    """The scores that tree `number` takes its gradients from: the same noise for any number of threads or workers."""
    if scale == 0.0:
        return scores
    seed = int(np.random.default_rng((random_state, number, 1)).integers(2**62))
    bits, noisy = np.empty(len(scores), np.uint64), np.empty(len(scores))

    def add(start: int, stop: int) -> None:
        hash_places(places, seed, start, stop, bits)
        add_noise(scores, scale, bits, start, stop, noisy)

    run_in_threads(add, row_chunks(len(scores), n_threads))
    return noisy


@kernel
def add_noise(scores: Floats, scale: float, bits: AnyArray, start: int, stop: int, noisy: Floats) -> None:
    """Add the noise of the rows from start to stop: -log(-log(u)) of a uniform u is Gumbel-distributed."""
    for row in range(start, stop):
        uniform = (np.float64(bits[row] >> np.uint64(12)) + 0.5) / 2.0**52
        noisy[row] = scores[row] - scale * log(-log(uniform))
