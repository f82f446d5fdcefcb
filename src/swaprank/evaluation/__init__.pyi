from .compare import Comparison as Comparison
from .compare import Difference as Difference
from .evaluate import Evaluation as Evaluation
from .evaluate import MetricResult as MetricResult
from .scorer import RankingScorer as RankingScorer
