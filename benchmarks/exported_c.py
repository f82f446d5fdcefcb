"""Claim: the exported C file scores 200 documents with 500 trees faster than TL2cgen's code, and compiles faster.

    python benchmarks/exported_c.py [--trees 500] [--leaves 64] [--documents 200] [--runs 200]

LightGBM trains the trees on generated data (136 features, some values missing). swaprank reads the model, and writes it
as C, which gcc compiles, and as ONNX. TL2cgen gets the same model through Treelite. All score the same float32 rows in
the same process on one thread, in turns, and the best turn counts. It includes everything from the call in Python to
the array of scores. Every batch has other documents, so that the CPU cannot learn the ways that they take.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import onnxruntime
import tl2cgen
import treelite
from recording import Recording, add_record
from scoring import generated, trained

import swaprank as sr
from swaprank.arrays import Features, Floats

N_BATCHES = 40
PACKAGES = ("lightgbm", "onnxruntime", "tl2cgen")
Engine = Callable[[Features], Floats]


def exported_c(ranker: sr.Ranker, folder: Path, level: str) -> tuple[Engine, float]:
    """The exported file as a shared library, and the seconds that gcc took."""
    ranker.export(folder / "model.c", to="c")
    start = time.perf_counter()
    subprocess.run(
        ["gcc", "-std=c99", level, "-shared", "-fPIC", "model.c", "-o", f"{level}.so"], cwd=folder, check=True
    )
    seconds = time.perf_counter() - start
    call = ctypes.CDLL(str(folder / f"{level}.so")).model_score_many

    def predict(X: Features) -> Floats:
        scores = np.empty(len(X))
        call(ctypes.c_void_p(X.ctypes.data), ctypes.c_size_t(len(X)), ctypes.c_void_p(scores.ctypes.data))
        return scores

    return predict, seconds


def compiled_by_tl2cgen(booster: lightgbm.Booster, folder: Path) -> tuple[Engine, float]:
    booster.save_model(str(folder / "model.txt"))
    start = time.perf_counter()
    model = treelite.frontend.load_lightgbm_model(folder / "model.txt")
    tl2cgen.export_lib(model, toolchain="gcc", libpath=folder / "tl2cgen.so", params={"parallel_comp": 8})
    seconds = time.perf_counter() - start
    predictor = tl2cgen.Predictor(folder / "tl2cgen.so", nthread=1)
    return lambda X: np.asarray(predictor.predict(tl2cgen.DMatrix(X, dtype="float32"))).ravel(), seconds


def exported_onnx(ranker: sr.Ranker, folder: Path) -> Engine:
    ranker.export(folder / "model.onnx", to="onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    return lambda X: np.asarray(session.run(None, {"features": X})[0])[:, 0]


def best_times(engines: dict[str, Engine], batches: list[Features], runs: int) -> dict[str, float]:
    """Seconds per document."""
    best = dict.fromkeys(engines, math.inf)
    for run in range(runs):
        for name, engine in engines.items():
            batch = batches[run % len(batches)]
            start = time.perf_counter()
            engine(batch)
            best[name] = min(best[name], (time.perf_counter() - start) / len(batch))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("trees", 500), ("leaves", 64), ("documents", 200), ("runs", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    add_record(parser)
    options = parser.parse_args()
    with Recording(options, *PACKAGES) as recording:
        report(recording, options)


def report(recording: Recording, options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    booster, _, _ = trained(rng, options.trees, options.leaves)
    batches = [generated(rng, options.documents) for _ in range(N_BATCHES)]
    ranker: Any = sr.import_model(booster, n_threads=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, plain_seconds = exported_c(ranker, folder, "-O2")
        fast, fast_seconds = exported_c(ranker, folder, "-O3")
        peer, peer_seconds = compiled_by_tl2cgen(booster, folder)
        engines: dict[str, Engine] = {
            "C, gcc -O2": plain,
            "C, gcc -O3": fast,
            "TL2cgen": peer,
            "ONNX, onnxruntime": exported_onnx(ranker, folder),
            "ranker.predict": ranker.predict,
        }
        own = ranker.predict(batches[0])
        for each in (plain, fast):
            np.testing.assert_array_equal(each(batches[0]), own)
        for each in engines.values():
            np.testing.assert_allclose(each(batches[0]), own, atol=1e-5 * np.abs(own).max())
        best = best_times(engines, batches, options.runs)
    shape = f"{options.trees} trees of {options.leaves} leaves, {options.documents} documents in one call"
    recording.says(f"{shape}, one thread, best of {options.runs}")
    seconds = {"C, gcc -O2": plain_seconds, "C, gcc -O3": fast_seconds, "TL2cgen": peer_seconds}
    table = recording.table("engines", "", "µs per document", "Seconds to compile")
    for name, time_of_one in best.items():
        table.add(name, f"{1e6 * time_of_one:.1f}", f"{seconds[name]:.1f}" if name in seconds else "")


if __name__ == "__main__":
    main()
