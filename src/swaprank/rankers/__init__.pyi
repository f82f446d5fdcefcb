from .imported import Agreement as Agreement
from .imported import ImportedRanker as ImportedRanker
from .observers import Observer as Observer
from .rounds import Progress as Progress
from .training import TrainableRanker as TrainableRanker
