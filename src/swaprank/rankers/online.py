"""A linear ranker that learns while it serves: it chooses what each page shows, and follows the clicks."""

from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, Self, final

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, ModelFileError, ParameterError
from swaprank.linear.online_pages import Rules, learn_page, show_page
from swaprank.metrics.metric import Metric
from swaprank.models.linear import LinearModel
from swaprank.models.scaling import Scaling, fit_scaling, scaled_rows
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities, Learned, found, learned_value
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.shared_parameters import RandomChoices
from swaprank.seeds import seed_of

OnlineMethod = Literal["pdgd", "dbgd"]
_RATES = {"pdgd": 0.1, "dbgd": 0.01}
"""The learning rates of the papers."""


class Page(NamedTuple):
    """The documents to show to one person, best first; keep it until the clicks are known.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(10, random_state=0)
    >>> learner = sr.clicks.OnlineRanker(n_shown=3).start(data)
    >>> learner.show(data.features[:5])
    Page(number=0, rows=(4, 1, 2), credit=(0.0, 0.0, 0.0))
    """

    number: int
    """Of the page, from 0."""
    rows: tuple[int, ...]
    """The rows of X to show."""
    credit: tuple[float, ...]
    """Of duels: 1 if the ranker that is tried has chosen the document, -1 if the present one has."""


def _numbers(value: Any) -> Floats:
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ModelFileError("its weights and scales are not finite numbers.")
    return numbers


