from .certificate import Certificate as Certificate
from .explain import QueryExplanation as QueryExplanation
from .generalization import generalization_bound as generalization_bound
from .generalization import smooth_lipschitz as smooth_lipschitz
from .jacobian import LambdaJacobian as LambdaJacobian
from .jacobian import lambda_jacobian as lambda_jacobian
from .pair_effects import EffectivePairs as EffectivePairs
from .pair_effects import effective_pairs as effective_pairs
