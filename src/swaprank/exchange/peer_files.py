"""Read the models of other libraries: which format a file has, or which library an object belongs to."""

import json
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from swaprank.errors import ModelFileError, ParameterError, Part, Wording
from swaprank.exchange.pandas_columns import COLUMNS
from swaprank.exchange.tree_building import PeerModel
from swaprank.files import existing_file

_READERS = {
    "lightgbm": "swaprank.exchange.from_lightgbm",
    "xgboost": "swaprank.exchange.from_xgboost",
    "catboost": "swaprank.exchange.from_catboost",
    "onnx": "swaprank.exchange.from_onnx",
    "ranklib": "swaprank.exchange.from_ranklib",
}
"""A reader has `read(content) -> PeerModel`, of bytes or of parsed JSON; one of a library also `content_of(model)`."""

_YDF_FILES = ("data_spec.pb", "assets/data_spec.pb")
_NOT_YDF = (
    "models of YDF and TensorFlow Decision Forests are not read, as their tests for categories and missing values are "
    "others. Train such trees with LightGBM, XGBoost or CatBoost, or here."
)
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh")
"""The first bytes of files of gzip, xz, zstd, zip and bzip2."""
_KNOWN = "LightGBM text, XGBoost JSON or UBJ, CatBoost JSON or cbm, RankLib XML, ONNX"


def read_peer(source: Any, pandas_categories: Sequence[str] | None = None) -> PeerModel:
    """The model in a file, or of an object of LightGBM, XGBoost, CatBoost or ONNX.

    Args:
        source: The path of the file, or the object.
        pandas_categories: The columns that were pandas categories, if a model of LightGBM does not tell.

    >>> from swaprank.exchange.peer_files import read_peer
    >>> read_peer(42)
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: a model is given as the path of a file, or as a fitted model of LightGBM, XGBoost,
    CatBoost or ONNX; found int.
    """
    if isinstance(source, str | os.PathLike):
        if any((Path(source) / name).is_file() for name in _YDF_FILES):
            raise ModelFileError(f"{source}: ", _NOT_YDF)
        file = existing_file(source)
        where = f"{file}: "
        reader, content = _recognized(file.read_bytes(), where)
    else:
        reader, where = type(source).__module__.partition(".")[0], ""
        if reader == "ydf":
            raise ModelFileError(_NOT_YDF)
        if reader not in _READERS or reader == "ranklib":
            raise ParameterError(
                "a model is given as the path of a file, or as a fitted model of LightGBM, XGBoost, CatBoost or ONNX; "
                f"found {type(source).__name__}."
            )
        content = import_module(_READERS[reader]).content_of(source)
    options = {} if pandas_categories is None else {"pandas_categories": pandas_categories}
    if options and reader != "lightgbm":
        raise ParameterError(COLUMNS, " is only for models of LightGBM.")
    try:
        found: PeerModel = import_module(_READERS[reader]).read(content, **options)
    except ModelFileError as error:
        raise ModelFileError(where, error) from None
    except ParameterError:
        raise
    except RecursionError:
        raise ModelFileError(f"{where}it is nested too deeply.") from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{where}it is damaged ({type(error).__name__}: {error}).") from None
    return found


def _recognized(content: bytes, where: str) -> tuple[str, Any]:
    """The reader of a file's format, by how the file begins, and what it reads: JSON is parsed here, and only here."""
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"tree\n", b"tree\r\n")):
        return "lightgbm", content
    if start.startswith((b"##", b"<")):
        return "ranklib", content
    if content.startswith(b"CBM1"):
        return "catboost", content
    if content.startswith(b"{L"):
        return "xgboost", content
    if content.startswith(b"\x08"):
        return "onnx", content
    if start.startswith(b"{"):
        return _recognized_json(content, where)
    advice: tuple[Part, ...] = (f"known are {_KNOWN}.",)
    if content.startswith(b"swaprank model"):
        read = Wording("read it with swaprank.load.", "give it to the other commands as it is.")
        advice = "it is a model of swaprank: ", read
    elif content.startswith(b"\x80"):
        advice = ("a pickle may run any code: load it yourself if you trust it, and give the model itself.",)
    elif content.startswith(_COMPRESSED):
        advice = ("it is compressed: unpack it first.",)
    elif start.startswith(b"["):
        advice = ("this is a dump for people to read: save the model with save_model.",)
    raise ModelFileError(f"{where}the format is not known; ", *advice)


def _recognized_json(content: bytes, where: str) -> tuple[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{where}this is not JSON: {error}.") from None
    if "learner" in found:
        return "xgboost", found
    if "features_info" in found:
        return "catboost", found
    if "tree_info" in found:
        raise ModelFileError(f"{where}this is a JSON dump of LightGBM: save the model as text, with save_model.")
    raise ModelFileError(f"{where}the format is not known; known are {_KNOWN}.")
