from .cross_validation_result import CrossValidation as CrossValidation
from .tuning_result import Tuning as Tuning
