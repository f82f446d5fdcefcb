"""What a kind of ranker is able to do."""

from dataclasses import dataclass
from typing import Literal

from swaprank.models.model import Model


@dataclass(frozen=True)
class Capabilities:
    """What everybody asks who handles rankers of any kind: tuning, model files, reports, clusters."""

    models: tuple[type[Model], ...] = (Model,)
    """Classes of models that it learns."""
    round_name: str = "round"
    """What a round of training is: a tree, an epoch, …"""
    rounds_parameter: str | None = None
    """The parameter that limits the number of rounds."""
    shows_rounds: bool = True
    """Whether there is progress to show."""
    learns_from: Literal["data", "rankers", "nothing"] = "data"
    """Whether it is trained on data alone, combines fitted rankers, or was trained elsewhere."""
    categories: bool = False
    """Whether it knows what to do with categorical features; others learn from numbers."""
    probabilities: bool = False
    """Whether differences of its scores are meant as log odds of one document being better than another."""
    workers: bool = False
    """Whether it trains on a cluster, and has checkpoints."""
