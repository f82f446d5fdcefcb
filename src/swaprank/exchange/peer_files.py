"""Read the models of other libraries: which format a file has, or which library an object belongs to."""

import json
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from swaprank.data.categories import Categories
from swaprank.errors import ModelFileError, ParameterError
from swaprank.files import existing_file
from swaprank.models.forest import Forest


class PeerModel(NamedTuple):
    """A model of another library in our terms."""

    library: str
    """As it is written: "LightGBM"."""
    model: Forest
    feature_names: tuple[str, ...] | None
    """None if the features have no names."""
    categories: Mapping[int, Categories]
    """The categories of each categorical feature, by its position; their positions are the codes in the model."""
    objective: str | None
    """What it was trained for, in the words of the library; None if the file does not say."""


_READERS = {
    "lightgbm": "swaprank.exchange.from_lightgbm",
    "xgboost": "swaprank.exchange.from_xgboost",
    "catboost": "swaprank.exchange.from_catboost",
    "onnx": "swaprank.exchange.from_onnx",
    "ranklib": "swaprank.exchange.from_ranklib",
}
"""A reader has `read(content: bytes) -> PeerModel`; one of a library also `content_of(model: Any) -> bytes`."""

_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh")
"""How files of gzip, xz, zstd, zip and bzip2 begin."""
_KNOWN = "LightGBM text, XGBoost JSON or UBJ, CatBoost JSON or cbm, RankLib XML, ONNX"


def read_peer(source: Any) -> PeerModel:
    """The model in a file, or of an object of LightGBM, XGBoost, CatBoost or ONNX.

    >>> from swaprank.exchange.peer_files import read_peer
    >>> read_peer(42)
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: a model is given as the path of a file, or as a fitted model of LightGBM, XGBoost,
    CatBoost or ONNX; found int.
    """
    if isinstance(source, str | os.PathLike):
        file = existing_file(source)
        content, where = file.read_bytes(), f"{file}: "
        reader = _named_format(content, where)
    else:
        reader, where = type(source).__module__.partition(".")[0], ""
        if reader not in _READERS or reader == "ranklib":
            raise ParameterError(
                "a model is given as the path of a file, or as a fitted model of LightGBM, XGBoost, CatBoost or ONNX; "
                f"found {type(source).__name__}."
            )
        content = import_module(_READERS[reader]).content_of(source)
    try:
        found: PeerModel = import_module(_READERS[reader]).read(content)
    except ModelFileError as error:
        raise ModelFileError(f"{where}{error}") from None
    except RecursionError:
        raise ModelFileError(f"{where}it is nested too deeply.") from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{where}it is damaged ({type(error).__name__}: {error}).") from None
    return found


def _named_format(content: bytes, where: str) -> str:
    """The reader of a file's format, by how the file begins."""
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"tree\n", b"tree\r\n")):
        return "lightgbm"
    if start.startswith((b"##", b"<")):
        return "ranklib"
    if content.startswith(b"CBM1"):
        return "catboost"
    if content.startswith(b"{L"):
        return "xgboost"
    if content.startswith(b"\x08"):
        return "onnx"
    if start.startswith(b"{"):
        return _json_format(content, where)
    advice = f"known are {_KNOWN}."
    if content.startswith(b"swaprank model"):
        advice = "it is a model of swaprank: read it with swaprank.load."
    elif content.startswith(b"\x80"):
        advice = "a pickle may run any code: load it yourself if you trust it, and give the model itself."
    elif content.startswith(_COMPRESSED):
        advice = "it is compressed: unpack it first."
    elif start.startswith(b"["):
        advice = "this is a dump for people to read: save the model with save_model."
    raise ModelFileError(f"{where}the format is not known; {advice}")


def _json_format(content: bytes, where: str) -> str:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{where}this is not JSON: {error}.") from None
    if "learner" in found:
        return "xgboost"
    if "features_info" in found:
        return "catboost"
    if "tree_info" in found:
        raise ModelFileError(f"{where}this is a JSON dump of LightGBM: save the model as text, with save_model.")
    raise ModelFileError(f"{where}the format is not known; known are {_KNOWN}.")
