"""Small simulated worlds: judged documents whose true relevance is known, and logs of clicks on them."""

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats

N_DOCUMENTS = 12


def judged(n_queries: int, seed: int = 0) -> sr.Dataset:
    """Queries of twelve documents with ids, of which ten are shown at a time."""
    (data,) = sr.datasets.random_search(n_queries, n_documents=N_DOCUMENTS, random_state=seed)
    return sr.Dataset(
        data.features,
        data.labels,
        qid=np.repeat(np.arange(n_queries), N_DOCUMENTS),
        docid=np.arange(len(data)),
        feature_names=data.feature_names,
    )


def true_relevance(data: sr.Dataset, noise: float = 0.1) -> Floats:
    gain = np.exp2(data.labels) - 1
    return np.asarray(noise + (1 - noise) * gain / gain.max())


def in_new_order(data: sr.Dataset, scores: Floats) -> list[Floats]:
    """The true relevance of each query's documents, best score first."""
    relevance = true_relevance(data)
    return [relevance[data.rows(q)][np.argsort(-scores[data.rows(q)], kind="stable")] for q in range(data.n_queries)]


def true_values(data: sr.Dataset, scores: Floats) -> dict[str, float]:
    """Metrics of a ranking by their definitions."""
    lists = in_new_order(data, scores)
    ranks = np.arange(1, N_DOCUMENTS + 1)
    return {
        "dcg@5": float(np.mean([np.sum(g[:5] / np.log2(1 + ranks[:5])) for g in lists])),
        "p@3": float(np.mean([g[:3].mean() for g in lists])),
        "mrr": float(np.mean([np.sum(g / ranks * np.append(1, np.cumprod(1 - g)[:-1])) for g in lists])),
        "success@3": float(np.mean([1 - np.prod(1 - g[:3]) for g in lists])),
    }
