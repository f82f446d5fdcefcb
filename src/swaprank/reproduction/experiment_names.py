"""All experiments by name."""

from swaprank.errors import ParameterError, did_you_mean
from swaprank.reproduction import (
    construction_comparison,
    lambdarank_ranknet,
    lambdarank_speedup,
    learner_table,
    local_optimality,
    matching_metrics,
    ranknet_rivals,
    ranknet_tables,
    smoothrank_annealing,
    smoothrank_line,
    smoothrank_ohsumed,
    smoothrank_truncation,
)
from swaprank.reproduction.experiment import Experiment

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        ranknet_tables.TABLE_1_EXPERIMENT,
        ranknet_tables.TABLE_2_EXPERIMENT,
        ranknet_rivals.EXPERIMENT,
        lambdarank_speedup.EXPERIMENT,
        lambdarank_ranknet.EXPERIMENT,
        local_optimality.EXPERIMENT,
        matching_metrics.EXPERIMENT,
        construction_comparison.EXPERIMENT,
        smoothrank_ohsumed.EXPERIMENT,
        learner_table.EXPERIMENT,
        smoothrank_truncation.EXPERIMENT,
        smoothrank_line.EXPERIMENT,
        smoothrank_annealing.EXPERIMENT,
    )
}


def experiment(name: str) -> Experiment:
    """The experiment with this name.

    >>> from swaprank.reproduction.experiment_names import experiment
    >>> experiment("ranknet-table1").source
    '[Burges2005, Table 1]'
    """
    if name not in EXPERIMENTS:
        raise ParameterError(f"there is no experiment '{name}'; {did_you_mean(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]
