"""Parameters that rankers of different kinds share."""

import numpy as np

from swaprank.parameters import Parameters, parameter
from swaprank.seeds import LARGEST_SEED, RandomState


class RandomChoices(Parameters):
    """Rankers whose training is random."""

    random_state: RandomState = parameter(
        default=0,
        low=0,
        high=LARGEST_SEED,
        optional=True,
        instances=(np.random.RandomState, np.random.Generator),
        also="seed random_seed",
        text="Seed of all random choices. None: a random one; a NumPy generator: drawn from it.",
    )


class EarlyStopping(Parameters):
    """Rankers that watch a validation set."""

    early_stopping_rounds: int | None = parameter(
        default=None,
        low=1,
        whole=True,
        also="early_stopping_round od_wait",
        text="Stop if the watched metric has not improved for this many rounds. Needs a validation set, whose best "
        "round is kept in any case.",
    )
