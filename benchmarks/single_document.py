"""Claim: a Scorer scores one document with 100 trees in 10 µs, and 200 candidates with 500 trees faster than its peers.

    python benchmarks/single_document.py [--runs 60] [--seconds 0.01]

LightGBM trains trees on generated data (136 features, some values missing). swaprank, onnxruntime and TL2cgen score the
same trees; XGBoost and CatBoost cannot read them, and train trees of their own on the same data, with as many leaves.
CatBoost's symmetric trees ask the same question at all nodes of a level, which makes them faster to score and another
kind of model. All score the same float32 rows in the same process, each on one thread, in turns; the best of all turns
counts, and includes everything from the call in Python to the array of scores. LightGBM's "single row" is its C
function for one row with everything prepared, called through ctypes.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import tl2cgen
import treelite
import xgboost
from measuring import machine
from scoring import N_FEATURES, forest_of, generated, onnx_scorer, trained

import swaprank as sr
from swaprank.arrays import Features, Floats
from swaprank.models.forest import Forest
from swaprank.rankers.learned import Learned

Engine = Callable[[Features], Any]
PACKAGES = ("numba", "lightgbm", "onnxruntime", "xgboost", "catboost", "tl2cgen")


def scorer_of(forest: Forest) -> sr.Scorer:
    ranker = sr.MART()
    ranker.learned_ = Learned(forest, feature_names=tuple(str(f) for f in range(1, N_FEATURES + 1)))
    return sr.Scorer(ranker)


def single_row(booster: lightgbm.Booster) -> Engine:
    """LightGBM's C function for one row, prepared once."""
    library = vars(lightgbm.basic)["_LIB"]
    prepared, length, score = ctypes.c_void_p(), ctypes.c_int64(), np.empty(1)
    library.LGBM_BoosterPredictForMatSingleRowFastInit(
        booster._handle, 0, 0, -1, 0, N_FEATURES, b"num_threads=1", ctypes.byref(prepared)
    )
    call, length_at, score_at = library.LGBM_BoosterPredictForMatSingleRowFast, ctypes.byref(length), score.ctypes.data

    def predict(X: Features) -> Floats:
        call(prepared, ctypes.c_void_p(X.ctypes.data), length_at, ctypes.c_void_p(score_at))
        return score

    return predict


def compiled(booster: lightgbm.Booster, folder: Path) -> Engine:
    """TL2cgen: the trees as a C program."""
    model = treelite.frontend.from_lightgbm(booster)
    library = folder / f"trees{booster.num_trees()}.so"
    tl2cgen.export_lib(model, toolchain="gcc", libpath=library, params={"parallel_comp": 8})
    predictor = tl2cgen.Predictor(library, nthread=1)
    return lambda X: predictor.predict(tl2cgen.DMatrix(X, dtype="float32"))


def other_trees(X: Features, y: Floats, n_trees: int, n_leaves: int) -> dict[str, Engine]:
    options = {"max_leaves": n_leaves, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist", "nthread": 1}
    xgb = xgboost.train(options, xgboost.DMatrix(X, y), n_trees)
    common: dict[str, Any] = {"iterations": n_trees, "verbose": False, "allow_writing_files": False}
    leafwise = catboost.CatBoostRegressor(grow_policy="Lossguide", max_leaves=n_leaves, depth=16, **common).fit(X, y)
    symmetric = catboost.CatBoostRegressor(depth=int(math.log2(n_leaves + 1)), **common).fit(X, y)
    return {
        "XGBoost inplace_predict": xgb.inplace_predict,
        "CatBoost": lambda rows: leafwise.predict(rows, thread_count=1),
        "CatBoost, symmetric trees": lambda rows: symmetric.predict(rows, thread_count=1),
    }


def engines(n_trees: int, n_leaves: int, n_documents: int, folder: Path) -> dict[str, Engine]:
    booster = trained(np.random.default_rng(0), n_trees, n_leaves)
    forest = forest_of(booster)
    scorer = scorer_of(forest)
    X = generated(np.random.default_rng(1), 5_000)
    found: dict[str, Engine] = {"swaprank Scorer": scorer.predict, "swaprank predict": scorer.ranker.predict}
    found["LightGBM predict"] = lambda X: booster.predict(X, num_threads=1)
    if n_documents == 1:
        found["swaprank Scorer"] = lambda X: scorer.predict(X[0])
        found["LightGBM single row"] = single_row(booster)
    found |= {"onnxruntime": onnx_scorer(forest), "TL2cgen": compiled(booster, folder)}
    test = X[:n_documents]
    expected = booster.predict(test)
    for name, engine in found.items():
        np.testing.assert_allclose(np.ravel(engine(test)), expected, rtol=1e-4, atol=1e-4, err_msg=name)
    return found | other_trees(X, forest.score(X), n_trees, n_leaves)


def best_times(found: dict[str, Engine], X: Features, runs: int, seconds: float) -> dict[str, float]:
    """Microseconds a call; engines take turns, so that other load on the machine affects all of them."""
    best = dict.fromkeys(found, math.inf)
    for _ in range(runs):
        for name, engine in found.items():
            n_calls, start = 0, time.perf_counter()
            while time.perf_counter() - start < seconds:
                engine(X)
                engine(X)
                n_calls += 2
            best[name] = min(best[name], 1e6 * (time.perf_counter() - start) / n_calls)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.01, help="of each engine in each run")
    options = parser.parse_args()
    print(f"One thread, best of {options.runs}. {machine(*PACKAGES)}.")
    for n_documents, n_trees, n_leaves in ((1, 100, 31), (200, 500, 64)):
        with tempfile.TemporaryDirectory() as folder:
            found = engines(n_trees, n_leaves, n_documents, Path(folder))
            X = generated(np.random.default_rng(2), n_documents)
            best = best_times(found, X, options.runs, options.seconds)
        documents = "1 document" if n_documents == 1 else f"{n_documents} documents"
        print(f"\n| {documents}, {n_trees} trees, {n_leaves} leaves | µs | times swaprank |\n|---|---:|---:|")
        for name, microseconds in sorted(best.items(), key=lambda item: item[1]):
            print(f"| {name} | {microseconds:.1f} | {microseconds / best['swaprank Scorer']:.1f} |")


if __name__ == "__main__":
    main()
