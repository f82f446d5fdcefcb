"""[Chapelle2010, Figure 2]: the metric on training and test queries while sigma decreases."""

import numpy as np

from swaprank.rankers.smoothrank import ANNEALING, SmoothRank
from swaprank.rendering.text_tables import text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.smoothrank_data import described, folds_or_generated, strengths

NAME = "smoothrank-annealing"
METRIC = "ndcg@50"
SETS = ("train", "vali", "test")


def run(settings: Settings, log: Log) -> Outcome:
    """The mean over all folds, with the shares of lambda at each sigma; quick: the first fold and three lambdas."""
    folds = folds_or_generated(settings, NAME)
    histories = []
    for number, parts in enumerate(folds, 1):
        ranker = SmoothRank(METRIC, regularization=strengths(settings), random_state=settings.random_state)
        # Of the validation sets, the last one is held out.
        ranker.fit(parts.train, valid={"test": parts.test, "vali": parts.vali})
        histories.append({name: ranker.history_[name][METRIC] for name in SETS})
        log(f"{number} of {len(folds)}: lambda {ranker.regularization_:g}, test {histories[-1]['test'][-1]:.4f}")
    means = {name: np.mean([history[name] for history in histories], axis=0) for name in SETS}
    rows = [
        [f"2^{np.log2(sigma):g}", *(f"{means[name][at]:.4f}" for name in SETS)] for at, sigma in enumerate(ANNEALING)
    ]
    text = (
        f"[Chapelle2010, Figure 2]: {METRIC} after every step of sigma, mean of {described(settings, len(folds))}\n\n"
        f"{text_table(['sigma', *SETS], rows)}"
    )
    lines = [Series(name, ANNEALING, means[name].tolist()) for name in SETS]
    return Outcome(text, Chart("Annealing", "sigma", METRIC, lines, log_x=True))


EXPERIMENT = Experiment(NAME, "[Chapelle2010, Figure 2]", run, takes_data=True)
