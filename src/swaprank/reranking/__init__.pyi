from .diversify import mmr as mmr
from .diversify import xquad as xquad
