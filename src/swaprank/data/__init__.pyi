from . import posteriors as posteriors
from .block_binning import bin_blocks as bin_blocks
from .dates import days_since as days_since
from .pairs import Pairs as Pairs
from .summary import Summary as Summary
from .summary import summarize as summarize
