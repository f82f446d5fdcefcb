"""Files damaged at random: the reader must say what is wrong, or make a model that can be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import swaprank as sr


def outcomes(seeds: list[bytes], folder: Path, n_files: int = 200, printable: bool = False) -> dict[str, int]:
    """How many of the damaged files were refused, and how many were read, scored, explained and saved."""
    rng = np.random.default_rng(0)
    lowest, highest = (32, 127) if printable else (0, 256)
    counts = {"error": 0, "model": 0}
    for _ in range(n_files):
        damaged = bytearray(seeds[int(rng.integers(len(seeds)))])
        for _ in range(int(rng.integers(1, 4))):
            at, length = int(rng.integers(len(damaged))), int(rng.integers(1, 6))
            piece = damaged[at : at + length] * int(rng.integers(0, 3))
            random = rng.integers(lowest, highest, length, np.uint8).tobytes()
            damaged[at : at + length] = piece if rng.random() < 0.4 else random
        (folder / "model").write_bytes(damaged)
        try:
            ranker = sr.load_peer(folder / "model")
        except (sr.ModelFileError, sr.DataError):
            counts["error"] += 1
            continue
        counts["model"] += 1
        if ranker.n_features_in_ <= 1000:
            X = rng.normal(size=(2, ranker.n_features_in_)).astype(np.float32)
            scores = ranker.model_.score(X)
            rounding = 1e-6 * (1 + np.abs(ranker.model_.leaf_value).sum())
            np.testing.assert_allclose(ranker.model_.contributions(X).sum(axis=1), scores, atol=rounding)
            ranker.save(folder / "saved.swaprank")
            np.testing.assert_array_equal(sr.load(folder / "saved.swaprank").model_.score(X), scores)
    return counts
