"""What the instruments found, as plain values for --json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swaprank.ensembles.combination import Combination
    from swaprank.instruments.certificate import Certificate
    from swaprank.instruments.explain import QueryExplanation


def certificate_values(certificate: Certificate) -> dict[str, Any]:
    """The verdict and the counts that it rests on."""
    return {
        "passed": certificate.passed,
        "metric": certificate.metric,
        "value": certificate.value,
        "n_queries": certificate.n_queries,
        "parameters": certificate.parameters,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "steps": certificate.steps.tolist(),
        "n_directions": certificate.n_directions,
        "n_rising": certificate.n_rising,
        "n_weights": len(certificate.weights),
        "n_weights_rising": certificate.n_weights_rising,
        "polishing": list(certificate.values),
        "verdict": certificate.verdict(),
    }


def combination_values(both: Combination) -> dict[str, Any]:
    """The best alpha and what it is worth; an end that lies at infinity is null."""
    low, high = both.interval_
    return {
        "metric": str(both.metric),
        "alpha": both.alpha_,
        "value": both.value_,
        "low": low if abs(low) != float("inf") else None,
        "high": high if abs(high) != float("inf") else None,
        "first_alone": both.alone_[0],
        "second_alone": both.alone_[1],
        "whole_line_alpha": both.line_.alpha,
        "whole_line_value": both.line_.value,
    }


def explanation_values(explanation: QueryExplanation, n_documents: int, n_pairs: int = 5) -> dict[str, Any]:
    """The ranked list, the lambdas, and the pairs that matter most; a query without a value has null."""
    from swaprank.rendering.json_values import json_number

    docids = explanation.docids
    shown = range(min(n_documents, len(explanation.rows)))
    return {
        "qid": str(explanation.qid),
        "metric": explanation.metric,
        "value": json_number(explanation.value),
        "n_documents": len(explanation.rows),
        "documents": [
            {
                "rank": rank + 1,
                "row": int(explanation.rows[rank]),
                "docid": None if docids is None else str(docids[rank]),
                "label": float(explanation.labels[rank]),
                "score": float(explanation.scores[rank]),
                "lambda": float(explanation.forces[rank]),
            }
            for rank in shown
        ],
        "hardest_pairs": [
            {"up": up, "down": down, "force": force} for up, down, force in explanation.hardest_pairs(n_pairs)
        ],
        "best_swaps": [
            {"rank": rank, "with": other, "gain": gain} for rank, other, gain in explanation.best_swaps(n_pairs)
        ],
    }
