from .agreement import Agreement as Agreement
from .agreement import agreement as agreement
from .classification import balanced_error_rate as balanced_error_rate
from .compare import Comparison as Comparison
from .compare import Difference as Difference
from .evaluate import RankingScorer as RankingScorer
from .results import Evaluation as Evaluation
from .results import MetricResult as MetricResult
