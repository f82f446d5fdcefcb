"""Claim: leafwise and symmetric trees are scored faster than by peers, for one document as for thousands.

    python benchmarks/scoring.py [--runs 12] [--seconds 0.02] [--rows 20000]

LightGBM trains leafwise trees on generated data (136 features, some values missing), and CatBoost symmetric ones. The
same trees are scored by swaprank and, those of LightGBM, by onnxruntime. XGBoost, YDF and CatBoost (leafwise) cannot
read trees of others, and train their own with as many leaves. All score the same float32 rows in the same process, in
turns, so that other load on the machine affects all of them; the best turn counts, and includes everything from the
call in Python to the array of scores. With one thread, it is CPU time: other programs would interrupt long calls, but
not short ones. With two, it is the time on the clock, which is only meaningful on an idle machine. "one row" is
LightGBM's C function for a single row with everything prepared, called through ctypes. A Scorer always uses one thread.

Scores must be those of the library that trained the trees: swaprank's to the last bit (to 1e-12 for CatBoost, whose
scale is folded into the leaves), those of onnxruntime, which sums in single precision, to 1e-4.
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
import onnx
import onnxruntime
import xgboost
import ydf
from recording import Recording, add_record

import swaprank as sr
from swaprank.arrays import Features, Floats
from swaprank.models.forest import ARRAYS, Forest, check_forest
from swaprank.rankers.learned import Learned

N_FEATURES = 136
N_DOCUMENTS = (1, 100, 1000, 8000)
SIZES = ((100, 31), (500, 64))
"""Trees and leaves."""
RELATIVE = 1000
"""For so many documents, the last column compares with `predict`."""
PACKAGES = ("lightgbm", "onnxruntime", "xgboost", "catboost", "ydf")
Engine = Callable[[Features], Any]


def generated(rng: np.random.Generator, n: int) -> Features:
    """Normal features, long-tailed features and counts; every fourth feature has missing values."""
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    X[:, 1::3] = rng.gamma(1.0, 1.0, X[:, 1::3].shape)
    X[:, 2::3] = rng.poisson(3.0, X[:, 2::3].shape)
    X[:, ::4][rng.random(X[:, ::4].shape) < 0.2] = np.nan
    return X


def trained(
    rng: np.random.Generator, n_trees: int, n_leaves: int, n_rows: int = 20_000
) -> tuple[lightgbm.Booster, Features, Floats]:
    """LightGBM's trees, and what they were trained on; one thread, because threads wait for each other under load."""
    X = generated(rng, n_rows)
    known = np.nan_to_num(X)
    y = np.tanh(known @ rng.normal(size=N_FEATURES) / 8) + (known[:, 0] * known[:, 1] > 1) + rng.normal(size=len(X))
    options = {
        "objective": "regression",
        "num_leaves": n_leaves,
        "learning_rate": 0.05,
        "verbose": -1,
        "num_threads": 1,
    }
    return lightgbm.train(options, lightgbm.Dataset(X, y), n_trees), X, y


def single_precision(threshold: float) -> float:
    """The largest finite float32 up to the threshold, which splits finite float32 values in the same way.

    LightGBM uses a threshold of 1e300 to separate missing values from all others.
    """
    nearest = np.float32(min(threshold, float(np.finfo(np.float32).max)))
    # Compare Python floats: NumPy would compare in single precision and find the two equal.
    return float(nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf)))


def forest_of(booster: lightgbm.Booster) -> Forest:
    columns: dict[str, list[Any]] = {name: [] for name in ARRAYS}
    tree_nodes, tree_leaves = [0], [0]

    def add(part: dict[str, Any]) -> int:
        if "split_index" not in part:
            columns["leaf_value"].append(part["leaf_value"])
            columns["leaf_count"].append(part["leaf_count"])
            return ~(len(columns["leaf_value"]) - 1 - tree_leaves[-1])
        node = len(columns["feature"])
        columns["feature"].append(part["split_feature"])
        columns["threshold"].append(single_precision(part["threshold"]))
        # If no value was missing in training, LightGBM treats a missing value as 0.
        missing_left = part["default_left"] if part["missing_type"] == "NaN" else part["threshold"] >= 0
        columns["missing_left"].append(missing_left)
        columns["gain"].append(part["split_gain"])
        columns["node_count"].append(part["internal_count"])
        columns["left"].append(0)
        columns["right"].append(0)
        columns["left"][node] = add(part["left_child"])
        columns["right"][node] = add(part["right_child"])
        return node - tree_nodes[-1]

    for tree in booster.dump_model()["tree_info"]:
        add(tree["tree_structure"])
        tree_nodes.append(len(columns["feature"]))
        tree_leaves.append(len(columns["leaf_value"]))
    columns |= {"tree_nodes": tree_nodes, "tree_leaves": tree_leaves, "n_words": [0] * len(columns["feature"])}
    arrays = {name: np.array(columns[name], dtype) for name, (dtype, _) in ARRAYS.items()}
    return check_forest(Forest(n_features=N_FEATURES, base_score=0.0, **arrays))


