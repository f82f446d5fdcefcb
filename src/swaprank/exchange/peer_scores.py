"""Scores of documents by the library that a model comes from, to compare with ours.

Of files, the library reads the file itself. Scores are those before a transformation such as a sigmoid, as ours are.
"""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.categories import OTHERS, Categories
from swaprank.data.dataset import Dataset
from swaprank.data.frames import is_frame
from swaprank.errors import Hint, ModelFileError, ParameterError, import_extra

_TOLERANCE = 1e-5
"""Of the largest score: XGBoost and RankLib add up in single precision."""
CHECK = Hint("check")


@final
@dataclass(frozen=True)
class Agreement:
    """How far the scores of an imported model are those of its library.

    >>> from swaprank.exchange.peer_scores import Agreement
    >>> print(Agreement("LightGBM 4.7.0", n_documents=300, largest_difference=2e-16))
    LightGBM 4.7.0 scores 300 documents as swaprank does: the largest difference is 2e-16 of the largest score.
    """

    library: str
    """The library and its version."""
    n_documents: int
    largest_difference: float
    """As a share of the largest score."""

    def __str__(self) -> str:
        return (
            f"{self.library} scores {self.n_documents:,} documents as swaprank does: the largest difference is "
            f"{self.largest_difference:.1g} of the largest score."
        )


def agreement(library: str, own: Floats, theirs: Floats) -> Agreement:
    """The agreement of scores; ModelFileError if they differ by more than rounding.

    >>> import numpy as np
    >>> from swaprank.exchange.peer_scores import agreement
    >>> agreement("XGBoost 3.2.0", np.array([0.5, 1.0]), np.array([0.5, 2.0]))
    Traceback (most recent call last):
    ...
    swaprank.errors.ModelFileError: XGBoost 3.2.0 scores 1 of 2 documents differently: document 1 has 1 here, and 2
    there. Are the columns in the order of the model? Values in double precision may be nearer to a threshold than
    float32 can tell. If it is neither, please report it with the model.
    """
    if theirs.shape != own.shape:
        raise ModelFileError(f"{library} gives scores of shape {theirs.shape} for {len(own):,} documents.")
    if len(own) == 0:
        raise ParameterError(CHECK, " needs at least one document.")
    difference = np.abs(theirs - own) / (np.abs(theirs).max() or 1.0)
    apart = ~(difference <= _TOLERANCE)
    if apart.any():
        at = int(np.argmax(apart))
        raise ModelFileError(
            f"{library} scores {apart.sum():,} of {len(own):,} documents differently: document {at} has {own[at]:.6g} "
            f"here, and {theirs[at]:.6g} there. Are the columns in the order of the model? Values in double precision "
            "may be nearer to a threshold than float32 can tell. If it is neither, please report it with the model."
        )
    return Agreement(library, len(own), float(difference.max()))


def peer_scores(source: Any, library: str, rows: Any) -> tuple[str, Floats]:
    """The library with its version, and its scores.

    Args:
        source: The path of the file, or the model.
        library: The name of the library, such as LightGBM.
        rows: A matrix of numbers, or a pandas data frame, in the order of the model's features.
    """
    if library not in _SCORES:
        raise ParameterError(
            CHECK, ": RankLib cannot be called from Python. Compare with what it writes (-score FILE)."
        )
    version, scores = _SCORES[library](source, rows)
    return version, np.asarray(scores, np.float64).reshape(len(rows))


def peer_rows(rows: Any, names: Sequence[str], categories: Mapping[str, Categories]) -> Any:
    """Rows as a library takes them: a matrix of numbers, or a pandas data frame.

    Args:
        rows: A matrix, a table, or a data set, whose codes become the categories themselves.
        names: The features of the model in their order.
        categories: The categories of its features.

    >>> import swaprank as sr
    >>> from swaprank.exchange.peer_scores import peer_rows
    >>> data = sr.Dataset([[1, 0.5], [0, 2]], [0, 1], qid=[1, 1], categorical_features=[0])
    >>> peer_rows(data, ("1", "2"), {"1": ("0", "1")}).tolist()
    [[1.0, 0.5], [0.0, 2.0]]
    """
    if isinstance(rows, Dataset):
        matched = rows.with_features(names, categories=categories, whose="the model")
        return _decoded(matched.features, names, categories)
    if hasattr(rows, "tocsr"):
        return rows.toarray()
    if not is_frame(rows):
        return np.asarray(rows)
    frame = rows if hasattr(rows, "iloc") else rows.to_pandas()
    return frame[list(names)] if set(names) <= set(frame.columns) else frame


