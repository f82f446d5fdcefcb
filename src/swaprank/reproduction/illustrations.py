"""[Burges2005, Figure 1] and [Burges2010, Figure 1]: what the papers draw without data, computed."""

import numpy as np

import swaprank as sr
from swaprank.data.posteriors import chain
from swaprank.objectives.ranknet_costs import ranknet_costs
from swaprank.rendering.tables import text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings

OUTPUTS = tuple(float(output) for output in np.linspace(-5, 5, 21))
TARGETS = (0.0, 0.5, 1.0)
PROBABILITIES = (0.0, 0.25, 0.5, 0.6, 0.75, 1.0)
N_URLS = 16
RELEVANT = {"left": (1, 15), "right": (4, 10)}
"""The ranks of the relevant urls that have the errors and the moves of the paper."""
PAPER_ERRORS = {"left": 13, "right": 11}


def run_cost(settings: Settings, log: Log) -> Outcome:
    """The cost of a pair by the difference of its scores, and the probability that follows from two others."""
    costs = {target: [_pair_cost(target, output) for output in OUTPUTS] for target in TARGETS}
    shown = range(0, len(OUTPUTS), 5)
    rows = [[f"{OUTPUTS[at]:g}", *(f"{costs[target][at]:.4f}" for target in TARGETS)] for at in shown]
    combined = chain(PROBABILITIES, PROBABILITIES)
    log("the cost at 21 differences of scores, and combined probabilities")
    text = (
        "[Burges2005, Figure 1], left: the cost is symmetric for a target of 0.5, and linear far from 0\n\n"
        f"{text_table(['o', *(f'target {target:g}' for target in TARGETS)], rows)}\n\n"
        "right: P_ik given P_ij = P_jk = P; it is P at 0, 0.5 and 1 only\n\n"
        f"{text_table(['P', 'P_ik'], [[f'{p:g}', f'{q:.4f}'] for p, q in zip(PROBABILITIES, combined, strict=True)])}"
    )
    lines = [Series(f"target {target:g}", OUTPUTS, costs[target]) for target in TARGETS]
    return Outcome(text, Chart("Cost of a pair", "difference of scores", "cost", lines))


def _pair_cost(target: float, output: float) -> float:
    """The cost of one pair [Burges2005, Eq. 3], of the objective that trains RankNet."""
    data = sr.Dataset(np.zeros((2, 1)), [0, 0], qid=[0, 0], pairs=[(0, 1, target)])
    bound = sr.objectives.RankNetObjective().bind(data, random_state=0, n_threads=1)
    return float(ranknet_costs(bound, np.array([output, 0.0])).sum())


def run_errors(settings: Settings, log: Log) -> Outcome:
    """One list before and after two moves: fewer pairwise errors, and a worse top."""
    rows, lines = [], []
    scores = -np.arange(N_URLS, dtype=np.float64)
    for side, ranks in RELEVANT.items():
        labels = np.isin(np.arange(1, N_URLS + 1), ranks).astype(np.float64)
        data = sr.Dataset(np.zeros((N_URLS, 1)), labels, qid=np.zeros(N_URLS))
        errors = sum(int((labels[: rank - 1] == 0).sum()) for rank in ranks)
        values = [sr.metric(name).mean(labels, scores, data.indptr) for name in ("ndcg", "err")]
        pulls = []
        for objective in (
            sr.objectives.RankNetObjective(),
            sr.objectives.LambdaRankObjective(sr.metric("ndcg"), normalize=False),
        ):
            grad, hess = np.zeros(N_URLS), np.zeros(N_URLS)
            objective.bind(data, random_state=0, n_threads=1).update(scores, grad, hess)
            pulls.append("/".join(f"{-grad[rank - 1]:.2f}" for rank in ranks))
            lines.append(Series(f"{side}, {type(objective).__name__[:-9]}", range(1, N_URLS + 1), (-grad).tolist()))
        place = " and ".join(map(str, ranks))
        rows.append([side, place, str(PAPER_ERRORS[side]), str(errors), *(f"{value:.4f}" for value in values), *pulls])
        log(f"{side}: {errors} pairwise errors")
    header = ["", "relevant at", "errors, paper", "ours", "NDCG", "ERR", "RankNet pulls up by", "LambdaRank"]
    text = (
        "[Burges2010, Figure 1]: two moves reduce the pairwise errors, but lower the metrics that look at the top;\n"
        f"the gradients on the two relevant urls, scores one apart\n\n{text_table(header, rows, left=1)}"
    )
    return Outcome(text, Chart("Gradients on the urls of one list", "rank", "upward pull", lines))


COST = Experiment("ranknet-figure1", "[Burges2005, Figure 1]", run_cost)
ERRORS = Experiment("overview-figure1", "[Burges2010, Figure 1]", run_errors)
