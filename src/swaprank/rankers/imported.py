"""Models of other libraries as rankers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from swaprank.data.matching import check_count, numbered_names
from swaprank.errors import DataError, ModelFileError, ParameterError
from swaprank.exchange.peer_files import read_peer
from swaprank.metrics.metric import Metric
from swaprank.rankers.forest_ranker import ForestRanker
from swaprank.rankers.ranker import FitRequest


@final
class ImportedRanker(ForestRanker):
    """A model that another library has trained: LightGBM, XGBoost, CatBoost, RankLib, or any in ONNX.

    `swaprank.import_model` makes it. It scores, explains, evaluates, combines, saves and exports like any other ranker.
    Scores are those before a transformation such as a sigmoid, which changes no order. It cannot be trained again, but
    LambdaMART and MART can continue from it: `LambdaMART(base_ranker=…)`.

    Args:
        metric: The metric that `score` and reports measure by default.
        n_threads: Number of threads. If None, all cores.

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
    learns_from: ClassVar[Literal["data", "rankers", "nothing"]] = "nothing"
    library_: str
    """The library that trained it, such as LightGBM."""
    objective_: str | None
    """What it was trained for, in the words of that library, if the model says so."""

    def __init__(self, metric: str | Metric = "ndcg@10", *, n_threads: int | None = None) -> None:
        self._set_parameters(locals())

    @property
    def size_(self) -> str:
        """How large the model is, and whose it is."""
        self.check_fitted()
        return f"{self.model_.describe()} of {self.library_}"

    @property
    def trained_for_(self) -> str:
        """What it was trained for, in the words of the library."""
        return self.objective_ or "something that the model does not say"

    def _fit(self, request: FitRequest) -> None:
        raise ParameterError(
            "a model of another library cannot be trained here: train a LambdaMART, or continue from this model with "
            "LambdaMART(base_ranker=…)."
        )

    def _fitted_values(self) -> dict[str, Any]:
        return {"library": self.library_, "objective": self.objective_}

    def _restore_values(self, values: Mapping[str, Any]) -> None:
        self.library_, self.objective_ = values["library"], values["objective"]
        if not isinstance(self.library_, str) or not isinstance(self.objective_, str | None):
            raise ModelFileError("its library and objective are not text.")


def import_model(
    source: Any,
    *,
    feature_names: Sequence[str] | None = None,
    metric: str | Metric = "ndcg@10",
    n_threads: int | None = None,
) -> ImportedRanker:
    """The model of another library as a ranker; everything in a file is checked, and no code in it is executed.

    Args:
        source: A file: LightGBM text, XGBoost JSON or UBJ, CatBoost JSON or cbm, RankLib XML, or an ONNX tree ensemble.
            Or a fitted model itself: of LightGBM, XGBoost or CatBoost, or an ONNX ModelProto.
        feature_names: The names of the features, if the model has none or others. For a model without names there may
            be more than it uses, because files of RankLib and ONNX do not say how many there are.
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
    peer = read_peer(source)
    ranker = ImportedRanker(metric, n_threads=n_threads)
    ranker.training_metric()
    forest, names = peer.model, peer.feature_names or numbered_names(peer.model.n_features)
    if feature_names is not None:
        names = tuple(str(name) for name in feature_names)
        if peer.feature_names is None and len(names) > forest.n_features:
            # Such files may not know features after the last one that they use.
            forest = replace(forest, n_features=len(names))
        check_count(forest.n_features, len(names), f"the model of {peer.library}", "feature_names")
    if len(set(names)) < len(names):
        raise DataError("two features of the model have the same name; give other feature_names.")
    ranker.model_, ranker.library_, ranker.objective_ = forest, peer.library, peer.objective
    ranker.n_features_in_, ranker.feature_names_in_ = forest.n_features, np.array(names, dtype=object)
    ranker.categories_ = {names[feature]: categories for feature, categories in peer.categories.items()}
    ranker.history_, ranker.interrupted_, ranker.sigma_ = {}, False, 1.0
    ranker.n_rounds_ = ranker.best_round_ = forest.n_trees
    return ranker