def onnx_scorer(forest: Forest, n_threads: int) -> Engine:
    """The same trees in onnxruntime; the leaves of a tree are numbered after its nodes."""
    n_nodes, n_leaves = np.diff(forest.tree_nodes), np.diff(forest.tree_leaves)
    parts: dict[str, list[Any]] = {
        key: [] for key in ("tree", "id", "feature", "value", "mode", "yes", "no", "missing")
    }
    for tree in range(forest.n_trees):
        a, b = forest.tree_nodes[tree], forest.tree_nodes[tree + 1]
        ids = [
            np.where(child[a:b] >= 0, child[a:b], n_nodes[tree] + ~child[a:b]) for child in (forest.left, forest.right)
        ]
        padding = [0] * int(n_leaves[tree])
        parts["tree"] += [tree] * int(n_nodes[tree] + n_leaves[tree])
        parts["id"] += range(int(n_nodes[tree] + n_leaves[tree]))
        parts["feature"] += forest.feature[a:b].tolist() + padding
        parts["value"] += forest.threshold[a:b].tolist() + [0.0] * len(padding)
        parts["mode"] += ["BRANCH_LEQ"] * int(n_nodes[tree]) + ["LEAF"] * len(padding)
        parts["yes"] += ids[0].tolist() + padding
        parts["no"] += ids[1].tolist() + padding
        parts["missing"] += forest.missing_left[a:b].astype(int).tolist() + padding
    leaf_tree = np.repeat(np.arange(forest.n_trees), n_leaves)
    leaf_id = n_nodes[leaf_tree] + np.arange(len(leaf_tree)) - forest.tree_leaves[leaf_tree]
    node = onnx.helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["scores"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=parts["tree"],
        nodes_nodeids=parts["id"],
        nodes_featureids=parts["feature"],
        nodes_values=parts["value"],
        nodes_modes=parts["mode"],
        nodes_truenodeids=parts["yes"],
        nodes_falsenodeids=parts["no"],
        nodes_missing_value_tracks_true=parts["missing"],
        target_treeids=leaf_tree.tolist(),
        target_nodeids=leaf_id.tolist(),
        target_ids=[0] * len(leaf_tree),
        target_weights=forest.leaf_value.tolist(),
    )
    value = onnx.helper.make_tensor_value_info
    float32 = onnx.TensorProto.FLOAT
    inputs, outputs = [value("X", float32, [None, N_FEATURES])], [value("scores", float32, [None, 1])]
    graph = onnx.helper.make_graph([node], "trees", inputs, outputs)
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = n_threads, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda X: np.asarray(session.run(None, {"X": X})[0])[:, 0]


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


def one_document(scorer: sr.Scorer) -> Engine:
    return lambda X: scorer.predict(X[0])


def ranker_of(forest: Forest) -> sr.MART:
    ranker = sr.MART()
    ranker.learned_ = Learned(forest, feature_names=tuple(str(f) for f in range(1, N_FEATURES + 1)))
    return ranker


def imported(model: catboost.CatBoostRegressor, folder: Path) -> Any:
    model.save_model(str(folder / "model.cbm"))
    return sr.import_model(folder / "model.cbm")


