"""What a request asks for, decoded from its body: JSON, binary rows, or an Arrow stream."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias, final

import msgspec
import numpy as np

from swaprank.arrays import Features
from swaprank.errors import MissingExtraError, SwaprankError, import_extra
from swaprank.serving.request_errors import RequestError
from swaprank.serving.scorer import Scorer

JSON, BINARY, ARROW = "application/json", "application/octet-stream", "application/vnd.apache.arrow.stream"
_TAKEN_FOR_JSON = ("", JSON, "text/json", "application/x-www-form-urlencoded")
"""curl -d sends the last one unless it is told otherwise."""
LONGEST_ID, LONGEST_QUERY = 256, 2048
LARGEST_K = 2**31 - 1
DOCID = "docid"
"""The column of an Arrow stream with the ids of the documents."""

Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_ID)]
K: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_K)]
Query: TypeAlias = Annotated[str, msgspec.Meta(max_length=LONGEST_QUERY)]
Document: TypeAlias = list[float | None] | dict[str, int | float | str | None]


@final
class RankRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /rank. `float` refuses text and true, as `predict` does."""

    documents: Annotated[list[Document], msgspec.Meta(min_length=1)]
    k: K | None = None
    session: Id | None = None
    query: Query | None = None
    ids: list[Id] | None = None


@final
class ScoreRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The body of /score."""

    documents: Annotated[list[Document], msgspec.Meta(min_length=1)]
    session: Id | None = None


@final
class Parameters(msgspec.Struct, forbid_unknown_fields=True):
    """What may stand in the address instead, for bodies that hold only rows."""

    k: K | None = None
    session: Id | None = None
    query: Query | None = None


class Asked(NamedTuple):
    """A request, before it is known which model answers it."""

    documents: Any
    """Lists, mappings, the bytes of binary rows, or a table."""
    k: int | None = None
    session: str | None = None
    query: str | None = None
    ids: list[str] | None = None


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in (RankRequest, ScoreRequest)
}


def asked(route: str, content_type: str, body: bytes, given: Mapping[str, str]) -> Asked:
    """Decode a request to `rank` or `score`; RequestError if it is none.

    >>> from swaprank.serving.request_bodies import asked
    >>> asked("rank", "application/json", b'{"documents": [[0.5, null]], "k": 3}', {})
    Asked(documents=[[0.5, None]], k=3, session=None, query=None, ids=None)
    """
    kind = content_type.partition(";")[0].strip().lower()
    parameters = _parameters(route, given)
    if kind == BINARY:
        return Asked(body, parameters.k, parameters.session, parameters.query)
    if kind == ARROW:
        table, ids = _table(body)
        return Asked(table, parameters.k, parameters.session, parameters.query, ids)
    if kind not in _TAKEN_FOR_JSON:
        raise RequestError(415, f"the content type '{kind[:80]}' is not known: send {JSON}, {BINARY} or {ARROW}.")
    request: Any = _decoded(body, RankRequest if route == "rank" else ScoreRequest)
    session = parameters.session if request.session is None else request.session
    if route == "score":
        return Asked(request.documents, None, session)
    k = parameters.k if request.k is None else request.k
    query = parameters.query if request.query is None else request.query
    return Asked(request.documents, k, session, query, request.ids)


def _parameters(route: str, given: Mapping[str, str]) -> Parameters:
    known = ("k", "session", "query") if route == "rank" else ("session",)
    for name in given:
        if name not in known:
            raise RequestError(422, f"there is no parameter '{name[:80]}' in addresses, only {', '.join(known)}.")
    if "k" in given and not (given["k"].isascii() and given["k"].isdecimal()):
        raise RequestError(422, f"k must be a whole number from 1; found '{given['k'][:80]}'.")
    try:
        return msgspec.convert(dict(given), Parameters, strict=False)
    except msgspec.ValidationError as error:
        raise RequestError(422, _sentence(error)) from None


def _decoded(body: bytes, kind: type) -> Any:
    try:
        return _decoders[kind].decode(body)
    except msgspec.ValidationError as error:
        raise RequestError(422, _sentence(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}.") from None


def _sentence(error: Exception) -> str:
    """Their words for a wrong value, and where it is: `documents[0][3]`."""
    return str(error).replace("`", "").replace(" - at $.", ", at ").replace(" - at key in $.", ", at a name in ") + "."


def _table(body: bytes) -> tuple[Any, list[str] | None]:
    """The table of an Arrow stream, and the ids of its documents, if it has any."""
    try:
        pyarrow = import_extra("pyarrow", 'Arrow needs pyarrow on the server: pip install "swaprank[frames]".')
    except MissingExtraError as error:
        raise RequestError(415, str(error)) from None
    from pyarrow import ipc

    try:
        table = ipc.open_stream(body).read_all()
        table.validate(full=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise RequestError(400, f"the body is not an Arrow stream: {error}".splitlines()[0]) from None
    if DOCID not in table.column_names:
        return table, None
    ids = table.column(DOCID).to_pylist()
    if not all(isinstance(each, str | int) and 0 < len(str(each)) <= LONGEST_ID for each in ids):
        raise RequestError(422, f"the column '{DOCID}' must hold an id for each document, text or whole numbers.")
    return table.drop_columns([DOCID]), [str(each) for each in ids]


def rows_of(asked: Asked, scorer: Scorer, most: int) -> Features:
    """The documents of a request as rows for a scorer; RequestError, or an error of swaprank, if they are none."""
    documents = asked.documents
    if isinstance(documents, bytes):
        return _binary_rows(documents, len(scorer.feature_names), most)
    n_documents = len(documents)
    if n_documents == 0:
        raise RequestError(422, "at least one document is needed; found none.")
    _check_number(n_documents, most)
    if asked.ids is not None and (len(asked.ids) != n_documents or len(set(asked.ids)) < n_documents):
        raise RequestError(422, f"ids must be {n_documents} different ids, one for each document.")
    if not isinstance(documents, list):
        return _rows_of_table(documents, scorer)
    n_named = sum(type(document) is dict for document in documents)
    if n_named == n_documents:
        return scorer.rows(documents)
    if n_named or len({len(document) for document in documents}) > 1:
        raise RequestError(422, "documents must be rows of numbers of equal length, or all of them objects.")
    with np.errstate(over="ignore"):  # The scorer reports infinite values.
        return np.array(documents, np.float32)


def _rows_of_table(table: Any, scorer: Scorer) -> Features:
    try:
        return scorer.rows(table)
    except SwaprankError:
        raise
    except ValueError as error:  # Arrow's own, for numbers that it does not convert.
        raise RequestError(422, f"the table has no features: {error}".splitlines()[0]) from None


def _binary_rows(body: bytes, n_features: int, most: int) -> Features:
    if len(body) == 0 or len(body) % (4 * n_features):
        raise RequestError(422, f"{len(body)} bytes are not rows of {n_features} float32 values.")
    _check_number(len(body) // (4 * n_features), most)
    return np.frombuffer(body, "<f4").reshape(-1, n_features)


def _check_number(n_documents: int, most: int) -> None:
    if n_documents > most:
        raise RequestError(422, f"{n_documents:,} documents are more than this server ranks at once: {most:,}.")