@final
class OnlineRanker(RandomChoices, Ranker):
    """A linear ranker that learns from the clicks on the pages that it shows itself.

    `start` begins with weights of 0, or with those of another linear ranker. Then, for each page: `show` chooses the
    documents, and `clicked` learns. At any moment it predicts, explains, is saved and exported like any other ranker; a
    saved one goes on where it was.

    >>> import numpy as np, swaprank as sr
    >>> train, test = sr.datasets.random_search((50, 50), n_documents=10, random_state=0)
    >>> learner, rng = sr.clicks.OnlineRanker().start(train), np.random.default_rng(0)
    >>> for _ in range(2000):
    ...     rows = train.rows(rng.integers(train.n_queries))
    ...     page = learner.show(train.features[rows])
    ...     labels = train.labels[rows][list(page.rows)]
    ...     learner.clicked(page, train.features[rows], click=rng.random(len(labels)) < labels / 4)
    >>> learner.n_rounds_, learner.score(test) > 0.85
    (2000, True)
    """

    kind: ClassVar[str] = "learned_online"
    can: ClassVar[Capabilities] = Capabilities(models=(LinearModel,), round_name="page", learns_from="nothing")
    metric: str | Metric = parameter(
        default="ndcg@10", kw_only=False, text="The metric that `score` and reports measure by default."
    )
    method: OnlineMethod = parameter(
        default="pdgd",
        words=("pdgd", "dbgd"),
        text='"pdgd": pages are drawn with probabilities that grow with the scores, and clicks say which of two '
        "documents is better (pairwise differentiable gradient descent [Oosterhuis2018]). "
        '"dbgd": each page is a duel of the present weights with weights nearby, interleaved by team draft; if those '
        "win, weights move toward them (dueling bandit gradient descent [Yue2009]).",
    )
    n_shown: int = parameter(default=10, low=1, high=10_000, text="Number of documents on a page.")
    learning_rate: float | None = parameter(
        default=None, above=0, whole=False, text="Size of the steps. If None: 0.1 for pdgd, 0.01 for dbgd."
    )
    distance: float = parameter(default=1.0, above=0, text="For dbgd: the distance of the weights that are tried.")

    model_ = learned_value[LinearModel]("model")
    standardized_weights_ = found(_numbers, save=lambda values: values.tolist())
    """The weight of each feature in units of its standard deviation: what is learned."""
    scale_ = found(_numbers, save=lambda values: values.tolist())
    """1 / standard deviation of each feature; 0 for a constant one."""

    def fit(self, *arguments: Any, **others: Any) -> NoReturn:
        """Raise ParameterError: it learns from clicks."""
        raise ParameterError(
            "an OnlineRanker learns from clicks, page by page: call start, show and clicked; or train another ranker "
            "on judgements, and start from it."
        )

    def start(self, data: Dataset, base: Ranker | None = None) -> Self:
        """Begin to learn.

        Args:
            data: Documents like those to come; they tell the scale of each feature. Labels are not used.
            base: A fitted linear ranker of the same features to start from. The larger its scores differ, the less is
                tried: pages of "pdgd" follow exp(score).
        """
        self.check_parameters()
        if data.categories:
            raise DataError(f"an OnlineRanker learns from numbers, but '{next(iter(data.categories))}' is categorical.")
        scaling = fit_scaling(data.features, np.zeros(data.n_features, np.bool_), standardize=True)
        scale = scaling.factor.astype(np.float64)
        weights = np.zeros(data.n_features)
        if base is not None:
            weights = np.divide(_base_weights(base, data), scale, out=weights, where=scale > 0)
        self.learned_ = Learned(
            LinearModel(weights * scale, scaling.mean),
            feature_names=data.feature_names,
            seed=seed_of(self.random_state),
            found={"standardized_weights": weights, "scale": scale},
        )
        return self

    def show(self, X: Any) -> Page:
        """Choose the documents of a page, given the features of all documents of a query."""
        features, learned = self._scaled(X), self.learned_
        shown, credit = np.empty(min(self.n_shown, len(features)), np.int64), np.zeros(min(self.n_shown, len(features)))
        show_page(self.rules(), features, self.standardized_weights_, learned.n_rounds, shown, credit)
        self.learned_ = replace(
            learned, n_rounds=learned.n_rounds + 1, best_round=learned.n_rounds + 1, calibration=None
        )
        return Page(learned.n_rounds, tuple(shown.tolist()), tuple(credit.tolist()))

    def clicked(self, page: Page, X: Any, click: Any) -> None:
        """Learn from the clicks on a page.

        Args:
            page: What `show` returned.
            X: The same features.
            click: 1 for each document of the page that was clicked, else 0; or grades from 0 to 1.
        """
        features, clicks = self._scaled(X), number_column("click", click, len(page.rows))
        if clicks.min() < 0 or clicks.max() > 1:
            raise DataError(f"click must be from 0 to 1, found {clicks.min():g} to {clicks.max():g}.")
        if max(page.rows) >= len(features):
            raise DataError(
                f"the page shows row {max(page.rows)}, but there are {len(features):,} documents: give the same ones."
            )
        weights = self.standardized_weights_.copy()
        shown, credit = np.array(page.rows, np.int64), np.array(page.credit)
        learn_page(self.rules(), features, page.number, shown, credit, clicks, weights)
        self.keep(weights)

    def keep(self, weights: Floats, n_pages: int | None = None) -> None:
        """Replace the standardized weights, and the number of pages if it is given."""
        learned = self.learned_
        n = learned.n_rounds if n_pages is None else n_pages
        self.learned_ = replace(
            learned,
            model=replace(self.model_, weights=weights * self.scale_),
            n_rounds=n,
            best_round=n,
            calibration=None,
            found={**learned.found, "standardized_weights": weights},
        )

    def rules(self) -> Rules:
        """How it shows and learns, for kernels."""
        rate = _RATES[self.method] if self.learning_rate is None else self.learning_rate
        return Rules(self.method == "dbgd", float(rate), float(self.distance), self.random_state_)

    def scaled(self, features: Features, rows: Ints) -> Features:
        """The given rows in units of standard deviations, as weights are learned for them."""
        n = len(self.scale_)
        scaling = Scaling(
            np.zeros(n, np.bool_), self.model_.missing, self.scale_.astype(np.float32), np.zeros(n, np.float32)
        )
        return scaled_rows(features, rows, scaling)

    def _scaled(self, X: Any) -> Features:
        features = self._features_of(X)
        if len(features) == 0:
            raise DataError("there are no documents to show.")
        return self.scaled(features, np.arange(len(features)))

    def _check_learned(self) -> None:
        if not len(self.standardized_weights_) == len(self.scale_) == self.n_features_in_:
            raise ModelFileError("it has another number of weights than of features.")


def _base_weights(base: Ranker, data: Dataset) -> Floats:
    base.check_fitted()
    if not isinstance(base.model_, LinearModel):
        raise DataError(f"an OnlineRanker starts from a linear ranker, found {base.model_.describe()}.")
    known = dict(zip(base.learned_.feature_names, base.model_.weights.tolist(), strict=True))
    missing = [name for name in data.feature_names if name not in known]
    if missing or len(known) != data.n_features:
        raise DataError(f"the ranker to start from has other features than the data: {', '.join(known)}.")
    return np.array([known[name] for name in data.feature_names])
