"""All experiments by name."""

import swaprank as sr
from swaprank.errors import did_you_mean
from swaprank.reproduction import (
    factored_speedup,
    illustrations,
    lambdarank_comparison,
    lambdarank_tables,
    learner_table,
    local_optimality,
    ranknet_baselines,
    ranknet_tables,
    smoothrank_figures,
    smoothrank_tables,
)
from swaprank.reproduction.experiment import Experiment

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        illustrations.COST,
        ranknet_tables.TABLE_1_EXPERIMENT,
        ranknet_tables.TABLE_2_EXPERIMENT,
        ranknet_baselines.EXPERIMENT,
        factored_speedup.EXPERIMENT,
        lambdarank_comparison.EXPERIMENT,
        local_optimality.EXPERIMENT,
        lambdarank_tables.MATCHING,
        lambdarank_tables.CONSTRUCTIONS,
        illustrations.ERRORS,
        smoothrank_tables.TABLE_2_EXPERIMENT,
        learner_table.EXPERIMENT,
        smoothrank_tables.TABLE_3_EXPERIMENT,
        smoothrank_figures.LINE,
        smoothrank_figures.ANNEALED,
    )
}


def experiment(name: str) -> Experiment:
    """The experiment with this name.

    >>> from swaprank.reproduction.experiment_names import experiment
    >>> experiment("ranknet-table1").source
    '[Burges2005, Table 1]'
    """
    if name not in EXPERIMENTS:
        raise sr.errors.ParameterError(f"there is no experiment '{name}'; {did_you_mean(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]