def _decoded(matrix: AnyArray, names: Sequence[str], categories: Mapping[str, Categories]) -> Any:
    # Categories that are the numbers from 0 are their codes, and another code stands for all others.
    named = [name for name in names if not _are_codes(categories.get(name, ()))]
    if not named:
        return matrix
    pandas = import_extra("pandas", "to check a model with categories, pip install pandas.")
    columns = {name: matrix[:, at] for at, name in enumerate(names)}
    for name in named:
        codes = np.nan_to_num(columns[name], nan=-1).astype(np.int64)
        texts = categories[name]
        whole = all(text.isdigit() for text in texts)
        columns[name] = pandas.Categorical.from_codes(
            codes, categories=[int(text) if whole else text for text in texts]
        )
    return pandas.DataFrame(columns)


def _are_codes(categories: Categories) -> bool:
    known = [text for text in categories if text != OTHERS]
    return known == [str(code) for code in range(len(known))]


def _is_file(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _lightgbm(source: Any, rows: Any) -> tuple[str, Any]:
    lightgbm = import_extra("lightgbm", "to check a model of LightGBM, pip install lightgbm.")
    booster = lightgbm.Booster(model_file=str(source)) if _is_file(source) else getattr(source, "booster_", source)
    return f"LightGBM {lightgbm.__version__}", booster.predict(rows, raw_score=True)


def _xgboost(source: Any, rows: Any) -> tuple[str, Any]:
    xgboost = import_extra("xgboost", "to check a model of XGBoost, pip install xgboost.")
    is_estimator = hasattr(source, "get_booster")
    booster = source.get_booster() if is_estimator else source
    if _is_file(source):
        booster = xgboost.Booster(model_file=str(source))
    stops = is_estimator or booster.attr("scikit_learn") is not None
    best = booster.attr("best_iteration") if stops else None
    options: dict[str, Any] = {"enable_categorical": True, "nthread": 1}
    if isinstance(rows, np.ndarray):
        options |= {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
    elif booster.feature_names is not None:
        rows = rows.set_axis(booster.feature_names, axis=1)
    used = (0, 0 if best is None else int(best) + 1)
    scores = booster.predict(xgboost.DMatrix(rows, **options), output_margin=True, iteration_range=used)
    return f"XGBoost {xgboost.__version__}", scores


def _catboost(source: Any, rows: Any) -> tuple[str, Any]:
    from swaprank.exchange.from_catboost import run_catboost

    catboost = import_extra("catboost", "to check a model of CatBoost, pip install catboost.")
    library, matrix = f"CatBoost {catboost.__version__}", np.asarray(rows)
    if not _is_file(source):
        return library, catboost.CatBoost.predict(source, matrix, prediction_type="RawFormulaVal")
    with tempfile.TemporaryDirectory() as folder:
        documents, scores = Path(folder) / "documents.npy", Path(folder) / "scores.npy"
        np.save(documents, matrix)
        run_catboost(_SCORE_IN_CHILD, folder, str(Path(source).resolve()), str(documents), str(scores))
        return library, np.load(scores)


_SCORE_IN_CHILD = """
import numpy
with open(sys.argv[1], "rb") as file:
    form = "cbm" if file.read(4) == b"CBM1" else "json"
model.load_model(sys.argv[1], format=form)
numpy.save(sys.argv[3], model.predict(numpy.load(sys.argv[2]), prediction_type="RawFormulaVal"))
"""


def _onnx(source: Any, rows: Any) -> tuple[str, Any]:
    onnxruntime = import_extra("onnxruntime", "to check a model in ONNX, pip install onnxruntime.")
    onnx = import_extra("onnx", "to check a model in ONNX, pip install onnx.")
    model = onnx.ModelProto.FromString(Path(source).read_bytes() if _is_file(source) else source.SerializeToString())
    for node in model.graph.node:
        # Scores before the transformation.
        for attribute in node.attribute:
            if attribute.name == "post_transform":
                attribute.CopyFrom(onnx.helper.make_attribute("post_transform", 0 if attribute.i else "NONE"))
                if attribute.type == onnx.AttributeProto.INT:
                    attribute.i = 0
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    dtype = {"tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32}.get(
        given.type, np.float32
    )
    found = session.run(None, {given.name: np.asarray(rows).astype(dtype)})[-1]
    if isinstance(found, list):  # a ZipMap
        found = np.array([list(each.values()) for each in found])
    scores = found[:, -1] if found.ndim == 2 else found
    return f"ONNX Runtime {onnxruntime.__version__}", scores


_SCORES: Mapping[str, Callable[[Any, Any], tuple[str, Any]]] = {
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
    "CatBoost": _catboost,
    "ONNX": _onnx,
}
