from .cross_validation_result import CrossValidation as CrossValidation
from .label_noise import SuspiciousLabels as SuspiciousLabels
from .label_noise import suspicious_labels as suspicious_labels
from .pareto import ParetoFront as ParetoFront
from .pareto import pareto as pareto
from .tuning_result import Tuning as Tuning
