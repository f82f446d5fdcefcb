from .cross_validation_result import CrossValidation as CrossValidation
from .pareto import ParetoFront as ParetoFront
from .pareto import pareto as pareto
from .tuning_result import Tuning as Tuning
