"""The list of rankers, by the names that model files, the command line and configuration files use.

A new ranker is one line in RANKERS. A name in PRESETS stands for one of them with the settings of a paper.
"""

import ast
import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from swaprank.errors import Hint, ModelFileError, ParameterError, SwaprankError, did_you_mean
from swaprank.model_files.container import ModelContent, read_model
from swaprank.parameters import own_name

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker

RANKERS = {
    "adarank": "swaprank.baselines.adarank.AdaRank",
    "combination": "swaprank.ensembles.combination.Combination",
    "coordinate_ascent": "swaprank.baselines.coordinate_ascent.CoordinateAscent",
    "frank": "swaprank.baselines.frank.FRank",
    "imported": "swaprank.rankers.imported.ImportedRanker",
    "kernel_ranknet": "swaprank.baselines.kernel_ranknet.KernelRankNet",
    "lambdamart": "swaprank.rankers.lambdamart.LambdaMART",
    "lambdarank": "swaprank.rankers.lambdarank.LambdaRank",
    "learned_online": "swaprank.rankers.online.OnlineRanker",
    "linear_regression": "swaprank.rankers.linear_regression.LinearRegressionRanker",
    "listnet": "swaprank.baselines.nets.ListNet",
    "mart": "swaprank.rankers.mart.MART",
    "oap_bpm": "swaprank.baselines.prank.OAPBPM",
    "prank": "swaprank.baselines.prank.PRank",
    "random_forest": "swaprank.baselines.random_forest.RandomForest",
    "rankboost": "swaprank.baselines.rankboost.RankBoost",
    "ranknet": "swaprank.rankers.ranknet.RankNet",
    "rankprop": "swaprank.baselines.nets.RankProp",
    "ranksvm": "swaprank.baselines.ranksvm.RankSVM",
    "smoothrank": "swaprank.rankers.smoothrank.SmoothRank",
    "softrank": "swaprank.baselines.nets.SoftRank",
    "stacked": "swaprank.ensembles.stacked.Stacked",
    "svmmap": "swaprank.baselines.svm_map.SVMMAP",
}
"""The class of each kind of ranker; only the one that is asked for is imported."""
PRESETS = {
    "lambdamart2010": "swaprank.papers.lambdamart2010",
    "lambdarank2006": "swaprank.papers.lambdarank2006",
    "lambdarank2009": "swaprank.papers.lambdarank2009",
    "mart2010": "swaprank.papers.mart2010",
    "ranknet2005": "swaprank.papers.ranknet2005",
    "ranknet2006": "swaprank.papers.ranknet2006",
    "smoothrank2010": "swaprank.papers.smoothrank2010",
}
"""Functions that make a ranker as a paper describes it; model files have the kind of ranker that it is."""


def ranker_class(name: str) -> "type[Ranker]":
    """The class of a kind of ranker, or of the ranker that a preset makes.

    >>> from swaprank.registry import ranker_class
    >>> ranker_class("mart").__name__, ranker_class("mart2010").__name__
    ('MART', 'MART')
    """
    maker = ranker_maker(name)
    return maker if isinstance(maker, type) else type(maker())


def ranker_maker(name: str) -> "Callable[..., Ranker]":
    """What makes a ranker from its parameters: the class of a kind, or the function of a preset.

    >>> from swaprank.registry import ranker_maker
    >>> ranker_maker("mart")(n_leaves=7)
    MART(n_leaves=7)
    """
    known = {**RANKERS, **PRESETS}
    if name not in known:
        raise ParameterError(f"there is no ranker '{name}'; {did_you_mean(name, known)}")
    module, _, attribute = known[name].rpartition(".")
    maker: Callable[..., Ranker] = getattr(import_module(module), attribute)
    return maker


def make_ranker(name: str, settings: Iterable[str] = ()) -> "Ranker":
    """A ranker from its name and settings such as "n_leaves=31".

    >>> from swaprank.registry import make_ranker
    >>> make_ranker("lambdamart", ["n_leaves=15", "metric=map"])
    LambdaMART(metric='map', n_leaves=15)
    """
    kind = ranker_class(name)
    parameters: dict[str, Any] = {}
    given: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"write a setting as name=value, found '{setting}'.")
        ours = own_name(kind, key, name)
        if ours in parameters and given[ours] != key:
            raise ParameterError(f"{given[ours]} and {key} are both {ours}: give one of them.")
        parameters[ours], given[ours] = _value(value), key
    return ranker_maker(name)(**parameters)


def _value(text: str) -> Any:
    """Numbers, tuples, lists, mappings, true, false and none as what they mean; anything else is text."""
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, list):
        return tuple(value)
    return value if isinstance(value, int | float | tuple | dict) else text


def load(path: str | os.PathLike[str]) -> "Ranker":
    """Read a ranker from its model file; everything in it is checked.

    >>> import tempfile, swaprank as sr
    >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=3).fit(train)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ranker.save(f"{folder}/model.swaprank")
    ...     again = sr.load(f"{folder}/model.swaprank")
    >>> (again.predict(test) == ranker.predict(test)).all()
    np.True_
    """
    content = read_model(path)
    try:
        return ranker_of(content)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: ", error) from None


def ranker_of(content: ModelContent) -> "Ranker":
    """The ranker that a model file holds; ModelFileError if something is wrong with its content.

    >>> import swaprank as sr
    >>> from swaprank.rankers.saving import content_of
    >>> from swaprank.registry import ranker_of
    >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(train)
    >>> (ranker_of(content_of(ranker)).predict(test) == ranker.predict(test)).all()
    np.True_
    """
    # The names of rankers are completed in a shell: nothing large is imported for them.
    from swaprank.rankers.saving import restored

    if content.kind == "checkpoint":
        raise ModelFileError(
            "it is a checkpoint of a training. To finish it: ",
            Hint("checkpoint", ..., "train --checkpoint FILE", call="fit"),
            " with the same data.",
        )
    if content.kind not in RANKERS:
        raise ModelFileError(f"it holds a '{content.kind}', which this version of swaprank does not know.")
    try:
        return restored(ranker_class(content.kind), content)
    except ModelFileError:
        raise
    except SwaprankError as error:
        raise ModelFileError("its parameters are not valid: ", error) from None
    except RecursionError:
        raise ModelFileError("its models are nested too deeply.") from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"its parameters are not valid ({type(error).__name__}: {error}).") from None
