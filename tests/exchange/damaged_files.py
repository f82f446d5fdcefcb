"""Files damaged at random: the reader must say what is wrong, or make a model that can be used."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import swaprank as sr

ODD = (b"-1", b"0", b"1e39", b"nan", b"inf", b"99999999", b"4294967296", b"0.5", b"\xff", b" ", b"\n", b"[", b"{")


def damaged(content: bytes, rng: np.random.Generator, printable: bool = False) -> bytes:
    """One to three pieces of a file deleted, repeated, overwritten, or replaced by odd numbers; or its end cut off."""
    changed = bytearray(content)
    lowest, highest = (32, 127) if printable else (0, 256)
    for _ in range(int(rng.integers(1, 4))):
        at, length = int(rng.integers(len(changed))), int(rng.integers(1, 6))
        match int(rng.integers(5)):
            case 0:
                changed[at : at + length] = b""
            case 1:
                changed[at : at + length] *= 2
            case 2:
                changed[at : at + length] = rng.integers(lowest, highest, length, np.uint8).tobytes()
            case 3:
                changed[at : at + length] = ODD[int(rng.integers(len(ODD)))]
            case 4 if rng.random() < 0.2:
                del changed[at + 1 :]
            case _:
                changed[at] ^= 1 << int(rng.integers(8))
        changed = changed or bytearray(b" ")
    return bytes(changed)


def outcomes(seeds: list[bytes], folder: Path, n_files: int = 500, printable: bool = False) -> dict[str, int]:
    """How many of the damaged files were refused, and how many were read, scored, explained and saved."""
    rng = np.random.default_rng(0)
    counts = {"error": 0, "model": 0}
    for _ in range(n_files):
        (folder / "model").write_bytes(damaged(seeds[int(rng.integers(len(seeds)))], rng, printable))
        try:
            ranker = sr.import_model(folder / "model")
        except (sr.errors.ModelFileError, sr.errors.DataError):
            counts["error"] += 1
            continue
        counts["model"] += 1
        if ranker.n_features_in_ <= 1000:
            X = rng.normal(size=(3, ranker.n_features_in_)).astype(np.float32)
            X[0], X[1] = 0, np.nan
            scores = ranker.model_.score(X)
            summands = getattr(ranker.model_, "leaf_value", getattr(ranker.model_, "weights", np.zeros(0)))
            rounding = 1e-6 * (1 + np.abs(summands).sum())
            np.testing.assert_allclose(ranker.model_.contributions(X).sum(axis=1), scores, atol=rounding)
            ranker.save(folder / "saved.swaprank")
            np.testing.assert_array_equal(sr.load(folder / "saved.swaprank").model_.score(X), scores)
    return counts
