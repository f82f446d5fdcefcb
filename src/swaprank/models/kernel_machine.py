"""A kernel machine: a linear model of the outputs of kernel PCA, which maps the features to new ones.

    Phi(x) = K(x, L) V / sqrt(lambda)      L: landmarks (some documents); V, lambda: eigenvectors and -values of K(L, L)

If all documents are landmarks, inner products of the new features equal the kernel: this is the empirical kernel PCA
map [Chapelle2010, section 6]. With fewer landmarks it is the Nyström approximation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints, row_blocks
from swaprank.elementary import exp, power
from swaprank.errors import DataError, ModelFileError
from swaprank.kernels import kernel as numba_kernel
from swaprank.lanes import dot
from swaprank.models.eigenvectors import eigenvectors
from swaprank.models.linear import check_weights
from swaprank.models.model import Model, ModelParts, array_part
from swaprank.models.perturbation import LinearPerturbation, Perturbation, weight_slopes
from swaprank.models.products import inner_products, project
from swaprank.models.scaling import Units, fill_missing
from swaprank.models.served import KernelSum
from swaprank.seeds import random_generator

Kernel = Literal["rbf", "polynomial"]
KERNELS: tuple[Kernel, ...] = ("rbf", "polynomial")

_BLOCK_ROWS = 4096
_LARGEST_DEGREE = 100


@final
@dataclass(frozen=True, eq=False)
class KernelMap:
    """A fitted kernel PCA map."""

    kernel: Kernel
    gamma: float
    degree: int
    units: Units
    landmarks: Floats
    """The standardized features of the landmarks."""
    projection: Floats
    """Landmarks x outputs."""

    def __call__(self, features: Features) -> Features:
        """The outputs for every row."""
        mapped = np.empty((len(features), self.projection.shape[1]), np.float32)
        for block in row_blocks(len(features), _BLOCK_ROWS):
            scaled = _standardized(features[block], self.units)
            similarities = _kernel(self.kernel, self.gamma, self.degree, scaled, self.landmarks)
            values = _inner_products(similarities, np.ascontiguousarray(self.projection.T))
            _check_size(values, float(np.finfo(np.float32).max), self.kernel)
            mapped[block] = values
        return mapped


def fit_kernel_map(
    features: Features,
    units: Units,
    *,
    kernel: Kernel,
    gamma: float | None,
    degree: int,
    n_landmarks: int,
    random_state: int,
) -> KernelMap:
    """Fit a map with landmarks drawn from these rows. If gamma is None, it is 1 / number of non-constant features.

    >>> import numpy as np
    >>> from swaprank.models.scaling import units_of
    >>> from swaprank.models.kernel_machine import fit_kernel_map
    >>> X = np.array([[0.0], [1.0], [2.0]], dtype=np.float32)
    >>> options = dict(kernel="rbf", gamma=1.0, degree=2, n_landmarks=3, random_state=0)
    >>> mapped = fit_kernel_map(X, units_of(X, standardize=False), **options)(X)
    >>> bool(np.allclose((mapped @ mapped.T)[0], np.exp([0.0, -1.0, -4.0]), atol=1e-5))
    True
    """
    rows = np.sort(random_generator(random_state).permutation(len(features))[:n_landmarks])
    landmarks = _standardized(features[rows], units)
    if gamma is None:
        gamma = 1.0 / max(1, int(np.count_nonzero(units.factor)))
    gram = _kernel(kernel, gamma, degree, landmarks, landmarks)
    _check_size(gram, float(np.finfo(np.float64).max), kernel)
    eigenvalues, vectors = eigenvectors(gram)
    used = eigenvalues > eigenvalues[0] * 1e-9  # the others are rounding errors
    projection = (vectors[used] / np.sqrt(eigenvalues[used])[:, None]).T
    return KernelMap(kernel, float(gamma), int(degree), units, landmarks, np.ascontiguousarray(projection))


def kernel_map_from_arrays(arrays: Mapping[str, AnyArray], meta: Mapping[str, Any]) -> KernelMap:
    """The map in the parts of a kernel machine; all values are checked."""
    if meta["kernel"] not in KERNELS:
        raise ModelFileError(f"its kernel {meta['kernel']!r} is not known to this version of swaprank.")
    landmarks = array_part("its kernel map", arrays, "landmarks", np.float64, (None, None))
    projection = array_part("its kernel map", arrays, "projection", np.float64, (len(landmarks), None))
    factor = array_part("its kernel map", arrays, "factor", np.float64, landmarks.shape[1:])
    missing = array_part("its kernel map", arrays, "missing", np.float32, landmarks.shape[1:])
    gamma, degree = meta["gamma"], meta["degree"]
    if not (type(gamma) is float and 0 < gamma < np.inf and type(degree) is int and 1 <= degree <= _LARGEST_DEGREE):
        raise ModelFileError(f"its kernel is invalid: gamma={meta['gamma']!r}, degree={meta['degree']!r}.")
    return KernelMap(meta["kernel"], gamma, degree, Units(factor, missing), landmarks, projection)


@final
@dataclass(frozen=True, eq=False)
class KernelMachine(Model):
    """Weighted sums of kernel values."""

    kind: ClassVar[str] = "kernel"
    map: KernelMap
    weights: Floats

    @property
    def n_features(self) -> int:
        """See `Model`."""
        return len(self.map.units.factor)

    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`."""
        return project(self.map(features), self.weights, n_threads)

    def describe(self) -> str:
        """See `Model`."""
        return f"a kernel machine of {len(self.weights):,} weights"

    def perturb(self, features: Features, rows: Ints, base: Floats) -> Perturbation:
        """See `Model`."""
        return LinearPerturbation(
            f"{len(self.weights):,} weights",
            len(self.weights),
            self.score(features)[rows] + base,
            move=lambda change: replace(self, weights=self.weights + change),
            slopes=weight_slopes(lambda chosen: self.map(features[chosen]), rows),
        )

    def for_export(self) -> KernelSum:
        """See `Model`."""
        kernel, gamma, degree, (factor, missing) = self.map.kernel, self.map.gamma, self.map.degree, self.map.units
        coefficients = np.sum(self.map.projection * self.weights, axis=1)
        return KernelSum(kernel, gamma, degree, factor, missing, self.map.landmarks, coefficients)

    def to_parts(self) -> ModelParts:
        """See `Model`."""
        own = self.map
        meta = {"kind": self.kind, "kernel": own.kernel, "gamma": own.gamma, "degree": own.degree}
        arrays = {**own.units._asdict(), "landmarks": own.landmarks, "projection": own.projection}
        return ModelParts(meta, {"weights": self.weights, **arrays})

    @classmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """See `Model`."""
        mapping = kernel_map_from_arrays(arrays, meta)
        weights = array_part("its kernel machine", arrays, "weights", np.float64, mapping.projection.shape[1:])
        check_weights(weights)
        return cls(mapping, weights)