class Trained:
    """The models of all libraries, of one size."""

    def __init__(self, n_trees: int, n_leaves: int, n_rows: int, folder: Path) -> None:
        self.lightgbm, X, y = trained(np.random.default_rng(0), n_trees, n_leaves, n_rows)
        self.leafwise = ranker_of(forest_of(self.lightgbm))
        options = {
            "max_leaves": n_leaves,
            "max_depth": 0,
            "grow_policy": "lossguide",
            "tree_method": "hist",
            "nthread": 1,
        }
        self.xgboost = xgboost.train(options, xgboost.DMatrix(X, y), n_trees)
        common: dict[str, Any] = {
            "iterations": n_trees,
            "verbose": False,
            "allow_writing_files": False,
            "thread_count": 1,
        }
        catboost_leafwise = {"grow_policy": "Lossguide", "max_leaves": n_leaves, "depth": 16}
        self.catboost = catboost.CatBoostRegressor(**catboost_leafwise, **common).fit(X, y)
        depth = math.floor(math.log2(n_leaves + 1))
        self.catboost_symmetric = catboost.CatBoostRegressor(depth=depth, **common).fit(X, y)
        self.symmetric = imported(self.catboost_symmetric, folder)
        learner = ydf.GradientBoostedTreesLearner(
            label="y", task=ydf.Task.REGRESSION, num_trees=n_trees, early_stopping="NONE", validation_ratio=0.0,
            growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=n_leaves, num_threads=1,
        )  # fmt: skip
        self.ydf = learner.train({"x": X, "y": y}, verbose=0)

    def engines(self, n_threads: int, n_documents: int) -> dict[str, Engine]:
        """All that can score so many documents with so many threads."""
        found: dict[str, Engine] = {}
        kinds = {"": self.leafwise, ", symmetric trees": self.symmetric}
        if n_threads == 1:
            for kind, ranker in kinds.items():
                scorer = sr.Scorer(ranker)
                found[f"swaprank `Scorer`{kind}"] = one_document(scorer) if n_documents == 1 else scorer.predict
            if n_documents == 1:
                found["LightGBM, one row"] = single_row(self.lightgbm)
        for kind, ranker in kinds.items():
            ranker.set_params(n_threads=n_threads)
            found[f"swaprank `predict`{kind}"] = ranker.predict
        self.xgboost.set_param({"nthread": n_threads})
        forest = self.leafwise.model_
        assert isinstance(forest, Forest)
        return found | {
            "LightGBM": lambda X: self.lightgbm.predict(X, num_threads=n_threads),
            "onnxruntime": onnx_scorer(forest, n_threads),
            "XGBoost": self.xgboost.inplace_predict,
            "YDF": lambda X: self.ydf.predict({"x": X}, num_threads=n_threads),
            "CatBoost": lambda X: self.catboost.predict(X, thread_count=n_threads),
            "CatBoost, symmetric trees": lambda X: self.catboost_symmetric.predict(X, thread_count=n_threads),
        }

    def check(self, engines: dict[str, Engine], X: Features) -> None:
        """The same trees must have the same scores."""
        expected = {False: engines["LightGBM"](X), True: engines["CatBoost, symmetric trees"](X)}
        tolerances = {"swaprank": 0.0, "LightGBM": 0.0, "onnxruntime": 1e-4}
        for name, engine in engines.items():
            library, symmetric = name.split(",")[0].split(" ")[0], "symmetric" in name
            if library in tolerances:
                tolerance = 1e-12 if symmetric else tolerances[library]
                scores = np.ravel(engine(X))
                np.testing.assert_allclose(scores, expected[symmetric], rtol=tolerance, atol=tolerance, err_msg=name)


def best_times(
    engines: dict[str, Engine], X: Features, runs: int, seconds: float, clock: Callable[[], float]
) -> dict[str, float]:
    """Microseconds a document."""
    best = dict.fromkeys(engines, math.inf)
    for _ in range(runs):
        for name, engine in engines.items():
            start = time.perf_counter()
            engine(X)
            n_calls = max(1, int(seconds / (time.perf_counter() - start)))
            start = clock()
            for _ in range(n_calls):
                engine(X)
            best[name] = min(best[name], (clock() - start) / n_calls)
    return {name: 1e6 * each / len(X) for name, each in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.02, help="of each engine in each run, at least one call")
    parser.add_argument("--rows", type=int, default=20_000, help="rows that the trees are trained on")
    add_record(parser)
    options = parser.parse_args()
    with Recording(options, *PACKAGES) as recording:
        recording.says(
            f"{N_FEATURES} features; microseconds per document, of CPU time with one thread and on the clock with two; "
            f"best of {options.runs} turns"
        )
        for n_trees, n_leaves in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                trained = Trained(n_trees, n_leaves, options.rows, Path(folder))
            for n_threads in (1, 2):
                report(recording, f"{n_trees} trees, {n_leaves} leaves", trained, n_threads, options)


def report(recording: Recording, size: str, trained: Trained, n_threads: int, options: argparse.Namespace) -> None:
    X = generated(np.random.default_rng(2), max(N_DOCUMENTS))
    clock = time.process_time if n_threads == 1 else time.perf_counter
    found: dict[str, list[str]] = {}
    of_thousand: dict[str, float] = {}
    for column, n in enumerate(N_DOCUMENTS):
        engines = trained.engines(n_threads, n)
        trained.check(engines, X[:n])
        for name, each in best_times(engines, X[:n], options.runs, options.seconds, clock).items():
            cells = found.setdefault(name, [""] * len(N_DOCUMENTS))
            cells[column] = f"{each:,.0f}" if each >= 100 else f"{each:.3g}"
            of_thousand |= {name: each} if n == RELATIVE else {}
    threads = "one thread" if n_threads == 1 else f"{n_threads} threads"
    name = f"{size}, {threads}"
    numbers = (f"{n:,}" for n in N_DOCUMENTS)
    table = recording.table(name, f"{name}: documents", *numbers, f"{RELATIVE:,}, relative")
    for engine, cells in found.items():
        ratio = of_thousand.get(engine, math.nan) / of_thousand["swaprank `predict`"]
        table.add(engine, *cells, f"{ratio:.1f}" if ratio > 0 else "")


if __name__ == "__main__":
    main()
