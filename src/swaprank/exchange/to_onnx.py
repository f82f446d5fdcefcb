"""A model as an ONNX graph: `features` (float32, documents x features) to `scores` (float32, documents x 1).

A calibrated ranker has a second output, `calibrated`, of the same shape.

Only operators that every runtime has for years: opset 9, and for trees TreeEnsembleRegressor of ai.onnx.ml 3. All sums
are in double precision, because a runtime adds up single ones in any order; scores are rounded once, at the end.

ai.onnx.ml 3 has no sets of categories, and onnxruntime 1.21.1 and 1.23.2 score some sets of ai.onnx.ml 5 wrongly. So
each set becomes a feature of the trees, which is 0 where a category goes left and 1 where it goes right, looked up in a
table::

    features ─► code of the category, or the last row if it is missing or unknown ─► row of the table ─► 0 1 1 0 …
"""

import json
from dataclasses import replace
from typing import Any, cast

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.errors import ExportError, import_extra
from swaprank.exchange.exported import NEEDS_ONNX, Export
from swaprank.models.calibration import TAIL, Calibration
from swaprank.models.category_sets import WORD_CATEGORIES, node_sets, set_members
from swaprank.models.forest import Forest, join_forests, single_leaf
from swaprank.models.scaling import MAX_SCALED
from swaprank.models.served import FeedForward, KernelSum, Mixture, ServedModel, Trees, WeightedSum
from swaprank.version import __version__

CALIBRATED = "calibrated"
"""The output of a calibrated ranker beside the scores."""
_OPSET, _TREE_OPSET, _IR_VERSION = 9, 3, 4
_LARGEST_FILE = 2**31 - 1
"""The most bytes of a Protocol Buffers message."""


def content(export: Export) -> bytes:
    """The bytes of an ONNX file."""
    onnx = import_extra("onnx", NEEDS_ONNX)
    graph = Graph(onnx)
    scores = _scores(graph, export.model, "features")
    graph.add("Cast", scores, to=onnx.TensorProto.FLOAT, output="scores")
    if export.calibration is not None:
        values = _calibrated(graph, export.calibration, graph.as_double(scores))
        graph.add("Cast", values, to=onnx.TensorProto.FLOAT, output=CALIBRATED)
    size = sum(array.nbytes for array in graph.constants.values())
    if size > _LARGEST_FILE:
        raise ExportError(f"the model has {size:,} bytes, but an ONNX file has at most {_LARGEST_FILE:,}. Use c.")
    model = _model(graph, export)
    onnx.checker.check_model(model)
    return cast(bytes, model.SerializeToString(deterministic=True))


