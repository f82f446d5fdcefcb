from .click_log import ClickLog as ClickLog
from .propensities import Propensities as Propensities
from .simulation import ClickTruth as ClickTruth
from .interleaving import Interleaved as Interleaved
from .interleaving import interleave as interleave
from .interleaving_outcome import InterleavingOutcome as InterleavingOutcome
from .interleaving_outcome import interleaving_outcome as interleaving_outcome
from .interleaving_outcome import interleaving_sessions as interleaving_sessions
