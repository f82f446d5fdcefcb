"""Parameters that rankers of several kinds share, each declared once."""

from collections.abc import Sequence

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.linear.architectures import KernelArchitecture
from swaprank.models.kernel_machine import KERNELS, Kernel, fit_kernel_map
from swaprank.models.scaling import Units
from swaprank.parameters import Parameters, parameter
from swaprank.rankers.rounds import Patience
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
        last=True,
        text="Seed of all random choices. None: a random one; a NumPy generator: drawn from it.",
    )


class EarlyStopping(Parameters):
    """Rankers that watch a validation set."""

    early_stopping_rounds: Patience = parameter(
        default=None,
        low=1,
        whole=True,
        also="early_stopping_round od_wait",
        last=True,
        text="Stop if the watched metric has not improved for this many rounds. Needs a validation set, whose best "
        "round is kept in any case.",
    )


class Epochs(Parameters):
    """Rankers that pass over the training data again and again."""

    n_epochs: int = parameter(
        default=100, low=0, high=10**7, also="max_iter epochs", text="Maximum number of passes over the training data."
    )


class PairProbabilities(Parameters):
    """Rankers that learn from probabilities of one document being better than another."""

    sigma: float = parameter(
        default=1.0,
        above=0,
        tune=(0.3, 3.0),
        also="sigmoid lambdarank_sigmoid",
        of_objective=True,
        text="Steepness of the pair probabilities in the score difference, for the default objective.",
    )


class SwapGradients(PairProbabilities):
    """Rankers that follow LambdaRank's gradients."""

    normalize: bool = parameter(
        default=True,
        tune=[True, False],
        also="lambdarank_norm",
        of_objective=True,
        text="Divide each pair's weight by its score difference and rescale each query's gradients, as LightGBM does. "
        "False: as in the paper. For the default objective.",
    )
    horizon: int | None = parameter(
        default=None,
        low=1,
        whole=True,
        of_objective=True,
        text="How deep to learn: the gradients are those of the metric with its cut-off at this rank. The metric that "
        "is measured stays as it is. If None, as deep as the metric looks. For the default objective.",
    )


class KernelFeatures(Parameters):
    """Rankers that train a kernel machine."""

    kernel: Kernel = parameter(
        default="rbf", words=KERNELS, text='"rbf", exp(-gamma |x - z|²); or "polynomial", (gamma x\'z + 1)^degree.'
    )
    gamma: float | None = parameter(
        default=None,
        above=0,
        whole=False,
        text="Coefficient of the kernel. If None, 1 / number of features that are not constant.",
    )
    degree: int = parameter(default=2, low=1, high=100, text="Degree of the polynomial kernel.")
    n_landmarks: int = parameter(
        default=500,
        low=1,
        high=10**7,
        text="Maximum number of training documents that the kernel machine compares a document with.",
    )

    def _kernel_architecture(self, data: Dataset, units: Units, seed: int) -> KernelArchitecture:
        """The kernel machine that these parameters describe, on the landmarks that the seed draws."""
        mapping = fit_kernel_map(
            data.features,
            units,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=int(self.degree),
            n_landmarks=int(self.n_landmarks),
            random_state=seed,
        )
        return KernelArchitecture(mapping)


class HiddenLayers(Parameters):
    """Rankers that train a net."""

    hidden: Sequence[int] = parameter(
        default=(),
        low=1,
        high=10**6,
        whole=True,
        each=True,
        text="Number of units of each hidden layer: () for a linear net, (10,) for one hidden layer of 10 units.",
    )
