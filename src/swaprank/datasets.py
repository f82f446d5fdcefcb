"""Generated data: judged documents, and clicks on them."""

from swaprank.clicks.simulation import simulate_clicks as clicks
from swaprank.data.generated_data import random_net as random_net
from swaprank.data.generated_data import random_polynomial as random_polynomial
from swaprank.data.generated_data import random_search as random_search

__all__ = ["clicks", "random_net", "random_polynomial", "random_search"]
