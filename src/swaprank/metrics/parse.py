"""Metrics from their names: `ndcg@10`, `map(rel=2)`, `nDCG(dcg='exp-log2')@5`, `ndcg_cut_10`."""

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from swaprank.errors import MetricError, did_you_mean
from swaprank.metrics.cascade import ERR, ReciprocalRank, Success
from swaprank.metrics.cumulative import DCG, NDCG, RBP, WTA, Precision, Recall
from swaprank.metrics.diversity import AlphaNDCG, IntentAwareERR, SubtopicRecall
from swaprank.metrics.judgement_metrics import InferredAP, Judged, SetPrecision
from swaprank.metrics.metric import Metric
from swaprank.metrics.metric_options import CONVENTIONS, OPTIONS, parse_option
from swaprank.metrics.rank_agreement import Compatibility, KendallTau, SpearmanRho
from swaprank.metrics.relevance import AUC, AveragePrecision, Bpref, GivenPairs, PairwiseCorrect, RPrecision

NAMED: tuple[type[Metric], ...] = (
    NDCG,
    DCG,
    AveragePrecision,
    ReciprocalRank,
    ERR,
    Precision,
    Recall,
    Success,
    WTA,
    PairwiseCorrect,
    AUC,
    GivenPairs,
    Bpref,
    RPrecision,
    RBP,
    AlphaNDCG,
    IntentAwareERR,
    SubtopicRecall,
    Judged,
    SetPrecision,
    InferredAP,
    Compatibility,
    KendallTau,
    SpearmanRho,
)
BY_NAME: dict[str, type[Metric]] = {name: kind for kind in NAMED for name in kind.names}

BY_TREC_NAME: dict[str, type[Metric]] = {
    "ndcg_cut_k": NDCG,
    "map_cut_k": AveragePrecision,
    "p_k": Precision,
    "recall_k": Recall,
    "success_k": Success,
    "recip_rank": ReciprocalRank,
}
"""Names that only trec_eval has, as `P_10` or `P.10`: its conventions are meant, too."""
_TREC_ONLY = ("rndcg", "gm_map", "gm_bpref", "set_recall", "set_f", "set_map", "relative_p")

_WRITTEN = re.compile(
    r"\s*(?P<name>[A-Za-z_]+?(?:-[A-Za-z_]+)*?)(?:[_.](?P<cut>[0-9]+))?\s*(?P<before>\([^()]*\))?"
    r"\s*(?:@\s*(?P<k>[^\s()@]+?))?(?P<minus>-)?\s*(?P<after>\([^()]*\))?\s*"
)
_IR_MEASURES_DCG = {"log2": "linear", "exp-log2": "exp2"}


def metric(name: str | Metric, convention: str = "standard") -> Metric:
    """A metric from its name. Options in the name override those of the convention.

    Args:
        name: `ndcg@10`, `map`, `mrr`, `err@20`, `p@5`, `recall@100`, `success@1`, `wta`, `pairwise`, `pairs`, `bpref`,
            `rprec`, `dcg`, `rbp(p=0.8)`, `auc`, `alpha_ndcg@10`, …, with options in brackets: `map(rel=2)`,
            `ndcg@10(gain=linear, empty=skip)`.
            The spellings of ir_measures (`nDCG@10`, `AP`, `RR`) mean the same metrics. Those of trec_eval
            (`ndcg_cut_10`, `P_5`, `recip_rank`) also mean its convention, and so do objects of ir_measures,
            `ir_measures.nDCG @ 10`. A metric object is returned unchanged.
        convention: The tool whose definitions to use: "standard", "trec", "letor", "mslr" or "lightgbm".

    >>> import swaprank as sr
    >>> print(sr.metric("ndcg@10", convention="letor"))
    ndcg@10(discount=letor, short=zero, ties=input)
    >>> sr.metric("AP(rel=2)@100") == sr.metric("map@100(rel=2)")
    True
    >>> sr.metric("ndcg_cut_10") == sr.metric("ndcg@10", convention="trec")
    True
    """
    if convention not in CONVENTIONS:
        raise MetricError(f"there is no convention '{convention}'; {did_you_mean(convention, CONVENTIONS)}")
    if isinstance(name, Metric):
        return name
    if type(name).__module__.partition(".")[0] == "ir_measures":
        name, convention = str(name), "trec"
    written = _WRITTEN.fullmatch(name) if isinstance(name, str) else None
    if written is None:
        raise MetricError(f"{name!r} is not the name of a metric; write for example 'ndcg@10' or 'map(rel=2)'.")
    word, k = written["name"].lower().replace("-", "_"), written["k"]
    trec_name = word if written["cut"] is None else f"{word}_k"
    if trec_name in BY_TREC_NAME and k is None:
        kind, convention, k = BY_TREC_NAME[trec_name], "trec", written["cut"]
    elif word in BY_NAME and written["cut"] is None:
        kind = BY_NAME[word]
    else:
        raise MetricError(f"there is no metric '{_without_options(name)}'; {_advice(word, written['cut'])}")
    own = {field.name for field in fields(kind)}
    options = {option: value for option, value in CONVENTIONS[convention].items() if option in own}
    if written["minus"]:  # XGBoost's ndcg@10-
        options["empty"] = 0
    options |= _options(kind.names[0], f"{written['before'] or ''}{written['after'] or ''}", own)
    return kind(k=_cut_off(kind.names[0], k), **options)


def _without_options(name: str) -> str:
    return name.partition("(")[0].partition("@")[0].strip()


def _advice(word: str, cut: str | None) -> str:
    if word in BY_NAME and cut is not None:
        return f"did you mean '{word}@{cut}'?"
    if word in _TREC_ONLY:
        return f"swaprank does not have this one of trec_eval. Known are {', '.join(sorted(BY_NAME))}."
    return did_you_mean(word, [*BY_NAME, *(name.replace("_k", f"_{cut or 10}") for name in BY_TREC_NAME)])


def metrics(names: str | Metric | Iterable[str | Metric], convention: str = "standard") -> list[Metric]:
    """A list of distinct metrics, from one name or several."""
    given = [names] if isinstance(names, str | Metric) or not isinstance(names, Iterable) else list(names)
    if not given:
        raise MetricError("at least one metric is needed, found none.")
    parsed = list(dict.fromkeys(metric(name, convention) for name in given))
    written = [str(each) for each in parsed]
    for text in written:
        if written.count(text) > 1:
            raise MetricError(f"two different metrics have the name {text}; give them different names.")
        if text == "qid":
            raise MetricError("a metric cannot have the name qid, the column of query ids; choose another.")
    return parsed


def _cut_off(metric_name: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise MetricError(f"{metric_name}: k must be a whole number from 1, found {text}.") from None


def _options(metric_name: str, text: str, own: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in text.replace(")(", ",").strip("()").split(","):
        if not part.strip():
            continue
        name, equals, value = (piece.strip().strip("'\"") for piece in part.partition("="))
        if name == "dcg" and "gain" in own and value in _IR_MEASURES_DCG:
            name, value = "gain", _IR_MEASURES_DCG[value]
        if name not in OPTIONS or name not in own:
            known = [option for option in OPTIONS if option in own]
            raise MetricError(f"{metric_name} has no option '{name}'; {did_you_mean(name, known)}")
        if not equals:
            raise MetricError(f"{metric_name}: write {name}=value, found '{part.strip()}'.")
        if name in found:
            raise MetricError(f"{metric_name}: {name} is given twice.")
        found[name] = parse_option(metric_name, name, value)
    return found
