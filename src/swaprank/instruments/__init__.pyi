from .certificate import Certificate as Certificate
from .explain import QueryExplanation as QueryExplanation
from .jacobian import LambdaJacobian as LambdaJacobian
from .jacobian import lambda_jacobian as lambda_jacobian
from .pair_effects import EffectivePairs as EffectivePairs
from .pair_effects import effective_pairs as effective_pairs
