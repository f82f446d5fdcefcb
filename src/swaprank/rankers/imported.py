"""Models of other libraries as rankers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NoReturn, final

import numpy as np

from swaprank.data.matching import check_count, numbered_names
from swaprank.errors import DataError, Hint, ModelFileError, ParameterError
from swaprank.exchange.double_thresholds import in_single_precision, less, subtracted_name
from swaprank.exchange.peer_files import read_peer
from swaprank.exchange.peer_scores import Agreement as Agreement
from swaprank.exchange.peer_scores import agreement, peer_rows, peer_scores
from swaprank.metrics.metric import Metric
from swaprank.models.forest import Forest
from swaprank.models.linear import LinearModel
from swaprank.parameters import parameter
from swaprank.rankers.forest_methods import ForestMethods
from swaprank.rankers.learned import Capabilities, Learned, found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ModelFileError("its library and objective are not text.")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ModelFileError("its notes are not a list of text.")
    return tuple(map(_text, value))


@final
class ImportedRanker(ForestMethods):
    """A model that another library has trained: LightGBM, XGBoost, CatBoost, RankLib, or any in ONNX.

    `swaprank.import_model` makes it. It scores, explains, evaluates, combines, saves and exports like any other ranker.
    Scores are those before a transformation such as a sigmoid, which changes no order. It cannot be trained again, but
    LambdaMART and MART can continue from it: `LambdaMART(base_ranker=…)`.

    >>> import lightgbm, swaprank as sr
    >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> data = lightgbm.Dataset(train.features, train.labels, group=[50] * 20)
    >>> booster = lightgbm.train({"objective": "lambdarank", "verbosity": -1}, data, 10)
    >>> ranker = sr.import_model(booster)
    >>> ranker, ranker.library_, ranker.size_
    (ImportedRanker(), 'LightGBM', '10 trees of LightGBM')
    >>> bool(abs(ranker.predict(test) - booster.predict(test.features)).max() < 1e-12)
    True
    """

    kind: ClassVar[str] = "imported"
    can: ClassVar[Capabilities] = Capabilities(
        models=(Forest, LinearModel), round_name="tree", learns_from="nothing", categories=True
    )
    metric: str | Metric = parameter(
        default="ndcg@10", kw_only=False, text="The metric that `score` and reports measure by default."
    )

    library_ = found(_text)
    """The library that trained it, such as LightGBM."""
    objective_ = found(_text_or_none)
    """The objective that it was trained for, in the words of that library, if the model says so."""
    notes_ = found(_texts, default=())
    """What to know about the model that nobody can see in it, as sentences."""
    agreement_ = found[Agreement | None](None, default=None)
    """What `import_model(…, check=X)` has found; None without it, and in a model that was loaded."""

    @property
    def size_(self) -> str:
        """The size of the model in words, and the library."""
        self.check_fitted()
        return f"{self.model_.describe()} of {self.library_}"

    @property
    def trained_for_(self) -> str:
        """The objective that it was trained for, in the words of the library."""
        return self.objective_ or "something that the model does not say"

    def fit(self, *arguments: Any, **others: Any) -> NoReturn:
        """Raise ParameterError: it was trained elsewhere."""
        raise ParameterError(
            "a model of another library cannot be trained here: train a LambdaMART, or continue from this model with ",
            Hint("base_ranker", ..., "--base-ranker FILE", call="LambdaMART"),
            ".",
        )


def import_model(
    source: Any,
    *,
    feature_names: Sequence[str] | None = None,
    pandas_categories: Sequence[str] | None = None,
    subtract: Mapping[str, float] | None = None,
    check: Any = None,
    metric: str | Metric = "ndcg@10",
    n_threads: int | None = None,
) -> ImportedRanker:
    """The model of another library as a ranker; everything in a file is checked, and no code in it is executed.

    Args:
        source: A file: LightGBM text, XGBoost JSON or UBJ, CatBoost JSON or cbm, RankLib XML, or an ONNX tree ensemble.
            Or a fitted model itself: of LightGBM, XGBoost or CatBoost, or an ONNX ModelProto.
        feature_names: The names of the features, if the model has none or others. For a model without names there may
            be more than it uses, because files of RankLib and ONNX do not say how many there are.
        pandas_categories: For LightGBM: the columns of the training data that were pandas categories. It is needed only
            if an error says so: the file has their categories, but not always which columns they were.
        subtract: For LightGBM: numbers to subtract from features that are too large for single precision, such as
            `{"published": 1_700_000_000}`. The feature of the ranker is then "published - 1700000000", and your data
            must have that. An error says where it is needed.
        check: Documents that the library itself scores, if it is installed: a matrix, a table or a Dataset, with the
            features of the model as the library has them. `agreement_` says how far the scores agree; if they differ by
            more than rounding, it is an error.
        metric: The metric that `score` and reports measure by default.
        n_threads: Number of threads. If None, all cores.

    >>> import tempfile, swaprank as sr
    >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sr.MART(n_trees=3).fit(train).export(f"{folder}/model.json", to="xgboost")
    ...     ranker = sr.import_model(f"{folder}/model.json", feature_names=["a", "b", "c", "d", "e"])
    >>> ranker.library_, ranker.size_, ranker.feature_names_in_.tolist()
    ('XGBoost', '3 trees of XGBoost', ['a', 'b', 'c', 'd', 'e'])
    """
    peer = read_peer(source, pandas_categories)
    ranker = ImportedRanker(metric, n_threads=n_threads)
    ranker.training_metric()
    names = peer.feature_names or numbered_names(peer.model.n_features)
    if feature_names is not None:
        names = tuple(str(name) for name in feature_names)
        if peer.feature_names is None and len(names) > peer.model.n_features:
            # Such files may not know features after the last one that they use.
            peer = peer._replace(model=_with_features(peer.model, len(names)))
        check_count(
            peer.model.n_features,
            len(names),
            f"the model of {peer.library}",
            Hint("feature_names", option="--features"),
        )
    if len(set(names)) < len(names):
        raise DataError(
            "two features of the model have the same name; give other names: ",
            Hint("feature_names", [...], "--features NAME,NAME,…"),
            ".",
        )
    model = in_single_precision(peer, names, subtract or {})
    ranker.learned_ = Learned(
        model,
        feature_names=tuple(subtracted_name(name, subtract or {}) for name in names),
        categories={names[feature]: categories for feature, categories in peer.categories.items()},
        n_rounds=model.n_stages,
        best_round=model.n_stages,
        found={"library": peer.library, "objective": peer.objective, "notes": peer.notes, "agreement": None},
    )
    if check is not None:
        rows = peer_rows(check, names, ranker.categories_)
        version, theirs = peer_scores(source, peer.library, rows)
        found = agreement(version, ranker.predict(less(rows, names, subtract or {})), theirs)
        ranker.learned_ = replace(ranker.learned_, found={**ranker.learned_.found, "agreement": found})
    return ranker


def _with_features(model: Forest | LinearModel, n_features: int) -> Forest | LinearModel:
    """The model with further features, which change no score."""
    if isinstance(model, Forest):
        return replace(model, n_features=n_features)
    more = n_features - model.n_features
    return replace(model, weights=np.pad(model.weights, (0, more)), missing=np.pad(model.missing, (0, more)))
