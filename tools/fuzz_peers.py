"""The part of tools/fuzz.py that damages model files of other libraries."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from damage import ODD_VALUES, Rng, damaged, pick

import swaprank as sr


def make_peers(folder: Path) -> None:
    """Small valid models in every format that is read; cbm is left out: CatBoost reads it, in a process of its own."""
    import catboost
    import lightgbm
    import pandas
    import xgboost

    train, _ = sr.datasets.random_net((25, 15), n_features=5, n_documents=8, random_state=0)
    shape: dict[str, Any] = {"n_trees": 3, "n_leaves": 5, "min_docs_in_leaf": 3}
    plain = sr.MART(**shape).fit(train)
    codes = np.column_stack((train.labels, train.features))
    qid = np.repeat(np.arange(train.n_queries), np.diff(train.indptr))
    sets = sr.MART(**shape).fit(sr.Dataset(codes, train.labels, qid=qid, categorical_features=[0]))
    for name, to in (("model.txt", "lightgbm"), ("xgboost.json", "xgboost"), ("model.onnx", "onnx")):
        plain.export(folder / name, to)
        sets.export(folder / f"sets_{name}", to)
    plain.export(folder / "model.xml", "ranklib", missing="zero")
    for name in ("xgboost", "sets_xgboost"):
        booster = xgboost.Booster()
        booster.load_model(folder / f"{name}.json")
        booster.save_model(folder / f"{name}.ubj")
    linear = xgboost.train({"booster": "gblinear"}, xgboost.DMatrix(train.features, train.labels), 2)
    for form in ("json", "ubj"):
        linear.save_model(folder / f"linear_xgboost.{form}")
    (folder / "linear.xml").write_text("## Linear Regression\n## Lambda = 1.0E-10\n0:0.5 1:-0.25 3:2\n")
    (folder / "rankboost.xml").write_text("## RankBoost\n## Iteration = 2\n1:0.5:0.25 2:-3:1E-2\n")
    frame = pandas.DataFrame({"a": pandas.Categorical(train.labels), "b": train.features[:, 0] > 0, "c": train.labels})
    data = lightgbm.Dataset(frame.astype({"b": "category"}), train.labels, categorical_feature=["a", "c"])
    lightgbm.train({"num_leaves": 4, "verbosity": -1}, data, 2).save_model(folder / "pandas.txt")
    _onnx_variants(folder)
    for policy in ("SymmetricTree", "Lossguide"):
        options = {"iterations": 3, "depth": 2, "grow_policy": policy, "verbose": False, "allow_writing_files": False}
        model = catboost.CatBoost({**options, "thread_count": 1})
        model.fit(train.features, train.labels)
        model.save_model(str(folder / f"catboost_{policy}.json"), format="json")


def _onnx_variants(folder: Path) -> None:
    """A scaler before trees, and a classifier that adds up one score."""
    import onnx
    from onnx import TensorProto, helper

    nodes: dict[str, Any] = {
        "treeids": [0] * 3,
        "nodeids": [0, 1, 2],
        "featureids": [1, 0, 0],
        "values": [0.5, 0.0, 0.0],
    }
    nodes |= {"modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "truenodeids": [1, 0, 0], "falsenodeids": [2, 0, 0]}
    leaves: dict[str, Any] = {"treeids": [0, 0], "nodeids": [1, 2], "ids": [0, 0], "weights": [-1.0, 2.0]}
    tests = {f"nodes_{name}": values for name, values in nodes.items()}
    scaler = helper.make_node("Scaler", ["X"], ["S"], domain="ai.onnx.ml", offset=[0.5] * 5, scale=[-2.0] * 5)
    sums = {f"target_{name}": values for name, values in leaves.items()}
    trees = helper.make_node("TreeEnsembleRegressor", ["S"], ["Y"], domain="ai.onnx.ml", n_targets=1, **tests, **sums)
    classes = {f"class_{name}": values for name, values in leaves.items()} | {"classlabels_int64s": [0, 1]}
    both = helper.make_node("TreeEnsembleClassifier", ["X"], ["L", "Y"], domain="ai.onnx.ml", **tests, **classes)
    given = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 5])]
    scores = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, None])
    labels = helper.make_tensor_value_info("L", TensorProto.INT64, [None])
    for name, operators, outputs in (("scaler", [scaler, trees], [scores]), ("classifier", [both], [labels, scores])):
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        graph = helper.make_graph(operators, "g", given, outputs)
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / f"{name}.onnx")


def peer_case(rng: Rng, folder: Path, use: Callable[..., None]) -> str:
    """Write a damaged model of another library, read it, and use the model; returns what came back."""
    valid = folder / "peers" / str(rng.choice(sorted(file.name for file in (folder / "peers").iterdir())))
    content = valid.read_bytes()
    if valid.suffix == ".json" and rng.random() < 0.7:
        content = _json_changed(content, rng)
    elif valid.suffix == ".onnx" and rng.random() < 0.7:
        content = _onnx_changed(content, rng)
    else:
        content = damaged(content, rng)
    file = folder / f"damaged{valid.suffix}"
    file.write_bytes(content)
    try:
        ranker = sr.import_model(file)
    except sr.errors.SwaprankError:
        return "refused"
    use(ranker, folder / "again.swaprank")
    with tempfile.TemporaryDirectory() as place:
        for name in ("lightgbm", "c"):
            try:
                ranker.export(Path(place) / "model", name)
            except sr.errors.SwaprankError:
                continue
    return "loaded"


def _json_changed(content: bytes, rng: Rng) -> bytes:
    """One or two values deep in the file are replaced, removed, or given twice."""
    tree = json.loads(content)
    for _ in range(int(rng.integers(1, 3))):
        at: Any = tree
        while True:
            keys: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = pick(rng, keys)
            if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.95:
                at = at[key]
                continue
            change = rng.random()
            if change < 0.1:
                del at[key]
            elif change < 0.2 and isinstance(at, list):
                at.append(deepcopy(at[key]))
            elif change < 0.5 and isinstance(at[key], int | float):
                at[key] = pick(rng, [-1, 0, 1, 2, 3, 7, 100, 2**31, 2**40, 0.5, 1e39, -1e39])
            else:
                # A copy: the next change may go into it.
                at[key] = deepcopy(pick(rng, ODD_VALUES))
            break
    return json.dumps(tree).encode("utf-8", "surrogatepass")


def _onnx_changed(content: bytes, rng: Rng) -> bytes:
    """Entries of the tree ensemble's attributes are replaced, removed or added."""
    import onnx

    model = onnx.load_from_string(content)
    for _ in range(int(rng.integers(1, 3))):
        node = pick(rng, model.graph.node)
        if not node.attribute:
            continue
        attribute = pick(rng, node.attribute)
        change = rng.random()
        if change < 0.1:
            node.attribute.remove(attribute)
        elif attribute.ints and change < 0.9:
            at = int(rng.integers(len(attribute.ints)))
            attribute.ints[at] = int(rng.choice([-1, 0, 1, 2, 5, 100, 2**31, 2**62, -(2**62)]))
        elif attribute.floats and change < 0.9:
            at = int(rng.integers(len(attribute.floats)))
            attribute.floats[at] = float(rng.choice([np.nan, np.inf, -np.inf, 3e38, 1e-45, 0, -1]))
        elif attribute.strings and change < 0.9:
            at = int(rng.integers(len(attribute.strings)))
            attribute.strings[at] = pick(rng, [b"LEAF", b"BRANCH_LT", b"BRANCH_EQ", b"", b"\xff"])
        elif attribute.ints:
            attribute.ints.append(int(attribute.ints[0]))
        elif attribute.HasField("t") and attribute.t.raw_data:
            raw = bytearray(attribute.t.raw_data)
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
            attribute.t.raw_data = bytes(raw)
        else:
            attribute.i = int(rng.choice([-1, 0, 2, 2**40]))
    found: bytes = model.SerializeToString()
    return found