class Graph:
    """Operators and constants, in the order in which they were added."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: dict[str, AnyArray] = {}

    def add(self, operator: str, *inputs: str | AnyArray, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add an operator; the name of its output. Inputs are names, or arrays, which become constants."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        name = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], domain=domain, **attributes))
        return name

    def constant(self, array: AnyArray) -> str:
        """Add a constant; its name."""
        name = f"constant_{len(self.constants)}"
        self.constants[name] = array
        return name

    def as_double(self, name: str) -> str:
        """The same values in double precision."""
        return self.add("Cast", name, to=self.onnx.TensorProto.DOUBLE)

    def as_single(self, name: str) -> str:
        """The same values in single precision."""
        return self.add("Cast", name, to=self.onnx.TensorProto.FLOAT)


def _model(graph: Graph, export: Export) -> Any:
    helper, floats = graph.onnx.helper, graph.onnx.TensorProto.FLOAT
    shapes = {"features": ["documents", len(export.feature_names)], "scores": ["documents", 1]}
    if export.calibration is not None:
        shapes[CALIBRATED] = ["documents", 1]
    inputs, *outputs = (helper.make_tensor_value_info(name, floats, shape) for name, shape in shapes.items())
    constants = [graph.onnx.numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
    domains = {"": _OPSET} | {node.domain: _TREE_OPSET for node in graph.nodes if node.domain}
    model = helper.make_model(
        helper.make_graph(graph.nodes, export.name, [inputs], outputs, constants),
        producer_name="swaprank",
        producer_version=__version__,
        doc_string="Scores of documents: the higher, the better. A missing value is NaN.",
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid(*each) for each in domains.items()],
    )
    props = {"feature_names": list(export.feature_names), "categories": dict(export.categories)}
    helper.set_model_props(model, {name: json.dumps(value) for name, value in props.items()})
    return model


def _calibrated(graph: Graph, calibration: Calibration, scores: str) -> str:
    """Add the operators of a calibration; lines between steps are a sum of ramps, each from 0 to 1."""
    x, y = np.array(calibration.scores), np.array(calibration.values)
    low, high, zero = calibration.low, calibration.high, np.zeros(1)
    if calibration.method == "platt":
        logits = graph.add("Add", graph.add("Mul", scores, x), y)
        share = graph.as_double(graph.add("Sigmoid", graph.as_single(logits)))
        return graph.add("Add", graph.add("Mul", share, np.array([high - low])), np.array([low]))
    rising = graph.add("Div", graph.add("Sub", scores, x[:-1]), np.diff(x))
    ramps = graph.add("Min", graph.add("Max", rising, zero), np.ones(1))
    values = graph.add("Add", graph.add("MatMul", ramps, np.diff(y)[:, None]), y[:1])
    below = graph.add("Max", graph.add("Sub", x[:1], scores), zero)
    above = graph.add("Max", graph.add("Sub", scores, x[-1:]), zero)
    for beyond, way in ((below, low - y[0]), (above, high - y[-1])):
        share = graph.add("Div", beyond, graph.add("Add", beyond, x[-1:] - x[0]))
        values = graph.add("Add", values, graph.add("Mul", share, np.array([TAIL * way])))
    return values


def _scores(graph: Graph, model: ServedModel, features: str) -> str:
    """Add the operators of a model; the name of the scores, documents x 1 in single or double precision."""
    match model:
        case Trees(forest):
            return _trees(graph, forest, features)
        case WeightedSum():
            return _weighted_sum(graph, model, features)
        case FeedForward():
            return _net(graph, model, features)
        case KernelSum():
            return _kernel_sum(graph, model, features)
        case Mixture():
            return _mixture(graph, model, features)


def _trees(graph: Graph, forest: Forest, features: str) -> str:
    values = graph.as_double(features)
    if len(forest.words):
        forest, values = _add_sets(graph, forest, values)
    arrays = _tree_attributes(forest)
    from_array = graph.onnx.numpy_helper.from_array
    attributes = {
        name: from_array(each) if each.dtype == np.float64 else each.tolist() for name, each in arrays.items()
    }
    return graph.add("TreeEnsembleRegressor", values, domain="ai.onnx.ml", n_targets=1, **attributes)


def _tree_attributes(forest: Forest) -> dict[str, AnyArray]:
    """The attributes of TreeEnsembleRegressor; the leaves of a tree are numbered after its nodes."""
    if forest.n_trees == 0:
        forest = join_forests(forest, single_leaf(0.0, forest.n_features, 1))
    n_nodes = np.diff(forest.tree_nodes)
    node_tree, leaf_tree = (np.repeat(np.arange(forest.n_trees), n) for n in (n_nodes, n_nodes + 1))
    node_id = np.arange(len(node_tree)) - forest.tree_nodes[node_tree]
    leaf_id = n_nodes[leaf_tree] + np.arange(len(leaf_tree)) - forest.tree_leaves[leaf_tree]
    # The parts of one tree stand together.
    order = np.argsort(np.concatenate((node_tree, leaf_tree)), kind="stable")

    def of_parts(of_nodes: AnyArray, of_leaves: Any = 0) -> AnyArray:
        return np.concatenate((of_nodes, np.broadcast_to(of_leaves, len(leaf_tree)).astype(of_nodes.dtype)))[order]

    children = {
        side: np.where(child >= 0, child, n_nodes[node_tree] + ~child)
        for side, child in (("true", forest.left), ("false", forest.right))
    }
    return {
        "base_values_as_tensor": np.array([forest.base_score]),
        "nodes_treeids": of_parts(node_tree, leaf_tree),
        "nodes_nodeids": of_parts(node_id, leaf_id),
        "nodes_featureids": of_parts(forest.feature),
        "nodes_modes": of_parts(np.full(len(node_tree), "BRANCH_LEQ"), "LEAF"),
        "nodes_values_as_tensor": of_parts(forest.threshold.astype(np.float64)),
        "nodes_truenodeids": of_parts(children["true"]),
        "nodes_falsenodeids": of_parts(children["false"]),
        "nodes_missing_value_tracks_true": of_parts(forest.missing_left.astype(np.int64)),
        "target_treeids": leaf_tree,
        "target_nodeids": leaf_id,
        "target_ids": np.zeros_like(leaf_id),
        "target_weights_as_tensor": forest.leaf_value,
    }


def _add_sets(graph: Graph, forest: Forest, features: str) -> tuple[Forest, str]:
    """Add the operators that look up the sets; a forest without sets, and the name of its features."""
    tables, columns = _tables(forest)
    n_rows = graph.constant(np.array([len(table) - 1.0 for table in tables.values()]))
    codes = graph.add("Floor", graph.add("Gather", features, np.array(list(tables)), axis=1))
    is_known = graph.add(
        "And", graph.add("Not", graph.add("Less", codes, np.zeros(1))), graph.add("Less", codes, n_rows)
    )
    rows = graph.add("Cast", graph.add("Where", is_known, codes, n_rows), to=graph.onnx.TensorProto.INT64)
    parts = [features]
    for at, table in enumerate(tables.values()):
        row = graph.add("Gather", rows, np.array(at), axis=1)
        parts.append(graph.as_double(graph.add("Gather", table, row, axis=0)))
    is_set = forest.n_words > 0
    plain = replace(
        forest,
        n_features=forest.n_features + sum(table.shape[1] for table in tables.values()),
        feature=np.where(is_set, columns, forest.feature).astype(np.int32),
        threshold=np.where(is_set, np.float32(0.5), forest.threshold),
        n_words=np.zeros_like(forest.n_words),
        words=forest.words[:0],
    )
    return plain, graph.add("Concat", *parts, axis=1)


def _tables(forest: Forest) -> tuple[dict[int, AnyArray], AnyArray]:
    """By feature: categories and a last row for all others x sets, 0 where they go left. And the column of each node.

    Columns are numbered after the features, table by table.
    """
    sets = dict(node_sets(forest))
    nodes = np.array(list(sets))
    tables, columns, n_columns = {}, np.zeros(len(forest.n_words), np.int64), forest.n_features
    for feature in np.unique(forest.feature[nodes]):
        own = nodes[forest.feature[nodes] == feature].tolist()
        n_categories = WORD_CATEGORIES * int(forest.n_words[own].max())
        found: dict[bytes, int] = {}
        for node in own:
            right = np.full(n_categories + 1, not forest.missing_left[node], np.uint8)
            members = set_members(sets[node])
            right[: len(members)] = ~members
            columns[node] = n_columns + found.setdefault(right.tobytes(), len(found))
        tables[int(feature)] = np.frombuffer(b"".join(found), np.uint8).reshape(len(found), -1).T.copy()
        n_columns += len(found)
    return tables, columns


def _filled(graph: Graph, values: str, missing: AnyArray) -> str:
    return graph.add("Where", graph.add("IsNaN", values), missing, values)


def _weighted_sum(graph: Graph, model: WeightedSum, features: str) -> str:
    filled = _filled(graph, graph.as_double(features), model.missing.astype(np.float64))
    return graph.add("Add", graph.add("MatMul", filled, model.weights[:, None]), np.array([model.bias]))


def _net(graph: Graph, model: FeedForward, features: str) -> str:
    values = features
    if model.logged.any():
        x = graph.as_double(features)
        logs = graph.add("Log", graph.add("Add", graph.add("Abs", x), np.array([1.0])))
        values = graph.add("Where", model.logged, graph.as_single(graph.add("Mul", graph.add("Sign", x), logs)), values)
    scaled = graph.add("Mul", graph.add("Sub", values, model.mean), model.factor)
    limit = np.array([MAX_SCALED], np.float32)
    clipped = graph.add("Min", graph.add("Max", scaled, -limit), limit)
    units = graph.as_double(graph.add("Where", graph.add("IsNaN", scaled), model.missing, clipped))
    operator = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu"}[model.activation]
    *hidden, last = [(matrix.T.astype(np.float64), biases.astype(np.float64)) for matrix, biases in model.layers]
    for matrix, biases in hidden:
        units = graph.add(operator, graph.add("Add", graph.add("MatMul", units, matrix), biases))
    return graph.add("Add", graph.add("MatMul", units, last[0]), last[1])


def _kernel_sum(graph: Graph, model: KernelSum, features: str) -> str:
    filled = _filled(graph, graph.as_double(features), model.missing.astype(np.float64))
    z = graph.add("Mul", graph.add("Sub", filled, model.missing.astype(np.float64)), model.factor)
    products = graph.add("MatMul", z, model.landmarks.T)
    if model.kernel == "rbf":
        # |z - landmark|² = |z|² - 2 z'landmark + |landmark|², where rounding must not go below 0.
        size = graph.add("MatMul", graph.add("Mul", z, z), np.ones((len(model.factor), 1)))
        sizes = np.sum(model.landmarks**2, axis=1)
        both = graph.add("Add", graph.add("Mul", products, np.array([-2.0])), graph.add("Add", size, sizes))
        kernel = graph.add("Exp", graph.add("Mul", graph.add("Max", both, np.array([0.0])), np.array([-model.gamma])))
    else:
        raised = graph.add("Add", graph.add("Mul", products, np.array([model.gamma])), np.array([1.0]))
        kernel = graph.add("Pow", raised, np.array([float(model.degree)]))
    return graph.add("MatMul", kernel, model.coefficients[:, None])


def _mixture(graph: Graph, model: Mixture, features: str) -> str:
    center = model.center.copy()
    scores = []
    for at, member in enumerate(model.members):
        if isinstance(member, Trees):
            # The operator of trees rounds its sums to single precision: after the center is subtracted, not before.
            member = Trees(replace(member.forest, base_score=member.forest.base_score - float(center[at])))
            center[at] = 0.0
        scores.append(graph.as_double(_scores(graph, member, features)))
    both = graph.add("Concat", *scores, axis=1)
    scaled = graph.add("Div", graph.add("Sub", both, center), model.spread)
    return _scores(graph, model.top, graph.as_single(scaled) if isinstance(model.top, FeedForward) else scaled)