def _check_size(values: Floats, largest: float, kernel: Kernel) -> None:
    if not (np.abs(values) <= largest).all():
        raise DataError(
            f"the {kernel} kernel overflows for some documents; standardize the features, or choose a smaller gamma "
            "or degree."
        )


def _standardized(features: Features, units: Units) -> Floats:
    filled = fill_missing(features, units.missing).astype(np.float64)
    return (filled - units.missing) * units.factor


def _kernel(kernel: Kernel, gamma: float, degree: int, x: Floats, z: Floats) -> Floats:
    products = _inner_products(x, z)
    if kernel == "rbf":
        rbf_of_products(gamma, x, z, products)
    else:
        polynomial_of_products(gamma, degree, products)
    return products


def _inner_products(x: Floats, z: Floats) -> Floats:
    products = np.empty((len(x), len(z)))
    inner_products(z, np.zeros(len(z)), x, products)
    return products


@numba_kernel
def rbf_of_products(gamma: float, x: Floats, z: Floats, products: Floats) -> None:
    """exp(-gamma |x_i - z_j|²) in place of the products x_i'z_j."""
    sizes = np.empty(len(z))
    for j in range(len(z)):
        sizes[j] = dot(z[j], z[j])
    for i in range(len(x)):
        size = dot(x[i], x[i])
        for j in range(len(z)):
            products[i, j] = exp(-gamma * max(0.0, size + sizes[j] - 2.0 * products[i, j]))


@numba_kernel
def polynomial_of_products(gamma: float, degree: int, products: Floats) -> None:
    """(gamma x_i'z_j + 1)^degree in place of the products x_i'z_j."""
    for i in range(len(products)):
        for j in range(products.shape[1]):
            products[i, j] = power(gamma * products[i, j] + 1.0, degree)
