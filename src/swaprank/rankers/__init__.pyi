from .imported import ImportedRanker as ImportedRanker
from .rounds import Progress as Progress
from .training import TrainableRanker as TrainableRanker
