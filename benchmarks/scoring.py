"""Claim: 500 trees x 64 leaves score 2 times faster than onnxruntime and 5 times faster than LightGBM, on one thread.

    python benchmarks/scoring.py [--documents 8000] [--trees 500] [--leaves 64] [--runs 9]

LightGBM trains the trees on generated data (136 features, some values missing). The same trees are converted for
swaprank and, as a TreeEnsembleRegressor, for onnxruntime. All three score the same float32 array in the same process,
in turns, and the best of several turns counts. Scores must equal LightGBM's: those of swaprank to the last bit, those
of onnxruntime, which sums in single precision, to 1e-5 of the largest score times the square root of the number of
trees.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import onnx
import onnxruntime
from measuring import machine

from swaprank.arrays import Features, Floats
from swaprank.models.forest import ARRAYS, Forest, check_forest
from swaprank.models.forest_scoring import score

N_FEATURES = 136
Scorer = Callable[[Features], Floats]


def generated(rng: np.random.Generator, n: int) -> Features:
    """Normal features, long-tailed features and counts; every fourth feature has missing values."""
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    X[:, 1::3] = rng.gamma(1.0, 1.0, X[:, 1::3].shape)
    X[:, 2::3] = rng.poisson(3.0, X[:, 2::3].shape)
    X[:, ::4][rng.random(X[:, ::4].shape) < 0.2] = np.nan
    return X


def trained(rng: np.random.Generator, n_trees: int, n_leaves: int) -> lightgbm.Booster:
    X = generated(rng, 20_000)
    known = np.nan_to_num(X)
    y = np.tanh(known @ rng.normal(size=N_FEATURES) / 8) + (known[:, 0] * known[:, 1] > 1) + rng.normal(size=len(X))
    options = {"objective": "regression", "num_leaves": n_leaves, "learning_rate": 0.05, "verbose": -1}
    return lightgbm.train(options, lightgbm.Dataset(X, y), n_trees)


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


def onnx_scorer(forest: Forest) -> Scorer:
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
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda X: np.asarray(session.run(None, {"X": X})[0])[:, 0]


def scorers(booster: lightgbm.Booster, n_trees: int) -> dict[str, Scorer]:
    forest = forest_of(booster).truncated(n_trees)
    return {
        "LightGBM": lambda X: np.asarray(booster.predict(X, num_iteration=n_trees, num_threads=1)),
        "onnxruntime": onnx_scorer(forest),
        "swaprank": lambda X: score(forest, X, n_threads=1),
    }


def check_equal(engines: dict[str, Scorer], X: Features, n_trees: int) -> None:
    expected = engines["LightGBM"](X)
    np.testing.assert_array_equal(engines["swaprank"](X), expected)
    tolerance = 1e-5 * math.sqrt(n_trees) * float(np.abs(expected).max())
    np.testing.assert_allclose(engines["onnxruntime"](X), expected, atol=tolerance, rtol=0)


def best_times(engines: dict[str, Scorer], batches: list[Features], runs: int) -> dict[str, float]:
    """Seconds per document; the engines take turns, so that other load on the machine affects all of them."""
    best = dict.fromkeys(engines, math.inf)
    for _ in range(runs):
        for name, engine in engines.items():
            start = time.perf_counter()
            for batch in batches:
                engine(batch)
            seconds = (time.perf_counter() - start) / sum(map(len, batches))
            best[name] = min(best[name], seconds)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=8000)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=64)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    booster = trained(rng, options.trees, options.leaves)
    X = generated(rng, options.documents)
    few_trees = min(100, options.trees)
    all_trees, hundred_trees = scorers(booster, options.trees), scorers(booster, few_trees)
    check_equal(all_trees, X, options.trees)
    check_equal(hundred_trees, X, few_trees)
    tables = {
        f"{options.trees} trees, one batch": best_times(all_trees, [X], options.runs),
        f"{options.trees} trees, 200 at a time": best_times(
            all_trees, [X[i : i + 200] for i in range(0, len(X), 200)], options.runs
        ),
        f"{few_trees} trees, one at a time": best_times(
            hundred_trees, [X[i : i + 1] for i in range(300)], options.runs
        ),
    }
    shape = f"{options.leaves} leaves, {len(X):,} documents, {N_FEATURES} features"
    print(f"Trees of {shape}, one thread, best of {options.runs}.")
    print(f"{machine('numba', 'onnxruntime', 'lightgbm')}.\n")
    print("| µs per document | swaprank | onnxruntime | LightGBM | times onnxruntime | times LightGBM |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, best in tables.items():
        ours, onnx_time, lightgbm_time = (1e6 * best[engine] for engine in ("swaprank", "onnxruntime", "LightGBM"))
        times = f"{onnx_time / ours:.1f} | {lightgbm_time / ours:.1f}"
        print(f"| {name} | {ours:.2f} | {onnx_time:.2f} | {lightgbm_time:.2f} | {times} |")


if __name__ == "__main__":
    main()
