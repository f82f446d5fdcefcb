"""Read a tree ensemble from an ONNX graph, as onnxmltools, skl2onnx, CatBoost and our own export write it.

    input ─► Cast, Identity, Flatten ─► TreeEnsembleRegressor or TreeEnsemble ─► Cast, Identity, Reshape, … ─► output

Between the input and the trees there may also be our own lookup of sets of categories (`to_onnx.py`). The score is
the sum before a post_transform such as LOGISTIC: the order of documents is the same.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.data.categories import Categories
from swaprank.errors import ModelFileError, ParameterError, import_extra
from swaprank.exchange.exported import NEEDS_ONNX
from swaprank.exchange.onnx_ensembles import SetColumn, of_one_class, peer_trees
from swaprank.exchange.onnx_scaling import Step, before_scaling
from swaprank.exchange.peer_categories import named_categories, numbered_categories
from swaprank.exchange.to_onnx import CALIBRATED
from swaprank.exchange.tree_building import (
    MOST_FEATURES,
    DoubleThresholds,
    PeerModel,
    PeerTree,
    forest_and_thresholds,
)

_NOTE = (
    "The file has calibrated values beside the scores; they are not read: calibrate the ranker again if you need them."
)

_TREE_OPERATORS = ("TreeEnsembleRegressor", "TreeEnsemble")
_CLASSIFIER = "TreeEnsembleClassifier"
_BEFORE = ("Cast", "Identity", "Flatten")
_AFTER = (*_BEFORE, "Reshape", "Squeeze", "Unsqueeze")
"""They do not change a single score."""
_FLOAT, _INT32, _INT64, _DOUBLE = 1, 6, 7, 11
"""TensorProto.DataType."""
_CASTS = {f"Cast {_FLOAT}": np.float32, f"Cast {_DOUBLE}": np.float64}

Pattern: TypeAlias = "str | tuple[str | tuple[Any, ...], ...]"
_CODES: Pattern = ("Floor", ("Gather 1", "features", "columns"))
_KNOWN: Pattern = ("And", ("Not", ("Less", _CODES, "zero")), ("Less", _CODES, "n_rows"))
_ROWS: Pattern = (f"Cast {_INT64}", ("Where", _KNOWN, _CODES, "n_rows"))
_SETS: Pattern = (f"Cast {_DOUBLE}", ("Gather 0", "table", ("Gather 1", _ROWS, "at")))
"""The operators that our export writes for the sets of one feature: operator and inputs; words stand for any input."""


def content_of(model: Any) -> bytes:
    """The bytes of an onnx.ModelProto."""
    if not hasattr(model, "SerializeToString") or not hasattr(model, "graph"):
        raise ParameterError(f"a model of ONNX is a ModelProto; found {type(model).__name__}.")
    return cast(bytes, model.SerializeToString())


def read(content: bytes) -> PeerModel:
    """The model in a file."""
    onnx = import_extra("onnx", NEEDS_ONNX)
    from google.protobuf.message import DecodeError

    try:
        model = onnx.ModelProto.FromString(content)
    except DecodeError as error:
        raise ModelFileError(f"this is not an ONNX model: {error}.") from None
    graph = OpenGraph(onnx, model.graph, own=model.producer_name == "swaprank")
    ensemble = graph.ensemble()
    features, columns = graph.tree_input(ensemble.input[0])
    steps = graph.steps(features)
    attributes = graph.attributes(ensemble)
    if ensemble.op_type == _CLASSIFIER:
        attributes = of_one_class(attributes)
    trees, base_score, n_used = peer_trees(attributes, graph.n_features, columns)
    if any(step.operator != "Cast" for step in steps):
        trees = [before_scaling(tree, steps, np.float64 if graph.is_double else np.float32) for tree in trees]
    forest, exact = forest_and_thresholds(trees, graph.n_features or n_used, base_score)
    names, categories = _metadata(model, forest.n_features)
    doubles = DoubleThresholds(exact) if graph.is_double else None
    notes = (_NOTE,) if graph.is_calibrated else ()
    return PeerModel("ONNX", forest, names, _numbered(trees) | categories, None, doubles, notes)


def _refused(node: Any) -> ModelFileError:
    found = "no operator" if node is None else f"the operator {node.op_type[:80]!r}"
    return ModelFileError(
        f"it has {found} where a TreeEnsembleRegressor or TreeEnsemble should be: of ONNX graphs, only one tree "
        "ensemble can be read, with Cast, Identity, Flatten, Reshape or a scaler around it. Read the model that it was "
        "made from, or apply such steps to the features yourself."
    )


class OpenGraph:
    """The operators of a graph by what they make."""

    def __init__(self, onnx: Any, graph: Any, *, own: bool = False) -> None:
        self.onnx = onnx
        self.makers = {name: node for node in graph.node for name in node.output}
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        inputs = [each for each in graph.input if each.name not in self.constants]
        self.outputs = [each.name for each in graph.output]
        self.is_calibrated = own and self.outputs[1:] == [CALIBRATED]
        """A file of ours has the scores, and then what they are calibrated to."""
        if self.is_calibrated:
            self.outputs.pop()
        classifiers = sum(node.op_type == _CLASSIFIER for node in graph.node)
        if len(inputs) != 1 or not 1 <= len(self.outputs) <= 1 + (classifiers == 1):
            operators = ", ".join(sorted({node.op_type[:80] for node in graph.node})[:10])
            raise ModelFileError(
                f"its graph has {len(inputs)} inputs and {len(graph.output)} outputs, and the operators {operators}: a "
                "ranker has one input, one output and one tree ensemble."
            )
        self.input = inputs[0].name
        tensor = inputs[0].type.tensor_type
        if tensor.elem_type not in (_FLOAT, _DOUBLE, _INT32, _INT64):
            raise ModelFileError("its input is not a matrix of numbers.")
        self.is_double = tensor.elem_type == _DOUBLE
        width = tensor.shape.dim[1].dim_value if len(tensor.shape.dim) == 2 else 0
        self.n_features = int(width)
        """0 if the file does not say."""
        if not 0 <= width <= MOST_FEATURES:
            raise ModelFileError(f"it has {width:,} features; a model has from 1 to {MOST_FEATURES:,}.")

    def followed(self, name: str, allowed: Sequence[str]) -> Any:
        """The operator that made these values, before those that leave them as they are; None for the input."""
        for _ in range(len(self.makers) + 1):
            node = self.makers.get(name)
            if node is None:
                if name != self.input:
                    raise ModelFileError(f"its graph uses {name[:80]!r}, which nothing makes.")
                return None
            key = self._key(node)
            changes = key.startswith("Cast ") and key not in (f"Cast {_FLOAT}", f"Cast {_DOUBLE}")
            if changes or key.partition(" ")[0] not in allowed or (key.startswith("Flatten") and key != "Flatten 1"):
                return node
            name = node.input[0]
        raise ModelFileError("its graph has a cycle.")

    def ensemble(self) -> Any:
        """The operator of the trees: the output is its sum, or the outputs are the label and the scores of a class."""
        found = [self.followed(name, _AFTER) for name in self.outputs]
        for at, node in enumerate(found):
            if node is not None and node.op_type == "ZipMap":
                found[at] = self.followed(node.input[0], _AFTER)
        node = found[0]
        known = _TREE_OPERATORS if len(found) == 1 else (_CLASSIFIER,)
        if node is None or node.op_type not in known or any(each is not node for each in found):
            raise _refused(next((each for each in found if each is None or each.op_type not in known), node))
        return node

    def steps(self, name: str) -> list[Step]:
        """What is done to the features before the trees, first step first."""
        steps: list[Step] = []
        for _ in range(len(self.makers) + 1):
            node = self.makers.get(name)
            if node is None:
                self.followed(name, ())
                return steps[::-1]
            key = self._key(node)
            if (values := self._scaling(node, key)) is not None:
                steps.append(values)
            elif key not in ("Identity", "Flatten 1"):
                raise _refused(node)
            name = next(each for each in node.input if each not in self.constants)
        raise ModelFileError("its graph has a cycle.")

    def _scaling(self, node: Any, key: str) -> Step | None:
        """The operator as a step, if it is one."""
        if key in _CASTS:
            return Step("Cast", dtype=_CASTS[key])
        if node.op_type == "Scaler" and node.domain == "ai.onnx.ml":
            found = self.attributes(node)
            return Step("Scaler", tuple(found[name].astype(np.float32) for name in ("offset", "scale")))
        at = [place for place, each in enumerate(node.input) if each in self.constants]
        if key in ("Sub", "Div", "Add", "Mul") and (at == [1] or (at == [0] and key in ("Add", "Mul"))):
            return Step(key, (self._constant(node.input[at[0]]).ravel(),))
        return None

    def tree_input(self, name: str) -> tuple[str, list[SetColumn]]:
        """The features of the trees, and the sets that stand behind further columns."""
        node = self.followed(name, _BEFORE)
        if node is None or self._key(node) != "Concat 1" or self.n_features == 0:
            return name, []
        columns: list[SetColumn] = []
        for part in node.input[1:]:
            found: dict[str, str] = {"features": node.input[0]}
            if not self._matches(part, _SETS, found):
                raise _refused(node)
            columns += self._set_columns(
                {key: self._constant(each) for key, each in found.items() if key != "features"}
            )
        return node.input[0], columns

    def _set_columns(self, found: Mapping[str, AnyArray]) -> list[SetColumn]:
        at, table, n_rows, features = (found[name] for name in ("at", "table", "n_rows", "columns"))
        fits = at.shape == () and table.ndim == 2 and 0 <= at < len(n_rows) == len(features)
        if not fits or len(table) != n_rows[at] + 1 or (found["zero"] != 0).any() or table.max(initial=0) > 1:
            raise ModelFileError("its tables of categories do not fit together.")
        return [SetColumn(int(features[at]), column == 0) for column in table.T]

    def _matches(self, name: str, pattern: Pattern, found: dict[str, str]) -> bool:
        if isinstance(pattern, str):
            return found.setdefault(pattern, name) == name
        node = self.makers.get(name)
        if node is None or self._key(node) != pattern[0] or len(node.input) != len(pattern) - 1:
            return False
        return all(self._matches(each, part, found) for each, part in zip(node.input, pattern[1:], strict=True))

    def _key(self, node: Any) -> str:
        """The operator, with the attribute that matters for some."""
        standard = node.domain in ("", "ai.onnx") or (node.domain == "ai.onnx.ml" and node.op_type in _TREE_OPERATORS)
        name = {"Cast": "to", "Gather": "axis", "Concat": "axis", "Flatten": "axis"}.get(node.op_type)
        default = 1 if node.op_type == "Flatten" else 0
        number = next((each.i for each in node.attribute if each.name == name), default)
        return f"{'' if standard else node.domain + '.'}{node.op_type}" + (f" {number}" if name else "")

    def _constant(self, name: str) -> AnyArray:
        if name not in self.constants:
            raise ModelFileError(f"its graph uses {name[:80]!r}, which is not a constant.")
        return self._array(self.constants[name])

    def _array(self, tensor: Any) -> AnyArray:
        if tensor.data_location != self.onnx.TensorProto.DEFAULT or tensor.external_data:
            raise ModelFileError("its numbers are in another file: save it with them, as onnx.save does.")
        if tensor.data_type not in (_FLOAT, _DOUBLE, _INT32, _INT64, self.onnx.TensorProto.UINT8):
            raise ModelFileError(f"it has a tensor of type {tensor.data_type}, which trees do not have.")
        return np.asarray(self.onnx.numpy_helper.to_array(tensor))

    def attributes(self, node: Any) -> dict[str, Any]:
        """The attributes of an operator as arrays, numbers and texts."""
        kinds = self.onnx.AttributeProto
        read: dict[int, Callable[[Any], Any]] = {
            kinds.INT: lambda each: int(each.i),
            kinds.STRING: lambda each: each.s.decode(),
            kinds.INTS: lambda each: np.array(each.ints, np.int64),
            kinds.FLOATS: lambda each: np.array(each.floats, np.float64),
            kinds.STRINGS: lambda each: [text.decode() for text in each.strings],
            kinds.TENSOR: lambda each: self._array(each.t).ravel(),
        }
        return {each.name: read[each.type](each) for each in node.attribute if each.type in read}


def _metadata(model: Any, n_features: int) -> tuple[tuple[str, ...] | None, dict[int, Categories]]:
    """The names and categories that our export writes; None and nothing in a file of others."""
    if model.producer_name != "swaprank":
        return None, {}
    texts = {each.key: each.value for each in model.metadata_props}
    names, categories = (json.loads(texts.get(key, "null")) for key in ("feature_names", "categories"))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(names) != n_features:
        raise ModelFileError(f"the feature_names of its metadata are not a list of {n_features:,} names.")
    if not isinstance(categories, dict) or not categories.keys() <= set(names) or len(set(names)) < len(names):
        raise ModelFileError("the categories of its metadata are not those of its features, or two have the same name.")
    columns = {name: column for column, name in enumerate(names)}
    return tuple(names), {columns[name]: named_categories(each) for name, each in categories.items()}


def _numbered(trees: Sequence[PeerTree]) -> dict[int, Categories]:
    """The numbers of the categories as far as the sets go, for a file that does not say what they are called."""
    lengths: dict[int, int] = {}
    for tree in trees:
        for node, words in tree.sets.items():
            lengths[tree.feature[node]] = max(lengths.get(tree.feature[node], 0), 32 * len(words))
    return {feature: numbered_categories(length) for feature, length in lengths.items()}
