"""Kernel PCA as a map of features: a linear model of what it gives is a kernel machine of what it takes.

    Phi(x) = K(x, L) V / sqrt(length)      L: some documents (landmarks); V, length: eigenvectors and -values of K(L, L)

With all documents as landmarks this is the empirical kernel PCA map [Chapelle2010, section 6]: inner products of what
it gives are those of the kernel. With some of them, it is Nyström's approximation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, row_blocks
from swaprank.errors import DataError, ModelFileError
from swaprank.models.scaling import Units, fill
from swaprank.seeds import random_generator

Kernel = Literal["rbf", "polynomial"]
KERNELS: tuple[Kernel, ...] = ("rbf", "polynomial")

_BLOCK_ROWS = 4096
_ARRAYS = ("factor", "missing", "landmarks", "projection")


@final
@dataclass(frozen=True, eq=False)
class KernelMap:
    """A map of features, fitted."""

    kernel: Kernel
    gamma: float
    degree: int
    units: Units
    landmarks: Floats
    """In units of the features' deviations."""
    projection: Floats
    """Landmarks x what the map gives."""

    def __call__(self, features: Features) -> Features:
        """The map of every row."""
        mapped = np.empty((len(features), self.projection.shape[1]), np.float32)
        for block in row_blocks(len(features), _BLOCK_ROWS):
            scaled = _scaled(features[block], self.units)
            values = _kernel(self.kernel, self.gamma, self.degree, scaled, self.landmarks) @ self.projection
            _check_size(values, float(np.finfo(np.float32).max), self.kernel)
            mapped[block] = values
        return mapped

    def arrays(self) -> dict[str, AnyArray]:
        """Its arrays by name."""
        return dict(zip(_ARRAYS, (*self.units, self.landmarks, self.projection), strict=True))

    def meta(self) -> dict[str, Any]:
        """What it has beside arrays."""
        return {"kernel": self.kernel, "gamma": self.gamma, "degree": self.degree}


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
    """The map with landmarks drawn from these rows; gamma is one over the number of features that vary if None.

    >>> import numpy as np
    >>> from swaprank.models.scaling import units_of
    >>> from swaprank.models.kernel_map import fit_kernel_map
    >>> X = np.array([[0.0], [1.0], [2.0]], dtype=np.float32)
    >>> options = dict(kernel="rbf", gamma=1.0, degree=2, n_landmarks=3, random_state=0)
    >>> mapped = fit_kernel_map(X, units_of(X, standardize=False), **options)(X)
    >>> bool(np.allclose((mapped @ mapped.T)[0], np.exp([0.0, -1.0, -4.0]), atol=1e-5))
    True
    """
    chosen = np.sort(random_generator(random_state).permutation(len(features))[:n_landmarks])
    landmarks = _scaled(features[chosen], units)
    if gamma is None:
        gamma = 1.0 / max(1, int(np.count_nonzero(units.factor)))
    inner = _kernel(kernel, gamma, degree, landmarks, landmarks)
    _check_size(inner, float(np.finfo(np.float64).max), kernel)
    lengths, axes = np.linalg.eigh(inner)
    # Axes that rounding makes are left out, the longest come first, and signs are fixed.
    kept = np.flatnonzero(lengths > lengths[-1] * 1e-9)[::-1]
    axes = axes[:, kept] * np.where(axes[np.abs(axes[:, kept]).argmax(axis=0), kept] < 0, -1.0, 1.0)
    return KernelMap(kernel, float(gamma), int(degree), units, landmarks, axes / np.sqrt(lengths[kept]))


def kernel_map_from_arrays(arrays: Mapping[str, AnyArray], meta: Mapping[str, Any]) -> KernelMap:
    """The map again, every part of it checked."""
    if meta["kernel"] not in KERNELS:
        raise ModelFileError(f"it has a kernel that this version of swaprank does not know: {meta['kernel']!r}.")
    for name in _ARRAYS:
        if name not in arrays or not np.isfinite(arrays[name]).all():
            raise ModelFileError(f"its kernel map has no {name}, or one that is not finite.")
    factor, missing, landmarks, projection = (arrays[name] for name in _ARRAYS)
    fits = landmarks.ndim == projection.ndim == 2 and len(landmarks) == len(projection)
    if not fits or factor.shape != missing.shape or factor.shape != landmarks.shape[1:]:
        raise ModelFileError("the parts of its kernel map do not fit together.")
    if not float(meta["gamma"]) > 0 or int(meta["degree"]) < 1:
        raise ModelFileError(f"its kernel has gamma={meta['gamma']!r} and degree={meta['degree']!r}.")
    units = Units(factor.astype(np.float64), missing.astype(np.float32))
    return KernelMap(
        meta["kernel"],
        float(meta["gamma"]),
        int(meta["degree"]),
        units,
        landmarks.astype(np.float64),
        projection.astype(np.float64),
    )


def _check_size(values: Floats, most: float, kernel: Kernel) -> None:
    if not (np.abs(values) <= most).all():
        raise DataError(
            f"the {kernel} kernel of some documents is too large a number; standardize the features, or choose a "
            "smaller gamma or degree."
        )


def _scaled(features: Features, units: Units) -> Floats:
    filled = fill(features, units.missing).astype(np.float64)
    return (filled - units.missing) * units.factor


def _kernel(kernel: Kernel, gamma: float, degree: int, x: Floats, z: Floats) -> Floats:
    from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

    if kernel == "rbf":
        return np.asarray(rbf_kernel(x, z, gamma=gamma))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(polynomial_kernel(x, z, degree=degree, gamma=gamma, coef0=1.0))
