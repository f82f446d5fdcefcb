from .imported import PeerRanker as PeerRanker
from .rounds import Progress as Progress
