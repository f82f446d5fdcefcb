from .combination import Combination as Combination
from .stacked import Stacked as Stacked
